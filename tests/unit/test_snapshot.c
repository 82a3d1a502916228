// SPDX-License-Identifier: MIT
/* Totals, sums, the opcode list, differences; ownership is checked by the leak sanitizer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sample.h"
#include "scarce.h"
#include "snapshot.h"

/* A ring on which every counter differs, so that a sum of the wrong ones shows. */
static void fill_ring(struct ring_stats *r, uint64_t unit)
{
	struct op_stats *read, *nop;

	sample__op(r, OP_READ);
	nop = sample__op(r, OP_NOP);
	read = sample__op(r, OP_READ);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		r->c[i] = unit * (1000 + i);
	for (unsigned int i = 0; i < RS_SC_COUNT; i++) {
		read->c[i] = unit * (100 + i);
		nop->c[i] = unit * (200 + i);
	}
	r->in_flight_no_slot = unit * 3;
	r->sq_dropped = (uint32_t)unit * 7;
	read->in_flight = unit * 5;
	nop->in_flight = unit * 11;
}

static uint64_t both_ops(unsigned int i)
{
	return 300 + 2 * i;
}

static void totals_name_the_right_counters(void **state)
{
	struct ring_stats r = { .id = 1, .fd = -1 };
	struct totals t;

	(void)state;
	fill_ring(&r, 1);
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

	fill_ring(sample__ring(s, 1), 1);
	fill_ring(sample__ring(s, 2), 10);
	one = ring_stats__totals(&s->rings[0]);
	t = snapshot__totals(s);
	/* all are uint64_t but the flag at the end */
	for (size_t i = 0; i < offsetof(struct totals, batches_known) / sizeof(uint64_t); i++)
		assert_int_equal(((uint64_t *)&t)[i], 11 * ((uint64_t *)&one)[i]);
	assert_true(t.batches_known);

	fill_ring(sample__others(s), 100);
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
	fill_ring(&a, 1);
	fill_ring(&b, 10);
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

/* Two pictures of one observation, ten seconds apart: ring 3 is new, ring 2 left the list for the others. */
static struct snapshot *first_picture(void)
{
	struct snapshot *s = sample__snapshot();
	struct ring_stats *r = sample__ring(s, 1);

	s->start_unix_ns = 1000;
	s->duration_ns = 10000000000;
	s->fidelity = (struct fidelity){ .untracked = 1,
		.table_full = 2,
		.rings_full = 3,
		.records_lost = 4,
		.missed = 5,
		.missed_known = true };
	fill_ring(r, 1);
	r->created_in_window = true;
	r->sq_tid = 44;
	r->sq_cpu_known = true;
	r->sq_cpu_ns = 1000;
	r->sq_alive_ns = 5000;
	assert_int_equal(op_stats__add_errno(sample__op(r, OP_READ), EIO, 4), 0);
	assert_int_equal(op_stats__add_errno(sample__op(r, OP_READ), ENOENT, 4), 0);
	sample__latency(sample__op(r, OP_READ), 300, 10);
	fill_ring(sample__ring(s, 2), 1);
	sample__register(s, 0, 3, 1);
	sample__register(s, 2, 1, 0);
	return s;
}

static struct snapshot *second_picture(void)
{
	struct snapshot *s = first_picture();
	struct ring_stats *r = &s->rings[0];

	s->duration_ns = 20000000000;
	s->fidelity = (struct fidelity){ .untracked = 2,
		.table_full = 4,
		.rings_full = 6,
		.records_lost = 8,
		.missed = 10,
		.missed_known = true };
	fill_ring(r, 3);
	r->cgroup = strdup("/system.slice/db.service");
	assert_non_null(r->cgroup);
	r->cq_depth_max = 12;
	r->state = RING_CLOSING;
	r->sq_cpu_ns = 4000;
	r->sq_alive_ns = 15000;
	assert_int_equal(op_stats__add_errno(sample__op(r, OP_READ), EIO, 6), 0);
	sample__latency(sample__op(r, OP_READ), 70000, 2);
	/* the second ring's uid becomes another's; what it had is in others now */
	ring_stats__free(&s->rings[1]);
	memset(&s->rings[1], 0, sizeof(s->rings[1]));
	s->rings[1] =
		(struct ring_stats){ .id = 3, .uid = (2u << 16) | 2, .fd = -1, .created_in_window = true };
	fill_ring(&s->rings[1], 2);
	fill_ring(sample__others(s), 4);
	sample__register(s, 0, 5, 1);
	s->tasks = calloc(1, sizeof(*s->tasks));
	assert_non_null(s->tasks);
	s->tasks[0] = (struct task_stats){ .pid = 9, .tid = 10, .workers_bounded_max = 8 };
	s->n_tasks = 1;
	return s;
}

static void delta_of_the_head(void **state)
{
	struct snapshot *prev = first_picture(), *cur = second_picture(), d;

	(void)state;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_true(d.interval);
	assert_int_equal(d.start_unix_ns, 1000 + 10000000000);
	assert_int_equal(d.duration_ns, 10000000000);
	assert_int_equal(d.cpus, cur->cpus);
	assert_string_equal(d.kernel_release, cur->kernel_release);
	assert_memory_equal(d.features, cur->features, sizeof(d.features));
	assert_int_equal(d.fidelity.untracked, 1);
	assert_int_equal(d.fidelity.table_full, 2);
	assert_int_equal(d.fidelity.rings_full, 3);
	assert_int_equal(d.fidelity.records_lost, 4);
	assert_int_equal(d.fidelity.missed, 5);
	assert_true(d.fidelity.missed_known);
	assert_int_equal(d.n_tasks, 1);
	assert_int_equal(d.tasks[0].workers_bounded_max, 8);
	assert_int_equal(d.n_registers, 1); /* opcode 2 was not called again */
	assert_int_equal(d.registers[0].op, 0);
	assert_int_equal(d.registers[0].count, 5);
	assert_int_equal(d.registers[0].errors, 1);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_of_rings(void **state)
{
	struct snapshot *prev = first_picture(), *cur = second_picture(), d;
	const struct ring_stats *r;

	(void)state;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.n_rings, 2);
	r = &d.rings[0];
	assert_int_equal(r->id, 1);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		assert_int_equal(r->c[i], 2 * (1000 + i));
	assert_int_equal(r->sq_dropped, 14);
	assert_int_equal(r->sq_cpu_ns, 3000);
	assert_int_equal(r->sq_alive_ns, 10000);
	assert_true(r->sq_cpu_known);
	assert_false(r->created_in_window); /* in this interval it was not */
	assert_string_equal(r->cgroup, "/system.slice/db.service");
	assert_ptr_not_equal(r->cgroup, cur->rings[0].cgroup);
	/* gauges are the later ones */
	assert_int_equal(r->cq_depth_max, 12);
	assert_int_equal(r->state, RING_CLOSING);
	assert_int_equal(r->in_flight_no_slot, 9);
	assert_int_equal(r->ops[1].in_flight, 15);
	assert_int_equal(r->ops[1].c[RS_SC_SUBMITTED], 2 * (100 + RS_SC_SUBMITTED));
	assert_int_equal(r->ops[1].n_errnos, 1);
	assert_int_equal(r->ops[1].errnos[0].err, EIO);
	assert_int_equal(r->ops[1].errnos[0].count, 6);
	assert_int_equal(r->ops[1].lat.sum_ns, 140000);
	assert_in_range(r->ops[1].lat.min_ns, 66000, 70000);
	/* a new ring counts whole */
	assert_int_equal(d.rings[1].id, 3);
	assert_true(d.rings[1].created_in_window);
	assert_int_equal(d.rings[1].c[RS_RC_BATCHES], 2 * (1000 + RS_RC_BATCHES));
	/* 4 now, of which 1 was ring 2's before */
	assert_int_equal(d.others->c[RS_RC_BATCHES], 3 * (1000 + RS_RC_BATCHES));
	assert_int_equal(d.others->ops[0].c[RS_SC_SUBMITTED], 3 * (200 + RS_SC_SUBMITTED));
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_adds_up(void **state)
{
	struct snapshot *prev = first_picture(), *cur = second_picture(), d;
	struct totals a, b, c;

	(void)state;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	a = snapshot__totals(prev);
	b = snapshot__totals(&d);
	c = snapshot__totals(cur);
	assert_int_equal(a.submitted + b.submitted, c.submitted);
	assert_int_equal(a.completed + b.completed, c.completed);
	assert_int_equal(a.bytes + b.bytes, c.bytes);
	assert_int_equal(a.waits + b.waits, c.waits);
	assert_int_equal(b.in_flight, c.in_flight);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_is_never_negative(void **state)
{
	struct snapshot *prev = second_picture(), *cur = first_picture(), d;
	struct totals t;

	(void)state;
	/* the wrong way round: whatever differs is 0; ring 2, unknown to prev, counts whole */
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.duration_ns, 0);
	assert_int_equal(d.fidelity.missed, 0);
	assert_null(d.others);
	t = ring_stats__totals(&d.rings[0]);
	assert_int_equal(t.submitted + t.completed + t.errors + t.batches + t.bytes + t.sq_dropped, 0);
	assert_int_equal(d.rings[0].ops[1].n_errnos, 0);
	assert_int_equal(d.rings[0].sq_cpu_ns, 0);
	assert_int_equal(d.rings[1].c[RS_RC_BATCHES], 1000 + RS_RC_BATCHES);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_matches_many_rings(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	/* uids in another order than ids: slots are used again */
	for (uint32_t i = 1; i <= 300; i++) {
		struct ring_stats *p = sample__ring(prev, i), *c = sample__ring(cur, i);

		p->uid = c->uid = (i * 7919) % 1009;
		p->c[RS_RC_BATCHES] = i;
		c->c[RS_RC_BATCHES] = 3 * i;
	}
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	for (uint32_t i = 1; i <= 300; i++) {
		assert_int_equal(d.rings[i - 1].id, i);
		assert_int_equal(d.rings[i - 1].c[RS_RC_BATCHES], 2 * i);
	}
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_of_others_known_before(void **state)
{
	struct snapshot *prev = second_picture(), *cur = second_picture(), d;

	(void)state;
	fill_ring(cur->others, 9);
	assert_int_equal(op_stats__add_errno(&cur->others->ops[0], EIO, 3), 0);
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.n_others, 1);
	assert_int_equal(d.others->c[RS_RC_WAITS], 5 * (1000 + RS_RC_WAITS));
	/* an error that had not occurred before */
	assert_int_equal(d.others->ops[0].n_errnos, 1);
	assert_int_equal(d.others->ops[0].errnos[0].count, 3);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void out_of_memory_leaves_nothing(void **state)
{
	struct snapshot *prev = first_picture(), *cur = second_picture(), d;
	struct op_list l = { .n = 77 };
	size_t n = 0;
	int err;

	(void)state;
	memset(&d, 0x5a, sizeof(d));
	do {
		scarce__begin(n++);
		err = snapshot__delta(prev, cur, &d);
		scarce__end();
		assert_true(err == 0 || (err == -ENOMEM && d.n_rings == (size_t)0x5a5a5a5a5a5a5a5a));
	} while (err);
	assert_true(n > 12);
	snapshot__free(&d);

	n = 0;
	do {
		scarce__begin(n++);
		err = snapshot__ops(cur, &l);
		scarce__end();
		assert_true(err == 0 || (err == -ENOMEM && l.n == 77 && !l.ops));
	} while (err);
	assert_true(n > 3);
	op_list__free(&l);
	sample__free(prev);
	sample__free(cur);
}

static void freeing_nothing(void **state)
{
	struct snapshot empty = { 0 }, d;

	(void)state;
	snapshot__free(NULL);
	ring_stats__free(NULL);
	op_list__free(NULL);
	assert_int_equal(snapshot__delta(&empty, &empty, &d), 0);
	assert_int_equal(d.n_rings + d.n_tasks + d.n_registers, 0);
	snapshot__free(&d);
	snapshot__free(&d);
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
		cmocka_unit_test(delta_of_the_head),
		cmocka_unit_test(delta_of_rings),
		cmocka_unit_test(delta_adds_up),
		cmocka_unit_test(delta_is_never_negative),
		cmocka_unit_test(delta_matches_many_rings),
		cmocka_unit_test(delta_of_others_known_before),
		cmocka_unit_test(out_of_memory_leaves_nothing),
		cmocka_unit_test(freeing_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
