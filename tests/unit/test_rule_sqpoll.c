// SPDX-License-Identifier: MIT
/* SQPOLL-STALL and SQPOLL-SHARE: pollers without a CPU, or without one of their own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "diagnosis.h"

#define MS 1000000ull

/* A ring with 1,000 NOPs whose poller ran for cpu_ms and waited for wait_ms. */
static struct ring_stats *polled(struct snapshot *s, uint32_t id, uint64_t cpu_ms, uint64_t wait_ms)
{
	struct ring_stats *r = sample__ring(s, id);
	struct op_stats *o = sample__op(r, OP_NOP);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000;
	r->sq_tid = 77;
	r->sq_cpu_known = r->sq_wait_known = r->cpus_known = true;
	r->sq_cpu_ns = cpu_ms * MS;
	r->sq_wait_ns = wait_ms * MS;
	r->sq_alive_ns = 1000000 * MS;
	r->sq_only_cpu = r->maker_only_cpu = -1;
	return r;
}

static void pollers_that_wait(void **state)
{
	static const struct {
		uint64_t cpu_ms, wait_ms;
		bool fires;
		enum severity severity;
	} rows[] = {
		{ 100, 100, true, SEVERITY_WARN },
		{ 101, 100, true, SEVERITY_INFO },
		{ 0, 99, false, SEVERITY_INFO },
		{ 300, 100, true, SEVERITY_INFO },
		{ 301, 100, false, SEVERITY_INFO },
		{ 1000, 0, false, SEVERITY_INFO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();
		const struct finding *f;
		struct diagnosis d;

		polled(s, 1, rows[i].cpu_ms, rows[i].wait_ms);
		f = finding_of(s, "SQPOLL-STALL", &d);
		assert_int_equal(f != NULL, rows[i].fires);
		if (f) {
			assert_int_equal(f->severity, rows[i].severity);
			assert_int_equal(f->ring, 1);
			assert_int_equal(f->time_ns, rows[i].wait_ms * MS);
			assert_int_equal(integer_of(f, "sq_wait_ns"), rows[i].wait_ms * MS);
			assert_int_equal(integer_of(f, "sq_tid"), 77);
		}
		diagnosis__free(&d);
		sample__free(s);
	}
}

/* What rings share is told once. */
static void a_shared_poller_waits_once(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	polled(s, 1, 100, 900);
	polled(s, 2, 100, 900);
	f = finding_of(s, "SQPOLL-STALL", &d);
	assert_non_null(f);
	assert_int_equal(f->time_ns, 900 * MS);
	assert_int_equal(f->ring, 1);
	assert_string_equal(f->title, "ring 1: the poller waited for a CPU for 900ms, and had one for 100ms");
	diagnosis__free(&d);
	sample__free(s);
}

static void one_cpu_for_two_threads(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = polled(s, 1, 100, 0);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	assert_false(finds(s, "SQPOLL-SHARE"));
	r->sq_only_cpu = 0;
	assert_false(finds(s, "SQPOLL-SHARE"));
	r->maker_only_cpu = 1;
	assert_false(finds(s, "SQPOLL-SHARE"));
	r->maker_only_cpu = 0;
	f = finding_of(s, "SQPOLL-SHARE", &d);
	assert_non_null(f);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_string_equal(f->title, "ring 1: the poller and the thread that made the ring share CPU 0");
	assert_int_equal(integer_of(f, "cpu"), 0);
	assert_int_equal(integer_of(f, "sqes"), 1000);
	diagnosis__free(&d);
	r->ops[0].c[RS_SC_SUBMITTED] = 999;
	assert_false(finds(s, "SQPOLL-SHARE"));
	r->ops[0].c[RS_SC_SUBMITTED] = 1000;
	r->sq_tid = 0;
	assert_false(finds(s, "SQPOLL-SHARE"));
	sample__free(s);
}

static void what_is_not_known(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = polled(s, 1, 0, 1000);
	struct diagnosis d;

	(void)state;
	r->sq_only_cpu = r->maker_only_cpu = 1;
	r->cpus_known = r->sq_wait_known = false;
	d = diagnose(s);
	assert_null(diagnosis__find(&d, "SQPOLL-STALL"));
	assert_null(diagnosis__find(&d, "SQPOLL-SHARE"));
	assert_true(diagnosis__gap(&d, "SQPOLL-STALL")->in_part);
	assert_true(diagnosis__gap(&d, "SQPOLL-SHARE")->in_part);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pollers_that_wait),
		cmocka_unit_test(a_shared_poller_waits_once),
		cmocka_unit_test(one_cpu_for_two_threads),
		cmocka_unit_test(what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
