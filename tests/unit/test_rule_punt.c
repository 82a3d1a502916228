// SPDX-License-Identifier: MIT
/* PUNT firing, just below its thresholds, and on healthy twins. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#define RULE_UNDER_TEST "PUNT"
#include "diagnosis.h"

static void punt_fires(void **state)
{
	struct snapshot *s = punted_reads(8000, 800);
	struct op_stats *o = &s->rings[0].ops[0];
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	o->c[RS_SC_PUNT_ASKED] = 4;
	o->c[RS_SC_PUNT_OPCODE] = 3;
	o->c[RS_SC_PUNT_DRAIN] = 2;
	o->c[RS_SC_WQ_TIMED] = 800;
	o->c[RS_SC_WQ_NS] = 800 * 90000ull;
	sample__latency(o, 10000, 7200);
	sample__latency(o, 90000, 800);
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "PUNT");
	assert_int_equal(f->severity, SEVERITY_WARN);
	assert_int_equal(f->op, OP_READ);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->weight, 800);
	assert_string_equal(f->title,
		"READ: 800 of 8000 requests (10.0%) went to io-wq workers unasked, 90.0us there on average");
	assert_non_null(strstr(f->advice, "page cache"));
	assert_int_equal(integer_of(f, "submitted"), 8000);
	assert_int_equal(integer_of(f, "punted_unwanted"), 800);
	assert_int_equal(integer_of(f, "punted_asked"), 4);
	assert_int_equal(integer_of(f, "punted_opcode"), 3);
	assert_int_equal(integer_of(f, "punted_drain"), 2);
	assert_float_equal(real_of(f, "unwanted_pct"), 10, 1e-9);
	assert_float_equal(real_of(f, "unwanted_per_s"), 800, 1e-9);
	assert_int_equal(integer_of(f, "wq_mean_ns"), 90000);
	assert_int_equal(integer_of(f, "unpunted_mean_ns"), 10000);
	assert_in_range(integer_of(f, "p99_ns"), 87000, 90000);
	diagnosis__free(&d);
	sample__free(s);
}

/* A file is named if nearly all were for it; else the worst is evidence. */
static void punt_names_the_file(void **state)
{
	struct snapshot *s = punted_reads(8000, 800);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	sample__file(s, "/other/op", 1, OP_WRITE, (struct file_counts){ .punted = 900 });
	sample__file(s, "/data/a", 2, OP_READ, (struct file_counts){ .punted = 719, .errors = 5 });
	sample__file(s, "/data/\xff", 3, OP_READ, (struct file_counts){ .punted = 81 });
	sample__file(s, "/data/c", 4, OP_READ, (struct file_counts){ .slow = 10000 });
	f = only_finding(s, &d);
	assert_null(f->file);
	assert_null(strstr(f->title, "/data"));
	assert_int_equal(integer_of(f, "file_punted"), 719);
	assert_string_equal(json_string_value(json_object_get(f->evidence, "file")), "/data/a");
	diagnosis__free(&d);
	s->files.list[1].c.punted = 720;
	f = only_finding(s, &d);
	assert_string_equal(f->file, "/data/a");
	assert_string_equal(f->title,
		"READ: 800 of 8000 requests (10.0%) went to io-wq workers unasked: /data/a");
	diagnosis__free(&d);
	sample__free(s);
}

/* A stack if nearly all come from there; else the worst call is evidence. */
static void punt_names_the_call(void **state)
{
	struct snapshot *s = punted_reads(8000, 800);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	sample__site(s, "other_op", 1, OP_WRITE, 900);
	sample__site(s, "wal_append", 12, OP_READ, 89);
	sample__site(s, "lookup\xff", 30, OP_READ, 11);
	f = only_finding(s, &d);
	assert_null(f->stack);
	assert_string_equal(json_string_value(json_object_get(f->evidence, "call_site")),
		"wal_append (a.c:12)");
	diagnosis__free(&d);
	s->sites.list[1].samples = 0;
	f = only_finding(s, &d);
	assert_int_equal(json_array_size(f->stack), 3);
	assert_string_equal(json_string_value(json_array_get(f->stack, 0)), "liburing.so.2+0x2b95");
	assert_string_equal(json_string_value(json_array_get(f->stack, 1)), "lookup? (a.c:30)");
	assert_string_equal(json_string_value(json_array_get(f->stack, 2)), "main [db]");
	diagnosis__free(&d);
	sample__free(s);
}

