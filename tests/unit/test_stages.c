// SPDX-License-Identifier: MIT
/* The stages of a request, and where the time of many went. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "agg.h"
#include "op_stages.h"
#include "sample.h"
#include "stages.h"

static uint64_t sum_of(const struct rs_cold *c)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < RS_LIVE_STAGES; i++)
		sum += c->ns[i];
	return sum;
}

/* Tried inline, parked, woken, parked again, woken, completed. */
static void test_sequence(void **state)
{
	struct rs_cold c = { .ns = { 9, 9, 9 } };

	(void)state;
	rs_stages_begin(&c, rs_stage_first(RS_OP_BYTES), 1000);
	rs_stage_enter(&c, RS_ST_ARMED, 1010);
	rs_stage_enter(&c, RS_ST_DELIVER, 1110);
	rs_stage_enter(&c, RS_ST_ARMED, 1115);
	rs_stage_enter(&c, RS_ST_DELIVER, 2115);
	rs_stages_end(&c, 1, RS_OP_BYTES, 1000, 1121);
	assert_int_equal(c.ns[RS_ST_ISSUE], 10);
	assert_int_equal(c.ns[RS_ST_ARMED], 1100);
	assert_int_equal(c.ns[RS_ST_DELIVER], 5 + 6);
	assert_int_equal(sum_of(&c), 1121);
}

/* Nothing was heard of it: an opcode that waits waited, any other did something unknown. */
static void test_nothing_happened(void **state)
{
	struct rs_cold c = { .ns = { 9, 9, 9 } };

	(void)state;
	rs_stages_end(&c, 0, RS_OP_WAITS, 1000, 50);
	assert_int_equal(c.ns[RS_ST_ARMED], 50);
	assert_int_equal(sum_of(&c), 50);
	rs_stages_end(&c, 0, RS_OP_BYTES, 1000, 50);
	assert_int_equal(c.ns[RS_ST_OTHER], 50);
	assert_int_equal(sum_of(&c), 50);
}

/* Another CPU's clock was behind: nothing is negative, and the sum stays the latency. */
static void test_clocks_differ(void **state)
{
	struct rs_cold c;

	(void)state;
	rs_stages_begin(&c, RS_ST_ISSUE, 1000);
	rs_stage_enter(&c, RS_ST_WQ, 990);
	rs_stage_enter(&c, RS_ST_WQ_RUN, 1100);
	rs_stages_end(&c, 1, 0, 1000, 150);
	assert_int_equal(c.ns[RS_ST_ISSUE], 0);
	assert_int_equal(c.ns[RS_ST_WQ], 100);
	assert_int_equal(c.ns[RS_ST_WQ_RUN], 50);
	assert_int_equal(sum_of(&c), 150);
}

static uint64_t sum_with(const struct rs_cold *c, const struct rs_block *b)
{
	return sum_of(c) + b->blk_queue_ns + b->device_ns;
}

/* Queued, cut in two, the parts done one after the other; the CQE is posted later. */
static void test_block(void **state)
{
	struct rs_block b = { .queued_ns = 1010, .last_queued_ns = 1015, .issued_ns = 1030, .done_ns = 1100 };
	struct rs_cold c;

	(void)state;
	rs_stages_begin(&c, RS_ST_ISSUE, 1000);
	rs_block_settle(&c, &b, RS_ST_DELIVER, 1107);
	rs_stages_end(&c, 1, RS_OP_BYTES, 1000, 107);
	assert_int_equal(c.ns[RS_ST_ISSUE], 10);
	assert_int_equal(b.blk_queue_ns, 20);
	assert_int_equal(b.device_ns, 70);
	assert_int_equal(c.ns[RS_ST_DELIVER], 7);
	assert_int_equal(sum_with(&c, &b), 107);
	assert_int_equal(b.queued_ns, 0);
}

/* A worker reads in two turns, and has something to do between them and after. */
static void test_block_turns(void **state)
{
	struct rs_block b = { .queued_ns = 1020, .issued_ns = 1021, .done_ns = 1031 };
	struct rs_cold c;

	(void)state;
	rs_stages_begin(&c, RS_ST_ISSUE, 1000);
	rs_stage_enter(&c, RS_ST_WQ_RUN, 1010);
	rs_block_settle(&c, &b, c.stage, 1040);
	b.queued_ns = 1040;
	b.issued_ns = 1042;
	b.done_ns = 1062;
	rs_block_settle(&c, &b, c.stage, 1070);
	rs_stages_end(&c, 1, RS_OP_BYTES, 1000, 70);
	assert_int_equal(c.ns[RS_ST_ISSUE], 10);
	assert_int_equal(c.ns[RS_ST_WQ_RUN], 10 + 9 + 8);
	assert_int_equal(b.blk_queue_ns, 1 + 2);
	assert_int_equal(b.device_ns, 10 + 20);
	assert_int_equal(sum_with(&c, &b), 70);
}

/* What is still being done when a request ends is not what it waited for. */
static void test_block_not_done(void **state)
{
	struct rs_block b = { .queued_ns = 1020, .issued_ns = 1021 };
	struct rs_cold c;

	(void)state;
	rs_stages_begin(&c, RS_ST_ISSUE, 1000);
	rs_block_settle(&c, &b, RS_ST_DELIVER, 1050);
	assert_int_equal(c.stage, RS_ST_ISSUE);
	assert_int_equal(b.queued_ns, 0);
	assert_int_equal(b.issued_ns, 0);
	assert_int_equal(sum_with(&c, &b), 0);
}

