/* SPDX-License-Identifier: MIT */
/* Addresses of programs of every kind, with and without debug information, alive and gone. */
#include <sched.h>
#include <sys/mount.h>

#include "spots.h"

#define PROGRAM "spot.c"
#define LIBRARY "spot_library.c"

static void assert_all_known(struct symbols *sy, const struct spots *s)
{
	assert_place(sy, s, "plain", "plain", NULL, PROGRAM);
	assert_place(sy, s, "outer", "outer", "inlined", PROGRAM);
	assert_place(sy, s, "library", "spot_library", NULL, LIBRARY);
	/* the library is stripped: its debug file is found beside it, by name and checksum */
	assert_place(sy, s, "hidden", "hidden", NULL, LIBRARY);
}

static void run_and_check(void **state, const char *program)
{
	struct fixture *f = *state;
	struct spots s = spots__start(program, NULL);

	assert_all_known(f->symbols, &s);
	spots__stop(&s);
}

static void test_pie(void **state)
{
	run_and_check(state, FIXTURES "/spot-pie");
}

static void test_fixed(void **state)
{
	run_and_check(state, FIXTURES "/spot-fixed");
}

/* clang writes no .debug_aranges. */
static void test_without_aranges(void **state)
{
	run_and_check(state, FIXTURES "/spot-noranges");
}

static void test_compressed_sections(void **state)
{
	run_and_check(state, FIXTURES "/spot-zipped");
}

static void test_packed_symbols(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-mini", NULL);

	assert_place(f->symbols, &s, "plain", "plain", NULL, NULL);
	assert_place(f->symbols, &s, "outer", "outer", NULL, NULL);
	spots__stop(&s);
}

static void test_offsets(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-fixed", NULL);
	uint64_t addrs[] = { spots__at(&s, "plain")->addr, spots__at(&s, "plain")->addr };
	struct frame frames[2];

	assert_int_equal(symbols__resolve(f->symbols, s.pid, addrs, 2, frames), 0);
	/* a program that isn't moved has its addresses in the file, too */
	assert_true(frames[0].offset == addrs[0] && frames[1].offset == addrs[0]);
	assert_string_equal(frames[1].module, FIXTURES "/spot-fixed");
	assert_true(frames[1].function_offset > 0 && frames[1].function_offset == frames[0].function_offset);
	frames__free(frames, 2);
	spots__stop(&s);
}

static void test_stripped(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-stripped", NULL);
	struct frame frame = resolve_one(f->symbols, &s, "plain");
	char text[FRAME_TEXT_LEN], want[64];

	assert_place(f->symbols, &s, "plain", NULL, NULL, NULL);
	assert_true(frame.offset > 0);
	snprintf(want, sizeof(want), "spot-stripped+0x%" PRIx64, frame.offset);
	assert_string_equal(frame__text(text, &frame), want);
	frames__free(&frame, 1);
	spots__stop(&s);
}

static void test_text(void **state)
{
	char text[FRAME_TEXT_LEN], name[700] = "";
	struct frame f = { .kind = FRAME_ELF, .addr = 0x7f12, .module = "/lib/libx.so", .offset = 0x12 };

	(void)state;
	assert_string_equal(frame__text(text, &f), "libx.so+0x12");
	f.function = "work";
	f.function_offset = 10;
	assert_string_equal(frame__text(text, &f), "work+0xa [libx.so]");
	f.inlined = "step";
	f.file = "../src/x.c";
	f.line = 7;
	assert_string_equal(frame__text(text, &f), "step in work+0xa (x.c:7)");
	memset(name, 'n', sizeof(name) - 1);
	f.inlined = f.function = name;
	frame__text(text, &f);
	assert_string_equal(text + strlen(text) - 13, "n+0xa (x.c:7)");
	f = (struct frame){ .kind = FRAME_ANONYMOUS, .addr = 0x7f12, .module = "[anon]" };
	assert_string_equal(frame__text(text, &f), "[anon] 0x7f12");
	f = (struct frame){ .kind = FRAME_UNKNOWN, .addr = 0x7f12 };
	assert_string_equal(frame__text(text, &f), "0x7f12");
}

/* Without the debug file what the library exports is known, and what it hides is not taken for that. */
static void test_exports_only(void **state)
{
	struct fixture *f = *state;
	char library[96];
	struct spots s;

	snprintf(library, sizeof(library), "%s/libspot.so", f->dir);
	copy_file(FIXTURES "/libspot.so", library);
	s = spots__start(FIXTURES "/spot-pie", f->dir);
	assert_place(f->symbols, &s, "library", "spot_library", NULL, NULL);
	assert_place(f->symbols, &s, "hidden", NULL, NULL, NULL);
	spots__stop(&s);
}

