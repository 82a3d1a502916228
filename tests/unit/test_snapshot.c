// SPDX-License-Identifier: MIT
/* Totals, sums, the opcode list; ownership is checked by the leak sanitizer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "scarce.h"
#include "snapshot.h"

static uint64_t both_ops(unsigned int i)
{
	return 300 + 2 * i;
}

static void totals_name_the_right_counters(void **state)
{
	struct ring_stats r = { .id = 1, .fd = -1 };
	struct totals t;

	(void)state;
	sample__fill(&r, 1);
	t = ring_stats__totals(&r);
	assert_int_equal(t.submitted, both_ops(RS_SC_SUBMITTED));
	assert_int_equal(t.in_flight_at_attach, both_ops(RS_SC_AT_ATTACH));
	assert_int_equal(t.untracked, both_ops(RS_SC_UNTRACKED));
	assert_int_equal(t.completed, both_ops(RS_SC_COMPLETED) + 1000 + RS_RC_OVERFLOW_ENDS);
	assert_int_equal(t.silent, both_ops(RS_SC_SILENT));
	assert_int_equal(t.in_flight, 3 + 5 + 11);
	assert_int_equal(t.errors, both_ops(RS_SC_ERRORS) + 1000 + RS_RC_OVERFLOW_ERRORS);
	assert_int_equal(t.punted, both_ops(RS_SC_PUNT_ASKED) + both_ops(RS_SC_PUNT_OPCODE) +
					   both_ops(RS_SC_PUNT_DRAIN) + both_ops(RS_SC_PUNT_UNWANTED));
	assert_int_equal(t.poll_armed, both_ops(RS_SC_POLL_ARMED));
	assert_int_equal(t.no_slot, both_ops(RS_SC_NO_SLOT));
	/* a NOP moves no bytes, whatever was counted */
	assert_int_equal(t.bytes, 100 + RS_SC_BYTES);
	assert_int_equal(t.rejected, both_ops(RS_SC_REJECTED));
	assert_int_equal(t.sq_dropped, 7);
	assert_int_equal(t.cqes_multishot, 1000 + RS_RC_CQES_MULTISHOT);
	assert_int_equal(t.cqes_aux, 1000 + RS_RC_CQES_AUX);
	assert_int_equal(t.notifs, 1000 + RS_RC_NOTIFS);
	assert_int_equal(t.cq_overflows, 1000 + RS_RC_CQ_OVERFLOWS);
	assert_int_equal(t.cq_dropped, 1000 + RS_RC_CQ_DROPPED);
	assert_int_equal(t.short_writes, 1000 + RS_RC_SHORT_WRITES);
	assert_int_equal(t.batches, 1000 + RS_RC_BATCHES);
	assert_int_equal(t.waits, 1000 + RS_RC_WAITS);
	assert_true(t.batches_known);
	ring_stats__free(&r);
}

static void identity_holds_on_exact_data(void **state)
{
	struct ring_stats r = { .id = 1, .fd = -1 };
	struct op_stats *o = sample__op(&r, OP_READ);
	struct totals t;

	(void)state;
	/* 1000 and 7 from before: 800 + 7 posted, 150 overflowed (60 matched), 13 silent, 37 left */
	o->c[RS_SC_SUBMITTED] = 1000;
	o->c[RS_SC_AT_ATTACH] = 7;
	o->c[RS_SC_COMPLETED] = 807;
	o->c[RS_SC_OVERFLOWED] = 60;
	o->c[RS_SC_SILENT] = 13;
	o->in_flight = 35;
	r.in_flight_no_slot = 2;
	r.c[RS_RC_OVERFLOW_ENDS] = 150;
	t = ring_stats__totals(&r);
	assert_int_equal(t.completed, 957);
	assert_int_equal(t.in_flight_at_attach + t.submitted + t.untracked,
		t.completed + t.silent + t.in_flight);
	assert_int_equal(op_stats__completed(o), 867);
	ring_stats__free(&r);
}

static void punted_sums_the_causes(void **state)
{
	struct op_stats o = { 0 };

	(void)state;
	o.c[RS_SC_PUNT_ASKED] = 1;
	o.c[RS_SC_PUNT_OPCODE] = 10;
	o.c[RS_SC_PUNT_DRAIN] = 100;
	o.c[RS_SC_PUNT_UNWANTED] = 1000;
	assert_int_equal(op_stats__punted(&o), 1111);
}

