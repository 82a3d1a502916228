// SPDX-License-Identifier: MIT
/* What execvp would execute, and whose interpreter is to blame. */
#include "child_fixture.h"

#include "program.h"

static void assert_found(const char *file, int err, const char *want)
{
	char path[PROGRAM_PATH_LEN] = "untouched";

	assert_int_equal(program__find(file, path), err);
	assert_string_equal(path, want ? want : "untouched");
}

static void test_find(void **state)
{
	struct fixture *f = *state;
	char file[128], path[512];

	snprintf(file, sizeof(file), "%s/prog", f->dir);
	write_file(file, "#!/bin/sh\n", 0755);
	assert_found(file, 0, file);
	snprintf(path, sizeof(path), "/nonexistent:%s:/bin", f->dir);
	setenv("PATH", path, 1);
	assert_found("prog", 0, file);
	assert_found("nothing", -ENOENT, NULL);
	assert_found("", -ENOENT, NULL);
	assert_found(f->dir, -EACCES, NULL);
	assert_found("/nonexistent/prog", -ENOENT, NULL);
	assert_int_equal(chdir(f->dir), 0);
	setenv("PATH", "/nonexistent:", 1);
	assert_found("prog", 0, "prog");
	assert_found("./prog", 0, "./prog");
	assert_int_equal(chdir("/"), 0);
	write_file(file, "#!/bin/sh\n", 0644);
	setenv("PATH", path, 1);
	assert_found("prog", -EACCES, NULL);
}

static void test_too_long(void **state)
{
	char name[PATH_MAX + 2], path[PATH_MAX + 64], found[PROGRAM_PATH_LEN];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	name[0] = '/';
	assert_found(name, -ENAMETOOLONG, NULL);
	assert_found(name + 1, -ENAMETOOLONG, NULL);
	/* a directory of PATH that is too long is none */
	snprintf(path, sizeof(path), "%s:/bin:/usr/bin", name);
	setenv("PATH", path, 1);
	assert_found("ringside-no-such-program", -ENOENT, NULL);
	assert_int_equal(program__find("sh", found), 0);
}

/* The bad interpreter of a script that consists of this text, NULL for none. */
static void assert_bad(struct fixture *f, const char *text, const char *want)
{
	char *got = NULL;

	write_file(f->mark, text, 0755);
	assert_int_equal(program__bad_interpreter(f->mark, &got), want ? 0 : -ENOENT);
	if (want)
		assert_string_equal(got, want);
	else
		assert_null(got);
	free(got);
}

static void test_bad_interpreter(void **state)
{
	struct fixture *f = *state;
	char other[96], text[256];

	assert_bad(f, "#!/nonexistent/sh\n", "/nonexistent/sh");
	assert_bad(f, "#! \t/nonexistent/sh -e -u\necho\n", "/nonexistent/sh");
	assert_bad(f, "#!/nonexistent/sh", "/nonexistent/sh");
	assert_bad(f, "#!/bin/sh\r\necho\r\n", "/bin/sh\r");
	assert_bad(f, "#!/etc/passwd\n", "/etc/passwd");
	assert_bad(f, "#!/bin/sh\n", NULL);
	assert_bad(f, "#!\n", NULL);
	assert_bad(f, "echo\n", NULL);
	assert_bad(f, "", NULL);
	/* a script that interprets scripts */
	snprintf(other, sizeof(other), "%s/other", f->dir);
	write_file(other, "#!/nonexistent/sh\n", 0755);
	snprintf(text, sizeof(text), "#!%s\n", other);
	assert_bad(f, text, "/nonexistent/sh");
	/* or itself */
	snprintf(text, sizeof(text), "#!%s\n", f->mark);
	assert_bad(f, text, NULL);
}

static void test_unreadable(void **state)
{
	char *got = NULL;

	(void)state;
	assert_int_equal(program__bad_interpreter("/nonexistent/sh", &got), -ENOENT);
	assert_int_equal(program__bad_interpreter("/", &got), -EISDIR);
	assert_null(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_find),
		TEST(test_too_long),
		TEST(test_bad_interpreter),
		TEST(test_unreadable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
