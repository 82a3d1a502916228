/* SPDX-License-Identifier: MIT */
/* The doctor's rules in words: what `ringside explain` shows. */
#ifndef RINGSIDE_RULES_OUT_H
#define RINGSIDE_RULES_OUT_H

#include <jansson.h>
#include <stdio.h>

#include "out.h"

#define RULES_SCHEMA 1

struct rule;

/* All rules (docs/json.md), or the only one. NULL: out of memory. The caller owns the reference. */
json_t *rules__json(const struct rule *only);

/* A line for each rule. 0 or negative errno (write errors). */
int rules__text(const struct text_options *o, FILE *f);
/* All there is to say of one. 0 or negative errno (write errors). */
int rule__text(const struct rule *r, const struct text_options *o, FILE *f);

#endif
