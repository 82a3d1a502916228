// SPDX-License-Identifier: MIT
/* Who else got a signal: all of the process group, or only we. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bystander.h"

#define LONG_MS 60000

static struct bystander *b;

/* A group of our own: the tests signal all of it. */
static int setup(void **state)
{
	sigset_t set;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	if (setpgid(0, 0) || sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return bystander__start(&b);
}

static int teardown(void **state)
{
	(void)state;
	bystander__free(b);
	b = NULL;
	/* nothing is left to collect */
	return waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : -1;
}

/* Sends from a process of its own, whose pid it returns. */
static pid_t send_from_another(pid_t to, int signo)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(kill(to, signo) != 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return pid;
}

static siginfo_t take(int signo)
{
	siginfo_t info = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	assert_int_equal(sigwaitinfo(&set, &info), signo);
	return info;
}

static void test_to_all_and_to_one(void **state)
{
	siginfo_t info;
	int i;

	(void)state;
	/* again and again: an answer is not left over for the next question */
	for (i = 0; i < 100; i++) {
		send_from_another(-getpgrp(), i % 2 ? SIGUSR1 : SIGTERM);
		info = take(i % 2 ? SIGUSR1 : SIGTERM);
		assert_int_equal(bystander__got(b, &info, 0), 1);
		assert_int_equal(bystander__got(b, &info, 0), 0);
		send_from_another(getpid(), SIGUSR1);
		info = take(SIGUSR1);
		assert_int_equal(bystander__got(b, &info, 0), 0);
	}
}

/* It has not got what somebody sent to it, and somebody else to us. */
static void test_another_sender(void **state)
{
	siginfo_t info;

	(void)state;
	send_from_another(bystander__pid(b), SIGUSR1);
	send_from_another(getpid(), SIGUSR1);
	info = take(SIGUSR1);
	assert_int_equal(bystander__got(b, &info, 0), 0);
	/* and neither is that one left over */
	info.si_pid = getpid();
	assert_int_equal(kill(getpid(), SIGUSR1), 0);
	take(SIGUSR1);
	assert_int_equal(bystander__got(b, &info, 0), 0);
}

/* One after the other, we first. */
static void test_waits(void **state)
{
	int fds[2], status;
	siginfo_t info;
	char c = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (kill(getppid(), SIGTERM) || read(fds[0], &c, 1) != 1)
			_exit(1);
		_exit(kill(bystander__pid(b), SIGTERM) != 0);
	}
	info = take(SIGTERM);
	assert_int_equal(bystander__got(b, &info, 0), 0);
	assert_int_equal(write(fds[1], &c, 1), 1);
	assert_int_equal(bystander__got(b, &info, LONG_MS), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[0]);
	close(fds[1]);
}

static void read_proc(const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)bystander__pid(b), file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = read(fd, buf, size - 1);
	assert_true(n >= 0);
	buf[n] = '\0';
	close(fd);
}

/* pkill and killall do not take it for its owner, and it keeps nothing open. */
static void test_stands_apart(void **state)
{
	siginfo_t info = { .si_signo = SIGUSR1 };
	char buf[4096], path[64];
	struct dirent *e;
	int n_fds = 0;
	DIR *d;

	(void)state;
	/* an answer says that it has settled */
	assert_int_equal(bystander__got(b, &info, 0), 0);
	read_proc("comm", buf, sizeof(buf));
	assert_string_equal(buf, "(bystander)\n");
	read_proc("cmdline", buf, sizeof(buf));
	assert_string_equal(buf, "(bystander)");
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)bystander__pid(b));
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)))
		n_fds += e->d_name[0] != '.';
	closedir(d);
	assert_int_equal(n_fds, 1);
}

static void test_killed(void **state)
{
	siginfo_t info = { .si_signo = SIGUSR1 };

	(void)state;
	assert_int_equal(kill(bystander__pid(b), SIGKILL), 0);
	assert_true(bystander__got(b, &info, 0) < 0);
	assert_true(bystander__got(b, &info, 0) < 0);
}

/* A late answer is not taken for that to the next question. */
static void test_stopped(void **state)
{
	siginfo_t info;

	(void)state;
	send_from_another(-getpgrp(), SIGUSR1);
	info = take(SIGUSR1);
	assert_int_equal(kill(bystander__pid(b), SIGSTOP), 0);
	assert_int_equal(waitpid(bystander__pid(b), NULL, WUNTRACED), bystander__pid(b));
	assert_int_equal(bystander__got(b, &info, 0), -ETIMEDOUT);
	assert_int_equal(kill(bystander__pid(b), SIGCONT), 0);
	send_from_another(getpid(), SIGUSR1);
	info = take(SIGUSR1);
	assert_int_equal(bystander__got(b, &info, 0), 0);
	/* it ends although it is stopped */
	assert_int_equal(kill(bystander__pid(b), SIGSTOP), 0);
}

static void test_ends_with_its_owner(void **state)
{
	pid_t owner, orphan = 0;
	int fds[2], status;

	(void)state;
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	owner = fork();
	assert_true(owner >= 0);
	if (owner == 0) {
		if (bystander__start(&b))
			_exit(1);
		orphan = bystander__pid(b);
		if (write(fds[1], &orphan, sizeof(orphan)) != sizeof(orphan))
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(read(fds[0], &orphan, sizeof(orphan)), sizeof(orphan));
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(waitpid(orphan, &status, 0), orphan);
	assert_int_equal(status, 0);
}

static void test_free_of_none(void **state)
{
	(void)state;
	bystander__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_to_all_and_to_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stands_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends_with_its_owner, setup, teardown),
		cmocka_unit_test(test_free_of_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