static void snapshot_totals_sum_rings_and_others(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct totals t, one;

	(void)state;
	t = snapshot__totals(s);
	assert_int_equal(t.submitted + t.completed + t.batches, 0);
	assert_true(t.batches_known);

	sample__fill(sample__ring(s, 1), 1);
	sample__fill(sample__ring(s, 2), 10);
	one = ring_stats__totals(&s->rings[0]);
	t = snapshot__totals(s);
	/* all are uint64_t but the flag at the end */
	for (size_t i = 0; i < offsetof(struct totals, batches_known) / sizeof(uint64_t); i++)
		assert_int_equal(((uint64_t *)&t)[i], 11 * ((uint64_t *)&one)[i]);
	assert_true(t.batches_known);

	sample__fill(sample__others(s), 100);
	t = snapshot__totals(s);
	for (size_t i = 0; i < offsetof(struct totals, batches_known) / sizeof(uint64_t); i++)
		assert_int_equal(((uint64_t *)&t)[i], 111 * ((uint64_t *)&one)[i]);
	assert_true(t.batches_known);
	s->others->batchless = 1;
	t = snapshot__totals(s);
	assert_false(t.batches_known);
	sample__free(s);
}

static void ops_stand_by_opcode(void **state)
{
	static const unsigned int order[] = { OP_WRITE, OP_NOP, 127, OP_READ, OP_FSYNC };
	static const unsigned int want[] = { OP_NOP, OP_FSYNC, OP_READ, OP_WRITE, 127 };
	struct ring_stats r = { .id = 1 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct op_stats *o = ring_stats__op(&r, order[i]);

		assert_int_equal(o->op, order[i]);
		assert_int_equal(o->lat.min_ns, UINT64_MAX);
		assert_int_equal(o->c[RS_SC_SUBMITTED], 0);
		o->c[RS_SC_SUBMITTED] = order[i];
	}
	assert_int_equal(r.n_ops, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(r.ops[i].op, want[i]);
		assert_int_equal(r.ops[i].c[RS_SC_SUBMITTED], want[i]);
		assert_ptr_equal(ring_stats__op(&r, want[i]), &r.ops[i]);
	}
	assert_int_equal(r.n_ops, 5);
	ring_stats__free(&r);
	assert_null(r.ops);
}

static void errnos_stand_by_count(void **state)
{
	struct ring_stats r = { 0 };
	struct op_stats *o = ring_stats__op(&r, OP_READ);

	(void)state;
	assert_int_equal(op_stats__add_errno(o, EIO, 5), 0);
	assert_int_equal(op_stats__add_errno(o, EAGAIN, 5), 0);
	assert_int_equal(op_stats__add_errno(o, ENOENT, 7), 0);
	assert_int_equal(op_stats__add_errno(o, EBADF, 0), 0);
	assert_int_equal(o->n_errnos, 3);
	assert_int_equal(o->errnos[0].err, ENOENT);
	assert_int_equal(o->errnos[1].err, EIO); /* 5 < 11 */
	assert_int_equal(o->errnos[2].err, EAGAIN);
	assert_int_equal(op_stats__add_errno(o, EAGAIN, 90), 0);
	assert_int_equal(o->n_errnos, 3);
	assert_int_equal(o->errnos[0].err, EAGAIN);
	assert_int_equal(o->errnos[0].count, 95);
	assert_int_equal(o->errnos[1].err, ENOENT);
	assert_int_equal(o->errnos[2].err, EIO);
	ring_stats__free(&r);
}

static void op_list_merges_and_sorts(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_list l;
	struct op_stats *o;

	(void)state;
	assert_int_equal(snapshot__ops(s, &l), 0);
	assert_int_equal(l.n, 0);
	op_list__free(&l);

	o = sample__op(sample__ring(s, 1), OP_READ);
	o->c[RS_SC_SUBMITTED] = 50;
	o->in_flight = 3;
	assert_int_equal(op_stats__add_errno(o, EIO, 2), 0);
	sample__latency(o, 700, 1);
	sample__op(&s->rings[0], OP_NOP)->c[RS_SC_SUBMITTED] = 70;
	sample__op(&s->rings[0], OP_WRITE)->c[RS_SC_SUBMITTED] = 70;
	o = sample__op(sample__ring(s, 2), OP_READ);
	o->c[RS_SC_SUBMITTED] = 10;
	o->c[RS_SC_AT_ATTACH] = 20;
	o->in_flight = 4;
	assert_int_equal(op_stats__add_errno(o, EAGAIN, 3), 0);
	sample__latency(o, 90000, 4);
	o = sample__op(sample__others(s), OP_READ);
	o->c[RS_SC_SUBMITTED] = 5;
	assert_int_equal(op_stats__add_errno(o, EIO, 2), 0);

	assert_int_equal(snapshot__ops(s, &l), 0);
	assert_int_equal(l.n, 3);
	assert_int_equal(l.ops[0].op, OP_READ);
	assert_int_equal(l.ops[1].op, OP_NOP); /* of two equals the lower number first */
	assert_int_equal(l.ops[2].op, OP_WRITE);
	o = &l.ops[0];
	assert_int_equal(o->c[RS_SC_SUBMITTED], 65);
	assert_int_equal(o->c[RS_SC_AT_ATTACH], 20);
	assert_int_equal(o->in_flight, 7);
	assert_int_equal(o->n_errnos, 2);
	assert_int_equal(o->errnos[0].err, EIO);
	assert_int_equal(o->errnos[0].count, 4);
	assert_int_equal(o->lat.sum_ns, 700 + 4 * 90000);
	assert_int_equal(o->lat.min_ns, 700);
	assert_int_equal(o->lat.max_ns, 90000);
	assert_int_equal(l.ops[1].lat.min_ns, UINT64_MAX);
	op_list__free(&l);
	assert_null(l.ops);
	sample__free(s);
}

