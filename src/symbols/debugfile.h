/* SPDX-License-Identifier: MIT */
/*
 * Where the debug information of a stripped ELF file is. What is found is known to belong to it: by its build-id
 * or, if it has none, by its checksum.
 */
#ifndef RINGSIDE_DEBUGFILE_H
#define RINGSIDE_DEBUGFILE_H

#include "image.h"

/*
 * The separate debug file of img, whose path below the directory root is path (NULL: unknown): by build-id or
 * .gnu_debuglink, below root and then below our own. 0; -ENOENT: there is none; other negative errno.
 */
int debugfile__find(const struct image *img, int root, const char *path, struct image *ret);

/* What several debug files share (dwz), which .gnu_debugaltlink of img names. 0; -ENOENT; other negative errno. */
int debugfile__find_shared(const struct image *img, int root, struct image *ret);

/* The symbol table that is packed into section .gnu_debugdata. 0; -ENOENT; other negative errno. */
int debugfile__unpack(const struct image *img, struct image *ret);

#endif
