// SPDX-License-Identifier: MIT
/* REG-CHURN firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "REG-CHURN"

enum {
	REGISTER_BUFFERS,
	UNREGISTER_BUFFERS,
	REGISTER_FILES,
	UNREGISTER_FILES,
	FILES_UPDATE = 6,
	FILES2 = 13
};

static struct snapshot *registering(unsigned int op, uint64_t made, unsigned int undo, uint64_t dropped)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_READ);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1010;
	s->rings[0].c[RS_RC_BATCHES] = 1;
	sample__register(s, op, made, 0);
	sample__register(s, undo, dropped, 0);
	return s;
}

static void buffers(void **state)
{
	struct snapshot *s = registering(REGISTER_BUFFERS, 102, UNREGISTER_BUFFERS, 102);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	s->registers[0].timed = 100;
	s->registers[0].sum_ns = 2000000;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_string_equal(string_of(f, "what"), "buffers");
	assert_int_equal(integer_of(f, "registered"), 102);
	assert_int_equal(integer_of(f, "unregistered"), 102);
	assert_float_equal(real_of(f, "per_s"), 101, 1e-9);
	assert_int_equal(integer_of(f, "submitted"), 1010);
	assert_int_equal(integer_of(f, "mean_ns"), 20000);
	assert_string_equal(f->title,
		"buffers registered and unregistered 101 times (101/s), for 10 requests each");
	diagnosis__free(&d);
	s->duration_ns = 2000000000;
	assert_severity_of(s, ID, SEVERITY_INFO);
	sample__ring(s, 2);
	assert_int_equal(the_finding_of(s, ID, &d)->ring, 0);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t made, dropped, duration_ns;
		bool fires;
	} rows[] = {
		{ 101, 101, 1000000000, true },
		{ 100, 101, 1000000000, false },
		{ 101, 100, 1000000000, false },
		{ 101, 101, 10000000000, true },
		{ 101, 101, 10100000000, false },
		{ 101, 101, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = registering(FILES2, rows[i].made, UNREGISTER_FILES, rows[i].dropped);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = registering(REGISTER_FILES, 400, UNREGISTER_FILES, 400);

	(void)state;
	/* each of as many rings does so once */
	sample__others(s);
	s->n_others = 399;
	assert_silent(s, ID);
	sample__free(s);
	/* entries of a table that stays */
	s = registering(FILES_UPDATE, 100000, UNREGISTER_FILES, 1);
	assert_silent(s, ID);
	sample__free(s);
	/* calls that failed */
	s = registering(REGISTER_BUFFERS, 1000, UNREGISTER_BUFFERS, 1000);
	s->registers[0].errors = 950;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = registering(REGISTER_BUFFERS, 1000, UNREGISTER_BUFFERS, 1000);
	struct diagnosis d;

	(void)state;
	assert_needs(s, ID, RS_F_REGISTER);
	assert_absent(the_finding_of(s, ID, &d), "mean_ns");
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buffers),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
