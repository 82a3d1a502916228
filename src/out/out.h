/* SPDX-License-Identifier: MIT */
/* Words and pictures: a snapshot and its diagnosis rendered. Nothing here judges or measures. */
#ifndef RINGSIDE_OUT_H
#define RINGSIDE_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "doctor.h"
#include "snapshot.h"

#define RINGSIDE_SCHEMA 1

struct report {
	const struct snapshot *snap;
	const struct diagnosis *diag; /* NULL: the doctor was not asked */
	/* what was observed, for the first line: "fio --name=x", "pid 12", "the whole machine" */
	const char *target;
	const char *ended; /* how it ended: "exited with status 1", NULL: nothing to say */
};

struct text_options {
	int width;    /* columns, >= 40 */
	bool color;   /* ANSI attributes */
	bool unicode; /* block characters in histograms */
	bool rings;   /* a table of opcodes for every ring */
};

/* The whole report as JSON (docs/json.md). NULL: out of memory. The caller owns the reference. */
json_t *report__json(const struct report *r);

/* The whole report as text. 0 or negative errno (write errors). */
int report__text(const struct report *r, const struct text_options *o, FILE *f);

/*
 * One line (or a few) for an interval: r->snap is a delta. `header` is printed before it when true.
 * 0 or negative errno.
 */
int report__interval_text(const struct report *r, const struct text_options *o, bool header, FILE *f);

#endif
