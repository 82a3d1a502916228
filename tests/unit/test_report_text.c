// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "names.h"
#include "render.h"
#include "rules.h"

static const char long_target[] =
	"fio --name=randread --rw=randread --bs=4k --ioengine=io_uring --iodepth=32 --size=1G --runtime=2";

static void test_nothing_used_io_uring(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	text = render_as(&f, "true", NULL, &plain);
	assert_string_equal(text, "NOTHING USED io_uring: no ring and no request in 2.00s: true\n");
	free(text);
	fab__feature(&f, RS_F_RING_SCAN, FEATURE_OFF, "no iterator");
	text = render_as(&f, "pid 12", NULL, &plain);
	assert_has(text, "Not observed, n/a below: ring_scan (no iterator).\n");
	free(text);
	fab__free(&f);
}

static void test_ring_without_requests(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__ring(&f, 12, "idle");
	text = render(&f);
	assert_begins(text, "NO REQUESTS on 1 ring in 2.00s: the whole machine\n");
	assert_has(text, "No findings, but no requests to judge either.\n");
	assert_has(text, "\nRings\n");
	assert_lacks(text, "Requests by opcode");
	free(text);
	fab__free(&f);
}

static void test_first_lines(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__healthy(&f);
	text = render_as(&f, "fio --rw=randread", NULL, &plain);
	assert_begins(text, "1 ring, 1.20M requests in 2.00s (602k/s): fio --rw=randread\n"
			    "Counts exact, every request tracked.\n"
			    "1203456 submitted = 1203424 completed + 32 in flight.\n");
	free(text);
	text = render_as(&f, long_target, NULL, &plain);
	assert_begins(text,
		"1 ring, 1.20M requests in 2.00s (602k/s): fio --name=randread --rw=randread -...\n");
	free(text);
	/* how it ended is never what gets cut */
	text = render_as(&f, long_target, "killed by SIGSEGV", &plain);
	assert_begins(text,
		"1 ring, 1.20M requests in 2.00s (602k/s): fio --name=randr..., killed by SIGSEGV\n");
	free(text);
	text = render_as(&f, long_target, "exited with status 123", &plain);
	assert_begins(text,
		"1 ring, 1.20M requests in 2.00s (602k/s):\n"
		"  fio --name=randread --rw=randread --bs=4k --ioengin..., exited with status 123\n");
	free(text);
	fab__free(&f);
}

static void test_window_without_length(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__healthy(&f);
	f.s->duration_ns = 0;
	text = render(&f);
	assert_begins(text, "1 ring, 1.20M requests in 0ns (n/a/s)");
	free(text);
	fab__free(&f);
}

static void test_balance(void **state)
{
	struct fab f = fab__new();
	struct op_stats *o;
	char *text;

	(void)state;
	o = fab__op(fab__ring(&f, 1, "x"), OP_NOP, 100);
	text = render(&f);
	assert_has(text, "Counts exact, every request tracked: 100 submitted, all completed.\n");
	free(text);
	o->c[RS_SC_AT_ATTACH] = 7;
	o->c[RS_SC_SILENT] = 10;
	o->c[RS_SC_COMPLETED] = 92;
	o->in_flight = 5;
	text = render(&f);
	assert_has(text, "7 in flight at attach + 100 submitted = 92 completed + 10 silent + 5 in flight.\n");
	free(text);
	o->in_flight = 6;
	text = render(&f);
	assert_has(text, "7 in flight at attach + 100 submitted but 92 completed + 10 silent + 6 in flight\n"
			 "  (off by 1).\n");
	free(text);
	fab__free(&f);
}

static void test_what_was_missed(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__healthy(&f);
	f.s->fidelity.table_full = 1234;
	text = render(&f);
	assert_has(text, "\nCounts exact, but 1234 requests not timed (in-flight table full).\n");
	assert_lacks(text, "every request tracked");
	free(text);
	f.s->fidelity.missed = 3;
	text = render(&f);
	assert_has(text,
		"\nCOUNTS INCOMPLETE: 3 events skipped by the kernel (recursion); 1234 requests not\n"
		"  timed (in-flight table full).\n");
	free(text);
	f.s->fidelity = (struct fidelity){ .missed_known = false };
	text = render(&f);
	assert_has(text, "Skipped events are not counted by this kernel (before 5.12).\n");
	assert_lacks(text, "every request tracked");
	free(text);
	fab__free(&f);
}

