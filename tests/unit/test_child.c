/* SPDX-License-Identifier: MIT */
/* The program under observation: held, started once on the whole word, never harmed. */
#include "child_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static void test_runs_on_go(void **state)
{
	struct fixture *f = *state;
	char *argv[] = { "touch", f->mark, NULL };
	struct child *c = spawn_as(argv, NULL);
	struct pollfd p = { .fd = child__pidfd(c), .events = POLLIN };
	int status = -1;

	assert_true(child__pid(c) > 0);
	assert_int_equal(child__reap(c, false, &status), 0);
	assert_int_equal(status, -1);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_false(exists(f->mark));

	assert_int_equal(child__go(c), 0);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(child__reap(c, false, &status), 1);
	assert_int_equal(status, 0);
	assert_true(exists(f->mark));
	/* Told again, and no second go. */
	assert_int_equal(child__reap(c, true, &status), 1);
	assert_int_equal(child__go(c), -EALREADY);
	child__free(c);
}

static void test_free_means_no_run(void **state)
{
	struct fixture *f = *state;
	char *argv[] = { "touch", f->mark, NULL };

	child__free(spawn_as(argv, NULL));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_false(exists(f->mark));
	child__free(NULL);
}

static void test_free_of_a_stopped_child(void **state)
{
	struct fixture *f = *state;
	char *argv[] = { "touch", f->mark, NULL };
	struct child *c = spawn_as(argv, NULL);
	int status;

	kill(child__pid(c), SIGSTOP);
	assert_int_equal(waitpid(child__pid(c), &status, WUNTRACED), child__pid(c));
	assert_true(WIFSTOPPED(status));
	child__free(c);
	assert_false(exists(f->mark));
}

/*
 * Forks a parent that spawns `argv`, lets it go if told to, and is killed then.
 * Returns the pid of the orphan, which is ours to collect.
 */
static pid_t spawn_and_die(char *const argv[], bool go)
{
	int fds[2], status;
	pid_t parent, orphan = 0;

	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (parent == 0) {
		struct child *c;

		if (child__spawn(argv, NULL, NULL, &c) || (go && child__go(c)))
			_exit(1);
		orphan = child__pid(c);
		if (write(fds[1], &orphan, sizeof(orphan)) != sizeof(orphan))
			_exit(1);
		raise(SIGKILL);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &orphan, sizeof(orphan)), sizeof(orphan));
	close(fds[0]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFSIGNALED(status));
	return orphan;
}

static void test_dead_parent_means_no_run(void **state)
{
	struct fixture *f = *state;
	char *argv[] = { "touch", f->mark, NULL };
	pid_t orphan = spawn_and_die(argv, false);
	int status;

	assert_int_equal(waitpid(orphan, &status, 0), orphan);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 127);
	assert_false(exists(f->mark));
}

static void test_running_program_outlives_its_parent(void **state)
{
	struct fixture *f = *state;
	char fifo[96], cmd[256];
	char *argv[] = { "sh", "-c", cmd, NULL };
	int fd, status;
	pid_t orphan;

	snprintf(fifo, sizeof(fifo), "%s/fifo", f->dir);
	snprintf(cmd, sizeof(cmd), "read x < '%s' && touch '%s'", fifo, f->mark);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	orphan = spawn_and_die(argv, true);
	assert_false(exists(f->mark));
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "x\n", 2), 2);
	close(fd);
	assert_int_equal(waitpid(orphan, &status, 0), orphan);
	assert_int_equal(status, 0);
	assert_true(exists(f->mark));
}

/* The socket to the held child: the first of this process. */
static int find_socket(void)
{
	struct stat st;

	for (int fd = 3; fd < 256; fd++) {
		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && (fcntl(fd, F_GETFD) & FD_CLOEXEC))
			return fd;
	}
	return -1;
}

/* A word that is cut short, or another one, is no go. */
static void assert_word_is_no_go(struct fixture *f, const void *word, size_t len)
{
	char *argv[] = { "touch", f->mark, NULL };
	struct child *c = spawn_as(argv, NULL);
	int sock = find_socket(), status = -1;

	assert_true(sock >= 0);
	assert_int_equal(send(sock, word, len, MSG_NOSIGNAL), len);
	assert_int_equal(shutdown(sock, SHUT_WR), 0);
	assert_int_equal(child__reap(c, true, &status), 1);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 127);
	assert_false(exists(f->mark));
	/* The child is gone: nothing to let go, and no SIGPIPE. */
	assert_int_equal(child__go(c), 0);
	child__free(c);
}

static void test_short_word(void **state)
{
	static const char zeros[64];

	for (size_t len = 1; len < 8; len++)
		assert_word_is_no_go(*state, zeros, len);
}

static void test_wrong_word(void **state)
{
	static const char ones[8] = { 1, 1, 1, 1, 1, 1, 1, 1 };

	assert_word_is_no_go(*state, ones, sizeof(ones));
}

