/* SPDX-License-Identifier: MIT */
/* Functions by pattern: which, where in the file, and what is said when there are none. */
#include "binary.h"
#include "functions.h"
#include "rng.h"
#include "spots.h"
#include "suggest.h"

static struct functions find(const char *pattern, pid_t pid)
{
	char why[FUNCTIONS_WHY_LEN] = "";
	struct functions f;

	if (functions__find(pattern, pid, 0, &f, why))
		fail_msg("%s: %s", pattern, why);
	return f;
}

static void assert_fails(const char *pattern, pid_t pid, size_t max, int err, const char *said)
{
	char why[FUNCTIONS_WHY_LEN] = "";
	struct functions f = { .n = 77 };

	assert_int_equal(functions__find(pattern, pid, max, &f, why), err);
	assert_int_equal(f.n, 77);
	if (!strstr(why, said))
		fail_msg("%s: %s, not %s", pattern, why, said);
}

static bool has(const struct functions *f, const char *name)
{
	for (size_t i = 0; i < f->n; i++) {
		if (!strcmp(f->list[i].name, name))
			return true;
	}
	return false;
}

/* What the file has there is what the process executes there. */
static void assert_same_code(const struct spots *s, const struct functions *f, const struct function *at,
	uint64_t bias)
{
	int file = open(f->path, O_RDONLY | O_CLOEXEC), memory;
	unsigned char a[16], b[16];
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)s->pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0 && memory >= 0);
	assert_int_equal(pread(file, a, sizeof(a), (off_t)at->file_offset), sizeof(a));
	assert_int_equal(pread(memory, b, sizeof(b), (off_t)(at->vaddr + bias)), sizeof(b));
	assert_memory_equal(a, b, sizeof(a));
	close(file);
	close(memory);
}

/* The function is where a frame in it says that it begins. */
static void check_place(struct fixture *fx, const struct spots *s, const char *place, const char *pattern)
{
	struct frame frame = resolve_one(fx->symbols, s, place);
	struct functions f = find(pattern, s->pid);

	assert_int_equal(f.n, 1);
	assert_string_equal(f.list[0].name, frame.function);
	assert_string_equal(f.binary, frame.module);
	assert_true(f.list[0].vaddr == frame.offset - frame.function_offset);
	assert_same_code(s, &f, &f.list[0], frame.addr - frame.offset);
	frames__free(&frame, 1);
	functions__free(&f);
}

static void test_places(void **state)
{
	static const char *const programs[] = { "spot-pie", "spot-fixed", "spot-mini" };
	char path[256], pattern[300];
	struct spots s;

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), FIXTURES "/%s", programs[i]);
		s = spots__start(path, NULL);
		snprintf(pattern, sizeof(pattern), "%s:plain", path);
		check_place(*state, &s, "plain", pattern);
		/* its functions have gaps in the file between code and data: offset and address differ */
		snprintf(pattern, sizeof(pattern), "%s:oute[r]", programs[i]);
		check_place(*state, &s, "outer", pattern);
		check_place(*state, &s, "hidden", "libspot:hidden");
		check_place(*state, &s, "library", "libspot.so:*spot_l*");
		spots__stop(&s);
	}
}

static void test_aliases(void **state)
{
	struct functions f = find(FIXTURES "/libspot.so:*spot_*", 0);

	(void)state;
	/* with spot_library_also and _spot_l */
	assert_true(has(&f, "spot_library"));
	assert_true(has(&f, "spot_here"));
	assert_true(has(&f, "spot_hidden"));
	assert_true(has(&f, "spot_old"));
	assert_int_equal(f.n, 4);
	/* neither the name nor the function that chooses */
	assert_true(f.some_indirect);
	for (size_t i = 1; i < f.n; i++)
		assert_true(f.list[i - 1].vaddr < f.list[i].vaddr);
	functions__free(&f);

	f = find(FIXTURES "/libspot.so:_spot_?", 0);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.list[0].name, "_spot_l");
	assert_false(f.some_indirect);
	functions__free(&f);
}

