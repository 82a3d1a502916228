/* SPDX-License-Identifier: MIT */
/* The executable mappings of a process. */
#ifndef RINGSIDE_MAPS_H
#define RINGSIDE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct mapping {
	uint64_t start, end, file_offset;
	uint64_t inode;
	dev_t dev;    /* as the kernel prints it: on btrfs and overlayfs another than that of stat(2) */
	char *path;   /* as the process's mount namespace has it, or "[vdso]" and the like; NULL: anonymous */
	bool deleted; /* path is where the file was */
};

struct maps {
	struct mapping *list; /* by address */
	size_t n;
};

#define MAPS_MAX 16384

/* What is executable in the text of /proc/PID/maps. 0; -E2BIG: more than MAPS_MAX; other negative errno. */
int maps__parse(FILE *f, struct maps *ret);
void maps__free(struct maps *m);
const struct mapping *maps__find(const struct maps *m, uint64_t addr);

#endif
