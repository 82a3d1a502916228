/* SPDX-License-Identifier: MIT */
/* Runs tests/fixtures/spot.c and knows what it told of itself. */
#ifndef RINGSIDE_TEST_SPOTS_H
#define RINGSIDE_TEST_SPOTS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols.h"

struct place {
	char name[16];
	uint64_t addr;
	int line;
};

struct spots {
	pid_t pid;
	int input;
	struct place places[8];
	size_t n;
};

/* path is run with library_dir (NULL: as it is) as the place of its library. */
static inline struct spots spots__start(const char *path, const char *library_dir)
{
	struct spots s = { 0 };
	int in[2], out[2];
	FILE *f;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	s.pid = fork();
	assert_true(s.pid >= 0);
	if (s.pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (library_dir)
			setenv("LD_LIBRARY_PATH", library_dir, 1);
		execl(path, path, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s.input = in[1];
	f = fdopen(out[0], "r");
	assert_non_null(f);
	/* the last line that it prints */
	while (s.n < 8 && (!s.n || strcmp(s.places[s.n - 1].name, "anonymous"))) {
		struct place *p = &s.places[s.n];

		assert_int_equal(fscanf(f, "%15s %" SCNx64 " %d", p->name, &p->addr, &p->line), 3);
		s.n++;
	}
	fclose(f);
	return s;
}

static inline void spots__stop(struct spots *s)
{
	int status = -1;

	close(s->input);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_int_equal(status, 0);
}

static inline const struct place *spots__at(const struct spots *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++) {
		if (!strcmp(s->places[i].name, name))
			return &s->places[i];
	}
	fail_msg("no place %s", name);
	return NULL;
}

/* As a caller's frame; to be freed. */
static inline struct frame resolve_one(struct symbols *sy, const struct spots *s, const char *name)
{
	uint64_t addrs[] = { 0, spots__at(s, name)->addr };
	struct frame frames[2];

	assert_int_equal(symbols__resolve(sy, s->pid, addrs, 2, frames), 0);
	assert_int_equal(frames[0].kind, FRAME_UNKNOWN);
	assert_true(frames[1].addr == addrs[1]);
	frames__free(&frames[0], 1);
	return frames[1];
}

static inline const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* NULL: must be unknown. */
static inline void assert_name(const char *what, const char *got, const char *want)
{
	if (!got != !want || (got && strcmp(got, want)))
		fail_msg("%s is %s, not %s", what, got ? got : "unknown", want ? want : "unknown");
}

static inline void assert_place(struct symbols *sy, const struct spots *s, const char *name,
	const char *function, const char *inlined, const char *file)
{
	struct frame f = resolve_one(sy, s, name);

	assert_int_equal(f.kind, FRAME_ELF);
	assert_name("function", f.function, function);
	assert_name("inlined", f.inlined, inlined);
	assert_name("file", last_part(f.file), file);
	assert_int_equal(f.line, file ? spots__at(s, name)->line : 0);
	frames__free(&f, 1);
}

static inline void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC),
	    out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	char buf[8192];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	assert_int_equal(n, 0);
	close(in);
	close(out);
}

struct fixture {
	struct symbols *symbols;
	char dir[64];
};

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f || symbols__new(NULL, &f->symbols))
		return -1;
	snprintf(f->dir, sizeof(f->dir), "/tmp/ringside-test-XXXXXX");
	*state = f;
	return mkdtemp(f->dir) ? 0 : -1;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", f->dir);
	symbols__free(f->symbols);
	if (system(command))
		return -1;
	free(f);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