static void test_none(void **state)
{
	char pattern[128], why[128];
	struct fixture *fx = *state;

	assert_fails("spot", 0, 0, -EINVAL, "is not BINARY:FUNCTION");
	assert_fails(":x", 0, 0, -EINVAL, "is not");
	assert_fails("x:", 0, 0, -EINVAL, "is not");
	assert_fails("/no/such/file:x", 0, 0, -ENOENT, "no file /no/such/file");
	assert_fails("libspot-of-nobody:x", 0, 0, -ENOENT, "no program or library libspot-of-nobody");
	assert_fails("/tmp:x", 0, 0, -EINVAL, "no regular file");
	assert_fails("/etc/passwd:x", 0, 0, -ENOEXEC, "not a program or library");
	assert_fails(FIXTURES "/spot-pie:plan", 0, 0, -ESRCH, "near are plain");
	assert_fails(FIXTURES "/spot-pie:plai[xyz]n*", 0, 0, -ESRCH, "near are plain");
	assert_fails(FIXTURES "/libspot.so:spot_chosen", 0, 0, -ESRCH, "IFUNC");
	assert_fails(FIXTURES "/libspot.so:spot_choose", 0, 0, -ESRCH, "no function");
	assert_fails(FIXTURES "/libspot.so:spot_*", 0, 2, -E2BIG, "matches 4 functions");
	/* a stub for a function of the library is none of the program's */
	assert_fails(FIXTURES "/spot-fixed:spot_library", 0, 0, -ESRCH, "no function spot_library");
	/* without its debug file */
	snprintf(pattern, sizeof(pattern), "%s/libspot.so", fx->dir);
	copy_file(FIXTURES "/libspot.so", pattern);
	snprintf(pattern, sizeof(pattern), "%s/libspot.so:hidden", fx->dir);
	assert_fails(pattern, 0, 0, -ESRCH, "only the exported ones");
	snprintf(why, sizeof(why), "there is no process %d", INT32_MAX);
	assert_fails("libc:pread", INT32_MAX, 0, -ESRCH, why);
}

static void test_stripped(void **state)
{
	(void)state;
	assert_fails(FIXTURES "/spot-stripped:plain", 0, 0, -ENODATA, "has no symbols");
}

/* A program in PATH, and a library where the loader looks; of a process, what it has mapped. */
static void test_names(void **state)
{
	struct spots s = spots__start(FIXTURES "/spot-pie", NULL);
	char *path = strdup(getenv("PATH") ?: "/usr/bin:/bin");
	struct functions f, of_process;

	(void)state;
	assert_non_null(path);
	setenv("PATH", "relative::/no/such/dir:" FIXTURES, 1);
	f = find("spot-pie:plain", 0);
	assert_string_equal(f.binary, FIXTURES "/spot-pie");
	functions__free(&f);
	setenv("PATH", path, 1);
	free(path);
	assert_fails("spot-pie:plain", 0, 0, -ENOENT, "no program or library");

	f = find("libc:getpid", 0);
	of_process = find("libc:getpid", s.pid);
	assert_true(f.list[0].file_offset == of_process.list[0].file_offset);
	functions__free(&f);
	functions__free(&of_process);
	/* not mapped by it, but there */
	f = find(FIXTURES "/spot-fixed:plain", s.pid);
	assert_string_equal(f.binary, FIXTURES "/spot-fixed");
	functions__free(&f);
	spots__stop(&s);
}

static void test_deleted(void **state)
{
	struct fixture *fx = *state;
	struct functions f;
	struct spots s;
	char path[96];

	snprintf(path, sizeof(path), "%s/doomed", fx->dir);
	copy_file(FIXTURES "/spot-pie", path);
	s = spots__start(path, FIXTURES);
	assert_int_equal(unlink(path), 0);
	f = find("doomed:plain", s.pid);
	spots__stop(&s);
	/* still what it was */
	assert_int_equal(access(f.path, R_OK), 0);
	assert_string_equal(f.binary, path);
	functions__free(&f);
}

