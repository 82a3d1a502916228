// SPDX-License-Identifier: MIT
/* Files of requests in trouble: added up, cut short, compared, shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_text.h"
#include "json_at.h"
#include "scarce.h"

static struct file_counts counts(uint64_t punted, uint64_t errors, uint64_t slow, uint64_t time_ns)
{
	return (struct file_counts){ punted, errors, slow, time_ns };
}

static void assert_counts(const struct file_counts *c, uint64_t punted, uint64_t errors, uint64_t slow,
	uint64_t time_ns)
{
	assert_int_equal(c->punted, punted);
	assert_int_equal(c->errors, errors);
	assert_int_equal(c->slow, slow);
	assert_int_equal(c->time_ns, time_ns);
}

static void test_same_file_is_one(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct file_stats reused = { .inode = 1,
		.dev_major = 8,
		.dev_minor = 1,
		.generation = 7,
		.op = OP_READ };

	(void)state;
	sample__file(s, "/a", 1, OP_READ, counts(1, 2, 3, 4));
	sample__file(s, "/a", 1, OP_READ, counts(10, 20, 30, 40));
	sample__file(s, "/a", 1, OP_WRITE, counts(1, 0, 0, 0));
	sample__file(s, "/b", 2, OP_READ, counts(1, 0, 0, 0));
	assert_int_equal(file_list__add(&s->files, &reused), 0);
	assert_int_equal(s->files.n, 4);
	assert_counts(&s->files.list[0].c, 11, 22, 33, 44);
	sample__free(s);
}

/* By time, then by number of requests. */
static void test_costliest_first(void **state)
{
	struct snapshot *s = sample__snapshot();

	(void)state;
	sample__file(s, "/few", 1, OP_READ, counts(1, 0, 0, 0));
	sample__file(s, "/many", 2, OP_READ, counts(0, 9, 0, 0));
	sample__file(s, "/long", 3, OP_READ, counts(0, 0, 1, 5000));
	sample__file(s, "/longer", 4, OP_READ, counts(1, 0, 0, 6000));
	file_list__limit(&s->files, 2);
	assert_int_equal(s->files.n, 2);
	assert_string_equal(s->files.list[0].name, "/longer");
	assert_string_equal(s->files.list[1].name, "/long");
	assert_int_equal(s->files.n_others, 2);
	assert_counts(&s->files.others, 1, 9, 0, 0);
	file_list__limit(&s->files, 2);
	assert_int_equal(s->files.n_others, 2);
	sample__free(s);
}

/* What has nothing new is left out, and a file that became one of the others meanwhile is not counted twice. */
static void test_delta(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__file(prev, "/same", 1, OP_READ, counts(5, 5, 5, 5));
	sample__file(prev, "/more", 2, OP_READ, counts(1, 2, 3, 1000));
	sample__file(prev, "/folded", 3, OP_READ, counts(4, 0, 0, 0));
	sample__file(cur, "/same", 1, OP_READ, counts(5, 5, 5, 5));
	sample__file(cur, "/more", 2, OP_READ, counts(2, 2, 3, 1500));
	sample__file(cur, "/new", 4, OP_READ, counts(0, 1, 0, 0));
	cur->files.n_others = 2;
	cur->files.others = counts(6, 0, 0, 0);
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.files.n, 2);
	assert_string_equal(d.files.list[0].name, "/more");
	assert_counts(&d.files.list[0].c, 1, 0, 0, 500);
	assert_string_equal(d.files.list[1].name, "/new");
	assert_counts(&d.files.list[1].c, 0, 1, 0, 0);
	assert_counts(&d.files.others, 2, 0, 0, 0);
	assert_int_equal(d.files.n_others, 2);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void test_out_of_memory(void **state)
{
	struct file_list prev = { 0 }, d;
	struct snapshot *s = sample__snapshot();
	size_t n;
	int err = -1;

	(void)state;
	sample__file(s, "/a", 1, OP_READ, counts(1, 0, 0, 0));
	sample__file(s, NULL, 2, OP_READ, counts(1, 0, 0, 0));
	for (n = 0; err; n++) {
		scarce__begin(n);
		err = file_list__delta(&prev, &s->files, &d);
		scarce__end();
		assert_true(!err || err == -ENOMEM);
	}
	assert_true(n > 2);
	file_list__free(&d);
	sample__free(s);
}

static void test_json(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	sample__file(f.s, "/var/lib/db/wal.log", 12, OP_FSYNC, counts(0, 1, 7, 80000000));
	sample__file(f.s, NULL, 13, OP_READ, counts(3, 0, 0, 0));
	f.s->files.list[0].deleted = true;
	j = render(&f);
	assert_text(j, "files.0.path", "/var/lib/db/wal.log");
	assert_text(j, "files.0.kind", "file");
	assert_true(json_is_true(at(j, "files.0.deleted")));
	assert_text(j, "files.0.dev", "8:1");
	assert_u64(j, "files.0.inode", 12);
	assert_text(j, "files.0.op", "FSYNC");
	assert_u64(j, "files.0.punted", 0);
	assert_u64(j, "files.0.errors", 1);
	assert_u64(j, "files.0.slow", 7);
	assert_u64(j, "files.0.time_ns", 80000000);
	assert_null_at(j, "files.1.path");
	assert_null_at(j, "files_other");
	json_decref(j);
	/* unlisted ones */
	file_list__limit(&f.s->files, 1);
	fab__feature(&f, RS_F_PUNT, FEATURE_OFF, "no such event");
	j = render(&f);
	assert_u64(j, "files_other.n_files", 1);
	assert_null_at(j, "files_other.punted");
	assert_null_at(j, "files.0.punted");
	assert_u64(j, "files.0.slow", 7);
	json_decref(j);
	fab__feature(&f, RS_F_FILES, FEATURE_OFF, "events do not name their request");
	j = render(&f);
	assert_null_at(j, "files");
	assert_null_at(j, "files_other");
	json_decref(j);
	fab__free(&f);
}

static void test_text(void **state)
{
	const struct text_options o = { .width = 100 };
	struct fab f = fab__new();
	char name[32], *text;

	(void)state;
	fab__op(fab__ring(&f, 7, "db"), OP_READ, 1000);
	text = render_as(&f, "x", NULL, &o);
	assert_lacks(text, "Files of requests");
	free(text);
	sample__file(f.s, "/var/lib/db/wal.log", 12, OP_FSYNC, counts(0, 0, 7, 80000000));
	f.s->files.list[0].deleted = true;
	for (unsigned int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "/data/%u\n", i);
		sample__file(f.s, name, 100 + i, OP_READ, counts(1 + i, 0, 0, 1000 * i));
	}
	file_list__limit(&f.s->files, 9);
	text = render_as(&f, "x", NULL, &o);
	assert_has(text, "Files of requests that went to workers unasked, failed or were slow\n");
	assert_has(text, "/var/lib/db/wal.log (deleted)  FSYNC          -       -     7  80.0ms\n");
	assert_has(text, "/data/8?");
	assert_has(text, "... and 2 more\n");
	free(text);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_file_is_one),
		cmocka_unit_test(test_costliest_first),
		cmocka_unit_test(test_delta),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
