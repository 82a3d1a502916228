// SPDX-License-Identifier: MIT
/* RING-CHURN firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "RING-CHURN"

static struct snapshot *rings(uint32_t n, uint64_t alive_ns)
{
	struct snapshot *s = sample__snapshot();

	for (uint32_t id = 1; id <= n; id++) {
		struct ring_stats *r = sample__ring(s, id);

		r->pid = 70;
		snprintf(r->comm, sizeof(r->comm), "maker");
		r->created_in_window = true;
		r->state = RING_CLOSED;
		r->alive_ns = alive_ns;
		sample__op(r, OP_NOP)->c[RS_SC_SUBMITTED] = 2;
	}
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = rings(150, 2000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 0);
	assert_int_equal(f->op, -1);
	assert_int_equal(integer_of(f, "created_and_closed"), 150);
	assert_float_equal(real_of(f, "per_s"), 150, 1e-9);
	assert_int_equal(integer_of(f, "life_mean_ns"), 2000000);
	assert_int_equal(integer_of(f, "requests"), 300);
	assert_int_equal(integer_of(f, "pid"), 70);
	assert_string_equal(string_of(f, "comm"), "maker");
	diagnosis__free(&d);
	s->rings[7].pid = 71;
	s->rings[7].comm[0] = 'b';
	f = the_finding_of(s, ID, &d);
	assert_absent(f, "pid");
	assert_absent(f, "comm");
	diagnosis__free(&d);
	s->duration_ns = 2000000000;
	assert_severity_of(s, ID, SEVERITY_INFO);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint32_t n;
		uint64_t alive_ns, duration_ns;
		bool fires;
	} rows[] = {
		{ 100, 100000000, 1000000000, true },
		{ 99, 1000000, 1000000000, false },
		{ 100, 100000001, 1000000000, false },
		{ 100, 1000000, 10000000000, true },
		{ 100, 1000000, 10000000001, false },
		{ 100, 1000000, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = rings(rows[i].n, rows[i].alive_ns);

		s->duration_ns = rows[i].duration_ns;
		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = rings(400, 1000000);

	(void)state;
	for (size_t i = 0; i < s->n_rings; i++)
		s->rings[i].state = i % 2 ? RING_OPEN : RING_CLOSING;
	assert_silent(s, ID);
	for (size_t i = 0; i < s->n_rings; i++) {
		s->rings[i].state = RING_CLOSED;
		s->rings[i].created_in_window = false;
	}
	assert_silent(s, ID);
	sample__free(s);
}

static void unlisted(void **state)
{
	struct snapshot *s = rings(2000, 1000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	assert_int_equal(snapshot__limit_rings(s, 10), 0);
	f = the_finding_of(s, ID, &d);
	assert_int_equal(integer_of(f, "created_and_closed"), 2000);
	assert_int_equal(integer_of(f, "life_mean_ns"), 1000000);
	diagnosis__free(&d);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = rings(150, 2000000);

	(void)state;
	assert_needs(s, ID, RS_F_RING_CREATE);
	assert_needs(s, ID, RS_F_RING_EXIT);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unlisted),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
