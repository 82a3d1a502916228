// SPDX-License-Identifier: MIT
/* Which rings keep a place of their own once they are gone, and that the others are summed and nothing is lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "retired.h"
#include "rng.h"
#include "sample.h"
#include "scarce.h"

static struct ring_stats ring_of(uint32_t id, uint64_t requests)
{
	struct ring_stats r = { .id = id, .fd = -1, .cgroup = strdup("/a.slice"), .state = RING_CLOSED };
	struct op_stats *o = sample__op(&r, id % 2 ? OP_READ : OP_WRITE);

	assert_non_null(r.cgroup);
	o->c[RS_SC_SUBMITTED] = requests / 2;
	o->c[RS_SC_AT_ATTACH] = requests - requests / 2;
	assert_int_equal(op_stats__add_errno(o, EIO, id), 0);
	r.c[RS_RC_BATCHES] = id;
	return r;
}

static void keep(struct retired *c, uint32_t id, uint64_t requests)
{
	struct ring_stats r = ring_of(id, requests);

	assert_int_equal(retired__keep(c, &r), 0);
	/* what it owned has moved */
	assert_null(r.ops);
	assert_null(r.cgroup);
	assert_int_equal(r.id, 0);
}

static bool has(const struct retired *c, uint32_t id)
{
	bool found = false;

	for (size_t i = 0; i < retired__n(c); i++)
		found |= retired__at(c, i)->id == id;
	return found;
}

static uint64_t all_requests(const struct retired *c)
{
	uint64_t n = ring_stats__requests(retired__sum(c));

	for (size_t i = 0; i < retired__n(c); i++)
		n += ring_stats__requests(retired__at(c, i));
	return n;
}

static void all_are_kept_while_there_is_room(void **state)
{
	struct retired c = { .max = 100 };

	(void)state;
	assert_int_equal(retired__n(&c) + retired__n_sum(&c), 0);
	for (uint32_t id = 1; id <= 100; id++)
		keep(&c, id, id % 7);
	assert_int_equal(retired__n(&c), 100);
	assert_int_equal(retired__n_sum(&c), 0);
	assert_int_equal(retired__sum(&c)->n_ops, 0);
	for (uint32_t id = 1; id <= 100; id++)
		assert_true(has(&c, id));
	retired__free(&c);
}

/* Late rings that are busier take the places of early ones. */
static void the_busiest_are_kept(void **state)
{
	struct retired c = { .max = 3 };
	const struct ring_stats *sum = retired__sum(&c);

	(void)state;
	keep(&c, 1, 10);
	keep(&c, 2, 500);
	keep(&c, 3, 20);
	keep(&c, 4, 5);
	assert_true(has(&c, 1) && has(&c, 2) && has(&c, 3));
	assert_int_equal(retired__n_sum(&c), 1);
	assert_int_equal(ring_stats__requests(sum), 5);
	keep(&c, 5, 1000);
	assert_true(has(&c, 2) && has(&c, 3) && has(&c, 5));
	keep(&c, 6, 21);
	assert_true(has(&c, 2) && has(&c, 5) && has(&c, 6));
	assert_int_equal(retired__n(&c), 3);
	assert_int_equal(retired__n_sum(&c), 3);
	assert_int_equal(ring_stats__requests(sum), 5 + 10 + 20);
	/* rings 4, 1 and 3 */
	assert_int_equal(sum->c[RS_RC_BATCHES], 4 + 1 + 3);
	assert_int_equal(sum->batches_max, 4);
	assert_int_equal(sample__op(&c.sum, OP_READ)->errnos[0].count, 1 + 3);
	assert_int_equal(sum->id, 0);
	assert_null(sum->cgroup);
	for (size_t i = 0; i < retired__n(&c); i++)
		assert_string_equal(retired__at(&c, i)->cgroup, "/a.slice");
	retired__free(&c);
	assert_int_equal(retired__n(&c) + retired__n_sum(&c) + retired__sum(&c)->n_ops, 0);
	assert_int_equal(c.max, 3);
}

static void of_equals_the_first_ones_stay(void **state)
{
	struct retired c = { .max = 4 };

	(void)state;
	for (uint32_t id = 1; id <= 50; id++)
		keep(&c, id, 7);
	for (uint32_t id = 1; id <= 50; id++)
		assert_int_equal(has(&c, id), id <= 4);
	retired__free(&c);
}

static void no_room_at_all(void **state)
{
	struct retired c = { 0 };

	(void)state;
	keep(&c, 1, 10);
	keep(&c, 2, 20);
	assert_int_equal(retired__n(&c), 0);
	assert_int_equal(retired__n_sum(&c), 2);
	assert_int_equal(all_requests(&c), 30);
	retired__free(&c);
	retired__free(NULL);
}

/* In any order: no ring that was summed is busier than one that was kept, and all adds up. */
static void any_order(void **state)
{
	struct rng rng = { 4711 };

	(void)state;
	for (unsigned int round = 0; round < 40; round++) {
		struct retired c = { .max = rng__next(&rng) % 40 };
		uint64_t requests[201], want = 0, least = UINT64_MAX;

		for (uint32_t id = 1; id <= 200; id++) {
			requests[id] = rng__next(&rng) % (round % 2 ? 1000 : 5);
			want += requests[id];
			keep(&c, id, requests[id]);
		}
		assert_int_equal(retired__n(&c), c.max);
		assert_int_equal(retired__n_sum(&c), 200 - c.max);
		assert_int_equal(all_requests(&c), want);
		for (size_t i = 0; i < retired__n(&c); i++) {
			assert_int_equal(requests[retired__at(&c, i)->id],
				ring_stats__requests(retired__at(&c, i)));
			if (requests[retired__at(&c, i)->id] < least)
				least = requests[retired__at(&c, i)->id];
		}
		for (uint32_t id = 1; id <= 200; id++)
			assert_true(has(&c, id) || requests[id] <= least);
		retired__free(&c);
	}
}

/* Lets the first, the second, ... allocation fail; until none does, nothing may change. */
static void starve(struct retired *c, uint32_t id, uint64_t requests, size_t at_least)
{
	uint64_t before = all_requests(c), n_before = retired__n(c) + retired__n_sum(c);
	struct ring_stats r = ring_of(id, requests);
	size_t n = 0;
	int err;

	do {
		scarce__begin(n++);
		err = retired__keep(c, &r);
		scarce__end();
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(r.id, id);
			assert_int_equal(ring_stats__requests(&r), requests);
			assert_int_equal(all_requests(c), before);
			assert_int_equal(retired__n(c) + retired__n_sum(c), n_before);
			assert_false(has(c, id));
		}
	} while (err);
	assert_true(n > at_least);
	assert_int_equal(all_requests(c), before + requests);
	assert_int_equal(retired__n(c) + retired__n_sum(c), n_before + 1);
}

static void out_of_memory_changes_nothing(void **state)
{
	struct retired c = { .max = 2 };

	(void)state;
	starve(&c, 1, 10, 1); /* room for it */
	keep(&c, 2, 20);
	starve(&c, 3, 5, 1);   /* itself summed */
	starve(&c, 4, 30, 2);  /* takes ring 1's place */
	starve(&c, 5, 100, 4); /* takes ring 2's place: another opcode in the sum */
	assert_true(has(&c, 4) && has(&c, 5));
	retired__free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_kept_while_there_is_room),
		cmocka_unit_test(the_busiest_are_kept),
		cmocka_unit_test(of_equals_the_first_ones_stay),
		cmocka_unit_test(no_room_at_all),
		cmocka_unit_test(any_order),
		cmocka_unit_test(out_of_memory_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
