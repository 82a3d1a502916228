/* SPDX-License-Identifier: MIT */
/*
 * Memory that ends at any point: an error, or less is known; never a crash. Without DWARF: where memory ends in the
 * middle of a hash table, libdw has an assertion.
 */
#include "scarce.h"
#include "functions.h"
#include "spots.h"

/* What they lose when they fail in the middle. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libelf\nleak:liblzma";
}

static int resolve(const struct spots *s, struct frame *ret)
{
	uint64_t addrs[] = { spots__at(s, "plain")->addr, spots__at(s, "outer")->addr,
		spots__at(s, "hidden")->addr };
	struct symbols *sy;
	int err = symbols__new(NULL, &sy);

	if (err)
		return err;
	err = symbols__remember(sy, s->pid);
	if (!err)
		err = symbols__resolve(sy, s->pid, addrs, 2, ret);
	symbols__free(sy);
	return err;
}

/* All that is said must be true. */
static void check_frames(const struct frame *f, bool complete)
{
	static const char *const functions[] = { "plain", "outer" };

	for (size_t i = 0; i < 2; i++) {
		if (complete || f[i].function)
			assert_string_equal(f[i].function, functions[i]);
	}
}

static void test_addresses(void **state)
{
	struct spots s = spots__start(FIXTURES "/spot-mini", NULL);
	struct frame frames[2];
	bool complete = false;
	size_t failed = 0;
	int err;

	(void)state;
	for (size_t n = 0; !complete; n++) {
		scarce__begin(n);
		err = resolve(&s, frames);
		complete = allocations_left > 0;
		scarce__end();
		failed += err != 0;
		if (complete)
			assert_int_equal(err, 0);
		if (err)
			continue;
		check_frames(frames, complete);
		frames__free(frames, 2);
	}
	assert_true(failed > 10);
	spots__stop(&s);
}

static void test_patterns(void **state)
{
	struct functions f = { .n = 77 };
	char why[FUNCTIONS_WHY_LEN];
	bool complete = false;
	size_t failed = 0;
	int err;

	(void)state;
	for (size_t n = 0; !complete; n++) {
		scarce__begin(n);
		err = functions__find(FIXTURES "/libspot.so:spot_*", 0, 0, &f, why);
		complete = allocations_left > 0;
		scarce__end();
		if (err) {
			failed++;
			assert_true(why[0] != '\0' && f.n == 77);
			continue;
		}
		functions__free(&f);
		f.n = 77;
	}
	assert_int_equal(err, 0);
	assert_true(failed > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
