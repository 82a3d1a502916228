// SPDX-License-Identifier: MIT
/* How large tables are without a word from the user. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abi.h"
#include "sizes.h"

#define GIB (1ull << 30)

static struct table_sizes chosen(uint64_t memory_bytes, uint32_t cpus, struct table_sizes s)
{
	const struct machine m = { memory_bytes, cpus };

	table_sizes__choose(&m, &s);
	return s;
}

static uint64_t bytes(const struct table_sizes *s)
{
	return s->inflight * (sizeof(struct rs_hot) + sizeof(struct rs_cold)) +
	       s->rings * sizeof(struct rs_ring) + (s->series + s->kin) * sizeof(struct rs_series);
}

static void test_common(void **state)
{
	struct table_sizes s = chosen(32 * GIB, 8, (struct table_sizes){ 0 });

	(void)state;
	assert_int_equal(s.inflight, 131072);
	assert_int_equal(s.rings, 2048);
	assert_int_equal(s.series, 4096);
	assert_int_equal(s.kin, 1024);
}

/* Of any machine a small part, and no less than is of use. */
static void test_memory(void **state)
{
	struct table_sizes s, before = { 0 };
	uint64_t memory;

	(void)state;
	for (memory = GIB / 16; memory <= 4096 * GIB; memory *= 2) {
		s = chosen(memory, 64, (struct table_sizes){ 0 });
		assert_int_equal(s.inflight & (s.inflight - 1), 0);
		assert_in_range(s.inflight, 8192, 131072);
		assert_in_range(s.rings, 256, 2048);
		assert_in_range(s.series, 1024, 4096);
		assert_true(s.inflight >= before.inflight && s.rings >= before.rings &&
			    s.series >= before.series);
		if (memory >= 16 * GIB)
			assert_true(bytes(&s) <= memory / 256);
		before = s;
	}
	assert_int_equal(before.series, 4096);
	/* unknown */
	s = chosen(0, 1, (struct table_sizes){ 0 });
	assert_int_equal(s.inflight, 8192);
	assert_int_equal(s.rings, 256);
	assert_int_equal(s.series, 1024);
}

static void test_cpus(void **state)
{
	struct table_sizes s = chosen(1024 * GIB, 256, (struct table_sizes){ 0 });

	(void)state;
	assert_int_equal(s.inflight, 524288);
	assert_int_equal(s.rings, 8192);
	assert_int_equal(s.series, 16384);
	s = chosen(UINT64_MAX, UINT32_MAX, (struct table_sizes){ 0 });
	assert_int_equal(s.inflight, 1 << 20);
	assert_int_equal(s.rings, 16384);
	assert_int_equal(s.series, 32768);
	assert_true(s.rings <= RS_MAX_RINGS && s.series <= RS_MAX_SERIES);
}

/* What the user says holds, whatever the machine. */
static void test_given(void **state)
{
	struct table_sizes s =
		chosen(GIB / 16, 2, (struct table_sizes){ .inflight = 100000, .rings = 32767 });

	(void)state;
	assert_int_equal(s.inflight, 100000);
	assert_int_equal(s.rings, 32767);
	assert_int_equal(s.series, RS_MAX_SERIES);
	s = chosen(64 * GIB, 2, (struct table_sizes){ .rings = 1 });
	assert_int_equal(s.inflight, 131072);
	assert_int_equal(s.rings, 1);
	assert_int_equal(s.series, 2);
	s = chosen(64 * GIB, 2, (struct table_sizes){ .inflight = 8 });
	assert_int_equal(s.inflight, 8);
	assert_int_equal(s.rings, 2048);
}

static void test_machine(void **state)
{
	struct machine m;

	(void)state;
	machine__read(&m);
	assert_true(m.cpus >= 1);
	assert_true(m.memory_bytes > 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_common),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
