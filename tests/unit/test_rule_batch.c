// SPDX-License-Identifier: MIT
/* BATCH firing, just below its thresholds, and on healthy twins; rings of one program as one finding. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#define RULE_UNDER_TEST "BATCH"
#include "diagnosis.h"

#define SETUP_SQPOLL (1u << 1)

static void batch_fires(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	add_batches(s, 3, 200000, 200000)->ops[0].c[RS_SC_REJECTED] = 10000;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "BATCH");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 3);
	assert_int_equal(f->op, -1);
	assert_int_equal(f->weight, 200000);
	assert_string_equal(f->title, "ring 3: 200k submissions/s of 1.05 SQEs each on average");
	assert_int_equal(integer_of(f, "submitted"), 200000);
	assert_int_equal(integer_of(f, "rejected"), 10000);
	assert_int_equal(integer_of(f, "batches"), 200000);
	assert_float_equal(real_of(f, "batch_mean"), 1.05, 1e-9);
	assert_float_equal(real_of(f, "batches_per_s"), 200000, 1e-6);
	assert_int_equal(integer_of(f, "cq_depth_max"), 8);
	assert_int_equal(integer_of(f, "pid"), 70);
	assert_absent(f, "rings");
	assert_non_null(strstr(f->advice, "SQPOLL"));
	diagnosis__free(&d);
	sample__free(s);
}

static void batch_near_misses(void **state)
{
	static const struct {
		uint64_t submitted, batches, duration_ns;
		bool fires;
		enum severity severity;
	} rows[] = {
		{ 10000, 10000, 1000000000, true, SEVERITY_INFO },
		{ 10000, 10000, 1000000001, false, 0 }, /* a little slower */
		{ 9999, 9999, 1000000000, false, 0 },
		{ 29999, 20000, 1000000000, true, SEVERITY_INFO },
		{ 30000, 20000, 1000000000, false, 0 }, /* 1.5 a batch */
		{ 640000, 20000, 1000000000, false, 0 },
		{ 1000, 1000, 100000000, true, SEVERITY_INFO },
		{ 1000, 1000, 5000000, true, SEVERITY_WARN },
		{ 200000, 200000, 1000000000, true, SEVERITY_WARN },
		{ 200000, 200000, 1000000001, true, SEVERITY_INFO },
		{ 999, 999, 10000000, false, 0 }, /* too few to be a pattern */
		{ 20000, 20000, 0, false, 0 },	  /* no rate is known */
		{ 20000, 0, 1000000000, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();

		s->duration_ns = rows[i].duration_ns;
		add_batches(s, 1, rows[i].submitted, rows[i].batches);
		if (rows[i].fires)
			assert_severity(s, rows[i].severity);
		else
			assert_healthy(s);
		sample__free(s);
	}
}

