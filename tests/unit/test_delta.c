// SPDX-License-Identifier: MIT
/* Differences of two snapshots; ownership is checked by the leak sanitizer. */
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
		.extras_missed = 6,
		.missed_known = true };
	sample__fill(r, 1);
	r->created_in_window = true;
	r->sq_tid = 44;
	r->sq_cpu_known = true;
	r->sq_cpu_ns = 1000;
	r->sq_alive_ns = 5000;
	assert_int_equal(op_stats__add_errno(sample__op(r, OP_READ), EIO, 4), 0);
	assert_int_equal(op_stats__add_errno(sample__op(r, OP_READ), ENOENT, 4), 0);
	sample__latency(sample__op(r, OP_READ), 300, 10);
	sample__fill(sample__ring(s, 2), 1);
	sample__register(s, 0, 3, 1);
	s->registers[0].timed = 1;
	s->registers[0].sum_ns = 100;
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
		.extras_missed = 13,
		.missed_known = true };
	sample__fill(r, 3);
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
	sample__fill(&s->rings[1], 2);
	sample__fill(sample__others(s), 4);
	sample__register(s, 0, 5, 1);
	s->registers[0].timed += 4;
	s->registers[0].sum_ns += 900;
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
	assert_int_equal(d.fidelity.extras_missed, 7);
	assert_true(d.fidelity.missed_known);
	assert_int_equal(d.n_tasks, 1);
	assert_int_equal(d.tasks[0].workers_bounded_max, 8);
	assert_int_equal(d.n_registers, 1); /* opcode 2 was not called again */
	assert_int_equal(d.registers[0].op, 0);
	assert_int_equal(d.registers[0].count, 5);
	assert_int_equal(d.registers[0].errors, 1);
	assert_int_equal(d.registers[0].timed, 4);
	assert_int_equal(d.registers[0].sum_ns, 900);
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
	sample__fill(cur->others, 9);
	assert_int_equal(op_stats__add_errno(&cur->others->ops[0], EIO, 3), 0);
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	/* the ring that they are had ended before, but was counted late */
	assert_int_equal(d.n_others, 0);
	assert_int_equal(d.others->c[RS_RC_WAITS], 5 * (1000 + RS_RC_WAITS));
	/* an error that had not occurred before */
	assert_int_equal(d.others->ops[0].n_errnos, 1);
	assert_int_equal(d.others->ops[0].errnos[0].count, 3);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

/* Rings 1 to 4: open, closing, closed with a request left, closed. All did the same. */
static struct snapshot *four_states(uint64_t unit)
{
	static const enum ring_state states[] = { RING_OPEN, RING_CLOSING, RING_CLOSED, RING_CLOSED };
	struct snapshot *s = sample__snapshot();

	for (uint32_t i = 1; i <= 4; i++) {
		struct ring_stats *r = sample__ring(s, i);

		sample__fill(r, unit);
		r->in_flight_no_slot = i == 3;
		r->ops[0].in_flight = r->ops[1].in_flight = 0;
		r->state = states[i - 1];
	}
	return s;
}

static void assert_listed(const struct snapshot *prev, const struct snapshot *cur, uint32_t want_mask)
{
	struct snapshot d;
	uint32_t mask = 0;

	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	for (size_t i = 0; i < d.n_rings; i++)
		mask |= 1u << d.rings[i].id;
	assert_int_equal(mask, want_mask);
	snapshot__free(&d);
}

static void delta_leaves_out_what_had_ended(void **state)
{
	struct snapshot *prev = four_states(1), *cur = four_states(1);

	(void)state;
	/* ring 3 has a request in flight still */
	assert_listed(prev, cur, 1 << 1 | 1 << 2 | 1 << 3);
	/* the interval in which a ring ends has it, also if it did nothing there, or nothing ever */
	prev->rings[3].state = RING_CLOSING;
	sample__ring(cur, 5)->state = RING_CLOSED;
	assert_listed(prev, cur, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5);
	sample__free(prev);
	sample__free(cur);
}

/* Any counter that moves brings a ring back that had ended before. */
static void delta_leaves_nothing_out_that_was_counted(void **state)
{
	struct snapshot *prev = four_states(1), *cur = four_states(1);
	struct ring_stats *r = &cur->rings[3];
	struct op_stats *o = &r->ops[1];

	(void)state;
	for (unsigned int i = 0; i < RS_RC_COUNT; i++, r->c[i - 1]--) {
		r->c[i]++;
		assert_listed(prev, cur, 0x1e);
	}
	for (unsigned int i = 0; i < RS_SC_COUNT; i++, o->c[i - 1]--) {
		o->c[i]++;
		assert_listed(prev, cur, 0x1e);
	}
	r->sq_dropped++;
	assert_listed(prev, cur, 0x1e);
	r->sq_dropped--;
	r->in_flight_no_slot = 1;
	assert_listed(prev, cur, 0x1e);
	r->in_flight_no_slot = 0;
	o->in_flight = 1;
	assert_listed(prev, cur, 0x1e);
	o->in_flight = 0;
	sample__latency(o, 5000, 1);
	assert_listed(prev, cur, 0x1e);
	o->lat.buckets[rs_hist_bucket(5000)] = 0;
	assert_listed(prev, cur, 0xe);
	assert_int_equal(op_stats__add_errno(o, EIO, 1), 0);
	assert_listed(prev, cur, 0x1e);
	sample__free(prev);
	sample__free(cur);
}

