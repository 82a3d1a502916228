// SPDX-License-Identifier: MIT
/* ZC-NOTIF firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "rule_case.h"

#define ID "ZC-NOTIF"

enum { SEND_ZC = 47 };

/* n sends, their buffers held for held_ns. */
static struct snapshot *sending(uint64_t n, uint64_t n_copied, uint64_t held_ns)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 2);
	struct op_stats *o = sample__op(r, SEND_ZC);

	r->c[RS_RC_BATCHES] = 1;
	r->c[RS_RC_NOTIFS] = o->c[RS_SC_NOTIFS] = n;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = n;
	o->c[RS_SC_BYTES] = n * 4096;
	o->c[RS_SC_NOTIFS_COPIED] = n_copied;
	sample__times(o, RS_TAG_NOTIF, held_ns, n);
	return s;
}

static void copied(void **state)
{
	struct snapshot *s = sending(200, 150, 20000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->ring, 2);
	assert_int_equal(f->op, SEND_ZC);
	assert_int_equal(f->weight, 150);
	assert_int_equal(integer_of(f, "notifs"), 200);
	assert_int_equal(integer_of(f, "copied"), 150);
	assert_int_equal(integer_of(f, "bytes_mean"), 4096);
	assert_in_range(integer_of(f, "held_p50_ns"), 19000, 21000);
	assert_string_equal(f->title, "SEND_ZC: 150 of 200 sends (75.0%) copied the data after all");
	diagnosis__free(&d);
	sample__free(s);
}

static void slow(void **state)
{
	struct snapshot *s = sending(200, 0, 3000000000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	f = the_finding_of(s, ID, &d);
	assert_int_equal(f->severity, SEVERITY_INFO);
	assert_non_null(strstr(f->title, "held their buffer for more than"));
	assert_non_null(strstr(f->advice, "acknowledged"));
	assert_int_equal(f->time_ns, 600000000000);
	diagnosis__free(&d);
	sample__free(s);
}

static void near_misses(void **state)
{
	static const struct {
		uint64_t n, n_copied, held_ns;
		bool fires;
	} rows[] = {
		{ 100, 50, 1000, true },
		{ 100, 49, 1000, false },
		{ 99, 99, 1000, false },
		{ 100, 0, 1040000000, true },
		{ 100, 0, 960000000, false },
		{ 99, 0, 5000000000, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sending(rows[i].n, rows[i].n_copied, rows[i].held_ns);

		assert_fires(s, ID, rows[i].fires);
		sample__free(s);
	}
}

static void healthy(void **state)
{
	struct snapshot *s = sending(100000, 0, 50000);

	(void)state;
	assert_silent(s, ID);
	sample__free(s);
}

static void unknown(void **state)
{
	struct snapshot *s = sending(200, 200, 20000);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	assert_needs(s, ID, RS_F_COMPLETE);
	/* how long buffers were held found no room */
	free(s->rings[0].ops[0].kin[RS_TAG_NOTIF]);
	s->rings[0].ops[0].kin[RS_TAG_NOTIF] = NULL;
	f = the_finding_of(s, ID, &d);
	assert_absent(f, "held_p50_ns");
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copied),
		cmocka_unit_test(slow),
		cmocka_unit_test(near_misses),
		cmocka_unit_test(healthy),
		cmocka_unit_test(unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
