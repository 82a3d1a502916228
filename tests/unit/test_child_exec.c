/* SPDX-License-Identifier: MIT */
/* What is executed, by whom, and what the program inherits. */
#include "child_fixture.h"

#include <signal.h>

#define NOBODY 65534

static void test_not_found(void **state)
{
	struct fixture *f = *state;
	char path[256];

	setenv("PATH", "/bin:/usr/bin", 1);
	assert_spawn_fails("ringside-no-such-program", NULL, -ENOENT);
	assert_spawn_fails("/nonexistent/program", NULL, -ENOENT);
	assert_spawn_fails("", NULL, -ENOENT);
	snprintf(path, sizeof(path), "%s:%s/none:", f->dir, f->dir);
	setenv("PATH", path, 1);
	assert_spawn_fails("sh", NULL, -ENOENT);
	setenv("PATH", "", 1);
	assert_spawn_fails("ringside-no-such-program", NULL, -ENOENT);
}

static void test_no_arguments(void **state)
{
	char *argv[] = { NULL };
	struct child *c = NULL;

	(void)state;
	assert_int_equal(child__spawn(argv, NULL, NULL, &c), -EINVAL);
	assert_null(c);
}

static void test_name_too_long(void **state)
{
	char name[400];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_spawn_fails(name, NULL, -ENAMETOOLONG);
}

static void test_not_executable(void **state)
{
	struct fixture *f = *state;
	char path[128];

	snprintf(path, sizeof(path), "%s/plain", f->dir);
	write_file(path, "#!/bin/sh\n", 0644);
	assert_spawn_fails(path, NULL, -EACCES);
	assert_spawn_fails(f->dir, NULL, -EACCES);
	setenv("PATH", f->dir, 1);
	assert_spawn_fails("plain", NULL, -EACCES);
}

static void test_path_search(void **state)
{
	struct fixture *f = *state;
	char first[96], second[96], path[512], file[128], script[256];
	char *argv[] = { "prog", NULL };
	struct child *c;

	snprintf(first, sizeof(first), "%s/first", f->dir);
	snprintf(second, sizeof(second), "%s/second", f->dir);
	assert_int_equal(mkdir(first, 0755), 0);
	assert_int_equal(mkdir(second, 0755), 0);
	/* What may not be executed does not hide what may. */
	snprintf(file, sizeof(file), "%s/prog", first);
	write_file(file, "#!/bin/sh\nexit 9\n", 0644);
	snprintf(file, sizeof(file), "%s/prog", second);
	snprintf(script, sizeof(script), "#!/bin/sh\n: > '%s'\n", f->mark);
	write_file(file, script, 0755);
	snprintf(path, sizeof(path), "%s:%s/none:%s", first, f->dir, second);
	setenv("PATH", path, 1);
	c = spawn_as(argv, NULL);
	assert_int_equal(child__go(c), 0);
	assert_int_equal(finish(c), 0);
	assert_true(exists(f->mark));
}

static void test_default_path(void **state)
{
	(void)state;
	unsetenv("PATH");
	assert_int_equal(child__shell_status(run("exit 3", NULL)), 3);
}

/* execvp hands a text file to /bin/sh. */
static void test_script_without_interpreter_line(void **state)
{
	struct fixture *f = *state;
	char file[128], script[256];
	char *argv[] = { file, "one", NULL };
	struct child *c;

	snprintf(file, sizeof(file), "%s/script", f->dir);
	snprintf(script, sizeof(script), "test \"$1\" = one && : > '%s'\n", f->mark);
	write_file(file, script, 0755);
	c = spawn_as(argv, NULL);
	assert_int_equal(child__go(c), 0);
	assert_int_equal(finish(c), 0);
	assert_true(exists(f->mark));
}

static void test_exec_errno_is_reported(void **state)
{
	struct fixture *f = *state;
	char file[128];
	char *argv[] = { file, NULL };
	struct child *c;
	int status;

	snprintf(file, sizeof(file), "%s/script", f->dir);
	write_file(file, "#!/nonexistent/interpreter\n", 0755);
	c = spawn_as(argv, NULL);
	assert_int_equal(child__go(c), -ENOENT);
	status = finish(c);
	assert_true(WIFEXITED(status));

	/* Gone between the search and the go. */
	write_file(file, "#!/bin/sh\n", 0755);
	c = spawn_as(argv, NULL);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(child__go(c), -ENOENT);
	child__free(c);
}

struct seen {
	uint64_t blocked;
	uint64_t ignored;
};

static uint64_t status_mask(const char *status, const char *key)
{
	const char *line = strstr(status, key);

	assert_non_null(line);
	return strtoull(line + strlen(key), NULL, 16);
}

/* The signal masks with which a program starts. No shell: it would change some. */
static struct seen signals_of_program(struct fixture *f, const struct signal_state *signals)
{
	char *argv[] = { "cp", "/proc/self/status", f->mark, NULL }, buf[8192];
	struct child *c = NULL;