/* Stamps of several CPUs need not be in order. */
static void test_block_clocks_differ(void **state)
{
	struct rs_block b = { .queued_ns = 990, .issued_ns = 985, .done_ns = 1100 };
	struct rs_cold c;

	(void)state;
	rs_stages_begin(&c, RS_ST_ISSUE, 1000);
	rs_block_settle(&c, &b, RS_ST_DELIVER, 1090);
	rs_stages_end(&c, 1, RS_OP_BYTES, 1000, 90);
	assert_int_equal(b.blk_queue_ns, 0);
	assert_int_equal(b.device_ns, 90);
	assert_int_equal(sum_with(&c, &b), 90);
}

static void add(struct op_times **t, uint64_t ns, uint64_t latency_ns, unsigned int n)
{
	struct op_times one = { .lat = { .min_ns = UINT64_MAX } };

	while (n--) {
		rs_lat_add(&one.lat, ns, 0);
		one.tail_ns[rs_hist_bucket(latency_ns) / RS_HIST_SUB] += ns;
	}
	assert_int_equal(op_times__add(t, &one), 0);
}

/* 990 READs end inline in 1 us each; 10 are punted after 2 us and take 1 ms more. */
static struct op_stats *mixed(struct snapshot *s)
{
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_READ);
	unsigned int i;

	for (i = 0; i < 990; i++)
		rs_lat_add(&o->lat, 1000, 0);
	for (i = 0; i < 10; i++)
		rs_lat_add(&o->lat, 1002000, 0);
	add(&o->kin[RS_KIND_SLOW], 1002000, 1002000, 10);
	add(&o->kin[RS_KIND_STAGE(RS_ST_ISSUE)], 2000, 1002000, 10);
	add(&o->kin[RS_KIND_STAGE(RS_ST_WQ)], 1000000, 1002000, 10);
	return o;
}

static void test_shares(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = mixed(s);
	struct op_stages st;

	(void)state;
	op_stages__make(o, &st);
	assert_int_equal(st.issue.sum_ns, 990 * 1000 + 10 * 2000);
	assert_int_equal(st.lat[RS_ST_ISSUE]->sum_ns + st.lat[RS_ST_WQ]->sum_ns, o->lat.sum_ns);
	assert_null(st.lat[RS_ST_ARMED]);
	assert_true(fabs(op_stages__share(&st, RS_ST_WQ) - 10000.0 / 11010) < 1e-9);
	/* the slowest percent are those ten */
	assert_true(fabs(st.tail_n - 10) < 1e-9);
	assert_true(fabs(op_stages__tail_share(&st, RS_ST_WQ) - 1000.0 / 1002) < 1e-9);
	assert_true(fabs(op_stages__tail_share(&st, RS_ST_ISSUE) - 2.0 / 1002) < 1e-9);
	assert_true(op_stages__tail_share(&st, RS_ST_ARMED) == 0);
	sample__free(s);
}

/* Where all end inline there is one stage, and it is all there is. */
static void test_inline(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_NOP);
	struct op_stages st;
	unsigned int i;

	(void)state;
	op_stages__make(o, &st);
	assert_true(op_stages__share(&st, RS_ST_ISSUE) == 0 && st.tail_n == 0);
	for (i = 0; i < 500; i++)
		rs_lat_add(&o->lat, 100 + i, 0);
	op_stages__make(o, &st);
	assert_true(op_stages__share(&st, RS_ST_ISSUE) == 1);
	assert_true(op_stages__tail_share(&st, RS_ST_ISSUE) == 1);
	assert_true(fabs(st.tail_n - 5) < 1e-9);
	assert_int_equal(st.issue.min_ns, 100);
	assert_int_equal(st.issue.max_ns, 599);
	sample__free(s);
}

/* Stages of several rings add up; an interval has what is new. */
static void test_sums_and_differences(void **state)
{
	struct snapshot *first = sample__snapshot(), *both = sample__snapshot(), d;
	struct op_stats *o = mixed(first), *sum = mixed(both);
	struct op_stages st;

	(void)state;
	assert_int_equal(op_stats__add(sum, o), 0);
	op_stages__make(sum, &st);
	assert_int_equal(st.lat[RS_ST_WQ]->sum_ns, 20 * 1000000);
	assert_int_equal(snapshot__delta(first, both, &d), 0);
	op_stages__make(&d.rings[0].ops[0], &st);
	assert_int_equal(st.lat[RS_ST_WQ]->sum_ns, 10 * 1000000);
	assert_int_equal(st.issue.sum_ns, 990 * 1000 + 10 * 2000);
	assert_true(fabs(op_stages__tail_share(&st, RS_ST_WQ) - 1000.0 / 1002) < 1e-9);
	snapshot__free(&d);
	sample__free(first);
	sample__free(both);
}

static void test_what_is_known(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = mixed(s);

	(void)state;
	assert_false(snapshot__knows_stage(s, RS_ST_WQ));
	assert_true(snapshot__knows_stage(s, RS_ST_WQ_QUEUE));
	s->features[RS_F_WQ_QUEUE].level = FEATURE_OFF;
	assert_true(snapshot__knows_stage(s, RS_ST_WQ));
	assert_false(snapshot__knows_stage(s, RS_ST_WQ_RUN));
	s->features[RS_F_WAKE].level = FEATURE_OFF;
	assert_false(snapshot__knows_stage(s, RS_ST_DELIVER));
	assert_true(op_stats__knows_stages(s, o));
	o->stages_lost = 1;
	assert_false(op_stats__knows_stages(s, o));
	s->features[RS_F_STAGES].level = FEATURE_OFF;
	assert_false(snapshot__knows_stage(s, RS_ST_ISSUE));
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_nothing_happened),
		cmocka_unit_test(test_clocks_differ),
		cmocka_unit_test(test_block),
		cmocka_unit_test(test_block_turns),
		cmocka_unit_test(test_block_not_done),
		cmocka_unit_test(test_block_clocks_differ),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_sums_and_differences),
		cmocka_unit_test(test_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
