// SPDX-License-Identifier: MIT
/* WQ-HASHED firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "WQ-HASHED"

/* One second of n writes to one file, `depth` of them with io-wq at a time. */
static struct snapshot *writes(uint64_t n, uint64_t again, double depth)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_WRITE);

	r->alive_ns = 1000000000;
	r->c[RS_RC_BATCHES] = 1;
	r->c[RS_RC_HASHED_AGAIN] = again;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	o->c[RS_SC_HASHED] = o->c[RS_SC_PUNT_ASKED] = o->c[RS_SC_WQ_TIMED] = n;
	o->c[RS_SC_WQ_NS] = (uint64_t)(depth * 1e9);
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = writes(1000, 999, 10);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(f->time_ns, 9000000000);
	assert_int_equal(integer_of(f, "wq_hashed"), 1000);
	assert_float_equal(real_of(f, "same_file_pct"), 99.9, 1e-9);
	assert_float_equal(real_of(f, "in_wq_mean"), 10, 1e-9);
	assert_int_equal(integer_of(f, "wq_mean_ns"), 10000000);
	assert_float_equal(real_of(f, "waiting_pct"), 90, 1e-9);
	diagnosis__free(&d);
	/* with one in ten timed it is the same */
	s->rings[0].ops[0].c[RS_SC_WQ_TIMED] /= 10;
	s->rings[0].ops[0].c[RS_SC_WQ_NS] /= 10;
	f = the_finding_of(s, ID, &d);
	assert_float_equal(real_of(f, "in_wq_mean"), 10, 1e-9);
	diagnosis__free(&d);
	sample__free(s);
}

static void names_the_file(void **state)
{
	struct snapshot *s = writes(1000, 999, 10);
	struct diagnosis d;

	(void)state;
	sample__file(s, "/reads", 1, OP_READ, (struct file_counts){ .punted = 1000 });
	sample__file(s, "/more", 2, OP_WRITE, (struct file_counts){ .punted = 1001 });
	sample__file(s, "/less", 3, OP_WRITE, (struct file_counts){ .punted = 899 });
	assert_null(finding_of(s, ID, &d)->file);
	diagnosis__free(&d);
	sample__file(s, "/log", 4, OP_WRITE, (struct file_counts){ .punted = 900 });
	assert_string_equal(finding_of(s, ID, &d)->file, "/log");
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, again;
		double depth;
		bool fires;
	} rows[] = {
		{ 100, 99, 4, true },
		{ 99, 98, 4, false },
		{ 1000, 900, 4, true },
		{ 1000, 899, 4, false },
		{ 1000, 999, 3.99, false },
		{ 1000, 0, 100, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = writes(rows[i].n, rows[i].again, rows[i].depth);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = writes(1000, 999, 100);

	(void)state;
	/* the same load, none of it in order */
	s->rings[0].ops[0].c[RS_SC_HASHED] = 0;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = writes(1000, 999, 100);

	(void)state;
	assert_needs(s, ID, RS_F_PUNT);
	s->rings[0].ops[0].c[RS_SC_WQ_TIMED] = 0; /* nothing was timed */
	assert_silent(s, ID);
	s->rings[0].ops[0].c[RS_SC_WQ_TIMED] = 1000;
	s->rings[0].alive_ns = 0;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(names_the_file),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