/* A debug file of another build must not be believed. */
static void test_wrong_debug_file(void **state)
{
	struct fixture *f = *state;
	char path[96];
	struct spots s;

	snprintf(path, sizeof(path), "%s/libspot.so", f->dir);
	copy_file(FIXTURES "/libspot.so", path);
	snprintf(path, sizeof(path), "%s/libspot.so.debug", f->dir);
	copy_file(FIXTURES "/spot-pie", path);
	s = spots__start(FIXTURES "/spot-pie", f->dir);
	assert_place(f->symbols, &s, "hidden", NULL, NULL, NULL);
	spots__stop(&s);
}

static void test_no_file(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-pie", NULL);
	uint64_t first = spots__at(&s, "vdso")->addr;
	struct frame frame = resolve_one(f->symbols, &s, "anonymous");

	/* the byte before the first is looked up: nothing, or the end of something else */
	frames__free(&frame, 1);
	assert_int_equal(symbols__resolve(f->symbols, s.pid, &spots__at(&s, "anonymous")->addr, 1, &frame),
		0);
	assert_int_equal(frame.kind, FRAME_ANONYMOUS);
	assert_string_equal(frame.module, "[anon]");
	assert_null(frame.function);
	frames__free(&frame, 1);
	if (first) {
		assert_int_equal(symbols__resolve(f->symbols, s.pid, &first, 1, &frame), 0);
		assert_int_equal(frame.kind, FRAME_ELF);
		assert_string_equal(frame.module, "[vdso]");
		/* with one name or the other */
		assert_non_null(frame.function);
		assert_non_null(strstr(frame.function, "clock_gettime"));
		assert_int_equal(frame.function_offset, 0);
		frames__free(&frame, 1);
	}
	spots__stop(&s);
}

static void test_libc(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-pie", NULL);
	struct frame frame;

	assert_int_equal(symbols__resolve(f->symbols, s.pid, &spots__at(&s, "libc")->addr, 1, &frame), 0);
	assert_int_equal(frame.kind, FRAME_ELF);
	assert_non_null(frame.function);
	/* of the names for it, this one is for people */
	assert_string_equal(frame.function, "getpid");
	frames__free(&frame, 1);
	spots__stop(&s);
}

static void test_gone_process(void **state)
{
	struct fixture *f = *state;
	struct spots s = spots__start(FIXTURES "/spot-pie", NULL), unknown = s;
	uint64_t addr = s.places[0].addr;
	struct frame frame;

	assert_int_equal(symbols__remember(f->symbols, s.pid), 0);
	spots__stop(&s);
	assert_all_known(f->symbols, &s);
	symbols__forget(f->symbols, s.pid);
	assert_int_equal(symbols__resolve(f->symbols, unknown.pid, &addr, 1, &frame), -ESRCH);
	assert_int_equal(symbols__remember(f->symbols, s.pid), -ESRCH);
}

/* Its file is gone before anybody asked; exe and map_files still have it. */
static void test_deleted_program(void **state)
{
	struct fixture *f = *state;
	char path[96];
	struct frame frame;
	struct spots s;

	snprintf(path, sizeof(path), "%s/doomed", f->dir);
	copy_file(FIXTURES "/spot-pie", path);
	s = spots__start(path, FIXTURES);
	assert_int_equal(unlink(path), 0);
	frame = resolve_one(f->symbols, &s, "outer");
	assert_true(frame.module_deleted);
	assert_string_equal(frame.module, path);
	frames__free(&frame, 1);
	assert_all_known(f->symbols, &s);
	spots__stop(&s);
}

/* Something else has its name now. */
static void test_replaced_library(void **state)
{
	struct fixture *f = *state;
	char path[96];
	struct spots s;

	snprintf(path, sizeof(path), "%s/libspot.so", f->dir);
	copy_file(FIXTURES "/libspot.so", path);
	s = spots__start(FIXTURES "/spot-pie", f->dir);
	assert_int_equal(unlink(path), 0);
	copy_file(FIXTURES "/spot-fixed", path);
	if (geteuid() == 0) {
		assert_place(f->symbols, &s, "library", "spot_library", NULL, NULL);
	} else {
		struct frame frame = resolve_one(f->symbols, &s, "library");

		assert_int_equal(frame.kind, FRAME_FILE);
		assert_null(frame.function);
		assert_string_equal(frame.module, path);
		frames__free(&frame, 1);
	}
	spots__stop(&s);
}

