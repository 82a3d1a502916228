// SPDX-License-Identifier: MIT
/* CQE-DROPPED, CQ-SIZE and REAP-LAG: the CQ too small, or emptied late. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "diagnosis.h"

#define SETUP_CQSIZE (1u << 3)
#define MS 1000000ull

static void lost_cqes_are_critical(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	sample__op(r, OP_NOP)->c[RS_SC_COMPLETED] = 1000;
	r->c[RS_RC_CQ_OVERFLOWS] = 24;
	assert_false(finds(s, "CQE-DROPPED"));
	r->c[RS_RC_CQ_DROPPED] = 1;
	f = finding_of(s, "CQE-DROPPED", &d);
	assert_non_null(f);
	assert_int_equal(f->severity, SEVERITY_CRIT);
	assert_int_equal(f->ring, 1);
	assert_string_equal(f->title, "ring 1: 1 CQE is lost for want of memory");
	assert_int_equal(integer_of(f, "cq_dropped"), 1);
	assert_int_equal(integer_of(f, "cq_overflows"), 24);
	assert_absent(f, "cq_entries");
	diagnosis__free(&d);
	s->features[RS_F_OVERFLOW].level = FEATURE_OFF;
	assert_false(finds(s, "CQE-DROPPED"));
	sample__free(s);
}

/* A ring of 1000 NOPs, of whose CQEs `depth` of 64 lay in the CQ at a time. */
static struct ring_stats *filled(struct snapshot *s, uint32_t depth)
{
	struct ring_stats *r = sample__ring(s, 1);

	r->cq_entries = 64;
	r->cq_depth_max = depth;
	sample__op(r, OP_NOP)->c[RS_SC_COMPLETED] = 1000;
	return r;
}

static void a_cq_that_is_nearly_full(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = filled(s, 58);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "CQ-SIZE");
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_string_equal(f->title, "ring 1: 58 CQEs lay in a CQ of 64 at a time (90.6%)");
	assert_int_equal(integer_of(f, "cqes"), 1000);
	assert_int_equal(integer_of(f, "cqes_unbound"), 0);
	diagnosis__free(&d);
	r->cq_depth_max = 57;
	assert_healthy(s);
	r->cq_depth_max = 64;
	r->ops[0].c[RS_SC_COMPLETED] = 999;
	assert_healthy(s);
	/* it has overflowed: another rule's */
	r->ops[0].c[RS_SC_COMPLETED] = 1000;
	assert_true(finds(s, "CQ-SIZE"));
	r->c[RS_RC_CQ_OVERFLOWS] = 1;
	assert_false(finds(s, "CQ-SIZE"));
	sample__free(s);
}

static void who_has_chosen_the_size_of_the_cq(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = filled(s, 64);

	(void)state;
	r->setup_flags = SETUP_CQSIZE;
	assert_healthy(s);
	/* but the number of CQEs of multishot requests is anybody's guess */
	r->c[RS_RC_CQES_MULTISHOT] = 110;
	assert_healthy(s);
	r->c[RS_RC_CQES_AUX] = 2;
	assert_severity(s, SEVERITY_WARN);
	sample__free(s);
}

static void an_interval_has_no_peak(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	filled(s, 64);
	s->interval = true;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_non_null(diagnosis__gap(&d, "CQ-SIZE"));
	assert_false(diagnosis__gap(&d, "CQ-SIZE")->in_part);
	diagnosis__free(&d);
	s->interval = false;
	s->rings[0].cq_entries = 0; /* not known */
	assert_healthy(s);
	sample__free(s);
}

static void put(struct rs_reap_dist *d, uint64_t ns, uint64_t n)
{
	d->buckets[rs_hist_bucket(ns) / 2] += n;
	d->sum_ns += ns * n;
	d->max_ns = ns > d->max_ns ? ns : d->max_ns;
}

/* 1000 CQEs of requests that took latency_ns, of which n were followed that lay there for lag_ns. */
static struct ring_stats *late(struct snapshot *s, uint64_t latency_ns, uint64_t lag_ns, uint64_t n)
{
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_READ);

	r->cq_entries = 64;
	o->c[RS_SC_COMPLETED] = 1000;
	sample__latency(o, latency_ns, 1000);
	r->reap.times = calloc(1, sizeof(*r->reap.times));
	assert_non_null(r->reap.times);
	if (n) {
		put(&r->reap.times->lower, lag_ns, n);
		put(&r->reap.times->upper, lag_ns * 8, n);
	}
	return r;
}

