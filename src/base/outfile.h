/* SPDX-License-Identifier: MIT */
/* A file that appears whole or not at all. */
#ifndef RINGSIDE_OUTFILE_H
#define RINGSIDE_OUTFILE_H

#include <stdbool.h>
#include <stdio.h>

struct outfile {
	FILE *f;
	char *path;
	char *temp; /* renamed to path by commit; NULL: f is path itself */
};

/*
 * Opens path for writing: under a temporary name beside it, or itself when `stream` is set or it is
 * not a regular file (a terminal, a pipe, /dev/null, a link to anything). An existing file keeps its mode. 0 or negative errno; *ret is untouched on failure.
 */
int outfile__open(const char *path, bool stream, struct outfile *ret);

/* Flushes, closes, renames. 0 or negative errno: then nothing appears. */
int outfile__commit(struct outfile *o);

/* Closes and removes what was written. A closed or zeroed outfile is fine. */
void outfile__abort(struct outfile *o);

#endif
