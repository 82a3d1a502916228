/* SPDX-License-Identifier: MIT */
/*
 * Asking the doctor in tests, and snapshots of programs that do something wrong. Include cmocka.h first.
 * With RULE_UNDER_TEST all is about that rule.
 */
#ifndef RINGSIDE_TEST_DIAGNOSIS_H
#define RINGSIDE_TEST_DIAGNOSIS_H

#include <string.h>

#include "doctor.h"
#include "rules.h"
#include "sample.h"

/* The row of the rule tells what each number is. */
static inline void assert_evidence_is_described(const struct finding *f)
{
	static const char *const of_hit_group[] = { "pid", "rings", "ring_ids" };
	const struct rule *r = rule__find(f->rule);
	const char *key;
	json_t *value;

	assert_non_null(r);
	json_object_foreach(f->evidence, key, value) {
		bool told = false;

		for (size_t i = 0; i < sizeof(of_hit_group) / sizeof(of_hit_group[0]); i++)
			told = told || !strcmp(of_hit_group[i], key);
		for (size_t i = 0; i < rule__n_evidence(r); i++)
			told = told || !strcmp(r->evidence[i].key, key);
		if (!told)
			fail_msg("%s: evidence %s is not in its row", f->rule, key);
	}
}

#ifdef RULE_UNDER_TEST
/* A test of one rule has nothing to say about what others find in its snapshots. */
static inline void leave_out_others(struct diagnosis *d)
{
	size_t n = 0, k = 0;

	for (size_t i = 0; i < d->n_findings; i++) {
		if (!strcmp(d->findings[i].rule, RULE_UNDER_TEST)) {
			d->findings[n++] = d->findings[i];
			continue;
		}
		free(d->findings[i].title);
		json_decref(d->findings[i].evidence);
	}
	for (size_t i = 0; i < d->n_not_checked; i++) {
		if (!strcmp(d->not_checked[i].rule, RULE_UNDER_TEST))
			d->not_checked[k++] = d->not_checked[i];
		else
			free(d->not_checked[i].why);
	}
	d->n_findings = n;
	d->n_not_checked = k;
}
#endif

static inline struct diagnosis diagnose(const struct snapshot *s)
{
	struct diagnosis d;

	assert_int_equal(doctor__run(s, NULL, &d), 0);
	for (size_t i = 0; i < d.n_findings; i++)
		assert_evidence_is_described(&d.findings[i]);
#ifdef RULE_UNDER_TEST
	leave_out_others(&d);
#endif
	return d;
}

/* The first finding of this rule; what it could not check. NULL: there is none. */
static inline const struct finding *diagnosis__find(const struct diagnosis *d, const char *rule)
{
	for (size_t i = 0; i < d->n_findings; i++)
		if (!strcmp(d->findings[i].rule, rule))
			return &d->findings[i];
	return NULL;
}

static inline const struct not_checked *diagnosis__gap(const struct diagnosis *d, const char *rule)
{
	for (size_t i = 0; i < d->n_not_checked; i++)
		if (!strcmp(d->not_checked[i].rule, rule))
			return &d->not_checked[i];
	return NULL;
}

/* The only finding of this rule, NULL: there is none; *d is to be freed. */
static inline const struct finding *finding_of(const struct snapshot *s, const char *rule,
	struct diagnosis *d)
{
	*d = diagnose(s);
	return diagnosis__find(d, rule);
}

static inline bool finds(const struct snapshot *s, const char *rule)
{
	struct diagnosis d;
	bool found = finding_of(s, rule, &d);

	diagnosis__free(&d);
	return found;
}

/* Everything was judged, but for what takes an option. */
static inline void assert_all_checked(const struct diagnosis *d)
{
	for (size_t i = 0; i < d->n_not_checked; i++)
		if (strncmp(d->not_checked[i].why, "needs --", 8))
			fail_msg("%s: %s", d->not_checked[i].rule, d->not_checked[i].why);
}

static inline void assert_healthy(const struct snapshot *s)
{
	struct diagnosis d = diagnose(s);

	if (d.n_findings)
		fail_msg("unexpected finding: %s", d.findings[0].title);
	assert_all_checked(&d);
	diagnosis__free(&d);
}

/* The only finding of s; *d is to be freed. */
static inline const struct finding *only_finding(const struct snapshot *s, struct diagnosis *d)
{
	*d = diagnose(s);
	assert_int_equal(d->n_findings, 1);
	assert_true(d->findings[0].title[0] != '\0');
	assert_true(strlen(d->findings[0].advice) > 20);
	return &d->findings[0];
}

static inline void assert_severity(const struct snapshot *s, enum severity want)
{
	struct diagnosis d;

	assert_int_equal(only_finding(s, &d)->severity, want);
	diagnosis__free(&d);
}

static inline uint64_t integer_of(const struct finding *f, const char *name)
{
	const json_t *v = json_object_get(f->evidence, name);

	if (!json_is_integer(v))
		fail_msg("no integer %s in the evidence", name);
	return (uint64_t)json_integer_value(v);
}

static inline double real_of(const struct finding *f, const char *name)
{
	const json_t *v = json_object_get(f->evidence, name);

	if (!json_is_real(v))
		fail_msg("no real %s in the evidence", name);
	return json_real_value(v);
}

static inline const char *string_of(const struct finding *f, const char *name)
{
	const json_t *v = json_object_get(f->evidence, name);

	if (!json_is_string(v))
		fail_msg("no string %s in the evidence", name);
	return json_string_value(v);
}

static inline void assert_absent(const struct finding *f, const char *name)
{
	if (json_object_get(f->evidence, name))
		fail_msg("%s in the evidence", name);
}

/* One second of reads on ring 1, of which `unwanted` were punted. */
static inline struct snapshot *punted_reads(uint64_t submitted, uint64_t unwanted)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_READ);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = submitted;
	o->c[RS_SC_PUNT_UNWANTED] = unwanted;
	s->rings[0].c[RS_RC_BATCHES] = submitted / 32 + 1;
	return s;
}

/* One second of ring `id` of process 70, NOPs. */
static inline struct ring_stats *add_batches(struct snapshot *s, uint32_t id, uint64_t submitted,
	uint64_t batches)
{
	struct ring_stats *r = sample__ring(s, id);

	r->pid = 70;
	r->cq_depth_max = 8;
	r->c[RS_RC_BATCHES] = batches;
	sample__op(r, OP_NOP)->c[RS_SC_SUBMITTED] = submitted;
	return r;
}

#endif
