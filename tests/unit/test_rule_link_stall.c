// SPDX-License-Identifier: MIT
/* LINK-STALL firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#include "op_stages.h"

#define ID "LINK-STALL"

/* n writes that waited behind others for link_ns, and were done in 1 ms. */
static struct snapshot *chained(uint64_t n, uint64_t link_ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 2);
	struct op_stats *o = sample__op(r, OP_WRITE);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	sample__latency(o, link_ns + 1000000, n);
	sample__times(o, RS_KIND_SLOW, link_ns + 1000000, n);
	sample__times(o, RS_KIND_STAGE(RS_ST_LINK), link_ns, n);
	sample__times(o, RS_KIND_STAGE(RS_ST_OTHER), 1000000, n);
	return s;
}

static void chain(void **state)
{
	struct snapshot *s = chained(200, 3000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 2);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(f->time_ns, 600000000);
	assert_int_equal(integer_of(f, "waited"), 200);
	assert_int_equal(integer_of(f, "timed"), 200);
	assert_int_equal(integer_of(f, "link_mean_ns"), 3000000);
	assert_float_equal(real_of(f, "link_pct"), 75, 1e-6);
	assert_int_equal(integer_of(f, "drained"), 0);
	assert_string_equal(f->title,
		"WRITE: 200 requests waited behind others of their chain for 3.00ms on average, 75% of their time");
	diagnosis__free(&d);
	sample__free(s);
}

static void drain(void **state)
{
	struct snapshot *s = chained(200, 3000000);

	(void)state;
	s->rings[0].c[RS_RC_DRAINED] = 99;
	assert_severity_of(s, ID, SEVERITY_INFO);
	s->rings[0].c[RS_RC_DRAINED] = 100;
	assert_severity_of(s, ID, SEVERITY_WARN);
	/* of another ring */
	s->rings[0].c[RS_RC_DRAINED] = 0;
	sample__ring(s, 3)->c[RS_RC_DRAINED] = 1000;
	assert_severity_of(s, ID, SEVERITY_INFO);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, link_ns;
		bool fires;
	} rows[] = {
		{ 100, 1000000, true },
		{ 99, 1000000, false },
		{ 100, 999000, false },
		{ 100000, 900000, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = chained(rows[i].n, rows[i].link_ns);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = chained(200, 3000000);

	(void)state;
	/* most writes are in no chain */
	sample__latency(&s->rings[0].ops[0], 1000000, 10000);
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = chained(200, 3000000);

	(void)state;
	assert_needs(s, ID, RS_F_STAGES);
	assert_needs(s, ID, RS_F_LINK);
	s->rings[0].ops[0].stages_lost = 1;
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain),
		cmocka_unit_test(drain),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
