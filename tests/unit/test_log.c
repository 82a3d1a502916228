// SPDX-License-Identifier: MIT
/* Messages: each in one write, on one line, harmless to a terminal. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

/* What log_at() writes, one record a write(). */
static int reader, saved_stderr;

static int setup(void **state)
{
	int fds[2];

	(void)state;
	saved_stderr = dup(STDERR_FILENO);
	if (saved_stderr < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds))
		return -1;
	reader = fds[0];
	if (dup2(fds[1], STDERR_FILENO) < 0)
		return -1;
	return close(fds[1]);
}

static int teardown(void **state)
{
	(void)state;
	if (dup2(saved_stderr, STDERR_FILENO) < 0)
		return -1;
	return close(saved_stderr) || close(reader);
}

static size_t read_record(char *buf, size_t size)
{
	ssize_t n = recv(reader, buf, size - 1, MSG_DONTWAIT);

	assert_true(n > 0);
	buf[n] = '\0';
	return (size_t)n;
}

static void assert_nothing_left(void)
{
	char c;

	assert_int_equal(recv(reader, &c, 1, MSG_DONTWAIT), -1);
}

static void test_one_write_a_line(void **state)
{
	char buf[256];

	(void)state;
	log_error("can't run '%s': %d", "x", 7);
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: can't run 'x': 7\n");
	assert_nothing_left();
	log_error("%s", "");
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: \n");
	assert_nothing_left();
}

static void test_control_characters(void **state)
{
	char buf[256];

	(void)state;
	log_error("'%s'", "a\nb\r\033[2Jc\t\x7f \xc3\xa9");
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: 'a^Jb^M^[[2Jc^I^? \xc3\xa9'\n");
	assert_nothing_left();
}

/* Longer ones are cut: more would not be written in one piece. */
static void assert_cut(char filling)
{
	char text[2 * PIPE_BUF + 1], buf[3 * PIPE_BUF];
	size_t n;

	memset(text, filling, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_error("%s", text);
	n = read_record(buf, sizeof(buf));
	assert_true(n <= PIPE_BUF && n > PIPE_BUF - 3);
	assert_string_equal(buf + n - 4, "...\n");
	assert_nothing_left();
}

static void test_length(void **state)
{
	char text[PIPE_BUF - 20], buf[2 * PIPE_BUF];
	size_t n;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_error("%s", text);
	n = read_record(buf, sizeof(buf));
	assert_int_equal(n, strlen("ringside: ") + sizeof(text));
	assert_string_equal(buf + n - 4, "xxx\n");
	assert_cut('x');
	assert_cut('\n');
}

static void test_levels(void **state)
{
	char buf[256];

	(void)state;
	log_set_level(LOG_WARN);
	log_note("a note");
	assert_nothing_left();
	log_warn("a warning");
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: a warning\n");
	log_set_level(LOG_NOTE);
	log_verbose("detail");
	assert_nothing_left();
}

static void test_lines(void **state)
{
	char buf[256];

	(void)state;
	log_verbose_lines("not shown");
	assert_nothing_left();
	log_set_level(LOG_VERBOSE);
	log_verbose_lines("\none\n\ntwo %s");
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: one\n");
	read_record(buf, sizeof(buf));
	assert_string_equal(buf, "ringside: two %s\n");
	assert_nothing_left();
	log_verbose_lines("");
	assert_nothing_left();
	log_set_level(LOG_NOTE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_one_write_a_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_control_characters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_levels, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