static void test_killed_while_held(void **state)
{
	struct fixture *f = *state;
	char *argv[] = { "touch", f->mark, NULL };
	struct child *c = spawn_as(argv, NULL);
	struct pollfd p = { .fd = child__pidfd(c), .events = POLLIN };
	int status;

	kill(child__pid(c), SIGTERM);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(child__go(c), 0);
	status = finish(c);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(child__shell_status(status), 128 + SIGTERM);
	assert_false(exists(f->mark));
}

/* A program that takes no notice of SIGUSR1, in its own process group if told to. */
static struct child *start_deaf(const struct fixture *f, bool own_group)
{
	char fifo[96], cmd[256];
	char *argv[] = { own_group ? "setsid" : "env", "sh", "-c", cmd, NULL };
	struct signal_state signals;
	struct child *c = NULL;
	int fd;

	assert_int_equal(signal_state__save(&signals), 0);
	sigaddset(&signals.mask, SIGUSR1);
	snprintf(fifo, sizeof(fifo), "%s/fifo", f->dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	snprintf(cmd, sizeof(cmd), ": > '%s'; exec sleep 1000", fifo);
	assert_int_equal(child__spawn(argv, NULL, &signals, &c), 0);
	assert_int_equal(child__go(c), 0);
	/* it has come this far */
	fd = open(fifo, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(getpgid(child__pid(c)) == getpgrp(), !own_group);
	return c;
}

static void end_deaf(struct child *c)
{
	kill(child__pid(c), SIGKILL);
	assert_int_equal(child__shell_status(finish(c)), 128 + SIGKILL);
}

/* SIGUSR1, sent to us or to a process group, as we get it. */
static siginfo_t send_usr1(pid_t to)
{
	siginfo_t info = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	assert_int_equal(kill(to, SIGUSR1), 0);
	assert_int_equal(sigwaitinfo(&set, &info), SIGUSR1);
	return info;
}

/* Signals to the whole group must not reach those who run the tests. */
static void enter_own_group(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(setpgid(0, 0), 0);
}

static void test_forward(void **state)
{
	struct child *c;
	siginfo_t info;

	enter_own_group();
	c = start_deaf(*state, false);
	info = send_usr1(getpid());
	assert_true(child__forward(c, &info));
	info = send_usr1(-getpgrp());
	assert_false(child__forward(c, &info));
	info = send_usr1(getpid());
	assert_true(child__forward(c, &info));
	/* A timer of ours, set before exec: the program has none. */
	info = (siginfo_t){ .si_signo = SIGUSR1, .si_code = SI_KERNEL };
	assert_true(child__forward(c, &info));
	/* It does not get back what it sent. */
	info = (siginfo_t){ .si_signo = SIGUSR1, .si_code = SI_USER, .si_pid = child__pid(c) };
	assert_false(child__forward(c, &info));
	end_deaf(c);
}

static void test_forward_to_another_group(void **state)
{
	struct child *c;
	siginfo_t info;

	enter_own_group();
	c = start_deaf(*state, true);
	info = send_usr1(-getpgrp());
	assert_true(child__forward(c, &info));
	info = send_usr1(getpid());
	assert_true(child__forward(c, &info));
	end_deaf(c);
}

static void test_forward_after_the_end(void **state)
{
	char *argv[] = { "true", NULL };
	struct child *c = spawn_as(argv, NULL);
	siginfo_t info = { .si_signo = SIGTERM, .si_code = SI_USER, .si_pid = getpid() };
	int status = -1;

	(void)state;
	assert_int_equal(child__go(c), 0);
	assert_int_equal(child__reap(c, true, &status), 1);
	assert_int_equal(status, 0);
	assert_false(child__forward(c, &info));
	child__free(c);
}

static void test_forward_reaches_it(void **state)
{
	char *argv[] = { "sleep", "1000", NULL };
	struct child *c = spawn_as(argv, NULL);
	siginfo_t info = { .si_signo = SIGTERM, .si_code = SI_USER, .si_pid = getpid() };

	(void)state;
	assert_int_equal(child__go(c), 0);
	assert_true(child__forward(c, &info));
	assert_int_equal(child__shell_status(finish(c)), 128 + SIGTERM);
}

static void test_shell_status(void **state)
{
	(void)state;
	assert_int_equal(child__shell_status(run("exit 0", NULL)), 0);
	assert_int_equal(child__shell_status(run("exit 77", NULL)), 77);
	assert_int_equal(child__shell_status(run("kill -KILL $$", NULL)), 137);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_runs_on_go),
		TEST(test_free_means_no_run),
		TEST(test_free_of_a_stopped_child),
		TEST(test_dead_parent_means_no_run),
		TEST(test_running_program_outlives_its_parent),
		TEST(test_short_word),
		TEST(test_wrong_word),
		TEST(test_killed_while_held),
		TEST(test_forward),
		TEST(test_forward_to_another_group),
		TEST(test_forward_after_the_end),
		TEST(test_forward_reaches_it),
		TEST(test_shell_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