/* What extras miss makes nothing incomplete but themselves. */
static void test_what_extras_missed(void **state)
{
	struct fab f = fab__new();
	char *text;
	unsigned int i;

	(void)state;
	fab__healthy(&f);
	f.s->fidelity.extras_missed = 1;
	for (i = 0; i < RS_F_COUNT; i++)
		if (feature_is_extra(i) && i != RS_F_ENTER && i != RS_F_BUFFERS)
			fab__feature(&f, i, FEATURE_OFF, "");
	text = render(&f);
	assert_has(text, "\nCounts exact, every request tracked");
	assert_has(text, "\nExtras may lack up to 1 event that the kernel skipped: io_uring_enter calls and\n"
			 "  their time; requests that use a registered buffer.\n");
	free(text);
	f.s->fidelity.missed_known = false;
	text = render(&f);
	assert_lacks(text, "Extras");
	free(text);
	fab__free(&f);
}

static void test_features_that_are_off(void **state)
{
	struct fab f = fab__new();
	char *text, *row;
	char more[32];
	unsigned int i, n = 0;

	(void)state;
	fab__healthy(&f);
	fab__feature(&f, RS_F_PUNT, FEATURE_OFF, "no tracepoint");
	fab__feature(&f, RS_F_WAIT, FEATURE_OFF, "");
	text = render(&f);
	assert_has(text, "\nNothing lost of what could be observed");
	assert_has(text, "\nNot observed, n/a below: punt (no tracepoint); wait.\n");
	assert_has(text, ", waits n/a");
	row = line_of(text, "READ ");
	assert_has(row, " n/a ");
	free(row);
	free(text);
	for (i = RS_F_RING_CREATE; i < RS_F_COUNT; i++) {
		fab__feature(&f, i, FEATURE_OFF, "why");
		n += !feature_is_extra(i);
	}
	text = render(&f);
	/* six of them by name */
	snprintf(more, sizeof(more), "; %u more.\n", n - 6);
	assert_has(text, more);
	free(text);
	fab__free(&f);
}

/* Where they can't be had a report looks as if there were no such thing. */
static void test_extras(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *r;
	char *text, *row;
	unsigned int i;

	(void)state;
	fab__healthy(&f);
	r = &f.s->rings[0];
	r->c[RS_RC_ENTERS] = 4000;
	r->c[RS_RC_ENTER_NS] = 12000000;
	r->c[RS_RC_BUFFER_IMPORTS] = 70;
	sample__register(f.s, 0, 2, 1);
	f.s->registers[0].timed = 2;
	f.s->registers[0].sum_ns = 6000;
	f.s->registers[0].max_ns = 5000;
	text = render(&f);
	assert_has(text, ", 4000 io_uring_enters of 3.00us on average,");
	assert_has(text, "70 uses of registered buffers\n");
	assert_has(text, "  ERRORS    MEAN     MAX\n");
	row = line_of(text, "REGISTER_BUFFERS ");
	assert_has(row, "  3.00us  5.00us");
	free(row);
	free(text);
	r->c[RS_RC_ENTERS] = r->c[RS_RC_ENTER_NS] = r->c[RS_RC_BUFFER_IMPORTS] = 0;
	f.s->registers[0].timed = 0;
	for (i = 0; i < RS_F_COUNT; i++)
		if (feature_is_extra(i))
			fab__feature(&f, i, FEATURE_OFF, "why");
	text = render(&f);
	assert_has(text, "\nCounts exact, every request tracked");
	assert_lacks(text, "why");
	assert_lacks(text, "io_uring_enter");
	assert_lacks(text, "registered");
	assert_has(text, "  ERRORS\n");
	free(text);
	fab__free(&f);
}

