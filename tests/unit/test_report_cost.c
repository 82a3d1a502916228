// SPDX-License-Identifier: MIT
/* What the observation cost, in words and as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agg.h"
#include "assert_text.h"
#include "fabricate.h"
#include "json_at.h"

/* 1,000,000 READs of which a 64th was timed, and what they cost: 50 ms, 1 ms, and 3 ms of the process. */
static struct fab busy(void)
{
	struct fab f = fab__new();
	struct op_stats *o = sample__op(fab__ring(&f, 7, "db"), OP_READ);
	unsigned int i;

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000000;
	for (i = 0; i < 15625; i++)
		rs_lat_add(&o->lat, 1000, 0);
	f.s->cost = (struct cost){ .known = true,
		.rates = { .request_ns = 50, .timing_ns = 64 },
		.process_ns = 3000000,
		.sample = 64 };
	return f;
}

static char *text_of(const struct fab *f)
{
	const struct text_options o = { .width = 80 };

	return render_as(f, "x", NULL, &o);
}

static void test_estimate(void **state)
{
	struct fab f = busy();
	char *text = text_of(&f);
	json_t *j = render(&f);

	(void)state;
	assert_has(text, "Cost of observing: about 54.0ms of CPU time, 1.35% of what the machine has, 51ns");
	assert_has(text, "1 request in 64 timed.");
	assert_has(text, "latency of those timed");
	assert_lacks(text, "Budget");
	assert_u64(j, "cost.estimated_cpu_ns", 54000000);
	assert_u64(j, "cost.programs_ns", 51000000);
	assert_u64(j, "cost.process_ns", 3000000);
	assert_u64(j, "cost.timed", 15625);
	assert_u64(j, "cost.sample", 64);
	assert_null_at(j, "cost.budget");
	json_decref(j);
	free(text);
	fab__free(&f);
}

static void test_every_request_timed(void **state)
{
	struct fab f = busy();
	char *text;

	(void)state;
	f.s->cost.sample = 1;
	text = text_of(&f);
	assert_lacks(text, " timed.");
	assert_lacks(text, "of those timed");
	free(text);
	fab__free(&f);
}

/* ringside may not use io_uring itself: nothing is made up. */
static void test_not_known(void **state)
{
	struct fab f = busy();
	json_t *j;
	char *text;

	(void)state;
	f.s->cost.known = false;
	text = text_of(&f);
	j = render(&f);
	assert_lacks(text, "Cost of observing");
	assert_null_at(j, "cost.estimated_cpu_ns");
	assert_null_at(j, "cost.programs_ns");
	assert_null_at(j, "cost.request_ns");
	assert_null_at(j, "cost.timing_ns");
	json_decref(j);
	free(text);
	fab__free(&f);
}

static void test_budget(void **state)
{
	struct fab f = busy();
	struct cost_budget *b = &f.s->cost.budget;
	char *text;
	json_t *j;

	(void)state;
	*b = (struct cost_budget){ .on = true,
		.part = 0.02,
		.busy_ns = 1000,
		.spent_ns = 19,
		.sample_min = 8,
		.sample_max = 64 };
	text = text_of(&f);
	assert_has(text, "1 request in 8 to 64 timed.");
	assert_has(text, "\nBudget of 2% of the busy CPU time: 1.90% used.\n");
	free(text);
	b->spent_ns = 30;
	b->over_ns = 1500000000;
	text = text_of(&f);
	assert_has(text, "\nNOT HELD: Budget of 2% of the busy CPU time: 3.00% used; for 1.50s counting");
	free(text);
	j = render(&f);
	assert_true(json_is_false(at(j, "cost.budget.held")));
	assert_true(json_real_value(at(j, "cost.budget.percent")) == 2);
	assert_true(json_real_value(at(j, "cost.budget.used_percent")) == 3);
	assert_u64(j, "cost.budget.over_ns", 1500000000);
	assert_u64(j, "cost.budget.sample_min", 8);
	assert_u64(j, "cost.budget.sample_max", 64);
	json_decref(j);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_estimate),
		cmocka_unit_test(test_every_request_timed),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