static void ring_add_takes_what_can_be_added(void **state)
{
	struct ring_stats sum = { .id = 0, .fd = -1 }, a = { .id = 1, .fd = 5 }, b = { .id = 2, .fd = 6 };

	(void)state;
	sample__fill(&a, 1);
	sample__fill(&b, 10);
	a.cq_depth_max = 9;
	b.cq_depth_max = 4;
	a.sq_cpu_ns = b.sq_cpu_ns = 77;
	assert_int_equal(ring_stats__add(&sum, &a), 0);
	assert_int_equal(ring_stats__add(&sum, &b), 0);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		assert_int_equal(sum.c[i], 11 * (1000 + i));
	assert_int_equal(sum.in_flight_no_slot, 33);
	assert_int_equal(sum.sq_dropped, 77);
	assert_int_equal(sum.cq_depth_max, 9);
	assert_int_equal(sum.sq_cpu_ns, 0);
	assert_int_equal(sum.n_ops, 2);
	assert_int_equal(sum.ops[1].c[RS_SC_ERRORS], 11 * (100 + RS_SC_ERRORS));
	assert_int_equal(sum.fd, -1);
	ring_stats__free(&sum);
	ring_stats__free(&a);
	ring_stats__free(&b);
}

static void copy_owns_its_memory(void **state)
{
	struct ring_stats r = { .id = 7, .fd = 5, .cgroup = strdup("/a.slice"), .state = RING_CLOSING }, copy;
	struct op_times gap = { .lat = { .min_ns = 40, .max_ns = 40, .sum_ns = 40, .buckets[20] = 1 } };
	size_t n = 0;
	int err;

	(void)state;
	assert_non_null(r.cgroup);
	sample__fill(&r, 1);
	assert_int_equal(op_stats__add_errno(&r.ops[0], EIO, 2), 0);
	assert_int_equal(op_times__add(&r.ops[1].kin[RS_TAG_MULTI], &gap), 0);
	assert_int_equal(op_times__add(&r.ops[1].kin[RS_TAG_NOTIF], &gap), 0);
	memset(&copy, 0x5a, sizeof(copy));
	do {
		scarce__begin(n++);
		err = ring_stats__copy(&r, &copy);
		scarce__end();
		assert_true(err == 0 || (err == -ENOMEM && copy.id == 0x5a5a5a5a));
	} while (err);
	assert_int_equal(n, 6); /* ops, cgroup, errnos, two distributions */
	r.cgroup[1] = 'b';
	r.ops[0].c[RS_SC_SUBMITTED] = 0;
	r.ops[0].errnos[0].count = 0;
	r.ops[1].kin[RS_TAG_MULTI]->lat.sum_ns = 0;
	r.ops[1].kin[RS_TAG_NOTIF]->lat.sum_ns = 0;
	assert_int_equal(copy.id, 7);
	assert_int_equal(copy.state, RING_CLOSING);
	assert_string_equal(copy.cgroup, "/a.slice");
	assert_memory_equal(copy.c, r.c, sizeof(r.c));
	assert_int_equal(copy.n_ops, 2);
	assert_int_equal(copy.ops[0].c[RS_SC_SUBMITTED], 200 + RS_SC_SUBMITTED);
	assert_int_equal(copy.ops[0].errnos[0].count, 2);
	assert_int_equal(copy.ops[1].kin[RS_TAG_MULTI]->lat.sum_ns, 40);
	assert_int_equal(copy.ops[1].kin[RS_TAG_NOTIF]->lat.sum_ns, 40);
	ring_stats__free(&r);
	ring_stats__free(&copy);
	/* one without anything */
	assert_int_equal(ring_stats__copy(&r, &copy), 0);
	assert_null(copy.ops);
	ring_stats__free(&copy);
}

