// SPDX-License-Identifier: MIT
/* How long CQEs lie in the CQ, in words and as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_text.h"
#include "json_at.h"
#include "reap.h"

/* One ring that was there for 1 s, with 1000 READs. */
static struct fab one_ring(void)
{
	struct fab f = fab__new();

	fab__op(fab__ring(&f, 7, "db"), OP_READ, 1000);
	f.s->rings[0].alive_ns = 1000000000;
	return f;
}

/* 100 of its CQEs lay there for more than 1 ms and less than 3 ms; 2 are still there. */
static struct fab reaped(void)
{
	struct fab f = one_ring();
	struct rs_reaped sum = { 0 };
	struct rs_reap state = { .posted_ns = 1000, .unreaped_ns = 5001000, .left = 3 };

	for (unsigned int i = 0; i < 100; i++) {
		rs_reap_dist_add(&sum.lower, 1000000);
		rs_reap_dist_add(&sum.upper, 3000000);
	}
	assert_int_equal(reap_stats__read(&state, 8, &sum, NULL, &f.s->rings[0].reap), 0);
	return f;
}

static char *text_of(const struct fab *f)
{
	const struct text_options o = { .width = 100 };

	return render_as(f, "x", NULL, &o);
}

static void test_json(void **state)
{
	struct fab f = reaped();
	json_t *j = render(&f);

	(void)state;
	assert_text(j, "rings.0.reap.how", "bracketed");
	assert_null_at(j, "rings.0.reap.lag_ns");
	assert_u64(j, "rings.0.reap.count", 100);
	assert_u64(j, "rings.0.reap.lower_ns.sum", 100000000);
	assert_u64(j, "rings.0.reap.lower_ns.max", 1000000);
	assert_u64(j, "rings.0.reap.upper_ns.count", 100);
	assert_u64(j, "rings.0.reap.upper_ns.max", 3000000);
	assert_in_range(json_integer_value(at(j, "rings.0.reap.upper_ns.p99")), 2812000, 3000000);
	assert_u64(j, "rings.0.reap.unreaped", 2);
	assert_u64(j, "rings.0.reap.unreaped_ns", 5000000);
	/* 1000 CQEs in a second */
	assert_float_equal(json_number_value(at(j, "rings.0.reap.cq_depth_mean.lower")), 1, 1e-9);
	assert_float_equal(json_number_value(at(j, "rings.0.reap.cq_depth_mean.upper")), 3, 1e-9);
	json_decref(j);
	/* what overflowed comes to the CQ when nobody knows */
	f.s->rings[0].c[RS_RC_CQ_OVERFLOWS] = 1;
	j = render(&f);
	assert_null_at(j, "rings.0.reap.cq_depth_mean");
	assert_u64(j, "rings.0.reap.count", 100);
	json_decref(j);
	fab__free(&f);
}

static void test_exact(void **state)
{
	struct fab f = one_ring();
	struct rs_reaped sum = { 0 };
	struct rs_reap none = { 0 };
	struct rs_lags lags = { 0 };
	json_t *j;
	char *s;

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		rs_lags_post(&lags, 0, i + 1, 1000);
	rs_lags_move(&lags, 10, 4001000);
	assert_int_equal(reap_stats__read(&none, 8, &sum, &lags, &f.s->rings[0].reap), 0);
	j = render(&f);
	assert_text(j, "rings.0.reap.how", "exact");
	assert_u64(j, "rings.0.reap.count", 10);
	assert_u64(j, "rings.0.reap.lag_ns.sum", 40000000);
	assert_u64(j, "rings.0.reap.lag_ns.max", 4000000);
	assert_u64(j, "rings.0.reap.lower_ns.count", 0);
	assert_float_equal(json_number_value(at(j, "rings.0.reap.cq_depth_mean.lower")), 4, 1e-9);
	assert_float_equal(json_number_value(at(j, "rings.0.reap.cq_depth_mean.upper")), 4, 1e-9);
	json_decref(j);
	s = text_of(&f);
	assert_has(s, "4.00ms");
	free(s);
	fab__free(&f);
}

static void test_json_of_nothing(void **state)
{
	struct fab f = one_ring();
	json_t *j = render(&f);

	(void)state;
	assert_u64(j, "rings.0.reap.count", 0);
	assert_u64(j, "rings.0.reap.upper_ns.sum", 0);
	assert_null_at(j, "rings.0.reap.upper_ns.max");
	assert_null_at(j, "rings.0.reap.lower_ns.p50");
	assert_null_at(j, "rings.0.reap.unreaped");
	assert_null_at(j, "rings.0.reap.unreaped_ns");
	assert_null_at(j, "rings.0.reap.cq_depth_mean");
	json_decref(j);
	fab__free(&f);
}

static void test_text(void **state)
{
	struct fab f = reaped();
	char *s = text_of(&f);

	(void)state;
	assert_has(s, "REAP");
	assert_has(s, "999us-2.95ms");
	free(s);
	f.s->rings[0].reap.times->lower = f.s->rings[0].reap.times->upper;
	s = text_of(&f);
	assert_has(s, " 2.95ms ");
	free(s);
	fab__feature(&f, RS_F_ENDS, FEATURE_OFF, "not here");
	s = text_of(&f);
	assert_lacks(s, "REAP");
	free(s);
	fab__free(&f);
}

static void test_text_of_never(void **state)
{
	struct fab f = one_ring();
	char *s = text_of(&f);

	(void)state;
	assert_lacks(s, "REAP");
	free(s);
	f.s->rings[0].reap = (struct reap_stats){ .left_known = true, .left = 8, .unreaped_ns = 20000000 };
	s = text_of(&f);
	assert_has(s, ">20.0ms");
	free(s);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_json_of_nothing),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_of_never),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
