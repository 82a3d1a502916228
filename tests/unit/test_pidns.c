/* SPDX-License-Identifier: MIT */
/* Whose numbers /proc has, and what a report says of processes that have several. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pidns.h"
#include "render.h"

static bool owns(const char *status)
{
	FILE *f = fmemopen((void *)status, strlen(status), "r");
	bool ret;

	assert_non_null(f);
	ret = pidns__owns_status(f);
	fclose(f);
	return ret;
}

static void test_proc_of_whom(void **state)
{
	(void)state;
	assert_true(owns("Name:\tx\nNSpid:\t7\nNSpgid:\t7\t1\n"));
	assert_true(owns("NSpid:\t4194304"));
	assert_false(owns("Name:\tx\nNStgid:\t7\nNSpid:\t4242\t7\nNSpgid:\t1\n"));
	assert_false(owns("NSpid:\t4242\t7\t1\n"));
	/* a kernel without pid namespaces */
	assert_true(owns("Name:\tNSpid:\nPid:\t7\n"));
	/* nothing that a kernel writes: no number is ours */
	assert_false(owns("NSpid:\n"));
}

static void test_this_process(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
	assert_true(pidns__inode() == 0 || pidns__inode() == st.st_ino);
	assert_false(pidns__is_left_to_children());
}

/* As seen from the host: a process there, one in a container. */
static void from_host(struct fab *f)
{
	fab__op(fab__ring(f, 812, "mydb"), 0, 800);
	fab__op(fab__ring(f, 31337, "proxy"), 0, 80);
	f->s->rings[1].pid_own = 12;
}

/* As seen from a container: a process there, one below, two on the host and in another container. */
static void from_container(struct fab *f)
{
	uint32_t host[] = { 31337, 31400, 812, 4444 };
	size_t i;

	fab__op(fab__ring(f, 12, "proxy"), 0, 800);
	fab__op(fab__ring(f, 75, "nested"), 0, 400);
	f->s->rings[1].pid_own = 1;
	fab__op(fab__ring(f, 0, "mydb"), 0, 80);
	fab__op(fab__ring(f, 0, "other"), 0, 8);
	f->s->rings[3].pid_own = 9;
	for (i = 0; i < ARRAY_SIZE(host); i++)
		f->s->rings[i].pid_host = host[i];
	f->s->rings[3].sq_tid = 4445;
	f->s->rings[3].sq_outside = true;
}

/* A number of the i-th ring or task, -1: null. */
static int64_t number_at(json_t *j, const char *list, size_t i, const char *key)
{
	json_t *v = json_object_get(json_array_get(json_object_get(j, list), i), key);

	assert_non_null(v);
	return json_is_null(v) ? -1 : json_integer_value(v);
}

static void assert_pids(json_t *j, size_t ring, int64_t pid, int64_t in_namespace, int64_t host)
{
	assert_int_equal(number_at(j, "rings", ring, "pid"), pid);
	assert_int_equal(number_at(j, "rings", ring, "pid_in_namespace"), in_namespace);
	assert_int_equal(number_at(j, "rings", ring, "host_pid"), host);
}

static void assert_task(json_t *j, size_t task, int64_t pid, int64_t tid, int64_t host_pid, int64_t host_tid)
{
	assert_int_equal(number_at(j, "tasks", task, "pid"), pid);
	assert_int_equal(number_at(j, "tasks", task, "tid"), tid);
	assert_int_equal(number_at(j, "tasks", task, "host_pid"), host_pid);
	assert_int_equal(number_at(j, "tasks", task, "host_tid"), host_tid);
}

static json_t *report_of(const struct fab *f)
{
	struct report r = { .snap = f->s, .diag = &f->d };
	json_t *j = report__json(&r);

	assert_non_null(j);
	return j;
}

static void test_json(void **state)
{
	struct fab host = fab__new(), container = fab__new();
	json_t *j, *thread;

	(void)state;
	from_host(&host);
	j = report_of(&host);
	assert_pids(j, 0, 812, -1, -1);
	assert_pids(j, 1, 31337, 12, -1);
	json_decref(j);

	from_container(&container);
	fab__task(&container, 12, "proxy", 1, 0);
	fab__task(&container, 0, "mydb", 1, 0);
	container.s->tasks[0].pid_host = container.s->tasks[0].tid_host = 31337;
	container.s->tasks[1].pid_host = 812;
	container.s->tasks[1].tid_host = 813;
	j = report_of(&container);
	assert_pids(j, 0, 12, -1, 31337);
	assert_pids(j, 1, 75, 1, 31400);
	assert_pids(j, 2, -1, -1, 812);
	assert_pids(j, 3, -1, 9, 4444);
	thread = json_object_get(json_array_get(json_object_get(j, "rings"), 3), "sq_thread");
	assert_true(json_is_null(json_object_get(thread, "tid")));
	assert_task(j, 0, 12, 12, 31337, 31337);
	assert_task(j, 1, -1, -1, 812, 813);
	json_decref(j);
	fab__free(&host);
	fab__free(&container);
}

/* Cells by their place under the head of their column. */
static void assert_cell(const char *text, const char *comm, const char *head, const char *want)
{
	char *heads = line_of(text, "RING"), *row = strdup(text), *line, *save = NULL;
	const char *column = strstr(heads, head);
	size_t end;

	assert_non_null(column);
	end = (size_t)(column - heads) + strlen(head);
	for (line = strtok_r(strstr(row, "\nRing"), "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (strstr(line, comm) && strncmp(line, "RING", 4))
			break;
	assert_non_null(line);
	line[end] = '\0';
	assert_true(end >= strlen(want));
	if (strcmp(line + end - strlen(want), want) || line[end - strlen(want) - 1] != ' ')
		fail_msg("%s of %s is not %s: %s", head, comm, want, line);
	free(heads);
	free(row);
}

static void test_text(void **state)
{
	struct fab alone = fab__new(), host = fab__new(), container = fab__new();
	char *text;

	(void)state;
	fab__op(fab__ring(&alone, 812, "mydb"), 0, 800);
	text = render(&alone);
	assert_lacks(text, "NS-PID");
	assert_lacks(text, "HOST-PID");
	free(text);

	from_host(&host);
	text = render(&host);
	assert_lacks(text, "HOST-PID");
	assert_cell(text, "mydb", " PID", "812");
	assert_cell(text, "mydb", "NS-PID", "-");
	assert_cell(text, "proxy", " PID", "31337");
	assert_cell(text, "proxy", "NS-PID", "12");
	free(text);

	from_container(&container);
	text = render(&container);
	assert_cell(text, "proxy", " PID", "12");
	assert_cell(text, "proxy", "HOST-PID", "-");
	assert_cell(text, "nested", "NS-PID", "1");
	assert_cell(text, "mydb", " PID", "n/a");
	assert_cell(text, "mydb", "HOST-PID", "812");
	assert_cell(text, "other", "NS-PID", "9");
	assert_cell(text, "other", "HOST-PID", "4444");
	free(text);
	fab__free(&alone);
	fab__free(&host);
	fab__free(&container);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_proc_of_whom),
		cmocka_unit_test(test_this_process),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
