// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outfile.h"

static char dir[64], path[96];

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/outfile.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/report", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static int entries(void)
{
	DIR *d = opendir(dir);
	int n = -2;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void put(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_content(const char *want)
{
	char buf[64] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(buf, sizeof(buf), f));
	fclose(f);
	assert_string_equal(buf, want);
}

static void test_commit(void **state)
{
	struct outfile o;

	(void)state;
	put("old");
	assert_int_equal(outfile__open(path, false, &o), 0);
	fputs("new", o.f);
	fflush(o.f);
	assert_content("old");
	assert_int_equal(outfile__commit(&o), 0);
	assert_content("new");
	assert_int_equal(entries(), 1);
}

static void test_abort(void **state)
{
	struct outfile o = { 0 };

	(void)state;
	outfile__abort(&o);
	put("old");
	assert_int_equal(outfile__open(path, false, &o), 0);
	fputs("new", o.f);
	outfile__abort(&o);
	outfile__abort(&o);
	assert_content("old");
	assert_int_equal(entries(), 1);
}

static void test_mode(void **state)
{
	mode_t before = umask(027);
	struct outfile o;
	struct stat st;

	(void)state;
	assert_int_equal(outfile__open(path, false, &o), 0);
	assert_int_equal(outfile__commit(&o), 0);
	umask(before);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_stream(void **state)
{
	struct outfile o;

	(void)state;
	assert_int_equal(outfile__open(path, true, &o), 0);
	fputs("line", o.f);
	fflush(o.f);
	assert_content("line");
	assert_int_equal(outfile__commit(&o), 0);
	assert_content("line");
}

/* A device is written to, not replaced. */
static void test_device(void **state)
{
	struct outfile o;
	struct stat st;

	(void)state;
	assert_int_equal(outfile__open("/dev/null", false, &o), 0);
	fputs("x", o.f);
	assert_int_equal(outfile__commit(&o), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
}

static void test_full_disk(void **state)
{
	struct outfile o;

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(outfile__open("/dev/full", false, &o), 0);
	fputs("x", o.f);
	assert_int_equal(outfile__commit(&o), -ENOSPC);
}

static void test_no_directory(void **state)
{
	struct outfile o = { .path = (char *)"untouched" };

	(void)state;
	assert_int_equal(outfile__open("/nonexistent/report", false, &o), -ENOENT);
	assert_string_equal(o.path, "untouched");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abort, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mode, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stream, set_up, tear_down),
		cmocka_unit_test(test_device),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_no_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
