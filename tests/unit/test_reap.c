// SPDX-License-Identifier: MIT
/* Following CQEs until they are consumed, as user space compiles it, and what is made of it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "reap.h"
#include "reaping.h"
#include "rng.h"

#define ENTRIES 256u

/* A CQ whose positions begin a little before they wrap around. */
struct cq {
	struct rng rng;
	struct rs_reap f;
	struct rs_reaped sum;
	uint32_t head, tail, depth_max;
	uint64_t now_ns;
	uint64_t true_ns, count;
	uint64_t consumed_ns; /* when the one that is followed was, 0: it was not */
};

static struct cq cq__new(uint64_t seed)
{
	return (struct cq){ .rng = { seed }, .head = 0xffffff00u, .tail = 0xffffff00u, .now_ns = 1000 };
}

static void cq__pass_time(struct cq *q)
{
	q->now_ns += 1 + rng__log_uniform(&q->rng, 12);
}

/* Anyone may. */
static void cq__look(struct cq *q)
{
	uint64_t posted = q->f.posted_ns;
	enum rs_reap_state state;

	if (!posted)
		return;
	state = rs_reap_judge(q->f.end, q->head, q->tail, ENTRIES);
	assert_int_equal(state, q->consumed_ns ? RS_REAP_GONE : RS_REAP_WAITS);
	if (state == RS_REAP_WAITS)
		q->f.unreaped_ns = q->now_ns;
	else if (!rs_reap_gone_ns(&q->f))
		rs_reap_note(&q->f, posted, q->now_ns);
}

static void cq__record(struct cq *q, uint64_t gone_ns)
{
	if (rs_reap_is_fair(&q->f, q->depth_max)) {
		assert_true(q->f.unreaped_ns <= q->consumed_ns);
		assert_true(q->consumed_ns <= gone_ns);
		q->true_ns += q->consumed_ns - q->f.posted_ns;
		q->count++;
	}
	rs_reap_record(&q->f, q->depth_max, gone_ns, &q->sum);
	rs_reap_end(&q->f, q->depth_max, rs_reap_skip((uint32_t)(rng__next(&q->rng) >> 32), q->depth_max, 0));
	q->consumed_ns = 0;
}

/* Whether this one is followed. */
static bool cq__post(struct cq *q)
{
	uint32_t depth = ++q->tail - q->head;
	uint64_t gone_ns;

	if (depth > q->depth_max)
		q->depth_max = depth;
	if (q->f.skip) {
		q->f.skip--;
		return false;
	}
	if (!q->f.posted_ns) {
		rs_reap_begin(&q->f, q->tail, q->now_ns);
		return true;
	}
	gone_ns = rs_reap_gone_ns(&q->f);
	if (!gone_ns && rs_reap_judge(q->f.end, q->head, q->tail, ENTRIES) == RS_REAP_GONE)
		gone_ns = q->now_ns;
	if (gone_ns)
		cq__record(q, gone_ns);
	else
		q->f.unreaped_ns = q->now_ns;
	return false;
}

static void cq__consume(struct cq *q, uint32_t n)
{
	q->head += n;
	if (q->f.posted_ns && !q->consumed_ns && (int32_t)(q->head - q->f.end) >= 0)
		q->consumed_ns = q->now_ns;
}

/* Whatever happens when: the truth is between the bounds, also where positions wrap. */
static void test_bounds(void **state)
{
	struct cq q = cq__new(0x5eed);
	uint32_t depth;

	(void)state;
	for (unsigned int i = 0; i < 300000; i++) {
		cq__pass_time(&q);
		depth = q.tail - q.head;
		switch (rng__next(&q.rng) >> 62) {
		case 0:
		case 1:
			if (depth < ENTRIES)
				cq__post(&q);
			break;
		case 2:
			cq__consume(&q, depth ? (uint32_t)(rng__next(&q.rng) >> 33) % (depth + 1) : 0);
			break;
		default:
			cq__look(&q);
		}
	}
	assert_true(q.tail < 0x80000000u);
	assert_true(q.count > 500);
	assert_true(q.sum.lower.sum_ns < q.true_ns);
	assert_true(q.sum.upper.sum_ns > q.true_ns);
}