static void test_findings(void **state)
{
	struct fab f = fab__new();
	char *text, all[64], but_one[64];

	(void)state;
	snprintf(all, sizeof(all), "\n\nNo findings. %zu rules checked.\n", doctor_n_rules);
	snprintf(but_one, sizeof(but_one), "\n%zu rules checked.\nNot checked: PUNT (", doctor_n_rules - 1);
	fab__healthy(&f);
	text = render(&f);
	assert_has(text, all);
	free(text);
	fab__finding(&f, SEVERITY_CRIT, "ring 2: 812 of 20.4k CQEs found the CQ full", 2, -1);
	fab__finding(&f, SEVERITY_WARN, "one at a time", 3, OP_READ);
	fab__not_checked(&f, "PUNT", "cannot observe punt: no such event");
	text = render(&f);
	assert_has(text, "\nCRIT RULE  ring 2: 812 of 20.4k CQEs found the CQ full\n"
			 "     batches=41000  overflow=3.98%  wait=1.50us  path=/var/lib/x\n"
			 "     Prepare all SQEs that are ready and submit them with one io_uring_submit();\n"
			 "     in an event loop submit once a turn.\n");
	assert_has(text, "\nWARN RULE  one at a time\n     op=READ  ring=3  batches=41000");
	assert_lacks(text, "No findings");
	assert_has(text, but_one);
	assert_true(strstr(text, "CRIT RULE") < strstr(text, "Requests by opcode"));
	free(text);
	/* a rule that judged all but some has been checked */
	fab__not_checked(&f, "BATCH", "not on 2 rings");
	f.d.not_checked[1].in_part = true;
	text = render(&f);
	assert_has(text, but_one);
	assert_has(text, "no such event).\nChecked in part: BATCH (not on 2 rings).\n");
	free(text);
	fab__free(&f);
}

static void test_nobody_asked_the_doctor(void **state)
{
	struct fab f = fab__new();
	struct report r = { .snap = f.s, .target = "x" };
	char *text = NULL;
	size_t len;
	FILE *m = open_memstream(&text, &len);

	(void)state;
	fab__healthy(&f);
	assert_int_equal(report__text(&r, &plain, m), 0);
	fclose(m);
	assert_lacks(text, "findings");
	assert_lacks(text, "checked");
	free(text);
	fab__free(&f);
}

static void test_op_table(void **state)
{
	struct text_options o = plain;
	struct fab f = fab__new();
	char *text, *row;

	(void)state;
	fab__sick(&f);
	f.s->rings[2].ops[1].c[RS_SC_ERRORS] += 4;
	o.width = 120;
	text = render_as(&f, "x", NULL, &o);
	row = line_of(text, "OP ");
	assert_string_equal(row,
		"OP        COUNT  REQ/S  REJ  FLIGHT   PUNT  ARMED     P50     P99   P99.9     MAX"
		"  BYTES/S  ERRORS");
	free(row);
	row = line_of(text, "READV ");
	assert_has(row, " 20.0k  10.0k    3       -  25.0%      -  ");
	assert_has(row, "  12: EAGAIN 9, ENOENT 3");
	free(row);
	row = line_of(text, "RECV ");
	assert_has(row, "  93.3%  ");
	assert_has(row, "73.2MiB  1204: ECANCELED 1200, +1");
	free(row);
	row = line_of(text, "FSYNC ");
	assert_has(row, "   100%  ");
	assert_int_equal(row[strlen(row) - 1], '-');
	free(row);
	assert_has(text, "  99 ETIME\n");
	free(text);
	/* 80 columns: what is left out is what the other columns tell */
	text = render_as(&f, "x", NULL, &plain);
	row = line_of(text, "OP ");
	assert_string_equal(row, "OP       COUNT FLIGHT  PUNT    P50    P99  P99.9    MAX BYTES/S ERRORS");
	free(row);
	free(text);
	fab__free(&f);
}

/* A request that ended but was not timed has a latency that nobody knows. */
static void test_latency_not_known(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *r = fab__ring(&f, 1, "x");
	char *text, *row;

	(void)state;
	fab__op(r, OP_NOP, 5);
	fab__op(r, OP_FSYNC, 5)->c[RS_SC_COMPLETED] = 0;
	text = render(&f);
	row = line_of(text, "NOP ");
	assert_int_equal(count_of(row, "n/a"), 4);
	free(row);
	row = line_of(text, "FSYNC ");
	assert_int_equal(count_of(row, "n/a"), 0);
	free(row);
	free(text);
	fab__free(&f);
}

static void test_counters_below_the_table(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__healthy(&f);
	text = render(&f);
	assert_has(text, "\n150k batches of 8.0 SQEs on average\n");
	free(text);
	f.s->rings[0].c[RS_RC_CQ_OVERFLOWS] = 5;
	f.s->rings[0].ops[0].c[RS_SC_REJECTED] = 1;
	f.s->rings[0].c[RS_RC_OVERFLOW_ERRORS] = 2;
	text = render(&f);
	assert_has(text,
		"8.0 SQEs on average, 1 SQE rejected, 5 CQ overflows, 2 errors in\n  overflowed CQEs\n");
	free(text);
	fab__free(&f);
}