static void punt_near_misses(void **state)
{
	static const uint64_t rows[][3] = {
		/* submitted, unwanted, fires */
		{ 2000, 100, 1 },
		{ 100, 100, 1 },
		{ 2000, 99, 0 },
		{ 2001, 100, 0 },
		{ 20000, 999, 0 },
		{ 20000, 1000, 1 },
		{ 0, 99, 0 },
		{ 8000, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = punted_reads(rows[i][0], rows[i][1]);

		if (rows[i][2])
			assert_severity(s, SEVERITY_WARN);
		else
			assert_healthy(s);
		sample__free(s);
	}
}

static void punt_severity(void **state)
{
	struct snapshot *s = punted_reads(20000, 10000);

	(void)state;
	assert_severity(s, SEVERITY_CRIT);
	s->duration_ns = 10000000000; /* 1000/s */
	assert_severity(s, SEVERITY_CRIT);
	s->duration_ns++;
	assert_severity(s, SEVERITY_WARN);
	s->duration_ns = 1000000000000; /* 10/s */
	assert_severity(s, SEVERITY_WARN);
	s->duration_ns++;
	assert_severity(s, SEVERITY_INFO);
	s->duration_ns = 0; /* no rate is known */
	assert_severity(s, SEVERITY_INFO);
	sample__free(s);

	s = punted_reads(20000, 9999);
	assert_severity(s, SEVERITY_WARN);
	sample__free(s);
	s = punted_reads(20001, 10000);
	assert_severity(s, SEVERITY_WARN);
	sample__free(s);
}

static void punts_that_are_wanted_are_healthy(void **state)
{
	static const unsigned int causes[] = { RS_SC_PUNT_ASKED, RS_SC_PUNT_OPCODE, RS_SC_PUNT_DRAIN };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct snapshot *s = punted_reads(50000, 0);

		s->rings[0].ops[0].c[causes[i]] = 50000;
		assert_healthy(s);
		sample__free(s);
	}
}

static void punt_of_an_async_opcode_is_healthy(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 1), OP_FSYNC);

	(void)state;
	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_PUNT_UNWANTED] = 50000;
	s->rings[0].c[RS_RC_BATCHES] = 10;
	assert_healthy(s);
	sample__free(s);
}

static void punt_names_the_ring_that_has_nearly_all(void **state)
{
	struct snapshot *s = punted_reads(1000, 0);
	struct op_stats *o;
	struct diagnosis d;

	(void)state;
	o = sample__op(sample__ring(s, 2), OP_READ);
	s->rings[1].c[RS_RC_BATCHES] = 10;
	s->rings[0].ops[0].c[RS_SC_PUNT_UNWANTED] = 90;
	o->c[RS_SC_SUBMITTED] = 1000;
	o->c[RS_SC_PUNT_UNWANTED] = 810;
	assert_int_equal(only_finding(s, &d)->ring, 2);
	diagnosis__free(&d);
	o->c[RS_SC_PUNT_UNWANTED] = 809;
	assert_int_equal(only_finding(s, &d)->ring, 0);
	diagnosis__free(&d);
	sample__free(s);
}

static void punt_sums_over_rings(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	for (uint32_t id = 1; id <= 10; id++) {
		struct op_stats *o = sample__op(sample__ring(s, id), OP_WRITE);

		o->c[RS_SC_SUBMITTED] = 50;
		o->c[RS_SC_PUNT_UNWANTED] = 10;
	}
	f = only_finding(s, &d);
	assert_int_equal(f->op, OP_WRITE);
	assert_int_equal(f->ring, 0);
	assert_int_equal(integer_of(f, "punted_unwanted"), 100);
	assert_int_equal(integer_of(f, "submitted"), 500);
	/* nothing was timed */
	assert_absent(f, "wq_mean_ns");
	assert_absent(f, "unpunted_mean_ns");
	assert_absent(f, "p99_ns");
	diagnosis__free(&d);
	sample__free(s);
}

static void punt_derives_no_mean_from_a_minority(void **state)
{
	struct snapshot *s = punted_reads(1000, 501);
	struct op_stats *o = &s->rings[0].ops[0];
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	o->c[RS_SC_WQ_TIMED] = 501;
	o->c[RS_SC_WQ_NS] = 501 * 90000ull;
	sample__latency(o, 10000, 499);
	sample__latency(o, 90500, 501);
	f = only_finding(s, &d);
	assert_int_equal(integer_of(f, "wq_mean_ns"), 90000);
	assert_absent(f, "unpunted_mean_ns");
	diagnosis__free(&d);
	sample__free(s);
}

static void punt_advice_fits_the_opcode(void **state)
{
	static const struct {
		unsigned int op;
		const char *has;
	} rows[] = {
		{ 1, "page cache" },
		{ 4, "page cache" },
		{ 60, "page cache" },
		{ OP_WRITE, "fallocate" },
		{ 61, "fallocate" },
		{ 13, "multishot" },
		{ 27, "multishot" },
		{ OP_OPENAT, "dentry" },
		{ 28, "dentry" },
		{ 46, "IOSQE_ASYNC" },
		{ 90, "IOSQE_ASYNC" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();
		struct op_stats *o = sample__op(sample__ring(s, 1), rows[i].op);
		struct diagnosis d;

		o->c[RS_SC_SUBMITTED] = o->c[RS_SC_PUNT_UNWANTED] = 200;
		assert_non_null(strstr(only_finding(s, &d)->advice, rows[i].has));
		diagnosis__free(&d);
		sample__free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(punt_fires),
		cmocka_unit_test(punt_names_the_file),
		cmocka_unit_test(punt_names_the_call),
		cmocka_unit_test(punt_near_misses),
		cmocka_unit_test(punt_severity),
		cmocka_unit_test(punts_that_are_wanted_are_healthy),
		cmocka_unit_test(punt_of_an_async_opcode_is_healthy),
		cmocka_unit_test(punt_names_the_ring_that_has_nearly_all),
		cmocka_unit_test(punt_sums_over_rings),
		cmocka_unit_test(punt_derives_no_mean_from_a_minority),
		cmocka_unit_test(punt_advice_fits_the_opcode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
