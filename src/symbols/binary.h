/* SPDX-License-Identifier: MIT */
/* The file that people mean when they name a program or a library. */
#ifndef RINGSIDE_BINARY_H
#define RINGSIDE_BINARY_H

#include <stdbool.h>
#include <sys/types.h>

struct binary {
	int fd;
	int root;   /* of the process, -1: none */
	char *path; /* below root, or our own */
};

#define BINARY_WHY_LEN 512

/*
 * By a path, or a name that is looked for among what the process has mapped (pid 0: none), in $PATH and where the
 * loader looks for libraries.
 * 0; -ENOENT: none, or a name that fits several files; -ESRCH: no such process; other negative errno. Then why is a
 * sentence without a full stop.
 */
int binary__find(const char *name, pid_t pid, struct binary *ret, char why[BINARY_WHY_LEN]);
void binary__close(struct binary *b);

/* Whether a file of that name is meant by name: "libc.so.6" and "libc-2.31.so" by "libc". */
bool binary__is_named(const char *file, const char *name);

#endif