static void test_histogram(void **state)
{
	struct fab f = fab__new();
	struct op_stats *o;
	char *text;

	(void)state;
	o = fab__op(fab__ring(&f, 1, "x"), OP_NOP, 400);
	sample__latency(o, 1500, 300);
	sample__latency(o, 3000, 96);
	sample__latency(o, 100000, 4);
	text = render(&f);
	assert_has(text, "\nNOP latency: 400 timed, min 1.50us, mean 2.85us\n"
			 "1.02us  - 2.05us  ################################  300  75.0%  p50\n"
			 "2.05us  - 4.10us  ##########                         96  24.0%  p99\n"
			 "4.10us  - 8.19us                                      0     0%\n"
			 "8.19us  - 16.4us                                      0     0%\n"
			 "16.4us  - 32.8us                                      0     0%\n"
			 "32.8us  - 65.5us                                      0     0%\n"
			 "65.5us  -  131us  #                                   4  1.00%  p99.9\n");
	free(text);
	fab__free(&f);
}

static void test_histogram_rows(void **state)
{
	struct fab f = fab__new();
	struct op_stats *o;
	uint64_t ns;
	char *text;

	(void)state;
	/* two octaves are cut finer, thirty are folded at the ends */
	o = fab__op(fab__ring(&f, 1, "x"), OP_NOP, 1);
	for (ns = 1024; ns < 4096; ns += 2)
		sample__latency(o, ns, 1);
	text = render(&f);
	assert_in_range(count_of(text, "us  - "), 6, 12);
	free(text);
	for (ns = 1; ns < 1ull << 30; ns *= 2)
		sample__latency(o, ns, 1);
	text = render(&f);
	assert_int_equal(count_of(text, "s  - "), 12);
	assert_has(text, "   0ns  - ");
	assert_has(text, "-  1.07s");
	free(text);
	fab__free(&f);
}

static void test_histograms_of_the_busiest(void **state)
{
	static const unsigned int ops[] = { OP_NOP, OP_READV, OP_TIMEOUT, OP_READ, OP_RECV };
	struct fab f = fab__new();
	struct ring_stats *r = fab__ring(&f, 1, "x");
	char *text;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		fab__latency(fab__op(r, ops[i], 1000 - 100 * i), 5000, 1000 - 100 * i);
	text = render(&f);
	assert_int_equal(count_of(text, " latency: "), 3);
	free(text);
	fab__free(&f);
	f = fab__new();
	r = fab__ring(&f, 1, "x");
	fab__latency(fab__op(r, OP_READ, 99), 5000, 99);
	text = render(&f);
	assert_int_equal(count_of(text, " latency: "), 0);
	free(text);
	fab__free(&f);
}

static void test_rings(void **state)
{
	struct text_options o = plain;
	struct fab f = fab__new();
	char *text, *row;

	(void)state;
	fab__sick(&f);
	o.width = 140;
	text = render_as(&f, "x", NULL, &o);
	row = line_of(text, "RING ");
	assert_string_equal(row,
		"RING    PID  COMM          SQ   CQ-MAX  COUNT  REQ/S  BATCH  FLIGHT  SQ-CPU  STATE    FLAGS");
	free(row);
	assert_has(text,
		"\n   1  41234  fio          128   17/256  1.20M   602k    8.0      32       -  open     "
		"defer, single\n");
	assert_has(text,
		"\n   3    777  nginx        128   17/256   300k   150k    8.0       -       -  closing  -\n");
	assert_has(text,
		"\n   2    998  rocksdb:low  128  256/256  20.4k  10.2k    8.0       -   98.0%  open     "
		"sqpoll, 0x40000000\n");
	assert_has(text, "\nio-wq workers by task (most at one time)\n");
	assert_has(text, "\n41234  41234  fio           8          0\n");
	assert_has(text, "\nREGISTER_BUFFERS      1       0\n");
	free(text);
	fab__feature(&f, RS_F_RING_EXIT, FEATURE_OFF, "");
	f.s->rings[1].sq_cpu_known = false;
	f.s->rings[1].pid = 0;
	f.s->rings[1].cq_entries = 0;
	text = render_as(&f, "x", NULL, &o);
	assert_has(text,
		"\n   2    n/a  rocksdb:low  128     n/a  20.4k  10.2k    8.0       -     n/a  n/a      sqpoll,");
	free(text);
	fab__free(&f);
}

