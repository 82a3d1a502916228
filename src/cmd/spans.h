/* SPDX-License-Identifier: MIT */
/* What --span names: functions, found in their files. */
#ifndef RINGSIDE_SPANS_H
#define RINGSIDE_SPANS_H

#include "functions.h"
#include "pids.h"
#include "session.h"

struct spans {
	struct functions **found; /* what the places point into */
	size_t n_found;
	struct span_place *places; /* each function once */
	size_t n;
};

/*
 * Adds the functions that pattern ("BIN:FUNCTION") names: in the processes of pids, or else in files that we see; a BIN
 * without slash may be the program (argv, NULL: none) that is to be run. 0, or negative errno after saying what to do.
 */
int spans__add(struct spans *s, const char *pattern, const struct pid_set *pids, char *const *program);
void spans__free(struct spans *s);

#endif
