// SPDX-License-Identifier: MIT
/* WORKERS firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "WORKERS"

/* One second of a process with 1000 punted reads, `depth` of them with io-wq at a time. */
static struct snapshot *punting(uint32_t workers, uint32_t limit, double depth)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 3);
	struct op_stats *o = sample__op(r, OP_READ);

	r->pid = 70;
	r->alive_ns = 1000000000;
	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000;
	o->c[RS_SC_PUNT_ASKED] = o->c[RS_SC_WQ_TIMED] = 1000;
	o->c[RS_SC_WQ_NS] = (uint64_t)(depth * 1e9);
	s->tasks = calloc(2, sizeof(*s->tasks));
	assert_non_null(s->tasks);
	s->n_tasks = 1;
	s->tasks[0] = (struct task_stats){ .pid = 70,
		.tid = 70,
		.comm = "store",
		.workers_bounded_max = workers,
		.bounded_limit = limit,
		.unbounded_limit = 1000 };
	return s;
}

static void queue(void **state)
{
	struct snapshot *s = punting(8, 8, 40);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 3);
	assert_string_equal(string_of(f, "kind"), "bounded");
	assert_int_equal(integer_of(f, "pid"), 70);
	assert_int_equal(integer_of(f, "workers_max"), 8);
	assert_int_equal(integer_of(f, "limit"), 8);
	assert_int_equal(integer_of(f, "punted"), 1000);
	assert_float_equal(real_of(f, "in_wq_mean"), 40, 1e-9);
	assert_string_equal(f->title,
		"store: all 8 bounded io-wq workers that there may be, and 40 requests with them on average");
	diagnosis__free(&d);
	sample__free(s);
}

static void queue_near_misses(void **state)
{
	static const struct {
		uint32_t workers, limit;
		double depth;
		bool fires;
	} rows[] = {
		{ 8, 8, 16, true },
		{ 8, 8, 15.9, false },
		{ 7, 8, 100, false },
		{ 8, 0, 100, false },
		{ 0, 8, 100, false },
		{ 8, 8, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = punting(rows[i].workers, rows[i].limit, rows[i].depth);

		assert_fires(s, ID, rows[i].fires);
		/* what waits for the turn of its file is another rule's */
		s->rings[0].ops[0].c[RS_SC_HASHED] = 1000;
		assert_silent(s, ID);
		sample__free(s);
	}
}

static void many(void **state)
{
	struct snapshot *s = punting(1, 8, 0);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	s->tasks[0].workers_unbounded_max = 63;
	assert_silent(s, ID);
	s->tasks[0].workers_unbounded_max = 64;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_string_equal(string_of(f, "kind"), "unbounded");
	assert_string_equal(f->title, "store: up to 64 unbounded io-wq workers at a time");
	diagnosis__free(&d);
	s->tasks[0].workers_unbounded_max = 511;
	assert_severity_of(s, ID, SEVERITY_INFO);
	s->tasks[0].workers_unbounded_max = 512;
	assert_severity_of(s, ID, SEVERITY_WARN);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = punting(8, 8, 100);

	(void)state;
	assert_needs(s, ID, RS_F_PUNT);
	s->rings[0].alive_ns = 0;
	assert_silent(s, ID);
	s->rings[0].alive_ns = 1000000000;
	/* which of two tasks of the process gave what is not known */
	s->tasks[1] = s->tasks[0];
	s->tasks[1].tid = 71;
	s->n_tasks = 2;
	assert_silent(s, ID);
	s->n_tasks = 1;
	s->tasks[0].pid = 0;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queue),
		cmocka_unit_test(queue_near_misses),
		cmocka_unit_test(many),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