static void test_crowd_is_cut_and_says_so(void **state)
{
	struct text_options o = plain;
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__crowd(&f);
	text = render(&f);
	assert_begins(text, "1234 rings, ");
	assert_has(text, "\n... and 28 more findings (--json has all of them)\n");
	assert_has(text, "\n... and 10 more opcodes with ");
	assert_has(text, "\n... and 1218 more rings with ");
	assert_has(text, "; --rings lists them");
	assert_has(text, "\n... and 992 more tasks\n");
	assert_has(text, "\n... and 18 more kinds\n");
	assert_int_equal(count_of(text, "worker-"), 16 + 8);
	assert_has(text, " 0B 210k: EPERM +19\n");
	assert_has(text, "\nSYNC_FILE_RANGE ");
	/* the same advice once */
	assert_int_equal(count_of(text, "Prepare all SQEs"), 1);
	assert_in_range(count_of(text, "\n"), 60, 200);
	free(text);
	o.width = 200;
	o.rings = true;
	text = render_as(&f, "x", NULL, &o);
	assert_int_equal(count_of(text, "worker-"), 1000 + 8);
	assert_has(text, "\n... and 234 more rings with 1.00M requests (");
	assert_has(text, "\nOpcodes by ring\n");
	assert_int_equal(count_of(text, "  FSYNC "), 1000);
	assert_has(text, "\nrest  NOP ");
	/* 20 errnos: the most frequent, and how many more */
	assert_has(text,
		"  210k: EPERM 20.0k, ENOENT 19.0k, ESRCH 18.0k, EINTR 17.0k, EIO 16.0k, ENXIO 15.0k, +14\n");
	free(text);
	fab__free(&f);
}

/* Opcodes that are cut must not take their errors with them. */
static void test_cut_opcodes_keep_their_errors(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *r = fab__ring(&f, 1, "x");
	unsigned int op;
	char *text;

	(void)state;
	for (op = 0; op < 21; op++)
		fab__op(r, op, 100 - op);
	fab__errno(sample__op(r, 20), EIO, 9);
	text = render(&f);
	assert_has(text, "\n... and 1 more opcode with 80 requests (4.23%), 9 errors\n");
	free(text);
	fab__free(&f);
}

static void test_rings_without_an_entry(void **state)
{
	struct fab f = fab__new();
	char *text;

	(void)state;
	fab__op(fab__ring(&f, 1, "x"), OP_NOP, 10);
	fab__op(sample__others(f.s), OP_NOP, 30);
	f.s->n_others = 0;
	f.s->fidelity.rings_full = 30;
	text = render(&f);
	assert_has(text,
		"\nCounts exact, but 30 requests counted under no ring of their own (ring table\n  full).\n");
	assert_has(text, "\n... and 30 requests (75.0%) under no ring of their own\n");
	free(text);
	/* which table was it? */
	f.s->fidelity.series_full = 30;
	text = render(&f);
	assert_has(text, " counted under no ring of their own (table of\n  rings' opcodes full).\n");
	free(text);
	f.s->fidelity.series_full = 29;
	text = render(&f);
	assert_has(text,
		" counted under no ring of their own (tables of\n  rings and of their opcodes full).\n");
	free(text);
	/* beside rings that are only summed */
	sample__op(f.s->others, OP_NOP)->c[RS_SC_SUBMITTED] += 60;
	f.s->n_others = 4;
	text = render(&f);
	assert_has(text, "\n... and 4 more rings with 60 requests (60.0%)\n"
			 "... and 30 requests (30.0%) under no ring of their own\n");
	free(text);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_used_io_uring),
		cmocka_unit_test(test_ring_without_requests),
		cmocka_unit_test(test_first_lines),
		cmocka_unit_test(test_window_without_length),
		cmocka_unit_test(test_balance),
		cmocka_unit_test(test_what_was_missed),
		cmocka_unit_test(test_what_extras_missed),
		cmocka_unit_test(test_features_that_are_off),
		cmocka_unit_test(test_extras),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_nobody_asked_the_doctor),
		cmocka_unit_test(test_op_table),
		cmocka_unit_test(test_latency_not_known),
		cmocka_unit_test(test_counters_below_the_table),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_histogram_rows),
		cmocka_unit_test(test_histograms_of_the_busiest),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_crowd_is_cut_and_says_so),
		cmocka_unit_test(test_cut_opcodes_keep_their_errors),
		cmocka_unit_test(test_rings_without_an_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
