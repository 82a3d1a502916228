// SPDX-License-Identifier: MIT
/* Functions, their calls and their requests: as JSON, as text, by intervals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "assert_text.h"
#include "json_at.h"
#include "scarce.h"

#define MS 1000000ull

/* One that reads, one that writes on workers and waits, one that is not called. */
static struct fab db(void)
{
	struct fab f = fab__new();
	struct span_stats *get, *put;
	struct op_stats *o;

	fab__op(fab__ring(&f, 100, "db"), OP_READ, 400);
	get = fab__span(&f, "/usr/bin/db", "db_get");
	fab__calls(get, 300, 2 * MS);
	o = fab__op(&get->requests, OP_READ, 400);
	o->c[RS_SC_BYTES] = 409600;
	fab__latency(o, MS, 400);
	fab__errno(o, 9, 4);
	put = fab__span(&f, "/usr/lib/libstore.so.2", "put");
	fab__calls(put, 10, 50 * MS);
	put->calls += 3;
	put->waits = 20;
	put->wait_ns = 450 * MS;
	o = fab__op(&put->requests, OP_WRITE, 10);
	o->c[RS_SC_PUNT_ASKED] = 10;
	fab__latency(o, 40 * MS, 10);
	fab__span(&f, "/usr/bin/db", "db_scan");
	return f;
}

static char *text_of(const struct fab *f)
{
	const struct text_options o = { .width = 120 };

	return render_as(f, "x", NULL, &o);
}

static void test_json(void **state)
{
	struct fab f = db();
	json_t *j;

	(void)state;
	j = render(&f);
	assert_int_equal(json_array_size(at(j, "spans")), 3);
	assert_text(j, "spans.0.binary", "/usr/bin/db");
	assert_text(j, "spans.0.function", "db_get");
	assert_u64(j, "spans.0.calls", 300);
	assert_u64(j, "spans.0.latency_ns.sum", 600 * MS);
	assert_u64(j, "spans.0.waits", 0);
	assert_u64(j, "spans.0.ops.0.bytes", 409600);
	assert_u64(j, "spans.0.ops.0.errors.EBADF", 4);
	assert_u64(j, "spans.1.calls", 13);
	assert_u64(j, "spans.1.returned", 10);
	assert_u64(j, "spans.1.wait_ns", 450 * MS);
	assert_u64(j, "spans.1.ops.0.punted_by.asked", 10);
	assert_u64(j, "spans.2.calls", 0);
	assert_int_equal(json_array_size(at(j, "spans.2.ops")), 0);
	json_decref(j);
	fab__free(&f);
}

/* What a kernel does not tell is null; so is everything if nobody asked. */
static void test_unknown(void **state)
{
	struct fab f = db();
	json_t *j;

	(void)state;
	fab__feature(&f, RS_F_SPAN_WAIT, FEATURE_OFF, "no such tracepoint");
	j = render(&f);
	assert_null_at(j, "spans.0.waits");
	assert_null_at(j, "spans.1.wait_ns");
	assert_int_equal(json_array_size(at(j, "spans.0.ops")), 1);
	json_decref(j);
	fab__feature(&f, RS_F_ENDS, FEATURE_OFF, "events do not name their request");
	j = render(&f);
	assert_null_at(j, "spans.0.ops");
	assert_u64(j, "spans.0.calls", 300);
	json_decref(j);
	fab__free(&f);
	f = fab__new();
	j = render(&f);
	assert_null_at(j, "spans");
	json_decref(j);
	fab__free(&f);
}

static void test_text(void **state)
{
	struct fab f = db();
	char *text;

	(void)state;
	text = text_of(&f);
	assert_has(text, "\nSpans (calls of functions)\n");
	/* the most time first */
	assert_true(strstr(text, "db:db_get") < strstr(text, "libstore.so.2:put"));
	assert_has(text, "\nlibstore.so.2:put     13     6.50          3  50.0ms ");
	assert_has(text, "450ms");
	assert_has(text, "\n1 function was not called\n");
	assert_has(text, "\nRequests by span (of the innermost one)\n");
	assert_has(text, "4 EBADF");
	free(text);
	fab__feature(&f, RS_F_ENDS, FEATURE_OFF, "events do not name their request");
	fab__feature(&f, RS_F_SPAN_WAIT, FEATURE_OFF, "no such tracepoint");
	text = text_of(&f);
	assert_lacks(text, "Requests by span");
	assert_has(text, " n/a");
	free(text);
	fab__free(&f);
}

/* A whole library: the twenty with the most time, and what the others had. */
static void test_many(void **state)
{
	struct fab f = fab__new();
	char name[16], *text;
	unsigned int i;

	(void)state;
	fab__op(fab__ring(&f, 100, "db"), OP_NOP, 8);
	for (i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "f%02u", i);
		fab__calls(fab__span(&f, "db", name), 10, (i + 1) * MS);
		fab__op(&f.s->spans[i].requests, OP_NOP, 2);
	}
	text = text_of(&f);
	assert_has(text, "\ndb:f29 ");
	assert_has(text, "\ndb:f10 ");
	assert_lacks(text, "db:f09 ");
	assert_has(text, "\n... and 10 more functions with 100 calls and 20 requests\n");
	free(text);
	fab__free(&f);
}

static void test_none_called(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__op(fab__ring(&f, 100, "db"), OP_NOP, 8);
	fab__span(&f, "db", "get");
	fab__span(&f, "db", "put");
	text = text_of(&f);
	assert_has(text, "\nSpans (calls of functions)\n2 functions were not called\n");
	free(text);
	fab__free(&f);
}

static void test_difference(void **state)
{
	struct fab before = db(), after = db();
	struct snapshot d;

	(void)state;
	fab__calls(&after.s->spans[0], 7, 3 * MS);
	fab__op(&after.s->spans[0].requests, OP_READ, 11)->c[RS_SC_BYTES] += 1000;
	fab__op(&after.s->spans[2].requests, OP_NOP, 2);
	after.s->spans[1].wait_ns += 5;
	assert_int_equal(snapshot__delta(before.s, after.s, &d), 0);
	assert_int_equal(d.n_spans, 3);
	assert_string_equal(d.spans[1].binary, "/usr/lib/libstore.so.2");
	assert_int_equal(d.spans[0].calls, 7);
	assert_int_equal(d.spans[0].lat.sum_ns, 21 * MS);
	assert_int_equal(d.spans[0].requests.ops[0].c[RS_SC_SUBMITTED], 11);
	assert_int_equal(d.spans[0].requests.ops[0].c[RS_SC_BYTES], 1000);
	assert_int_equal(d.spans[1].wait_ns, 5);
	assert_int_equal(d.spans[1].calls, 0);
	assert_int_equal(d.spans[2].requests.ops[0].c[RS_SC_SUBMITTED], 2);
	snapshot__free(&d);
	fab__free(&before);
	fab__free(&after);
}

/* Whatever allocation fails, nothing is leaked and nothing is half done. */
static void test_scarce(void **state)
{
	struct fab before = db(), after = db();
	struct snapshot d = { .n_spans = 77 };
	int err = -ENOMEM;
	size_t n;

	(void)state;
	for (n = 0; err == -ENOMEM; n++) {
		assert_true(n < 1000 && d.n_spans == 77);
		scarce__begin(n);
		err = snapshot__delta(before.s, after.s, &d);
		scarce__end();
	}
	assert_int_equal(err, 0);
	assert_true(n > 10);
	snapshot__free(&d);
	fab__free(&before);
	fab__free(&after);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_none_called),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_scarce),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
