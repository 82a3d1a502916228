// SPDX-License-Identifier: MIT
/* SHORT-IO, IDLE-RING and FIDELITY. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "diagnosis.h"

#define S 1000000000ull

static void short_writes(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_WRITE);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	o->c[RS_SC_SUBMITTED] = 10000;
	r->c[RS_RC_SHORT_WRITES] = 100;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "SHORT-IO");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_string_equal(f->title, "ring 1: 100 of 10.0k writes (1.00%) were done only in part at first");
	assert_int_equal(integer_of(f, "writes"), 10000);
	diagnosis__free(&d);
	r->c[RS_RC_SHORT_WRITES] = 99;
	assert_healthy(s);
	r->c[RS_RC_SHORT_WRITES] = 100;
	o->c[RS_SC_SUBMITTED] = 10001;
	assert_healthy(s);
	o->c[RS_SC_SUBMITTED] = 100;
	s->features[RS_F_SHORT_WRITE].level = FEATURE_OFF;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_non_null(diagnosis__gap(&d, "SHORT-IO"));
	diagnosis__free(&d);
	sample__free(s);
}

static void a_ring_on_which_nothing_happens(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	r->alive_ns = 10 * S;
	r->sq_entries = 8;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "IDLE-RING");
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 1);
	assert_string_equal(f->title, "ring 1: nothing happened in 10.0s");
	assert_int_equal(integer_of(f, "idle_ns"), 10 * S);
	assert_absent(f, "cq_entries");
	diagnosis__free(&d);
	r->alive_ns--;
	assert_healthy(s);
	r->alive_ns++;
	/* somebody sleeps there */
	r->c[RS_RC_WAITS] = 1;
	assert_healthy(s);
	r->c[RS_RC_WAITS] = 0;
	/* a request waits, such as a multishot accept */
	sample__op(r, OP_NOP)->in_flight = 1;
	assert_healthy(s);
	r->ops[0].in_flight = 0;
	r->ops[0].c[RS_SC_SUBMITTED] = 1;
	assert_healthy(s);
	r->ops[0].c[RS_SC_SUBMITTED] = 0;
	r->c[RS_RC_CQES_AUX] = 1;
	assert_healthy(s);
	sample__free(s);
}

static void idle_rings_of_one_program(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	for (uint32_t id = 1; id <= 3; id++) {
		struct ring_stats *r = sample__ring(s, id);

		r->alive_ns = 60 * S;
		r->pid = 9;
	}
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 0);
	assert_int_equal(integer_of(f, "rings"), 3);
	assert_string_equal(string_of(f, "ring_ids"), "1 2 3");
	diagnosis__free(&d);
	sample__free(s);
}

static void what_ringside_missed(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	/* what extras miss concerns extras alone; ambiguous is how old kernels are */
	s->fidelity.extras_missed = s->fidelity.ambiguous = s->fidelity.unmatched = 9;
	assert_healthy(s);
	s->fidelity.rings_full = 5;
	s->fidelity.series_full = 2;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "FIDELITY");
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_true(f->never_gates);
	assert_int_equal(f->weight, 5);
	assert_int_equal(integer_of(f, "series_full"), 2);
	assert_string_equal(f->title,
		"ringside had no room for everything: counts are exact, 5 details are missing");
	diagnosis__free(&d);
	s->fidelity.missed = 3;
	f = only_finding(s, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_string_equal(f->title, "ringside missed events: counts may be too small by 3 or so");
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_writes),
		cmocka_unit_test(a_ring_on_which_nothing_happens),
		cmocka_unit_test(idle_rings_of_one_program),
		cmocka_unit_test(what_ringside_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
