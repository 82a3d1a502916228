// SPDX-License-Identifier: MIT
/* SETUP-FLAGS firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#include "op_stages.h"

#define ID "SETUP-FLAGS"

enum { SQPOLL = 1 << 1, IOPOLL = 1 << 0, COOP = 1 << 8, SINGLE = 1 << 12, DEFER = 1 << 13 };

/* n requests whose CQEs came by task work, on a kernel that has all flags. */
static struct snapshot *busy(uint64_t n)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, 27);

	s->setup_flags = COOP | SINGLE | DEFER;
	r->submitters = SUBMITTERS_ONE;
	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	sample__stage(o, RS_ST_ARMED, 50000, n);
	return s;
}

static void one_thread(void **state)
{
	struct snapshot *s = busy(20000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	s->rings[0].setup_flags = COOP | SINGLE;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 1);
	assert_string_equal(string_of(f, "missing"), "DEFER_TASKRUN");
	assert_string_equal(string_of(f, "submitters"), "one thread");
	assert_int_equal(integer_of(f, "by_task_work"), 20000);
	assert_float_equal(real_of(f, "per_s"), 20000, 1e-6);
	assert_non_null(strstr(f->advice, "SINGLE_ISSUER"));
	diagnosis__free(&d);
	/* a kernel that has not got it */
	s->setup_flags = COOP | SINGLE;
	assert_silent(s, ID);
	s->rings[0].setup_flags = 0;
	f = the_finding_of(s, ID, &d);
	assert_string_equal(string_of(f, "missing"), "COOP_TASKRUN");
	diagnosis__free(&d);
	s->setup_flags = 0;
	assert_silent(s, ID);
	sample__free(s);
}

static void several_threads(void **state)
{
	struct snapshot *s = busy(20000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	s->rings[0].submitters = SUBMITTERS_SEVERAL;
	f = the_finding_of(s, ID, &d);
	assert_string_equal(string_of(f, "missing"), "COOP_TASKRUN");
	assert_string_equal(string_of(f, "submitters"), "several threads");
	diagnosis__free(&d);
	s->rings[0].setup_flags = COOP;
	assert_silent(s, ID);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, duration_ns;
		bool fires;
	} rows[] = {
		{ 10000, 1000000000, true },
		{ 9999, 500000000, false },
		{ 10000, 1000000001, false },
		{ 10000, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = busy(rows[i].n);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	static const uint32_t flags[] = { SINGLE | DEFER, SQPOLL, IOPOLL };
	struct snapshot *s = busy(20000);
	struct op_stats *o;

	(void)state;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		s->rings[0].setup_flags = flags[i];
		assert_silent(s, ID);
	}
	sample__free(s);
	/* inline, and by workers: no task work */
	s = busy(0);
	o = sample__op(&s->rings[0], OP_READ);
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 200000;
	sample__latency(o, 1000, 100000);
	sample__stage(o, RS_ST_WQ, 90000, 100000);
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = busy(20000);

	(void)state;
	assert_needs(s, ID, RS_F_STAGES);
	s->rings[0].submitters = SUBMITTERS_UNKNOWN;
	assert_silent(s, ID);
	s->rings[0].submitters = SUBMITTERS_ONE;
	s->rings[0].ops[0].stages_lost = 1;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
