// SPDX-License-Identifier: MIT
/* CANCELED: broken chains, and what else cancels requests. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#define RULE_UNDER_TEST "CANCELED"
#include "diagnosis.h"

enum { OP_ASYNC_CANCEL = 14, OP_LINK_TIMEOUT = 15 };

/* A ring with 10,000 requests, n of which were canceled in their chains. */
static struct ring_stats *chains(struct snapshot *s, uint64_t n)
{
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_WRITE);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 10000;
	o->c[RS_SC_CANCELED_LINK] = n;
	return r;
}

static void broken_chains(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	chains(s, 100);
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(f->weight, 100);
	assert_string_equal(f->title,
		"ring 1: 100 requests, mostly WRITE, were canceled with the chain that they were in");
	assert_int_equal(integer_of(f, "requests"), 10000);
	assert_float_equal(real_of(f, "canceled_pct"), 1, 1e-9);
	diagnosis__free(&d);
	s->rings[0].ops[0].c[RS_SC_CANCELED_LINK] = 99;
	assert_healthy(s);
	s->rings[0].ops[0].c[RS_SC_CANCELED_LINK] = 100;
	s->rings[0].ops[0].c[RS_SC_SUBMITTED] = 10001;
	assert_healthy(s);
	sample__free(s);
}

/* What a linked timeout cuts off ends the same way; the timeout itself is canceled if nothing is cut off. */
static void linked_timeouts(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = chains(s, 150);
	struct op_stats *o = sample__op(r, OP_LINK_TIMEOUT);

	(void)state;
	o->c[RS_SC_CANCELED_LINK] = 5000;
	assert_int_equal(op_stats__add_errno(o, ETIME, 50), 0);
	assert_severity(s, SEVERITY_WARN);
	assert_int_equal(op_stats__add_errno(o, ETIME, 1), 0);
	assert_healthy(s);
	assert_int_equal(op_stats__add_errno(o, ETIME, 1000), 0);
	assert_healthy(s);
	sample__free(s);
}

static void rings_on_which_requests_are_canceled(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = chains(s, 100);
	struct op_stats *o = sample__op(r, OP_ASYNC_CANCEL);
	struct diagnosis d;

	(void)state;
	/* in vain */
	o->c[RS_SC_COMPLETED] = o->c[RS_SC_ERRORS] = 10;
	assert_severity(s, SEVERITY_WARN);
	o->c[RS_SC_COMPLETED] = 11;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_int_equal(d.n_not_checked, 1);
	assert_true(d.not_checked[0].in_part);
	assert_string_equal(d.not_checked[0].why,
		"not on 1 ring on which ASYNC_CANCEL may have ended the requests");
	diagnosis__free(&d);
	sample__op(r, OP_WRITE)->c[RS_SC_CANCELED_LINK] = 99;
	assert_healthy(s);
	sample__free(s);
}

static void what_is_not_known(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	chains(s, 1000);
	s->features[RS_F_LINK].level = FEATURE_OFF;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_false(d.not_checked[0].in_part);
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_chains),
		cmocka_unit_test(linked_timeouts),
		cmocka_unit_test(rings_on_which_requests_are_canceled),
		cmocka_unit_test(what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