static void sum_knows_the_most_batches_of_one_ring(void **state)
{
	struct ring_stats sum = { 0 }, all = { 0 }, r = { .id = 1 };

	(void)state;
	r.c[RS_RC_BATCHES] = 70;
	assert_int_equal(ring_stats__add(&sum, &r), 0);
	r.c[RS_RC_BATCHES] = 90;
	assert_int_equal(ring_stats__add(&sum, &r), 0);
	r.c[RS_RC_BATCHES] = 80;
	assert_int_equal(ring_stats__add(&sum, &r), 0);
	r.c[RS_RC_BATCHES] = 1000;
	r.sq_tid = 5; /* passes of the kernel's thread */
	assert_int_equal(ring_stats__add(&sum, &r), 0);
	assert_int_equal(sum.batches_max, 90);
	assert_int_equal(sum.c[RS_RC_BATCHES], 1240);
	/* a sum of sums */
	assert_int_equal(ring_stats__add(&all, &sum), 0);
	assert_int_equal(all.batches_max, 90);
}

static struct snapshot *five_rings(void)
{
	static const uint64_t requests[] = { 30, 50, 10, 50, 40 };
	struct snapshot *s = sample__snapshot();

	for (uint32_t i = 0; i < 5; i++) {
		struct op_stats *o = sample__op(sample__ring(s, i + 1), OP_READ);

		/* older requests count as much */
		o->c[i % 2 ? RS_SC_AT_ATTACH : RS_SC_SUBMITTED] = requests[i];
		assert_int_equal(ring_stats__requests(&s->rings[i]), requests[i]);
	}
	return s;
}

static void limit_keeps_the_busiest(void **state)
{
	static const struct {
		size_t n, n_others;
		uint32_t ids[5];
	} rows[] = { { 9, 0, { 1, 2, 3, 4, 5 } }, { 5, 0, { 1, 2, 3, 4, 5 } }, { 4, 1, { 1, 2, 4, 5 } },
		{ 3, 2, { 2, 4, 5 } }, { 1, 4, { 2 } }, { 0, 5, { 0 } } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = five_rings();
		struct totals before = snapshot__totals(s), after;

		assert_int_equal(snapshot__limit_rings(s, rows[i].n), 0);
		assert_int_equal(s->n_rings, 5 - rows[i].n_others);
		assert_int_equal(s->n_others, rows[i].n_others);
		for (size_t k = 0; k < s->n_rings; k++)
			assert_int_equal(s->rings[k].id, rows[i].ids[k]);
		after = snapshot__totals(s);
		assert_int_equal(before.submitted, after.submitted);
		assert_int_equal(before.in_flight_at_attach, after.in_flight_at_attach);
		sample__free(s);
	}
}

static void limit_out_of_memory_changes_nothing(void **state)
{
	struct snapshot *s = five_rings();
	size_t n = 0;
	int err;

	(void)state;
	sample__fill(sample__others(s), 1);
	do {
		scarce__begin(n++);
		err = snapshot__limit_rings(s, 2);
		scarce__end();
		assert_true(err == 0 || (err == -ENOMEM && s->n_rings == 5 && s->n_others == 1));
	} while (err);
	assert_true(n > 3);
	assert_int_equal(s->n_rings, 2);
	assert_int_equal(s->n_others, 4);
	assert_int_equal(sample__op(s->others, OP_READ)->c[RS_SC_SUBMITTED],
		100 + RS_SC_SUBMITTED + 30 + 10 + 40);
	sample__free(s);
}

static void out_of_memory_leaves_nothing(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_list l = { .n = 77 };
	size_t n = 0;
	int err;

	(void)state;
	sample__fill(sample__ring(s, 1), 1);
	sample__fill(sample__others(s), 1);
	assert_int_equal(op_stats__add_errno(s->rings[0].ops, EIO, 2), 0);
	do {
		scarce__begin(n++);
		err = snapshot__ops(s, &l);
		scarce__end();
		assert_true(err == 0 || (err == -ENOMEM && l.n == 77 && !l.ops));
	} while (err);
	assert_true(n > 3);
	op_list__free(&l);
	sample__free(s);
}

static void freeing_nothing(void **state)
{
	struct snapshot empty = { 0 };

	(void)state;
	snapshot__free(NULL);
	ring_stats__free(NULL);
	op_list__free(NULL);
	snapshot__free(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_name_the_right_counters),
		cmocka_unit_test(identity_holds_on_exact_data),
		cmocka_unit_test(punted_sums_the_causes),
		cmocka_unit_test(snapshot_totals_sum_rings_and_others),
		cmocka_unit_test(ops_stand_by_opcode),
		cmocka_unit_test(errnos_stand_by_count),
		cmocka_unit_test(op_list_merges_and_sorts),
		cmocka_unit_test(ring_add_takes_what_can_be_added),
		cmocka_unit_test(copy_owns_its_memory),
		cmocka_unit_test(sum_knows_the_most_batches_of_one_ring),
		cmocka_unit_test(limit_keeps_the_busiest),
		cmocka_unit_test(limit_out_of_memory_changes_nothing),
		cmocka_unit_test(out_of_memory_leaves_nothing),
		cmocka_unit_test(freeing_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