	assert_int_equal(child__spawn(argv, NULL, signals, &c), 0);
	assert_int_equal(child__go(c), 0);
	assert_int_equal(finish(c), 0);
	read_file(f->mark, buf, sizeof(buf));
	/* It got the mode of its source: none may write. */
	assert_int_equal(unlink(f->mark), 0);
	return (struct seen){ status_mask(buf, "\nSigBlk:\t"), status_mask(buf, "\nSigIgn:\t") };
}

static bool has(uint64_t mask, int sig)
{
	return mask >> (sig - 1) & 1;
}

static void do_nothing(int sig)
{
	(void)sig;
}

static void test_signals_restored(void **state)
{
	struct signal_state saved;
	struct seen want, got;
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, &before);
	signal(SIGUSR2, SIG_IGN);
	want = signals_of_program(*state, NULL);
	assert_true(has(want.ignored, SIGUSR2));
	assert_true(has(want.blocked, SIGWINCH));

	assert_int_equal(signal_state__save(&saved), 0);
	sigfillset(&set);
	sigdelset(&set, SIGWINCH);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR2, SIG_DFL);
	signal(SIGTERM, do_nothing);
	got = signals_of_program(*state, &saved);
	assert_int_equal(got.blocked, want.blocked);
	assert_int_equal(got.ignored, want.ignored);

	/* Without a saved state: the present one. */
	got = signals_of_program(*state, NULL);
	assert_true(has(got.blocked, SIGTERM));
	assert_false(has(got.blocked, SIGWINCH));
	assert_true(has(got.ignored, SIGPIPE));
	assert_false(has(got.ignored, SIGUSR2));
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void test_ignored_sigchld(void **state)
{
	struct signal_state saved;

	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(signal_state__save(&saved), 0);
	/* The exit status is there all the same, and the program still ignores it. */
	assert_true(has(signals_of_program(*state, &saved).ignored, SIGCHLD));
	assert_int_equal(child__shell_status(run("exit 5", NULL)), 5);
}

/* The files a program has open, seen by itself. */
static void test_no_descriptor_leaks(void **state)
{
	struct fixture *f = *state;
	char cmd[256], want[1024], got[1024];

	snprintf(cmd, sizeof(cmd), "exec ls /proc/self/fd > '%s'", f->mark);
	assert_int_equal(system(cmd), 0);
	read_file(f->mark, want, sizeof(want));
	assert_int_equal(run(cmd, NULL), 0);
	read_file(f->mark, got, sizeof(got));
	assert_string_equal(got, want);
}

static struct run_as nobody(gid_t groups[2])
{
	groups[0] = NOBODY;
	groups[1] = 4321;
	return (struct run_as){
		.uid = NOBODY,
		.gid = NOBODY,
		.groups = groups,
		.n_groups = 2,
		.name = "somebody",
		.home = "/home/somebody",
	};
}

static void test_becomes_the_user(void **state)
{
	struct fixture *f = *state;
	gid_t groups[2];
	struct run_as as = nobody(groups);
	char cmd[512], got[512];

	if (geteuid() != 0)
		skip();
	setenv("SHELL", "/bin/root-shell", 1);
	setenv("SUDO_UID", "65534", 1);
	snprintf(cmd, sizeof(cmd),
		"exec > '%s'; id -u; id -g; id -G; echo $USER $LOGNAME $HOME $SUDO_UID ${SHELL-unset}; "
		"grep -E '^(Uid|CapEff|NoNewPrivs):' /proc/self/status",
		f->mark);
	assert_int_equal(run(cmd, &as), 0);
	unsetenv("SUDO_UID");
	read_file(f->mark, got, sizeof(got));
	assert_string_equal(got, "65534\n65534\n65534 4321\nsomebody somebody /home/somebody 65534 unset\n"
				 "Uid:\t65534\t65534\t65534\t65534\n"
				 "CapEff:\t0000000000000000\nNoNewPrivs:\t0\n");
}

/* What root may execute and the user may not. */
static void test_executable_for_root_only(void **state)
{
	struct fixture *f = *state;
	gid_t groups[2];
	struct run_as as = nobody(groups);
	char file[128];
	char *argv[] = { file, NULL };
	struct child *c;

	if (geteuid() != 0)
		skip();
	snprintf(file, sizeof(file), "%s/private", f->dir);
	write_file(file, "#!/bin/sh\n", 0700);
	assert_spawn_fails(file, &as, -EACCES);
	c = spawn_as(argv, NULL);
	assert_int_equal(child__go(c), 0);
	assert_int_equal(finish(c), 0);
}

static void test_cannot_become(void **state)
{
	gid_t groups[2];
	struct run_as as = nobody(groups);

	(void)state;
	if (geteuid() == 0)
		skip();
	assert_spawn_fails("true", &as, -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_found),
		TEST(test_no_arguments),
		TEST(test_name_too_long),
		TEST(test_not_executable),
		TEST(test_path_search),
		TEST(test_default_path),
		TEST(test_script_without_interpreter_line),
		TEST(test_exec_errno_is_reported),
		TEST(test_signals_restored),
		TEST(test_ignored_sigchld),
		TEST(test_no_descriptor_leaks),
		TEST(test_becomes_the_user),
		TEST(test_executable_for_root_only),
		TEST(test_cannot_become),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