/* Of CQEs that come and go together each is followed as often as any, wherever it stands. */
static void test_places(void **state)
{
	static const unsigned int batches[] = { 1, 2, 7, 32, 100, 256 };
	uint64_t places[ENTRIES], least, most;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
		struct cq q = cq__new(77 + i);
		unsigned int b = batches[i], k;
		uint64_t n = 0;

		memset(places, 0, sizeof(places));
		while (n < 1000ull * b) {
			for (k = 0; k < b; k++) {
				if (cq__post(&q) && q.depth_max == b) {
					places[k]++;
					n++;
				}
			}
			q.now_ns += 1000;
			cq__consume(&q, b);
			cq__look(&q);
		}
		for (k = 0, least = UINT64_MAX, most = 0; k < b; k++) {
			least = places[k] < least ? places[k] : least;
			most = places[k] > most ? places[k] : most;
		}
		/* six standard deviations, and what the range is no multiple of the batch for */
		assert_true(least > 680);
		assert_true(most < 1320);
	}
}

static void test_judge(void **state)
{
	(void)state;
	assert_int_equal(rs_reap_judge(10, 9, 12, 8), RS_REAP_WAITS);
	assert_int_equal(rs_reap_judge(10, 10, 12, 8), RS_REAP_GONE);
	assert_int_equal(rs_reap_judge(10, 12, 12, 8), RS_REAP_GONE);
	/* across the end of the numbers */
	assert_int_equal(rs_reap_judge(2, 0xfffffffeu, 4, 8), RS_REAP_WAITS);
	assert_int_equal(rs_reap_judge(0xfffffffeu, 1, 4, 8), RS_REAP_GONE);
	/* what no application may write */
	assert_int_equal(rs_reap_judge(10, 13, 12, 8), RS_REAP_LOST);
	assert_int_equal(rs_reap_judge(10, 3, 12, 8), RS_REAP_LOST);
	assert_int_equal(rs_reap_judge(10, 0x80000000u, 12, 8), RS_REAP_LOST);
}

static void test_skip(void **state)
{
	const struct rs_reap first = { .depth = 0 }, later = { .depth = 4 };

	(void)state;
	assert_int_equal(rs_reap_skip(0, 100, 0), 0);
	assert_int_equal(rs_reap_skip(~0u, 0, 0), RS_REAP_SPREAD - 1);
	assert_int_equal(rs_reap_skip(~0u, 100, 0), 100 * RS_REAP_SPREAD - 1);
	/* where few are at hand, few of them are skipped */
	assert_int_equal(rs_reap_skip(~0u, 128, 4), 8 * RS_REAP_SPREAD - 1);
	assert_int_equal(rs_reap_skip(~0u, 128, 31), RS_REAP_SPREAD - 1);
	assert_int_equal(rs_reap_skip(~0u, ~0u, 0), RS_REAP_MAX_DEPTH * RS_REAP_SPREAD - 1);
	assert_true(rs_reap_is_fair(&first, 1));
	assert_false(rs_reap_is_fair(&first, 2));
	assert_true(rs_reap_is_fair(&later, 8));
	assert_false(rs_reap_is_fair(&later, 9));
}

