// SPDX-License-Identifier: MIT
/* SQPOLL-IDLE: pollers with little to do, shared ones, and ones of which too little is known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RULE_UNDER_TEST "SQPOLL-IDLE"
#include "diagnosis.h"

#define MS 1000000ull

/* A ring whose poller took cpu_ms of a second for so many SQEs. */
static struct ring_stats *polled(struct snapshot *s, uint32_t id, uint64_t cpu_ms, uint64_t sqes)
{
	struct ring_stats *r = sample__ring(s, id);

	r->setup_flags = 1u << 1;
	r->sq_tid = 77;
	r->sq_cpu_known = true;
	r->sq_cpu_ns = cpu_ms * MS;
	r->sq_alive_ns = 1000 * MS;
	sample__op(r, OP_NOP)->c[RS_SC_SUBMITTED] = sqes;
	return r;
}

static void a_poller_with_little_to_do(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	polled(s, 1, 900, 100);
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_string_equal(f->title, "ring 1: the poller took 900ms of CPU time for 100 SQEs");
	assert_int_equal(f->time_ns, 899 * MS);
	assert_int_equal(integer_of(f, "sq_tid"), 77);
	assert_int_equal(integer_of(f, "sqes"), 100);
	assert_int_equal(integer_of(f, "cpu_per_sqe_ns"), 9 * MS);
	assert_float_equal(real_of(f, "sq_cpu_pct"), 90, 1e-9);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t cpu_ms, sqes;
		bool fires;
		enum severity severity;
	} rows[] = {
		{ 500, 0, true, SEVERITY_WARN },
		{ 499, 0, true, SEVERITY_INFO },
		{ 100, 0, true, SEVERITY_INFO },
		{ 99, 0, false, SEVERITY_INFO },
		{ 900, 4500, true, SEVERITY_WARN },
		{ 900, 4501, false, SEVERITY_INFO },
		{ 1000, 1000000, false, SEVERITY_INFO },
		{ 0, 0, false, SEVERITY_INFO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();

		polled(s, 1, rows[i].cpu_ms, rows[i].sqes);
		if (rows[i].fires)
			assert_severity(s, rows[i].severity);
		else
			assert_healthy(s);
		s->rings[0].sq_tid = 0;
		assert_healthy(s);
		sample__free(s);
	}
}

/* Rings that share a poller: what it does for any of them counts, and its time once. */
static void a_shared_poller(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	polled(s, 1, 900, 10);
	polled(s, 2, 900, 20);
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 1);
	assert_int_equal(integer_of(f, "sqes"), 30);
	assert_int_equal(integer_of(f, "sq_cpu_ns"), 900 * MS);
	diagnosis__free(&d);
	sample__op(&s->rings[1], OP_NOP)->c[RS_SC_SUBMITTED] = 100000;
	assert_healthy(s);
	/* that of a process in another pid namespace has the same number by chance */
	s->rings[1].sq_outside = true;
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 1);
	diagnosis__free(&d);
	sample__free(s);
}

static void unknown_cpu_time(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	polled(s, 1, 900, 10)->sq_cpu_known = false;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_int_equal(d.n_not_checked, 1);
	assert_true(d.not_checked[0].in_part);
	assert_string_equal(d.not_checked[0].why, "not on 1 ring: the CPU time of the poller is not known");
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poller_with_little_to_do),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(a_shared_poller),
		cmocka_unit_test(unknown_cpu_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
