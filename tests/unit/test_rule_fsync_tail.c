// SPDX-License-Identifier: MIT
/* FSYNC-TAIL firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "FSYNC-TAIL"

/* n fsyncs of fsync_ns, and 20000 writes of 50 us. */
static struct snapshot *commits(uint64_t n, uint64_t fsync_ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);
	struct op_stats *o = sample__op(r, OP_FSYNC);

	r->c[RS_RC_BATCHES] = 1;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = o->c[RS_SC_PUNT_OPCODE] = n;
	sample__latency(o, fsync_ns, n);
	o = sample__op(r, OP_WRITE);
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 20000;
	sample__latency(o, 50000, 20000);
	return s;
}

static void fires(void **state)
{
	struct snapshot *s = commits(300, 8000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->op, OP_FSYNC);
	assert_int_equal(f->time_ns, 2400000000);
	assert_int_equal(integer_of(f, "fsyncs"), 300);
	assert_int_equal(integer_of(f, "punted"), 300);
	assert_in_range(integer_of(f, "fsync_p99_ns"), 7700000, 8300000);
	assert_in_range(integer_of(f, "others_p50_ns"), 48000, 52000);
	assert_float_equal(real_of(f, "slowest_pct"), 100, 1e-9);
	diagnosis__free(&d);
	sample__free(s);
	s = commits(300, 990000000);
	assert_severity_of(s, ID, SEVERITY_INFO);
	sample__free(s);
	s = commits(300, 1100000000);
	assert_severity_of(s, ID, SEVERITY_WARN);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, fsync_ns;
		bool fires;
	} rows[] = {
		{ 250, 1100000, true }, { 250, 900000, false },
		{ 99, 8000000, false }, /* less than a percent: the slowest percent has many writes, too */
		{ 150, 8000000, false }, { 20000, 8000000, true },
		{ 20001, 8000000, false }, /* it does little else */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = commits(rows[i].n, rows[i].fsync_ns);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = commits(300, 8000000);

	(void)state;
	/* the writes are as slow */
	sample__latency(sample__op(&s->rings[0], OP_WRITE), 9000000, 400);
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = commits(300, 8000000);
	struct op_stats *o;

	(void)state;
	assert_needs(s, ID, RS_F_PUNT);
	/* what waits for somebody says nothing of how slow work is */
	o = sample__op(&s->rings[0], 27);
	o->c[RS_SC_POLL_ARMED] = 5000;
	sample__latency(o, 1000000000, 5000);
	sample__latency(sample__op(&s->rings[0], 11), 1000000000, 5000);
	assert_fires(s, ID, true);
	/* nothing was timed */
	memset(&sample__op(&s->rings[0], OP_FSYNC)->lat, 0, sizeof(struct rs_lat));
	assert_silent(s, ID);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fires),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
