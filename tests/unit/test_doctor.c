// SPDX-License-Identifier: MIT
/* The engine: what is run and what is not, the order of findings, memory running out. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "diagnosis.h"
#include "rules.h"
#include "scarce.h"

static void empty_snapshot_is_healthy(void **state)
{
	struct snapshot *s = sample__snapshot();

	(void)state;
	assert_healthy(s);
	s->duration_ns = 0;
	assert_healthy(s);
	/* rings and opcodes on which nothing happened */
	sample__op(sample__ring(s, 0), OP_READ);
	sample__op(sample__ring(s, 1), OP_READ);
	sample__others(s);
	assert_healthy(s);
	sample__free(s);
}

static void severities(void **state)
{
	enum severity s = SEVERITY_WARN;

	(void)state;
	for (int i = SEVERITY_INFO; i <= SEVERITY_CRIT; i++) {
		assert_int_equal(severity__parse(severity_name((enum severity)i), &s), 0);
		assert_int_equal(s, i);
	}
	assert_string_equal(severity_name(SEVERITY_INFO), "info");
	assert_string_equal(severity_name(SEVERITY_WARN), "warn");
	assert_string_equal(severity_name(SEVERITY_CRIT), "crit");
	assert_int_equal(severity__parse("WARN", &s), -EINVAL);
	assert_int_equal(severity__parse("", &s), -EINVAL);
	assert_int_equal(severity__parse("warning", &s), -EINVAL);
	assert_int_equal(severity__parse(NULL, &s), -EINVAL);
	assert_int_equal(s, SEVERITY_CRIT);
}

static void every_rule_is_complete(void **state)
{
	(void)state;
	for (size_t i = 0; i < doctor_n_rules; i++) {
		const struct rule *r = doctor_rules[i];

		assert_true(r->id && r->what && r->severity && r->advice && r->eval);
		assert_int_equal(r->needs >> RS_F_COUNT, 0);
		for (size_t k = 0; k < rule__n_thresholds(r); k++)
			assert_true(
				r->thresholds[k].unit && r->thresholds[k].why && r->thresholds[k].value > 0);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(r->id, doctor_rules[k]->id);
	}
}

/* Why a rule was not checked; NULL: it was. */
static const char *why_not(const struct diagnosis *d, const char *rule)
{
	for (size_t i = 0; i < d->n_not_checked; i++)
		if (!strcmp(d->not_checked[i].rule, rule))
			return d->not_checked[i].why;
	return NULL;
}

static void without_its_feature_a_rule_is_not_checked(void **state)
{
	static const char why[] = "no tracepoint io_uring_cqe_overflow in this kernel";
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	sample__ring(s, 1)->c[RS_RC_CQ_OVERFLOWS] = 50;
	s->rings[0].stuck_known = true;
	s->features[RS_F_OVERFLOW].level = FEATURE_OFF;
	memcpy(s->features[RS_F_OVERFLOW].why, why, sizeof(why));
	s->features[RS_F_PUNT].level = FEATURE_OFF;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_string_equal(why_not(&d, "PUNT"), "cannot observe punt: off");
	assert_string_equal(why_not(&d, "OVERFLOW"),
		"cannot observe overflow: no tracepoint io_uring_cqe_overflow in this kernel");
	assert_null(why_not(&d, "BATCH"));
	diagnosis__free(&d);
	/* degraded is good enough */
	s->features[RS_F_OVERFLOW].level = FEATURE_DEGRADED;
	s->features[RS_F_PUNT].level = FEATURE_DEGRADED;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 1);
	assert_all_checked(&d);
	diagnosis__free(&d);
	sample__free(s);
}

static void adding_a_finding(void **state)
{
	struct finding proto = { .rule = "X", .severity = SEVERITY_CRIT, .ring = 4, .op = 7, .weight = 9 };
	struct diagnosis d = { 0 };

	(void)state;
	assert_int_equal(diagnosis__add(&d, &proto, NULL, "no evidence"), -ENOMEM);
	assert_int_equal(d.n_findings, 0);
	assert_int_equal(diagnosis__add(&d, &proto, json_object(), "%d of %s", 3, "these"), 0);
	assert_int_equal(d.n_findings, 1);
	assert_string_equal(d.findings[0].title, "3 of these");
	assert_string_equal(d.findings[0].rule, "X");
	assert_int_equal(d.findings[0].ring, 4);
	assert_int_equal(d.findings[0].op, 7);
	diagnosis__free(&d);
	assert_null(d.findings);
	diagnosis__free(&d);
	diagnosis__free(NULL);
}

static void evidence_never_lies_about_its_failure(void **state)
{
	json_t *e = json_object();

	(void)state;
	evidence__u64(&e, "big", UINT64_MAX);
	assert_true(json_integer_value(json_object_get(e, "big")) == INT64_MAX);
	evidence__real(&e, "none", 0.0 / 0.0);
	assert_null(json_object_get(e, "none"));
	assert_non_null(e);
	/* names of files are anything */
	evidence__string(&e, "s", "a\xff");
	assert_string_equal(json_string_value(json_object_get(e, "s")), "a?");
	scarce__begin(0);
	evidence__string(&e, "t", "x");
	scarce__end();
	assert_null(e);
	evidence__u64(&e, "more", 1);
	evidence__real(&e, "more", 1);
	evidence__string(&e, "more", "x");
	assert_null(e);
}

