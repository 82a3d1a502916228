// SPDX-License-Identifier: MIT
/* ENTER-BLOCK firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "ENTER-BLOCK"

static struct snapshot *calls(uint64_t n, uint64_t ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_OPENAT);

	r->c[RS_RC_BATCHES] = r->c[RS_RC_ENTERS] = n;
	r->c[RS_RC_ENTER_NS] = n * ns;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 4 * n;
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = calls(200, 5000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->time_ns, 1000000000);
	assert_int_equal(integer_of(f, "enters"), 200);
	assert_int_equal(integer_of(f, "enter_mean_ns"), 5000000);
	assert_int_equal(integer_of(f, "enter_ns"), 1000000000);
	assert_int_equal(integer_of(f, "submitted"), 800);
	diagnosis__free(&d);
	s->rings[0].setup_flags = 1 << 1; /* SQPOLL */
	assert_silent(s, ID);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, ns;
		bool fires;
	} rows[] = {
		{ 100, 1000000, true },
		{ 99, 1000000, false },
		{ 100, 999999, false },
		{ 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = calls(rows[i].n, rows[i].ns);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void unknown(void **state)
{
	struct snapshot *s = calls(200, 5000000);
	struct diagnosis d;

	(void)state;
	assert_needs(s, ID, RS_F_ENTER);
	assert_needs(s, ID, RS_F_WAIT);
	/* how much of it was waiting? */
	s->rings[0].c[RS_RC_WAITS] = 1;
	assert_string_equal(unchecked(s, ID),
		"not on 1 ring that also waited in io_uring_enter: its time is both together");
	d = diagnose(s);
	assert_int_equal(findings_of(&d, ID, NULL), 0);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
