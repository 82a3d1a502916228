// SPDX-License-Identifier: MIT
/* What the rules share: arithmetic that cannot divide by 0, and evidence. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

double rule__pct(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

double rule__limit(const struct rule *r, unsigned int threshold)
{
	return r->thresholds[threshold].value;
}

uint64_t rule__scaled(const struct snapshot *s, uint64_t n)
{
	return s->cost.sample > 1 ? n * s->cost.sample : n;
}

double rule__per_s(const struct snapshot *s, uint64_t n)
{
	return s->duration_ns ? (double)n * 1e9 / (double)s->duration_ns : 0;
}

/* Takes v. */
static void evidence__set(json_t **e, const char *name, json_t *v)
{
	if (!*e) {
		json_decref(v);
		return;
	}
	if (json_object_set_new(*e, name, v) < 0) {
		json_decref(*e);
		*e = NULL;
	}
}

void evidence__u64(json_t **e, const char *name, uint64_t v)
{
	evidence__set(e, name, json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v));
}

void evidence__real(json_t **e, const char *name, double v)
{
	if (isfinite(v))
		evidence__set(e, name, json_real(v));
}

json_t *rule__string(const char *s)
{
	json_t *j = json_string(s);
	char *ascii;

	if (j)
		return j;
	/* names of files and functions may be anything */
	ascii = s ? strdup(s) : NULL;
	for (char *c = ascii; c && *c; c++)
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	j = ascii ? json_string(ascii) : NULL;
	free(ascii);
	return j;
}

void evidence__string(json_t **e, const char *name, const char *v)
{
	evidence__set(e, name, rule__string(v));
}