static void cqes_that_are_taken_late(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	late(s, 2 * MS, 20 * MS, 20);
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "REAP-LAG");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->time_ns, 20000 * MS);
	assert_int_equal(integer_of(f, "followed"), 20);
	assert_int_equal(integer_of(f, "lag_mean_ns"), 20 * MS);
	assert_int_equal(integer_of(f, "latency_mean_ns"), 2 * MS);
	assert_in_range(integer_of(f, "lag_p50_ns"), 19 * MS, 21 * MS);
	assert_float_equal(real_of(f, "lag_pct"), 100.0 * 20 / 22, 1e-6);
	diagnosis__free(&d);
	sample__free(s);
}

static void cqes_that_are_taken_in_time(void **state)
{
	static const struct {
		uint64_t latency_ns, lag_ns, n;
		bool fires;
	} rows[] = {
		{ 2 * MS, 20 * MS, 20, true },
		{ 2 * MS, 20 * MS, 19, false },	  /* too few were followed */
		{ 2 * MS, 4 * MS, 500, false },	  /* not long */
		{ 30 * MS, 20 * MS, 500, false }, /* the request took longer */
		{ 1000, 20000, 500, false },
		{ 2 * MS, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();

		late(s, rows[i].latency_ns, rows[i].lag_ns, rows[i].n);
		if (rows[i].fires)
			assert_severity(s, SEVERITY_WARN);
		else
			assert_healthy(s);
		/* unknown: nothing was followed at all */
		reap_stats__free(&s->rings[0].reap);
		assert_healthy(s);
		sample__free(s);
	}
}

/* Bounds are too vague where it is known exactly. */
static void exact_times_decide(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = late(s, 1000, 20 * MS, 500);

	(void)state;
	r->reap.exact = true;
	assert_healthy(s);
	put(&r->reap.times->lag, 10 * MS, 30);
	assert_severity(s, SEVERITY_WARN);
	sample__free(s);
}

static void a_cq_that_nobody_reads(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	sample__op(r, OP_READ)->c[RS_SC_COMPLETED] = 8;
	r->cq_entries = 16;
	r->reap.left_known = true;
	r->reap.left = 8;
	r->reap.unreaped_ns = 1000 * MS;
	f = only_finding(s, &d);
	assert_string_equal(f->title, "ring 1: 8 CQEs lie in the CQ, unread for 1.00s or longer");
	assert_int_equal(integer_of(f, "unreaped"), 8);
	assert_absent(f, "lag_p50_ns");
	diagnosis__free(&d);
	r->reap.unreaped_ns--;
	assert_healthy(s);
	r->reap.unreaped_ns = 0; /* not known */
	assert_healthy(s);
	r->reap.unreaped_ns = 2000 * MS;
	r->reap.left = 7;
	assert_healthy(s);
	r->reap.left = 8;
	r->reap.left_known = false;
	assert_healthy(s);
	r->reap.left_known = true;
	s->interval = true;
	assert_false(finds(s, "REAP-LAG"));
	sample__free(s);
}

static void rings_that_are_only_summed(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	sample__op(sample__others(s), OP_READ)->c[RS_SC_COMPLETED] = 5;
	d = diagnose(s);
	assert_non_null(diagnosis__gap(&d, "REAP-LAG"));
	assert_true(diagnosis__gap(&d, "REAP-LAG")->in_part);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_cqes_are_critical),
		cmocka_unit_test(a_cq_that_is_nearly_full),
		cmocka_unit_test(who_has_chosen_the_size_of_the_cq),
		cmocka_unit_test(an_interval_has_no_peak),
		cmocka_unit_test(cqes_that_are_taken_late),
		cmocka_unit_test(cqes_that_are_taken_in_time),
		cmocka_unit_test(exact_times_decide),
		cmocka_unit_test(a_cq_that_nobody_reads),
		cmocka_unit_test(rings_that_are_only_summed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