static void delta_of_spans_counts(void **state)
{
	struct snapshot *prev = four_states(1), *cur = four_states(1);
	struct op_times gap = { .lat = { .min_ns = 40, .max_ns = 40, .sum_ns = 40, .buckets[20] = 1 } };
	struct op_stats *o = &cur->rings[3].ops[0];

	(void)state;
	assert_int_equal(op_times__add(&o->kin[RS_TAG_MULTI], &gap), 0);
	assert_listed(prev, cur, 0x1e);
	assert_int_equal(op_times__add(&prev->rings[3].ops[0].kin[RS_TAG_MULTI], &gap), 0);
	assert_listed(prev, cur, 0xe);
	assert_int_equal(op_times__add(&o->kin[RS_TAG_NOTIF], &gap), 0);
	assert_listed(prev, cur, 0x1e);
	sample__free(prev);
	sample__free(cur);
}

/* The kernel side's names come round again; a ring that has ended keeps its place in the list. */
static void delta_tells_rings_of_one_uid_apart(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__fill(sample__ring(prev, 1), 10);
	sample__fill(sample__ring(cur, 1), 10);
	prev->rings[0].state = cur->rings[0].state = RING_CLOSED;
	prev->rings[0].in_flight_no_slot = cur->rings[0].in_flight_no_slot = 1;
	sample__fill(sample__ring(cur, 2), 1);
	cur->rings[1].uid = cur->rings[0].uid;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.n_rings, 2);
	assert_int_equal(d.rings[0].c[RS_RC_BATCHES], 0);
	assert_int_equal(d.rings[1].c[RS_RC_BATCHES], 1000 + RS_RC_BATCHES);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

/*
 * Which of the unlisted rings were there in between: rings 2 and 3 joined them, of which ring 3 had ended
 * before; so had the 7 of prev. Of the 12, 4 are left: ring 2 and three that were never listed.
 */
static void delta_counts_unlisted_rings(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		sample__fill(sample__ring(prev, i), 1);
	prev->rings[2].state = RING_CLOSED;
	sample__fill(sample__others(prev), 1);
	prev->n_others = 7;
	sample__fill(sample__ring(cur, 1), 1);
	sample__fill(sample__others(cur), 5);
	cur->n_others = 12;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.n_others, 4);
	assert_int_equal(d.others->c[RS_RC_BATCHES], 2 * (1000 + RS_RC_BATCHES));
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void delta_lists_all_when_the_others_had_ended(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__fill(sample__others(prev), 1);
	sample__fill(sample__others(cur), 1);
	for (size_t i = 0; i < 2; i++)
		prev->others->ops[i].in_flight = cur->others->ops[i].in_flight = 0;
	prev->others->in_flight_no_slot = cur->others->in_flight_no_slot = 0;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_null(d.others);
	assert_int_equal(d.n_others, 0);
	snapshot__free(&d);
	cur->others->ops[0].c[RS_SC_SUBMITTED]++;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_non_null(d.others);
	assert_int_equal(d.n_others, 0);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

/* What a ring has too little room for it may use again at any time, without telling. */
static void delta_keeps_batches_without_a_ratio_unknown(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__fill(sample__ring(prev, 1), 1);
	sample__fill(sample__ring(cur, 1), 2);
	prev->rings[0].batchless = cur->rings[0].batchless = 1;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_false(ring_stats__totals(&d.rings[0]).batches_known);
	assert_false(snapshot__totals(&d).batches_known);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

/* SQEs under no ring make the sum unknown in the intervals in which there are some. */
static void delta_knows_batches_again(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__fill(sample__others(prev), 1);
	sample__fill(sample__others(cur), 2);
	prev->others->batchless = 100;
	cur->others->batchless = 101;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_false(snapshot__totals(&d).batches_known);
	snapshot__free(&d);
	cur->others->batchless = 100;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_true(snapshot__totals(&d).batches_known);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

/* No ring of a sum can have had more batches in between than all of them together. */
static void delta_bounds_the_busiest_of_a_sum(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__others(prev)->c[RS_RC_BATCHES] = 9000;
	sample__others(cur)->c[RS_RC_BATCHES] = 9500;
	cur->others->batches_max = 5000;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.others->batches_max, 500);
	snapshot__free(&d);
	cur->others->batches_max = 30;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.others->batches_max, 30);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void out_of_memory_leaves_nothing(void **state)
{
	struct snapshot *prev = first_picture(), *cur = second_picture(), d;
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
	sample__free(prev);
	sample__free(cur);
}

static void delta_of_nothing(void **state)
{
	struct snapshot empty = { 0 }, d;

	(void)state;
	assert_int_equal(snapshot__delta(&empty, &empty, &d), 0);
	assert_int_equal(d.n_rings + d.n_tasks + d.n_registers, 0);
	snapshot__free(&d);
	snapshot__free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delta_of_the_head),
		cmocka_unit_test(delta_of_rings),
		cmocka_unit_test(delta_adds_up),
		cmocka_unit_test(delta_is_never_negative),
		cmocka_unit_test(delta_matches_many_rings),
		cmocka_unit_test(delta_of_others_known_before),
		cmocka_unit_test(delta_leaves_out_what_had_ended),
		cmocka_unit_test(delta_leaves_nothing_out_that_was_counted),
		cmocka_unit_test(delta_of_spans_counts),
		cmocka_unit_test(delta_tells_rings_of_one_uid_apart),
		cmocka_unit_test(delta_counts_unlisted_rings),
		cmocka_unit_test(delta_lists_all_when_the_others_had_ended),
		cmocka_unit_test(delta_keeps_batches_without_a_ratio_unknown),
		cmocka_unit_test(delta_knows_batches_again),
		cmocka_unit_test(delta_bounds_the_busiest_of_a_sum),
		cmocka_unit_test(out_of_memory_leaves_nothing),
		cmocka_unit_test(delta_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