/* Who notes that a CQE is gone may come too late, and only when another is followed. */
static void test_late_note(void **state)
{
	struct rs_reap f = { 0 };

	(void)state;
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	rs_reap_begin(&f, 7, 1000);
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	rs_reap_note(&f, 1000, 1500);
	assert_int_equal(rs_reap_gone_ns(&f), 1500);
	rs_reap_end(&f, 1, 0);
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	rs_reap_begin(&f, 9, 2000);
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	rs_reap_note(&f, 1000, 1600);
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	/* half of a late note between the halves of another */
	rs_reap_note(&f, 2000, 2600);
	f.gone_ns = 1600;
	assert_int_equal(rs_reap_gone_ns(&f), 0);
	rs_reap_note(&f, 2000, 2700);
	assert_int_equal(rs_reap_gone_ns(&f), 2700);
}

static uint64_t n_lags(const struct rs_lags *l)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < RS_REAP_BUCKETS; i++)
		n += l->dist.buckets[i];
	return n;
}

/* Where each move of the CQ head is seen, each CQE has its time, across the end of the numbers too. */
static void test_lags(void **state)
{
	const uint32_t first = 0xfffffff0u;
	struct rs_lags l = { 0 };
	uint32_t i;

	(void)state;
	for (i = 0; i < 32; i++)
		rs_lags_post(&l, first, first + 1 + i, 1000 + i);
	rs_lags_move(&l, first + 10, 5000);
	assert_int_equal(n_lags(&l), 10);
	assert_int_equal(l.dist.sum_ns, 10 * 4000 - 45);
	assert_int_equal(l.dist.max_ns, 4000);
	rs_lags_move(&l, first + 32, 6000);
	assert_int_equal(n_lags(&l), 32);
	/* nothing twice */
	rs_lags_move(&l, first + 32, 7000);
	assert_int_equal(n_lags(&l), 32);
	/* of more than there is room for the last ones are known */
	for (i = 0; i < 100; i++)
		rs_lags_post(&l, first + 32, first + 33 + i, 10000);
	rs_lags_move(&l, first + 132, 10001);
	assert_int_equal(n_lags(&l), 32 + RS_LAG_SLOTS);
	assert_int_equal(l.unseen, 0);
}

/* A head that stands elsewhere than it was seen to move to: for a moment it may. */
static void test_unseen_moves(void **state)
{
	struct rs_lags l = { 0 };

	(void)state;
	rs_lags_post(&l, 5, 6, 1000);
	rs_lags_post(&l, 6, 7, 2000);
	rs_lags_post(&l, 6, 8, 2000 + RS_LAG_ASTRAY_NS);
	assert_int_equal(l.unseen, 0);
	rs_lags_move(&l, 6, 2001 + RS_LAG_ASTRAY_NS);
	rs_lags_post(&l, 6, 9, 2001 + 9 * RS_LAG_ASTRAY_NS);
	assert_int_equal(l.unseen, 0);
	rs_lags_post(&l, 7, 10, 2001 + 10 * RS_LAG_ASTRAY_NS);
	rs_lags_post(&l, 8, 11, 2002 + 11 * RS_LAG_ASTRAY_NS);
	assert_int_equal(l.unseen, 1);
}

/* A count stays where it is once it is as large as can be. */
static void test_full_bucket(void **state)
{
	struct rs_reap_dist d = { .buckets = { [0] = ~0u } };

	(void)state;
	rs_reap_dist_add(&d, 1);
	rs_reap_dist_add(&d, UINT64_MAX - 1);
	assert_int_equal(d.buckets[0], ~0u);
	assert_int_equal(d.buckets[RS_REAP_BUCKETS - 1], 1);
	assert_int_equal(d.max_ns, UINT64_MAX - 1);
}

static uint64_t median_ns(const struct rs_reap_dist *d)
{
	struct rs_lat l;

	reap_dist__lat(d, &l);
	return lat__quantile_ns(&l, 0.5);
}

