// SPDX-License-Identifier: MIT
/* Call sites: told apart, compared, shown. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_text.h"
#include "json_at.h"
#include "scarce.h"

static void test_same_call(void **state)
{
	struct snapshot *s = sample__snapshot();

	(void)state;
	sample__site(s, "a", 1, OP_READ, 1);
	sample__site(s, "a", 1, OP_READ, 2);
	sample__site(s, "a", 2, OP_READ, 1);
	sample__site(s, "a", 1, OP_WRITE, 1);
	assert_true(site_stats__same(&s->sites.list[0], &s->sites.list[1]));
	assert_false(site_stats__same(&s->sites.list[0], &s->sites.list[2]));
	assert_false(site_stats__same(&s->sites.list[0], &s->sites.list[3]));
	s->sites.list[1].end = SITE_NO_FRAMES;
	assert_false(site_stats__same(&s->sites.list[0], &s->sites.list[1]));
	sample__free(s);
}

static void test_caller(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct site_stats *site;
	char text[SITE_TEXT_LEN];

	(void)state;
	sample__site(s, "wal_append", 12, OP_READ, 1);
	site = &s->sites.list[0];
	assert_ptr_equal(site_stats__caller(site), &site->frames[1]);
	/* the library is a part of the program */
	free(site->frames[1].function);
	site->frames[1].function = strdup("io_uring_x");
	assert_non_null(site->frames[1].function);
	assert_string_equal(site_frame__text(text, site_stats__caller(site)), "main [db]");
	site->n = 2;
	assert_null(site_stats__caller(site));
	site->n = 3;
	sample__free(s);
}

static void test_words(void **state)
{
	struct site_frame f = { .offset = 0x7f12 };
	char text[SITE_TEXT_LEN], name[400];

	(void)state;
	assert_string_equal(site_frame__text(text, &f), "0x7f12");
	f.module = (char *)"/usr/bin/db";
	assert_string_equal(site_frame__text(text, &f), "db+0x7f12");
	f.function = (char *)"f";
	assert_string_equal(site_frame__text(text, &f), "f [db]");
	f.file = (char *)"/src/f.c";
	f.line = 3;
	assert_string_equal(site_frame__text(text, &f), "f (f.c:3)");
	f.inlined = (char *)"g";
	assert_string_equal(site_frame__text(text, &f), "g in f (f.c:3)");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	f.function = f.inlined = name;
	assert_true(strlen(site_frame__text(text, &f)) < SITE_TEXT_LEN);
	assert_non_null(strstr(text, "(f.c:3)"));
}

static void test_limit_and_delta(void **state)
{
	struct snapshot *prev = sample__snapshot(), *cur = sample__snapshot(), d;

	(void)state;
	sample__site(prev, "same", 1, OP_READ, 5);
	sample__site(prev, "more", 2, OP_READ, 5);
	prev->sites.others = 4;
	sample__site(cur, "same", 1, OP_READ, 5);
	sample__site(cur, "more", 2, OP_READ, 7);
	sample__site(cur, "new", 3, OP_READ, 9);
	cur->sites.others = 6;
	assert_int_equal(snapshot__delta(prev, cur, &d), 0);
	assert_int_equal(d.sites.n, 2);
	assert_string_equal(d.sites.list[0].frames[1].function, "new");
	assert_int_equal(d.sites.list[0].samples, 9);
	assert_string_equal(d.sites.list[1].frames[1].function, "more");
	assert_int_equal(d.sites.list[1].samples, 2);
	assert_int_equal(d.sites.others, 2);
	site_list__limit(&d.sites, 1);
	assert_int_equal(d.sites.n, 1);
	assert_int_equal(d.sites.others, 4);
	snapshot__free(&d);
	sample__free(prev);
	sample__free(cur);
}

static void test_out_of_memory(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct site_list copy;
	size_t n;
	int err = -1;

	(void)state;
	sample__site(s, "a", 1, OP_READ, 1);
	sample__site(s, "b", 2, OP_READ, 1);
	for (n = 0; err; n++) {
		scarce__begin(n);
		err = site_list__copy(&s->sites, &copy);
		scarce__end();
		assert_true(!err || err == -ENOMEM);
	}
	assert_true(n > 10);
	site_list__free(&copy);
	sample__free(s);
}

static void test_json(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *r = fab__ring(&f, 7, "db");
	json_t *j;

	(void)state;
	fab__op(r, OP_READ, 1000);
	sample__site(f.s, "wal_append", 12, OP_READ, 40);
	j = render(&f);
	assert_text(j, "call_sites.0.caller", "wal_append (a.c:12)");
	assert_text(j, "call_sites.0.op", "READ");
	assert_u64(j, "call_sites.0.samples", 40);
	assert_true(json_is_true(at(j, "call_sites.0.complete")));
	assert_null_at(j, "call_sites.0.why");
	assert_null_at(j, "call_sites.0.stack.0.function");
	assert_text(j, "call_sites.0.stack.0.offset", "0x2b95");
	assert_text(j, "call_sites.0.stack.1.function", "wal_append");
	assert_text(j, "call_sites.0.stack.1.file", "src/a.c");
	assert_u64(j, "call_sites.0.stack.1.line", 12);
	assert_null_at(j, "call_sites.0.stack.2.line");
	assert_null_at(j, "call_sites_other");
	json_decref(j);
	f.s->sites.list[0].end = SITE_NO_FRAMES;
	f.s->sites.list[0].n = 1;
	j = render(&f);
	assert_null_at(j, "call_sites.0.caller");
	assert_true(json_is_false(at(j, "call_sites.0.complete")));
	assert_non_null(strstr(json_string_value(at(j, "call_sites.0.why")), "unwind information"));
	json_decref(j);
	f.s->sites.list[0].n = 3;
	/* nobody else submits */
	r->sq_tid = 8;
	j = render(&f);
	assert_null_at(j, "call_sites");
	json_decref(j);
	fab__ring(&f, 7, "db");
	fab__feature(&f, RS_F_CALL_SITES, FEATURE_OFF, "no such field");
	j = render(&f);
	assert_null_at(j, "call_sites");
	json_decref(j);
	fab__free(&f);
}

static void test_text(void **state)
{
	const struct text_options o = { .width = 100 };
	struct fab f = fab__new();
	char name[16], *text;

	(void)state;
	fab__op(fab__ring(&f, 7, "db"), OP_READ, 1000);
	text = render_as(&f, "x", NULL, &o);
	assert_lacks(text, "Who submits");
	free(text);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "call_%d", i);
		sample__site(f.s, name, i + 1, OP_READ, 80 - (uint64_t)i);
	}
	f.s->sites.list[1].end = SITE_NO_FRAMES;
	f.s->fidelity.stacks_skipped = 1234;
	text = render_as(&f, "x", NULL, &o);
	assert_has(text, "Who submits requests that go to workers unasked\n");
	assert_has(text, "call_0 (a.c:1)            READ           80  main\n");
	assert_has(text, "call_1 (a.c:2)            READ           79  main < ? (no unwind information)\n");
	assert_has(text, "... and 2 more\n");
	assert_has(text, "1234 more were not asked");
	free(text);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_call),
		cmocka_unit_test(test_caller),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_limit_and_delta),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
