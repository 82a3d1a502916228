// SPDX-License-Identifier: MIT
/* DEVICE and BLK-QUEUE: what they have in common, judged on a stage that every kernel tells. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"
#include "tail.h"

/* 1000 quick reads and n slow ones, each of them in stage `other`. */
static struct snapshot *reads(uint64_t n, uint64_t slow_ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 6);
	struct op_stats *o = sample__op(r, OP_READ);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000 + n;
	sample__latency(o, 20000, 1000);
	sample__stage(o, RS_ST_OTHER, slow_ns, n);
	return s;
}

static struct diagnosis judge(const struct snapshot *s, const struct rule *r)
{
	struct diagnosis d = { 0 };

	assert_int_equal(tail__judge(r, s, RS_ST_OTHER, "elsewhere", &d), 0);
	return d;
}

static void fires(void **state)
{
	struct snapshot *s = reads(50, 8000000);
	struct diagnosis d = judge(s, &rule_device);
	const struct finding *f;

	(void)state;
	assert_int_equal(d.n_findings, 1);
	f = &d.findings[0];
	assert_evidence_is_described(f);
	assert_string_equal(f->rule, "DEVICE");
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 6);
	assert_int_equal(f->op, OP_READ);
	assert_int_equal(f->time_ns, 400000000);
	assert_int_equal(integer_of(f, "timed"), 1050);
	assert_in_range(integer_of(f, "p50_ns"), 19000, 21000);
	assert_in_range(integer_of(f, "p99_ns"), 7700000, 8300000);
	assert_true(real_of(f, "tail_pct") > 99);
	assert_float_equal(real_of(f, "share_pct"), 100 * 400.0 / 420, 0.5);
	assert_in_range(integer_of(f, "stage_p50_ns"), 7700000, 8300000);
	assert_non_null(strstr(f->title, "was spent elsewhere"));
	diagnosis__free(&d);
	d = judge(s, &rule_blk_queue);
	assert_int_equal(d.n_findings, 1);
	assert_evidence_is_described(&d.findings[0]);
	assert_string_equal(d.findings[0].rule, "BLK-QUEUE");
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, slow_ns, inline_slow;
		bool fires;
	} rows[] = {
		{ 50, 1100000, 0, true },
		{ 50, 900000, 0, false },     /* no tail to speak of */
		{ 50, 8000000, 1000, false }, /* and as slow where it is something else */
		{ 0, 0, 50, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = reads(rows[i].n, rows[i].slow_ns);
		struct diagnosis d;

		sample__latency(&s->rings[0].ops[0], 8000000, rows[i].inline_slow);
		d = judge(s, &rule_device);
		assert_int_equal(d.n_findings, rows[i].fires);
		diagnosis__free(&d);
		sample__free(s);
	}
}

static void few_have_no_tail(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_READ);
	struct diagnosis d;

	(void)state;
	sample__stage(o, RS_ST_OTHER, 8000000, 999);
	d = judge(s, &rule_device);
	assert_int_equal(d.n_findings, 0);
	diagnosis__free(&d);
	sample__stage(o, RS_ST_OTHER, 8000000, 1);
	d = judge(s, &rule_device);
	assert_int_equal(d.n_findings, 1);
	diagnosis__free(&d);
	sample__free(s);
}

/* It was asked for, and can't be had. */
static void refused(void **state)
{
	struct snapshot *s = reads(50, 8000000);

	(void)state;
	s->features[RS_F_BLOCK].level = FEATURE_OFF;
	snprintf(s->features[RS_F_BLOCK].why, sizeof(s->features[RS_F_BLOCK].why), "not asked for (--block)");
	assert_string_equal(unchecked(s, "DEVICE"), "needs --block");
	snprintf(s->features[RS_F_BLOCK].why, sizeof(s->features[RS_F_BLOCK].why), "this kernel has none");
	assert_string_equal(unchecked(s, "DEVICE"), "cannot observe block: this kernel has none");
	assert_string_equal(unchecked(s, "BLK-QUEUE"), "cannot observe block: this kernel has none");
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = reads(50, 8000000);
	struct diagnosis d;

	(void)state;
	s->rings[0].ops[0].stages_lost = 1;
	d = judge(s, &rule_device);
	assert_int_equal(d.n_findings, 0);
	diagnosis__free(&d);
	s->features[RS_F_STAGES].level = FEATURE_OFF;
	d = judge(s, &rule_device);
	assert_int_equal(d.n_findings, 0);
	assert_int_equal(d.n_not_checked, 1);
	assert_string_equal(d.not_checked[0].why, "needs --block");
	diagnosis__free(&d);
	assert_non_null(strstr(unchecked(s, "DEVICE"), "cannot observe stages"));
	assert_non_null(strstr(unchecked(s, "BLK-QUEUE"), "cannot observe stages"));
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(few_have_no_tail),
		cmocka_unit_test(refused),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
