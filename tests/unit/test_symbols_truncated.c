/* SPDX-License-Identifier: MIT */
/* Files that are cut short while they are held must not end us. */
#include "spots.h"

/* What a read that failed had allocated in libelf and libdw is lost on purpose, see guard.h. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libelf\nleak:libdw\nleak:lines__open\nleak:funcindex__build\nleak:debugfile__find";
}

static void test_truncated_file(void **state)
{
	struct fixture *f = *state;
	char path[96];
	struct frame frame;
	struct spots s;

	snprintf(path, sizeof(path), "%s/libspot.so", f->dir);
	copy_file(FIXTURES "/libspot.so.full", path);
	s = spots__start(FIXTURES "/spot-pie", f->dir);
	assert_int_equal(symbols__remember(f->symbols, s.pid), 0);
	kill(s.pid, SIGKILL);
	assert_int_equal(waitpid(s.pid, NULL, 0), s.pid);
	close(s.input);
	assert_int_equal(truncate(path, 0), 0);
	for (int i = 0; i < 2; i++) {
		frame = resolve_one(f->symbols, &s, "library");
		assert_int_equal(frame.kind, FRAME_FILE);
		assert_null(frame.function);
		assert_string_equal(frame.module, path);
		frames__free(&frame, 1);
	}
	assert_place(f->symbols, &s, "plain", "plain", NULL, "spot.c");
}

/* In the middle of the DWARF, after it was used. */
static void test_truncated_debug_file(void **state)
{
	struct fixture *f = *state;
	char path[96];
	struct frame frame;
	struct spots s;

	snprintf(path, sizeof(path), "%s/libspot.so", f->dir);
	copy_file(FIXTURES "/libspot.so", path);
	snprintf(path, sizeof(path), "%s/libspot.so.debug", f->dir);
	copy_file(FIXTURES "/libspot.so.debug", path);
	s = spots__start(FIXTURES "/spot-pie", f->dir);
	assert_place(f->symbols, &s, "hidden", "hidden", NULL, "spot_library.c");
	assert_int_equal(truncate(path, 0), 0);
	frame = resolve_one(f->symbols, &s, "library");
	assert_true(frame.kind == FRAME_ELF || frame.kind == FRAME_FILE);
	assert_null(frame.file);
	frames__free(&frame, 1);
	assert_place(f->symbols, &s, "plain", "plain", NULL, "spot.c");
	spots__stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_truncated_file),
		TEST(test_truncated_debug_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
