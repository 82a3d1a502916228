/* SPDX-License-Identifier: MIT */
/* Which function an address is in, by the symbol tables. */
#ifndef RINGSIDE_FUNCINDEX_H
#define RINGSIDE_FUNCINDEX_H

#include "image.h"

struct funcindex_entry;

/* The names stay in the images. */
struct funcindex {
	struct funcindex_entry *entries;
	size_t n;
};

/* Of all functions of the images. 0; -EFBIG: more than FUNCINDEX_MAX; other negative errno. */
int funcindex__build(const struct image *const images[], size_t n, struct funcindex *ret);
void funcindex__free(struct funcindex *ix);

/*
 * The innermost function whose size says that vaddr is inside. 0; -ENOENT: none. A symbol without a size says
 * nothing of what follows it and is never the answer.
 */
int funcindex__find(const struct funcindex *ix, uint64_t vaddr, const char **ret_name, uint64_t *ret_start);

/* Whether a is the better name for people of the same function: exported before local, without _ in front, short. */
bool funcindex__better_name(const char *a, unsigned char binding_a, const char *b, unsigned char binding_b);

#define FUNCINDEX_MAX (4U << 20)

#endif
