/* SPDX-License-Identifier: MIT */
/* What the tests of child.c share: a directory of their own and short ways to run programs. */
#ifndef RINGSIDE_CHILD_FIXTURE_H
#define RINGSIDE_CHILD_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

struct fixture {
	char dir[64];
	char mark[96]; /* the file that a program makes when it runs */
	char *path;    /* PATH before the test */
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const char *path = getenv("PATH");

	if (!f)
		return -1;
	snprintf(f->dir, sizeof(f->dir), "/tmp/ringside-test-XXXXXX");
	f->path = strdup(path ? path : "/bin:/usr/bin");
	if (!f->path || !mkdtemp(f->dir) || chmod(f->dir, 0777))
		return -1;
	snprintf(f->mark, sizeof(f->mark), "%s/mark", f->dir);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char cmd[128];

	setenv("PATH", f->path, 1);
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", f->dir);
	if (system(cmd))
		return -1;
	free(f->path);
	free(f);
	return 0;
}

static inline void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static inline void read_file(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(buf, 1, len - 1, f);
	assert_true(n < len - 1);
	buf[n] = '\0';
	fclose(f);
}

static inline bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static inline struct child *spawn_as(char *const argv[], const struct run_as *as)
{
	struct child *c = NULL;

	assert_int_equal(child__spawn(argv, as, NULL, &c), 0);
	assert_non_null(c);
	return c;
}

static inline int finish(struct child *c)
{
	int status = -1;

	assert_int_equal(child__reap(c, true, &status), 1);
	child__free(c);
	return status;
}

/* Runs a shell command as a child; its wait status. */
static inline int run(const char *cmd, const struct run_as *as)
{
	char *argv[] = { "sh", "-c", (char *)cmd, NULL };
	struct child *c = spawn_as(argv, as);

	assert_int_equal(child__go(c), 0);
	return finish(c);
}

static inline void assert_spawn_fails(const char *program, const struct run_as *as, int err)
{
	char *argv[] = { (char *)program, NULL };
	struct child *c = NULL;

	assert_int_equal(child__spawn(argv, as, NULL, &c), err);
	assert_null(c);
	/* Nothing is left to collect. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
