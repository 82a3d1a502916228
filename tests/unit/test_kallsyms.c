// SPDX-License-Identifier: MIT
/* Finding the kernel's symbols in files of the form of /proc/kallsyms. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kallsyms.h"

#define EXIT_WORK "io_ring_exit_work"
#define POLL "io_uring_poll"

static char path[64];

static int make_file(void **state)
{
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/ringside-kallsyms-XXXXXX");
	fd = mkstemp(path);
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

static void write_symbols(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct kallsyms *read_symbols(const char *text)
{
	struct kallsyms *k = NULL;

	write_symbols(text);
	assert_int_equal(kallsyms__read_file(path, true, &k), 0);
	return k;
}

static void assert_symbol(const char *text, const char *name, enum ksym_state want, uint64_t address)
{
	struct kallsyms *k = read_symbols(text);

	assert_int_equal(kallsyms__lookup(name, k), want);
	assert_int_equal(kallsyms__address(k, name), address);
	kallsyms__free(k);
}

static void test_present(void **state)
{
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81a2b3c4 t io_ring_exit_work\n"
				   "ffffffff81a2b3d0 t io_uring_poll_x\n"
				   "ffffffff81a2b3e0 t xio_uring_poll\n"
				   "ffffffff81a2b3f0 t io_uring_poll\n"
				   "ffffffff81a2b400 t io_uring_pol\n";

	(void)state;
	assert_symbol(text, EXIT_WORK, KSYM_PRESENT, 0xffffffff81a2b3c4);
	assert_symbol(text, POLL, KSYM_PRESENT, 0xffffffff81a2b3f0);
	/* one that no variant names */
	assert_symbol(text, "_text", KSYM_ABSENT, 0);
	/* the last line lacks its end: it may have been cut */
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll", POLL, KSYM_ABSENT, 0);
	/* 32 bits */
	assert_symbol("c0a2b3f0 t io_uring_poll\n", POLL, KSYM_PRESENT, 0xc0a2b3f0);
}

static void test_absent(void **state)
{
	(void)state;
	assert_symbol("", POLL, KSYM_ABSENT, 0);
	assert_symbol("\n\n \n  \n   \nx\n", POLL, KSYM_ABSENT, 0);
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll.cold\n", POLL, KSYM_ABSENT, 0);
	assert_symbol("io_uring_poll\n", POLL, KSYM_ABSENT, 0);
}

static void test_hidden(void **state)
{
	(void)state;
	assert_symbol("0000000000000000 t io_uring_poll\n", POLL, KSYM_HIDDEN, 0);
	assert_symbol("0000000000000000 t io_uring_poll\n0000000000000000 t io_uring_poll\n", POLL,
		KSYM_HIDDEN, 0);
}

static void test_duplicates(void **state)
{
	(void)state;
	/* which of the two it is can't be told */
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll\nffffffff81a2b400 t io_uring_poll\n", POLL,
		KSYM_AMBIGUOUS, 0);
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll\nffffffff81a2b400 t io_uring_poll\n"
		      "ffffffff81a2b3f0 t io_uring_poll\n",
		POLL, KSYM_AMBIGUOUS, 0);
	/* twice the same is one */
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll\nffffffff81a2b3f0 T io_uring_poll\n", POLL,
		KSYM_PRESENT, 0xffffffff81a2b3f0);
}

/* io_uring is never a module: what modules and programs call so is something else. */
static void test_modules(void **state)
{
	(void)state;
	assert_symbol("ffffffffc0000000 t io_uring_poll\t[mimic]\n", POLL, KSYM_ABSENT, 0);
	assert_symbol("ffffffff81a2b3f0 t io_uring_poll\nffffffffc0000000 t io_uring_poll\t[mimic]\n"
		      "ffffffffc0000010 t io_uring_poll\n",
		POLL, KSYM_PRESENT, 0xffffffff81a2b3f0);
}

/* Lines that lie across the reader's buffers. */
static void test_large(void **state)
{
	const size_t n = 60000, at[] = { 0, 1, 20000, 59998 };
	char *text, *p;
	size_t i, j;

	(void)state;
	for (j = 0; j < sizeof(at) / sizeof(at[0]); j++) {
		p = text = malloc(n * 64);
		assert_non_null(text);
		for (i = 0; i < n; i++)
			p += snprintf(p, 64,
				i == at[j] ? "ffffffff8%07zx t io_uring_poll\n" : "ffffffff8%07zx T f%zu\n",
				i, i);
		assert_symbol(text, POLL, KSYM_PRESENT, 0xffffffff80000000 + at[j]);
		free(text);
	}
}

/* A line that never ends is no list of symbols. */
static void test_endless_line(void **state)
{
	char *text = malloc(200001);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', 200000);
	text[200000] = '\0';
	assert_symbol(text, POLL, KSYM_UNREADABLE, 0);
	free(text);
}

static void test_unreadable(void **state)
{
	struct kallsyms *k = NULL;

	(void)state;
	assert_int_equal(kallsyms__read_file("/tmp/ringside-no-such-file", true, &k), 0);
	assert_int_equal(kallsyms__lookup(POLL, k), KSYM_UNREADABLE);
	kallsyms__free(k);
	kallsyms__free(NULL);
}

/* What the process runs out of is no property of the kernel. */
static void test_no_descriptors(void **state)
{
	struct kallsyms *k = NULL;
	struct rlimit before, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(kallsyms__read_file(path, true, &k), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_present),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_endless_line),
		cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
