/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions, from DWARF. To be called inside of guard__run(). */
#ifndef RINGSIDE_LINES_H
#define RINGSIDE_LINES_H

#include "image.h"

struct lines;

/* What is known of an address; what is not is NULL or 0. The strings live as long as the struct lines. */
struct line_info {
	const char *function; /* the innermost function that is not inlined */
	const char *inlined;  /* the innermost one, if it is inlined there */
	uint64_t start;	      /* of function, 0: unknown */
	const char *file;
	int line;
};

/* From the image and what it shares with others (NULL: nothing). 0; -ENOENT: no DWARF; other negative errno. */
int lines__open(const struct image *img, const struct image *shared, struct lines **ret);
/* The images must still be there. */
void lines__close(struct lines *l);

/* 0, or -ENOENT: no compilation unit has vaddr. */
int lines__find(struct lines *l, uint64_t vaddr, struct line_info *ret);

#endif