/* Crit, warns of different weight, info, and what is about ringside. */
static struct snapshot *everything_wrong(void)
{
	struct snapshot *s = punted_reads(40000, 3000);
	struct ring_stats *r = add_batches(s, 2, 20000, 20000);

	r->cq_depth_max = 1;
	r = sample__ring(s, 3);
	r->pid = 1;
	r->c[RS_RC_CQ_OVERFLOWS] = 50;
	r = sample__ring(s, 4);
	r->pid = 2;
	r->c[RS_RC_CQ_OVERFLOWS] = r->c[RS_RC_CQ_DROPPED] = 2;
	s->fidelity.missed = 1000000;
	return s;
}

static void worst_come_first(void **state)
{
	static const struct {
		const char *rule;
		enum severity severity;
		uint32_t ring;
	} want[] = { { "CQE-DROPPED", SEVERITY_CRIT, 4 }, { "PUNT", SEVERITY_WARN, 1 },
		{ "OVERFLOW", SEVERITY_WARN, 3 }, { "OVERFLOW", SEVERITY_WARN, 4 },
		{ "BATCH", SEVERITY_INFO, 2 }, { "FIDELITY", SEVERITY_WARN, 0 } };
	struct snapshot *s = everything_wrong();
	struct diagnosis d = diagnose(s);

	(void)state;
	assert_int_equal(d.n_findings, 6);
	for (size_t i = 0; i < d.n_findings; i++) {
		assert_string_equal(d.findings[i].rule, want[i].rule);
		assert_int_equal(d.findings[i].severity, want[i].severity);
		assert_int_equal(d.findings[i].ring, want[i].ring);
		assert_int_equal(d.findings[i].never_gates, i == 5);
	}
	diagnosis__free(&d);
	sample__free(s);
}

/* A finding whose time is known stands by that, others by a microsecond a request. */
static void dearest_come_first(void **state)
{
	static const struct finding protos[] = {
		{ .rule = "A", .weight = 10 },
		{ .rule = "B", .weight = 1, .time_ns = 10001 },
		{ .rule = "C", .weight = 1000, .time_ns = 9999 },
	};
	struct diagnosis d = { 0 };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(diagnosis__add(&d, &protos[i], json_object(), "x"), 0);
	diagnosis__sort(&d);
	assert_string_equal(d.findings[0].rule, "B");
	assert_string_equal(d.findings[1].rule, "A");
	assert_string_equal(d.findings[2].rule, "C");
	diagnosis__free(&d);
}

/* Of equal findings the order is the same each time: by rule, then by opcode, then by ring. */
static void equals_stand_in_a_fixed_order(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	for (uint32_t id = 1; id <= 3; id++) {
		struct ring_stats *r = sample__ring(s, id);
		struct op_stats *o = sample__op(r, id == 1 ? OP_WRITE : OP_READ);

		r->pid = id;
		r->c[RS_RC_CQ_OVERFLOWS] = id == 1 ? 0 : 200;
		o->c[RS_SC_SUBMITTED] = o->c[RS_SC_PUNT_UNWANTED] = id == 3 ? 0 : 200;
	}
	d = diagnose(s);
	assert_int_equal(d.n_findings, 4);
	assert_int_equal(d.findings[0].ring, 2);
	assert_string_equal(d.findings[0].rule, "OVERFLOW");
	assert_int_equal(d.findings[1].ring, 3);
	assert_int_equal(d.findings[2].op, OP_READ);
	assert_int_equal(d.findings[3].op, OP_WRITE);
	diagnosis__free(&d);
	sample__free(s);
}

/* Lets the first, the second, ... allocation fail until none does. Returns how many there are. */
static size_t starve(const struct snapshot *s)
{
	struct diagnosis d;
	size_t n = 0;

	for (;; n++) {
		int err;

		scarce__begin(n);
		err = doctor__run(s, NULL, &d);
		scarce__end();
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_null(d.findings);
		assert_null(d.not_checked);
		assert_int_equal(d.n_findings + d.n_not_checked, 0);
	}
	diagnosis__free(&d);
	return n;
}

static void out_of_memory_leaves_nothing(void **state)
{
	struct snapshot *s = everything_wrong();

	(void)state;
	s->fidelity.rings_full = 50000;
	add_batches(s, 9, 100, 20000)->batchless = 1;
	sample__others(s)->batches_max = 20000;
	/* four findings of several facts each, BATCH in part; then three sentences on what was not checked */
	assert_true(starve(s) > 40);
	for (unsigned int f = 0; f < RS_F_COUNT; f++)
		s->features[f].level = FEATURE_OFF;
	assert_true(starve(s) >= 6);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_snapshot_is_healthy),
		cmocka_unit_test(severities),
		cmocka_unit_test(every_rule_is_complete),
		cmocka_unit_test(without_its_feature_a_rule_is_not_checked),
		cmocka_unit_test(adding_a_finding),
		cmocka_unit_test(evidence_never_lies_about_its_failure),
		cmocka_unit_test(worst_come_first),
		cmocka_unit_test(dearest_come_first),
		cmocka_unit_test(equals_stand_in_a_fixed_order),
		cmocka_unit_test(out_of_memory_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
