// SPDX-License-Identifier: MIT
/* ABANDONED firing, just below its threshold, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "ABANDONED"

static struct snapshot *canceled(unsigned int op, uint64_t at_close, uint64_t at_exit)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, op);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 100;
	o->c[RS_SC_CANCELED_CLOSE] = at_close;
	o->c[RS_SC_CANCELED_EXIT] = at_exit;
	return s;
}

static void closed(void **state)
{
	struct snapshot *s = canceled(OP_WRITE, 5, 0);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(f->weight, 5);
	assert_int_equal(integer_of(f, "canceled_at_close"), 5);
	assert_int_equal(integer_of(f, "canceled_at_exit"), 0);
	assert_int_equal(integer_of(f, "submitted"), 100);
	assert_string_equal(f->title, "WRITE: 5 requests were canceled because their ring was closed");
	diagnosis__free(&d);
	sample__free(s);
	s = canceled(OP_READ, 1, 0);
	assert_severity_of(s, ID, SEVERITY_INFO);
	sample__free(s);
}

static void ended(void **state)
{
	struct snapshot *s = canceled(26, 0, 1);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_string_equal(f->title, "SEND: 1 request was canceled because their program ended");
	diagnosis__free(&d);
	sample__free(s);
}

static void healthy(void **state)
{
	static const struct {
		unsigned int op;
		uint64_t at_close, at_exit;
	} rows[] = {
		{ OP_WRITE, 0, 0 }, { OP_READ, 0, 100 }, /* a server that ends */
		{ 27, 0, 100 }, { 13, 10, 10 },		 /* ACCEPT */
		{ 11, 10, 10 },				 /* TIMEOUT */
		{ 6, 10, 10 },				 /* POLL_ADD */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = canceled(rows[i].op, rows[i].at_close, rows[i].at_exit);

		assert_silent(s, ID);
		sample__free(s);
	}
}

static void unknown(void **state)
{
	struct snapshot *s = canceled(OP_WRITE, 5, 0);

	(void)state;
	assert_needs(s, ID, RS_F_RING_EXIT);
	assert_needs(s, ID, RS_F_ENDS);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed),
		cmocka_unit_test(ended),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