static void test_sharing_and_limits(void **state)
{
	struct symbols_limits limits = { .processes = 2, .modules = 3, .awake = 1 };
	struct spots s[3];
	struct symbols *small;
	struct fixture *f = *state;
	size_t modules;

	for (size_t i = 0; i < 3; i++)
		s[i] = spots__start(FIXTURES "/spot-pie", NULL);
	assert_int_equal(symbols__remember(f->symbols, s[0].pid), 0);
	modules = symbols__modules(f->symbols);
	assert_true(modules >= 4); /* program, library, libc, loader */
	assert_int_equal(symbols__remember(f->symbols, s[1].pid), 0);
	assert_int_equal(symbols__modules(f->symbols), modules);
	assert_int_equal(symbols__modules_refused(f->symbols), 0);

	assert_int_equal(symbols__new(&limits, &small), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(symbols__remember(small, s[i].pid), 0);
	assert_int_equal(symbols__modules(small), 3);
	assert_true(symbols__modules_refused(small) > 0);
	for (size_t i = 0; i < 3; i++)
		spots__stop(&s[i]);
	/* one awake at a time, in turns */
	for (int i = 0; i < 3; i++) {
		assert_place(small, &s[2], "plain", "plain", NULL, PROGRAM);
		assert_place(small, &s[2], "hidden", "hidden", NULL, LIBRARY);
	}
	assert_int_equal(symbols__resolve(small, s[0].pid, &s[0].places[0].addr, 1, (struct frame[1]){ 0 }),
		-ESRCH);
	symbols__free(small);
}

/* The processes that hold nothing any more make room for new modules. */
static void test_room_for_others(void **state)
{
	struct symbols_limits limits = { .processes = 1, .modules = 8, .awake = 1 };
	static const char *const programs[] = { "spot-pie", "spot-fixed", "spot-noranges" };
	struct symbols *small;
	char path[256];

	(void)state;
	assert_int_equal(symbols__new(&limits, &small), 0);
	for (size_t i = 0; i < 9; i++) {
		struct spots s;

		snprintf(path, sizeof(path), "%s/%s", FIXTURES, programs[i % 3]);
		s = spots__start(path, NULL);
		assert_place(small, &s, "plain", "plain", NULL, PROGRAM);
		spots__stop(&s);
	}
	assert_int_equal(symbols__modules_refused(small), 0);
	assert_true(symbols__modules(small) <= 8);
	symbols__free(small);
}

static int mount_empty(const char *path)
{
	return mount("none", path, "tmpfs", MS_NOSUID, NULL);
}

/*
 * Runs the program where nobody outside can see its files: its own, the library in `library`, and the debug file
 * that is copied to /usr/lib/debug/DEBUG_DIR.
 */
static struct spots start_apart(struct fixture *f, const char *library, const char *debug,
	const char *debug_dir)
{
	int back = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	char hidden[96], command[1024];
	struct spots s;

	snprintf(hidden, sizeof(hidden), "%s/inside", f->dir);
	assert_int_equal(mkdir(hidden, 0755), 0);
	assert_true(back >= 0);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount_empty(hidden), 0);
	assert_int_equal(mount_empty("/usr/lib/debug"), 0);
	snprintf(command, sizeof(command),
		"mkdir -p /usr/lib/debug/%s && cp " FIXTURES "/spot-pie %s/app && cp " FIXTURES
		"/%s %s && cp " FIXTURES "/%s /usr/lib/debug/%s",
		debug_dir, hidden, library, hidden, debug, debug_dir);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof(command), "%s/app", hidden);
	s = spots__start(command, hidden);
	assert_int_equal(setns(back, CLONE_NEWNS), 0);
	close(back);
	assert_int_equal(access(command, F_OK), -1);
	return s;
}

/* Remembered while it runs; its mount namespace ends with it. */
static void test_other_mount_namespace(void **state)
{
	struct fixture *f = *state;
	char debug_dir[96];
	struct spots s;

	if (geteuid() != 0)
		skip();
	snprintf(debug_dir, sizeof(debug_dir), "%s/inside", f->dir);
	s = start_apart(f, "libspot.so", "libspot.so.debug", debug_dir);
	assert_int_equal(symbols__remember(f->symbols, s.pid), 0);
	spots__stop(&s);
	assert_all_known(f->symbols, &s);
}

static void test_build_id(void **state)
{
	struct fixture *f = *state;
	struct spots s;

	if (geteuid() != 0)
		skip();
	s = start_apart(f, "id/libspot.so", "id/34567890abcdef.debug", ".build-id/12");
	assert_all_known(f->symbols, &s);
	spots__stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pie),
		TEST(test_fixed),
		TEST(test_without_aranges),
		TEST(test_compressed_sections),
		TEST(test_packed_symbols),
		TEST(test_offsets),
		TEST(test_stripped),
		cmocka_unit_test(test_text),
		TEST(test_exports_only),
		TEST(test_wrong_debug_file),
		TEST(test_no_file),
		TEST(test_libc),
		TEST(test_gone_process),
		TEST(test_deleted_program),
		TEST(test_replaced_library),
		TEST(test_sharing_and_limits),
		TEST(test_room_for_others),
		TEST(test_other_mount_namespace),
		TEST(test_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