static void test_read(void **state)
{
	struct rs_reap f = { .posted_ns = 5000, .unreaped_ns = 7000, .left = 3 };
	struct rs_reaped sum = { 0 };
	struct rs_lags lags = { 0 };
	struct reap_stats r, copy, d;
	double lower, upper;

	(void)state;
	assert_int_equal(reap_stats__read(&f, 8, &sum, NULL, &r), 0);
	assert_null(r.times);
	assert_true(r.left_known);
	assert_int_equal(r.left, 2);
	assert_int_equal(r.unreaped_ns, 2000);
	assert_int_equal(reap_stats__count(&r), 0);
	assert_false(reap_stats__depth(&r, 10, 1000, &lower, &upper));
	for (unsigned int i = 1; i <= 101; i++) {
		rs_reap_dist_add(&sum.lower, 1000);
		rs_reap_dist_add(&sum.upper, i * 1000);
	}
	f.left = 0;
	f.posted_ns = 0;
	assert_int_equal(reap_stats__read(&f, 8, &sum, NULL, &r), 0);
	assert_false(r.left_known);
	assert_int_equal(r.unreaped_ns, 0);
	assert_int_equal(reap_stats__count(&r), 101);
	assert_int_equal(r.times->lower.sum_ns, 101000);
	assert_int_equal(r.times->upper.max_ns, 101000);
	assert_in_range(median_ns(&r.times->lower), 1000 - 63, 1000);
	assert_in_range(median_ns(&r.times->upper), 51000 - 3200, 51000 + 3200);
	/* 202 CQEs in 1 ms, each there for 1 to 51 us */
	assert_true(reap_stats__depth(&r, 202, 1000000, &lower, &upper));
	assert_float_equal(lower, 0.202, 1e-6);
	assert_float_equal(upper, 10.302, 1e-6);
	assert_int_equal(reap_stats__copy(&r, &copy), 0);
	assert_ptr_not_equal(copy.times, r.times);
	rs_reap_dist_add(&sum.lower, 0);
	rs_reap_dist_add(&sum.upper, 3000);
	reap_stats__free(&r);
	assert_int_equal(reap_stats__read(&f, 8, &sum, NULL, &r), 0);
	assert_int_equal(reap_stats__delta(&copy, &r, &d), 0);
	assert_int_equal(reap_stats__count(&d), 1);
	assert_int_equal(d.times->upper.sum_ns, 3000);
	/* the maximum of both was another */
	assert_in_range(d.times->upper.max_ns, 3000, 3000 + 3000 / 8);
	assert_int_equal(d.times->lower.sum_ns, 0);
	reap_stats__free(&d);
	reap_stats__free(&copy);
	reap_stats__free(&r);
	rs_lags_post(&lags, 0, 1, 1000);
	rs_lags_move(&lags, 1, 3000);
	assert_int_equal(reap_stats__read(&f, 8, &sum, &lags, &r), 0);
	assert_true(r.exact);
	assert_int_equal(reap_stats__count(&r), 1);
	assert_int_equal(r.times->lag.sum_ns, 2000);
	assert_true(reap_stats__depth(&r, 10, 10000, &lower, &upper));
	assert_float_equal(lower, 2, 1e-9);
	assert_float_equal(upper, 2, 1e-9);
	reap_stats__free(&r);
	lags.unseen = 1;
	assert_int_equal(reap_stats__read(&f, 8, &sum, &lags, &r), 0);
	assert_false(r.exact);
	assert_int_equal(reap_stats__count(&r), 102);
	reap_stats__free(&r);
	/* consumed, and no CQE has come since */
	f = (struct rs_reap){ .posted_ns = 5000, .unreaped_ns = 7000, .depth = 4 };
	rs_reap_note(&f, 5000, 9000);
	assert_int_equal(reap_stats__read(&f, 8, &sum, NULL, &r), 0);
	assert_int_equal(reap_stats__count(&r), 103);
	assert_int_equal(r.unreaped_ns, 0);
	reap_stats__free(&r);
	reap_stats__free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_late_note),
		cmocka_unit_test(test_lags),
		cmocka_unit_test(test_unseen_moves),
		cmocka_unit_test(test_full_bucket),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
