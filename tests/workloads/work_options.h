/* SPDX-License-Identifier: MIT */
/* Options of the small workloads, which are no scenarios of work_main.h. */
#ifndef WORK_OPTIONS_H
#define WORK_OPTIONS_H

#include "work.h"

/* A number from 1 to most, or the end. */
static inline unsigned long work_natural(const char *text, unsigned long most)
{
	char *end;
	unsigned long n;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || !n || n > most)
		die(2, "'%s' is no number from 1 to %lu", text, most);
	return n;
}

struct work_options {
	unsigned long count, ms;
	const char *dir, *out; /* out NULL: stdout */
};

/* --count N, --ms N, --dir DIR, --out FILE; what is not given stays. most: of count and ms. */
static inline void work_options__parse(int argc, char **argv, unsigned long most, struct work_options *o)
{
	static const struct option options[] = { { "count", required_argument, NULL, 'n' },
		{ "ms", required_argument, NULL, 'm' }, { "dir", required_argument, NULL, 'd' },
		{ "out", required_argument, NULL, 'o' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			o->count = work_natural(optarg, most);
		else if (c == 'm')
			o->ms = work_natural(optarg, most);
		else if (c == 'd')
			o->dir = optarg;
		else if (c == 'o')
			o->out = optarg;
		else
			exit(2);
	}
}

#endif
