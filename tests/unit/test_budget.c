// SPDX-License-Identifier: MIT
/* Keeping the cost below a limit. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "budget.h"
#include "sampling.h"

#define MS 1000000ull

static const struct cost_rates rates = { .request_ns = 50, .timing_ns = 50 };

/* Half a second in which one of two CPUs was busy, and requests came at this rate. */
static uint32_t next(struct budget *b, struct budget_reading *r, uint64_t requests)
{
	r->now_ns += 500 * MS;
	r->busy_ns += 500 * MS;
	r->requests += requests;
	r->events += 2 * requests;
	return budget__next(b, &rates, r);
}

static void test_programs(void **state)
{
	const struct cost_work requests = { .requests = 10, .timed = 4, .events = 20 };
	const struct cost_work more = { .requests = 10, .timed = 4, .events = 26 };
	const struct cost_work odd = { .requests = 10, .events = 3 };

	(void)state;
	assert_int_equal(cost__programs_ns(&rates, &requests), 10 * 50 + 4 * 50);
	assert_int_equal(cost__programs_ns(&rates, &more), 10 * 50 + 4 * 50 + 3 * 50);
	assert_int_equal(cost__programs_ns(&rates, &odd), 10 * 50);
}

/* 1 % of 500 ms are 5 ms; 20,000 requests cost 1 ms, and all their times another. */
static void test_affords_all(void **state)
{
	struct budget_reading r = { .now_ns = 7 };
	struct budget b;
	uint32_t n = 0, i;

	(void)state;
	budget__begin(&b, 0.01, &r);
	for (i = 0; i < 8; i++)
		n = next(&b, &r, 20000);
	assert_int_equal(n, 1);
	assert_int_equal(b.said.over_ns, 0);
	assert_true(cost_budget__held(&b.said));
	assert_int_equal(b.said.sample_max, BUDGET_FIRST_SAMPLE);
	assert_int_equal(b.said.sample_min, 1);
}

/* 60,000 requests cost 3 ms of the 5: 1 of the 4 that are planned is left for times, which would take 3. */
static void test_affords_some(void **state)
{
	struct budget_reading r = { 0 };
	struct budget b;
	uint32_t n = 0, i;

	(void)state;
	budget__begin(&b, 0.01, &r);
	for (i = 0; i < 8; i++)
		n = next(&b, &r, 60000);
	assert_in_range(n, 3, 4);
	assert_true(cost_budget__held(&b.said));
}

/* Down at once, up in steps. */
static void test_reacts(void **state)
{
	struct budget_reading r = { 0 };
	struct budget b;
	uint32_t i;

	(void)state;
	budget__begin(&b, 0.01, &r);
	for (i = 0; i < 8; i++)
		next(&b, &r, 20000);
	assert_int_equal(b.sample, 1);
	assert_true(next(&b, &r, 79000) > 50);
	i = b.sample;
	assert_int_equal(next(&b, &r, 20000), i / 2);
	assert_int_equal(next(&b, &r, 20000), i / 4);
}

/* Counting alone costs 10 ms. */
static void test_not_held(void **state)
{
	struct budget_reading r = { 0 };
	struct budget b;

	(void)state;
	budget__begin(&b, 0.01, &r);
	assert_int_equal(next(&b, &r, 200000), RS_SAMPLE_MAX);
	assert_int_equal(b.said.over_ns, 500 * MS);
	assert_false(cost_budget__held(&b.said));
	assert_int_equal(b.said.sample_max, RS_SAMPLE_MAX);
	assert_int_equal(b.said.busy_ns, 500 * MS);
	/* 200,000 x 50 ns, and a 64th of them timed */
	assert_int_equal(b.said.spent_ns, 10 * MS + 200000 / 64 * 50);
}

/* ringside's own process counts too. */
static void test_process(void **state)
{
	struct budget_reading r = { .process_ns = 1000 };
	struct budget b;

	(void)state;
	budget__begin(&b, 0.01, &r);
	r.process_ns += 20 * MS;
	assert_int_equal(next(&b, &r, 10), RS_SAMPLE_MAX);
	assert_false(cost_budget__held(&b.said));
}

/* Sums read from tables that change may go back; and a machine may do nothing at all. */
static void test_odd_readings(void **state)
{
	struct budget_reading r = { .busy_ns = 100, .process_ns = 100, .requests = 100, .events = 200 },
			      back = { 0 };
	struct budget b;

	(void)state;
	budget__begin(&b, 0.5, &r);
	back.now_ns = 500 * MS;
	assert_int_equal(budget__next(&b, &rates, &back), RS_SAMPLE_MAX);
	assert_int_equal(b.said.spent_ns, 0);
	assert_true(cost_budget__held(&b.said));
}

static void test_read_busy(void **state)
{
	uint64_t first, second;

	(void)state;
	assert_int_equal(budget__read_busy(&first), 0);
	assert_int_equal(budget__read_busy(&second), 0);
	assert_true(first > 0 && second >= first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_affords_all),
		cmocka_unit_test(test_affords_some),
		cmocka_unit_test(test_reacts),
		cmocka_unit_test(test_not_held),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_odd_readings),
		cmocka_unit_test(test_read_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
