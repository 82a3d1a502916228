/* SPDX-License-Identifier: MIT */
#ifndef RINGSIDE_PROCDIR_H
#define RINGSIDE_PROCDIR_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "maps.h"

/* A process as a directory of /proc: it can't become another one. */
struct procdir {
	int fd;
	uint64_t start_ticks; /* tells it from a later process of the same number */
};

/* 0; -ESRCH: no such process, or /proc has the numbers of another pid namespace; other negative errno. */
int procdir__open(pid_t pid, struct procdir *ret);
void procdir__close(struct procdir *d);
/* A stream on a file of it. 0; -ESRCH: it ended; other negative errno. */
int procdir__stream(const struct procdir *d, const char *name, FILE **ret);
int procdir__maps(const struct procdir *d, struct maps *ret);
/* Its root directory, as O_PATH, or negative errno. */
int procdir__root(const struct procdir *d);

/*
 * The file of a mapping, whatever has become of its path and in whatever mount namespace: through map_files, which
 * needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; else through exe or the path, if that is still the same file.
 * A file descriptor or negative errno.
 */
int procdir__open_mapping(const struct procdir *d, const struct mapping *m);

#endif
