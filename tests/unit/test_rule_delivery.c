// SPDX-License-Identifier: MIT
/* DEFER-TW and DELIVERY: ready, and the CQE comes late. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "diagnosis.h"

#define MS 1000000ull
#define SETUP_DEFER_TASKRUN (1u << 13)

enum { OP_RECV = 27 };

static void stage(struct op_stats *o, enum rs_stage which, uint64_t ns, uint64_t n)
{
	struct op_times **t = &o->kin[RS_KIND_STAGE(which)];

	if (!*t)
		*t = calloc(1, sizeof(**t));
	assert_non_null(*t);
	(*t)->lat.min_ns = (*t)->lat.max_ns = ns;
	(*t)->lat.buckets[rs_hist_bucket(ns)] += n;
	(*t)->lat.sum_ns += ns * n;
}

/* n receives that waited for their data for 100 ms, were ready for ready_ns, and had other_ns besides. */
static struct ring_stats *receives(struct snapshot *s, uint32_t id, uint64_t ready_ns, uint64_t other_ns,
	uint64_t n)
{
	struct ring_stats *r = sample__ring(s, id);
	struct op_stats *o = sample__op(r, OP_RECV);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	stage(o, RS_ST_ARMED, 100 * MS, n);
	stage(o, RS_ST_DELIVER, ready_ns, n);
	stage(o, RS_ST_OTHER, other_ns, n);
	sample__latency(o, 100 * MS + ready_ns + other_ns, n);
	r->c[RS_RC_WAITS] = 3;
	return r;
}

static void late_delivery(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = receives(s, 4, 20 * MS, MS, 100);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "DELIVERY");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 4);
	assert_int_equal(f->op, OP_RECV);
	assert_int_equal(f->weight, 100);
	assert_int_equal(f->time_ns, 2000 * MS);
	assert_int_equal(integer_of(f, "delivered"), 100);
	assert_in_range(integer_of(f, "deliver_p50_ns"), 19 * MS, 21 * MS);
	assert_int_equal(integer_of(f, "waits"), 3);
	assert_float_equal(real_of(f, "deliver_pct"), 100.0 * 20 / 21, 1e-6);
	diagnosis__free(&d);
	r->setup_flags = SETUP_DEFER_TASKRUN;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "DEFER-TW");
	diagnosis__free(&d);
	/* one request in ten is timed */
	s->cost.sample = 10;
	f = only_finding(s, &d);
	assert_int_equal(f->weight, 1000);
	assert_int_equal(f->time_ns, 20000 * MS);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t ready_ns, other_ns, n;
		bool fires;
	} rows[] = {
		{ 20 * MS, MS, 100, true },
		{ 20 * MS, MS, 99, false },
		{ 4 * MS, 0, 100000, false },
		{ 20 * MS, 21 * MS, 100, false },
		{ 0, 0, 100, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();
		struct ring_stats *r = receives(s, 1, rows[i].ready_ns, rows[i].other_ns, rows[i].n);

		assert_int_equal(finds(s, "DELIVERY"), rows[i].fires);
		assert_false(finds(s, "DEFER-TW"));
		r->setup_flags = SETUP_DEFER_TASKRUN;
		assert_int_equal(finds(s, "DEFER-TW"), rows[i].fires);
		assert_false(finds(s, "DELIVERY"));
		sample__free(s);
	}
}

/* Who is canceled with the ring is woken for that, and has to wait until it is its turn. */
static void canceled_with_the_ring(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = receives(s, 1, 20 * MS, MS, 110);

	(void)state;
	r->ops[0].c[RS_SC_CANCELED_CLOSE] = 6;
	r->ops[0].c[RS_SC_CANCELED_EXIT] = 4;
	assert_true(finds(s, "DELIVERY"));
	r->ops[0].c[RS_SC_CANCELED_EXIT] = 5;
	assert_false(finds(s, "DELIVERY"));
	r->ops[0].c[RS_SC_CANCELED_EXIT] = 500;
	assert_false(finds(s, "DELIVERY"));
	sample__free(s);
}

static void what_is_not_known(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = receives(s, 1, 20 * MS, 0, 100);
	struct diagnosis d;

	(void)state;
	r->ops[0].stages_lost = 1;
	assert_healthy(s);
	r->ops[0].stages_lost = 0;
	s->features[RS_F_WAIT].level = FEATURE_OFF;
	assert_absent(finding_of(s, "DELIVERY", &d), "waits");
	diagnosis__free(&d);
	s->features[RS_F_WAKE].level = FEATURE_OFF;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_false(diagnosis__gap(&d, "DELIVERY")->in_part);
	assert_false(diagnosis__gap(&d, "DEFER-TW")->in_part);
	diagnosis__free(&d);
	sample__free(s);
}

/* Rings of one program are one finding; its opcode is told if it is the same on all of them. */
static void several_rings(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	receives(s, 1, 20 * MS, 0, 100)->pid = 5;
	receives(s, 2, 30 * MS, 0, 200)->pid = 5;
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 0);
	assert_int_equal(f->op, OP_RECV);
	assert_int_equal(f->weight, 300);
	assert_int_equal(f->time_ns, 8000 * MS);
	assert_int_equal(integer_of(f, "rings"), 2);
	diagnosis__free(&d);
	s->rings[1].ops[0].op = OP_READ;
	f = only_finding(s, &d);
	assert_int_equal(f->op, -1);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_delivery),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(canceled_with_the_ring),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(several_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
