/* SPDX-License-Identifier: MIT */
/* One rule among all: what it finds in a snapshot, whatever others find there. Include cmocka.h first. */
#ifndef RINGSIDE_TEST_RULE_CASE_H
#define RINGSIDE_TEST_RULE_CASE_H

#include <stdbool.h>

#include "diagnosis.h"

static inline size_t findings_of(const struct diagnosis *d, const char *rule, const struct finding **ret)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n_findings; i++) {
		if (strcmp(d->findings[i].rule, rule))
			continue;
		if (ret && !n)
			*ret = &d->findings[i];
		n++;
	}
	return n;
}

/* The only finding of this rule; *d is to be freed. */
static inline const struct finding *the_finding_of(const struct snapshot *s, const char *rule,
	struct diagnosis *d)
{
	const struct finding *f = NULL;

	*d = diagnose(s);
	assert_int_equal(findings_of(d, rule, &f), 1);
	assert_non_null(f);
	assert_true(f->title[0] != '\0');
	assert_true(strlen(f->advice) > 20);
	return f;
}

/* Why it did not judge, in whole or in part; "" if it did. Valid until the next call. */
static inline const char *unchecked(const struct snapshot *s, const char *rule)
{
	static char why[256];
	struct diagnosis d = diagnose(s);

	why[0] = '\0';
	for (size_t i = 0; i < d.n_not_checked; i++)
		if (!strcmp(d.not_checked[i].rule, rule))
			snprintf(why, sizeof(why), "%s", d.not_checked[i].why);
	diagnosis__free(&d);
	return why;
}

/* It judged everything and found nothing. */
static inline void assert_silent(const struct snapshot *s, const char *rule)
{
	const struct finding *f = NULL;
	struct diagnosis d = diagnose(s);

	if (findings_of(&d, rule, &f))
		fail_msg("unexpected finding: %s", f->title);
	diagnosis__free(&d);
	assert_string_equal(unchecked(s, rule), "");
}

static inline void assert_fires(const struct snapshot *s, const char *rule, bool fires)
{
	struct diagnosis d;

	if (!fires) {
		assert_silent(s, rule);
		return;
	}
	the_finding_of(s, rule, &d);
	diagnosis__free(&d);
}

static inline void assert_severity_of(const struct snapshot *s, const char *rule, enum severity want)
{
	struct diagnosis d;

	assert_int_equal(the_finding_of(s, rule, &d)->severity, want);
	diagnosis__free(&d);
}

/* With a feature off it judges nothing and says so. */
static inline void assert_needs(struct snapshot *s, const char *rule, enum rs_feature feature)
{
	struct diagnosis d;

	s->features[feature].level = FEATURE_OFF;
	assert_non_null(strstr(unchecked(s, rule), "cannot observe"));
	d = diagnose(s);
	assert_int_equal(findings_of(&d, rule, NULL), 0);
	diagnosis__free(&d);
	s->features[feature].level = FEATURE_FULL;
}

/* n more times of a kind, of ns each. */
static inline struct op_times *sample__times(struct op_stats *o, unsigned int kind, uint64_t ns, uint64_t n)
{
	struct op_times *t = o->kin[kind];

	if (!t) {
		t = calloc(1, sizeof(*t));
		if (!t)
			abort();
		t->lat.min_ns = UINT64_MAX;
		o->kin[kind] = t;
	}
	t->lat.buckets[rs_hist_bucket(ns)] += n;
	t->lat.sum_ns += n * ns;
	if (ns < t->lat.min_ns)
		t->lat.min_ns = ns;
	if (ns > t->lat.max_ns)
		t->lat.max_ns = ns;
	return t;
}

/* n requests that were ns in a stage and nowhere else. */
static inline void sample__stage(struct op_stats *o, unsigned int stage, uint64_t ns, uint64_t n)
{
	uint32_t octave = rs_hist_bucket(ns) / RS_HIST_SUB;

	sample__latency(o, ns, n);
	sample__times(o, RS_KIND_SLOW, ns, n)->tail_ns[octave] += ns * n;
	sample__times(o, RS_KIND_STAGE(stage), ns, n)->tail_ns[octave] += ns * n;
}

#endif
