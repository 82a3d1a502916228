/* SPDX-License-Identifier: MIT */
/* Names that somebody may have meant. */
#ifndef RINGSIDE_SUGGEST_H
#define RINGSIDE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_MAX 3
#define SUGGEST_NAME_LEN 64

struct suggest {
	char wanted[SUGGEST_NAME_LEN]; /* "": nothing is near */
	struct {
		char name[SUGGEST_NAME_LEN];
		size_t distance;
	} best[SUGGEST_MAX];
	size_t n;
};

/* For a pattern that matched nothing: what of it is no wildcard counts. */
void suggest__begin(struct suggest *s, const char *pattern);
void suggest__offer(struct suggest *s, const char *name);

#endif
