/* SPDX-License-Identifier: MIT */
/* Processes named with -p: opened once each, threads taken as their process, seen to end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pids.h"

/* A process that waits to be killed. */
static pid_t start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void await_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, -1), 1);
}

static void test_ends_one_by_one(void **state)
{
	pid_t pids[2] = { start(), start() }, bad = -1;
	struct pid_set s;

	(void)state;
	assert_int_equal(pid_set__open(pids, 2, &s, &bad), 0);
	assert_int_equal(bad, -1);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.pids[0], pids[0]);
	assert_int_equal(s.pids[1], pids[1]);
	assert_int_equal(fcntl(s.fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(pid_set__refresh(&s), 2);

	/* A zombie has ended. */
	kill(pids[0], SIGKILL);
	await_readable(s.fds[0]);
	assert_int_equal(pid_set__refresh(&s), 1);
	assert_int_equal(s.fds[0], -1);
	assert_true(s.fds[1] >= 0);
	assert_int_equal(pid_set__refresh(&s), 1);
	assert_int_equal(waitpid(pids[0], NULL, 0), pids[0]);

	stop(pids[1]);
	assert_int_equal(pid_set__refresh(&s), 0);
	assert_int_equal(pid_set__refresh(&s), 0);
	pid_set__free(&s);
	pid_set__free(&s);
	pid_set__free(NULL);
}

static void test_zombie_from_the_start(void **state)
{
	pid_t pid = fork(), bad;
	struct pid_set s;
	siginfo_t info;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(pid_set__open(&pid, 1, &s, &bad), 0);
	assert_int_equal(pid_set__refresh(&s), 0);
	pid_set__free(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_no_such_process(void **state)
{
	pid_t gone = start(), pids[3] = { getpid(), gone, 0 }, bad = -1;
	struct pid_set s = { .n = 42 };

	(void)state;
	stop(gone);
	assert_int_equal(pid_set__open(pids, 3, &s, &bad), -ESRCH);
	assert_int_equal(bad, gone);
	assert_int_equal(s.n, 42);
	assert_int_equal(pid_set__open(&pids[2], 1, &s, &bad), -ESRCH);
	assert_int_equal(bad, 0);
}

static void test_duplicates(void **state)
{
	pid_t pid = start(), pids[4] = { pid, getpid(), pid, getpid() }, bad;
	struct pid_set s;

	(void)state;
	assert_int_equal(pid_set__open(pids, 4, &s, &bad), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.pids[0], pid);
	assert_int_equal(s.pids[1], getpid());
	pid_set__free(&s);
	stop(pid);
}

static void test_none(void **state)
{
	struct pid_set s;
	pid_t bad;

	(void)state;
	assert_int_equal(pid_set__open(NULL, 0, &s, &bad), 0);
	assert_int_equal(s.n, 0);
	assert_int_equal(pid_set__refresh(&s), 0);
	pid_set__free(&s);
}

struct thread {
	int told[2]; /* its id */
	int quit[2]; /* closed: it may end */
};

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	char c;

	if (write(t->told[1], &tid, sizeof(tid)) != sizeof(tid))
		return t;
	return read(t->quit[0], &c, 1) == 0 ? NULL : t;
}

static void test_thread_means_its_process(void **state)
{
	struct thread t;
	struct pid_set s;
	pthread_t thread;
	pid_t pids[2], bad;
	void *failed;

	(void)state;
	assert_int_equal(pipe2(t.told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(t.quit, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, thread_main, &t), 0);
	assert_int_equal(read(t.told[0], &pids[0], sizeof(pids[0])), sizeof(pids[0]));
	pids[1] = getpid();
	assert_int_not_equal(pids[0], pids[1]);
	assert_int_equal(pid_set__open(pids, 2, &s, &bad), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.pids[0], getpid());
	assert_int_equal(pid_set__refresh(&s), 1);
	pid_set__free(&s);
	close(t.quit[1]);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	close(t.quit[0]);
	close(t.told[0]);
	close(t.told[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_one_by_one),
		cmocka_unit_test(test_zombie_from_the_start),
		cmocka_unit_test(test_no_such_process),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_thread_means_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
