/* SPDX-License-Identifier: MIT */
/* A survey in words: what `ringside probe` shows. */
#ifndef RINGSIDE_SURVEY_OUT_H
#define RINGSIDE_SURVEY_OUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "out.h"
#include "survey.h"

#define SURVEY_SCHEMA 1

/* As JSON (docs/json.md). NULL: out of memory. The caller owns the reference. */
json_t *survey__json(const struct survey *s);

/* As text; `verbose`: everything, uncut. 0 or negative errno (write errors). */
int survey__text(const struct survey *s, const struct text_options *o, bool verbose, FILE *f);

#endif