/* Two files of one name in one process: nobody can know which is meant. */
static void test_ambiguous(void **state)
{
	struct fixture *fx = *state;
	struct spots s;
	char path[96];

	snprintf(path, sizeof(path), "%s/libspot", fx->dir);
	copy_file(FIXTURES "/spot-pie", path);
	s = spots__start(path, FIXTURES);
	assert_fails("libspot:plain", s.pid, 0, -ENOENT, "give its path");
	spots__stop(&s);
}

/* Anybody's file: whatever is in it, there is an answer. */
static void test_corrupt_files(void **state)
{
	static unsigned char bytes[1 << 20], changed[1 << 20];
	char path[96], pattern[128], why[FUNCTIONS_WHY_LEN];
	struct fixture *fx = *state;
	struct rng rng = { 4711 };
	struct functions f;
	FILE *file = fopen(FIXTURES "/libspot.so.full", "re");
	size_t n;

	assert_non_null(file);
	n = fread(bytes, 1, sizeof(bytes), file);
	assert_true(n > 0 && n < sizeof(bytes));
	fclose(file);
	snprintf(path, sizeof(path), "%s/corrupt", fx->dir);
	snprintf(pattern, sizeof(pattern), "%s:*", path);
	for (int round = 0; round < 300; round++) {
		memcpy(changed, bytes, n);
		/* mostly the ELF header, and the section headers at the end */
		for (uint64_t i = rng__next(&rng) % 16; i < 16; i++) {
			uint64_t at = rng__log_uniform(&rng, 12) % n;

			changed[rng__next(&rng) & 1 ? at : n - 1 - at] = (unsigned char)rng__next(&rng);
		}
		file = fopen(path, "we");
		assert_non_null(file);
		assert_int_equal(fwrite(changed, 1, n - (rng__next(&rng) & 1) * (rng__next(&rng) % n), file) >
					 0,
			1);
		assert_int_equal(fclose(file), 0);
		why[0] = '\0';
		if (functions__find(pattern, 0, 0, &f, why)) {
			assert_true(why[0] != '\0');
			continue;
		}
		assert_true(f.n > 0 && f.n <= FUNCTIONS_MAX);
		functions__free(&f);
	}
}

static void test_library_names(void **state)
{
	(void)state;
	assert_true(binary__is_named("libc.so.6", "libc"));
	assert_true(binary__is_named("libc-2.31.so", "libc"));
	assert_true(binary__is_named("libc.so", "libc"));
	assert_true(binary__is_named("libc.so.6", "libc.so"));
	assert_true(binary__is_named("libc.so.6", "libc.so.6"));
	assert_true(binary__is_named("db", "db"));
	assert_false(binary__is_named("libcrypt.so.1", "libc"));
	assert_false(binary__is_named("libc-client.so.1", "libc"));
	assert_false(binary__is_named("libc.so.6", "libc.so.60"));
	assert_false(binary__is_named("libc.so.6.debug", "libc.so.6"));
	assert_false(binary__is_named("libc.so-gdb.py", "libc"));
	assert_false(binary__is_named("db_dump", "db"));
}

static void test_suggestions(void **state)
{
	struct suggest s;

	(void)state;
	suggest__begin(&s, "*db_gt*");
	assert_string_equal(s.wanted, "db_gt");
	suggest__offer(&s, "main");
	assert_int_equal(s.n, 0);
	suggest__offer(&s, "db_put");
	suggest__offer(&s, "db_get");
	suggest__offer(&s, "db_get");
	assert_int_equal(s.n, 2);
	assert_string_equal(s.best[0].name, "db_get");
	suggest__offer(&s, "db_gt_all");
	suggest__offer(&s, "db_gx");
	assert_int_equal(s.n, SUGGEST_MAX);
	assert_string_equal(s.best[2].name, "db_gx");
	/* nothing to go by */
	suggest__begin(&s, "*");
	suggest__offer(&s, "x");
	assert_int_equal(s.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places),
		TEST(test_aliases),
		TEST(test_none),
		TEST(test_stripped),
		TEST(test_names),
		TEST(test_deleted),
		TEST(test_ambiguous),
		TEST(test_corrupt_files),
		cmocka_unit_test(test_library_names),
		cmocka_unit_test(test_suggestions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