static void batch_one_request_at_a_time_is_info(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = add_batches(s, 1, 200000, 200000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	r->cq_depth_max = 2;
	assert_severity(s, SEVERITY_WARN);
	r->cq_depth_max = 1;
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_non_null(strstr(f->advice, "one request at a time"));
	diagnosis__free(&d);
	sample__free(s);
}

static void batch_leaves_out_what_it_cannot_judge(void **state)
{
	struct snapshot *s = sample__snapshot();

	(void)state;
	/* SQPOLL, known by its flag or by its thread; all rings that share an entry; the unlisted */
	add_batches(s, 1, 20000, 20000)->setup_flags = SETUP_SQPOLL;
	add_batches(s, 2, 20000, 20000)->sq_tid = 71;
	add_batches(s, 0, 20000, 20000);
	sample__others(s)->c[RS_RC_BATCHES] = 20000;
	sample__op(s->others, OP_NOP)->c[RS_SC_SUBMITTED] = 20000;
	assert_healthy(s);
	sample__free(s);
}

/* What was not judged and why, in order; nothing was found. */
static void assert_unjudged(const struct snapshot *s, size_t n, const char *const whys[])
{
	struct diagnosis d = diagnose(s);

	assert_int_equal(d.n_findings, 0);
	assert_int_equal(d.n_not_checked, n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(d.not_checked[i].rule, "BATCH");
		assert_true(d.not_checked[i].in_part);
		assert_string_equal(d.not_checked[i].why, whys[i]);
	}
	diagnosis__free(&d);
}

/* Batches are the ring's, of its SQEs some are counted elsewhere: the mean is at least what is known. */
static void batch_says_which_rings_it_cannot_judge(void **state)
{
	static const char *const one[] = { "not on 1 ring that had no room for all opcodes: --max-rings" };
	static const char *const two[] = { "not on 2 rings that had no room for all opcodes: --max-rings" };
	struct snapshot *s = sample__snapshot();

	(void)state;
	/* healthy whatever else they did: few submissions; slow; large already */
	add_batches(s, 1, 100, 999)->batchless = 1;
	add_batches(s, 2, 100, 9999)->batchless = 1;
	add_batches(s, 3, 30000, 20000)->batchless = 1;
	add_batches(s, 4, 100, 20000)->batchless = 1;
	s->rings[3].sq_tid = 71;
	assert_healthy(s);
	add_batches(s, 5, 20000, 20000)->batchless = 1;
	assert_unjudged(s, 1, one);
	add_batches(s, 6, 29999, 20000)->batchless = 2;
	assert_unjudged(s, 1, two);
	/* they are no part of a finding */
	add_batches(s, 7, 20000, 20000);
	assert_severity(s, SEVERITY_INFO);
	sample__free(s);
}

static void batch_says_that_rings_had_no_entry(void **state)
{
	static const char *const why[] = { "not on rings that found the ring table full: --max-rings" };
	struct snapshot *s = sample__snapshot();

	(void)state;
	sample__op(sample__others(s), OP_NOP)->c[RS_SC_SUBMITTED] = 100000;
	s->others->batchless = 100000;
	s->n_others = 0;
	/* nearly all of them were submitted on rings with an entry */
	s->fidelity.rings_full = 100000;
	s->fidelity.series_full = 90001;
	assert_healthy(s);
	s->fidelity.series_full = 90000;
	assert_unjudged(s, 1, why);
	sample__free(s);
}

static void batch_says_how_many_rings_are_only_summed(void **state)
{
	static const char *const why[] = { "not on 3 rings that are only summed: --max-report-rings" };
	struct snapshot *s = sample__snapshot();

	(void)state;
	/* many batches in all, and no ring with enough of them */
	sample__others(s)->c[RS_RC_BATCHES] = 1000000;
	s->others->batches_max = 9999;
	s->n_others = 3;
	assert_healthy(s);
	s->others->batches_max = 10000;
	assert_unjudged(s, 1, why);
	sample__free(s);
}

static void rings_of_one_program_are_one_finding(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	for (uint32_t id = 1; id <= 20; id++)
		add_batches(s, id, 20000 + id, 20000);
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 0);
	assert_int_equal(f->weight, 20 * 20000 + 210);
	assert_string_equal(f->title,
		"20 rings (worst: ring 20): 400k submissions/s of 1.00 SQEs each on average");
	assert_int_equal(integer_of(f, "rings"), 20);
	assert_string_equal(string_of(f, "ring_ids"), "20 19 18 17 16 15 14 13 12 11 10 9 8 7 6 5 ...");
	assert_int_equal(integer_of(f, "pid"), 70);
	assert_int_equal(integer_of(f, "submitted"), 20 * 20000 + 210);
	diagnosis__free(&d);
	sample__free(s);
}

static void programs_are_told_apart(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	/* rings 1 and 4: forked workers of one name; 2 and 5: one process; 3: a stranger; 6: unknown */
	for (uint32_t id = 1; id <= 6; id++) {
		struct ring_stats *r = add_batches(s, id, 20000 - id, 15000);

		r->pid = id == 5 ? 102 : 100 + id;
		snprintf(r->comm, sizeof(r->comm), id == 1 || id == 4 ? "fio" : "thread-%u", id);
	}
	s->rings[5].pid = 0;
	s->rings[5].comm[0] = '\0';
	d = diagnose(s);
	assert_int_equal(d.n_findings, 4);
	assert_string_equal(string_of(&d.findings[0], "ring_ids"), "1 4");
	assert_absent(&d.findings[0], "pid"); /* it is two processes */
	assert_string_equal(string_of(&d.findings[1], "ring_ids"), "2 5");
	assert_int_equal(integer_of(&d.findings[1], "pid"), 102);
	assert_int_equal(d.findings[2].ring, 3);
	assert_int_equal(d.findings[3].ring, 6);
	assert_absent(&d.findings[3], "pid");
	diagnosis__free(&d);
	sample__free(s);
}

static void severities_are_told_apart(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	add_batches(s, 1, 90000, 90000)->cq_depth_max = 1;
	add_batches(s, 2, 200000, 200000);
	add_batches(s, 3, 80000, 80000)->cq_depth_max = 1;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 2);
	assert_int_equal(d.findings[0].severity, SEVERITY_WARN);
	assert_int_equal(d.findings[0].ring, 2);
	assert_int_equal(d.findings[1].severity, SEVERITY_INFO);
	assert_string_equal(string_of(&d.findings[1], "ring_ids"), "1 3");
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batch_fires),
		cmocka_unit_test(batch_near_misses),
		cmocka_unit_test(batch_one_request_at_a_time_is_info),
		cmocka_unit_test(batch_leaves_out_what_it_cannot_judge),
		cmocka_unit_test(batch_says_which_rings_it_cannot_judge),
		cmocka_unit_test(batch_says_that_rings_had_no_entry),
		cmocka_unit_test(batch_says_how_many_rings_are_only_summed),
		cmocka_unit_test(rings_of_one_program_are_one_finding),
		cmocka_unit_test(programs_are_told_apart),
		cmocka_unit_test(severities_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
