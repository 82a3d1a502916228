// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "json_at.h"
#include "lat.h"

static void test_head(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__sick(&f);
	j = render(&f);
	assert_u64(j, "schema", 1);
	assert_text(j, "tool", "ringside");
	assert_text(j, "version", RINGSIDE_VERSION);
	assert_text(j, "kernel.release", "6.18.0");
	assert_int_equal(json_object_size(at(j, "kernel.features")), RS_F_COUNT);
	assert_text(j, "kernel.features.submit.state", "full");
	assert_text(j, "kernel.features.submit.how", "tp_btf/event_0");
	assert_null_at(j, "kernel.features.submit.why");
	assert_text(j, "kernel.features.wait.state", "off");
	assert_null_at(j, "kernel.features.wait.how");
	assert_text(j, "kernel.features.wait.why", "no tracepoint io_uring_cqring_wait");
	assert_text(j, "kernel.features.link.state", "degraded");
	assert_u64(j, "window.start_unix_ns", 1700000000000000000);
	assert_u64(j, "window.duration_ns", 2000000000);
	assert_u64(j, "window.cpus", 2);
	assert_null_at(j, "cost.estimated_cpu_ns");
	assert_u64(j, "cost.sample", 1);
	assert_u64(j, "fidelity.untracked", 12);
	assert_u64(j, "fidelity.missed", 3);
	assert_u64(j, "fidelity.extras_missed", 4);
	json_decref(j);
	f.s->fidelity.missed_known = false;
	j = render(&f);
	assert_null_at(j, "fidelity.missed");
	assert_null_at(j, "fidelity.extras_missed");
	json_decref(j);
	fab__free(&f);
}

static void test_totals(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__sick(&f);
	f.s->rings[0].sq_dropped = 4;
	j = render(&f);
	assert_u64(j, "totals.submitted", 1203456 + 20000 + 412 + 300000 + 99);
	assert_u64(j, "totals.completed", 1203424 + 20000 + 412 + 300005 + 99);
	assert_u64(j, "totals.in_flight_at_attach", 5);
	assert_u64(j, "totals.in_flight", 32);
	assert_u64(j, "totals.silent", 0);
	assert_u64(j, "totals.rejected", 3);
	assert_u64(j, "totals.sq_dropped", 4);
	assert_u64(j, "totals.errors", 12 + 1200 + 99);
	assert_u64(j, "totals.punted", 5000 + 412);
	assert_u64(j, "totals.cq_overflows", 812);
	assert_u64(j, "rings.1.totals.submitted", 20412);
	assert_u64(j, "rings.1.totals.batches", 20000 / 8 + 412 / 8);
	/* (20412 + 3) / 2551, three decimals */
	assert_true(json_real_value(at(j, "rings.1.totals.batch_mean")) == 8.003);
	/* submitted, completed, rejected, overflows, waits, punts, polls */
	assert_u64(j, "cost.events", 1523967 + 1523940 + 3 + 812 + 12 + 5412 + 280000);
	json_decref(j);
	fab__free(&f);
}

static void test_op(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__sick(&f);
	f.s->rings[1].ops[0].c[RS_SC_ERRORS] += 5;
	f.s->rings[1].ops[0].c[RS_SC_OVERFLOWED] = 2;
	fab__op(&f.s->rings[0], 90, 1);
	j = render(&f);
	assert_text(j, "ops.0.op", "READ");
	assert_text(j, "rings.0.ops.1.op", "OP_90");
	assert_u64(j, "ops.0.in_flight", 32);
	assert_text(j, "rings.1.ops.0.op", "READV");
	assert_u64(j, "rings.1.ops.0.completed", 20002);
	assert_int_equal(json_object_size(at(j, "rings.1.ops.0.errors")), 3);
	assert_u64(j, "rings.1.ops.0.errors.EAGAIN", 9);
	assert_u64(j, "rings.1.ops.0.errors.ENOENT", 3);
	assert_u64(j, "rings.1.ops.0.errors.OTHER", 5);
	assert_int_equal(json_object_size(at(j, "ops.0.errors")), 0);
	assert_u64(j, "rings.1.ops.0.rejected", 3);
	assert_u64(j, "rings.1.ops.0.punted", 5000);
	assert_u64(j, "rings.1.ops.0.punted_by.unwanted", 5000);
	assert_u64(j, "rings.1.ops.0.bytes", 20000ull * 16384);
	assert_null_at(j, "rings.1.ops.1.bytes");
	assert_u64(j, "ops.0.stages.blk_queue.count", 0);
	assert_u64(j, "ops.0.stages.device.count", 0);
	assert_null_at(j, "ops.0.stages.reap");
	assert_null_at(j, "ops.0.stages.wq");
	assert_u64(j, "ops.0.stages.wq_run.count", 0);
	assert_null_at(j, "ops.0.stages.wq_run.p99");
	assert_null_at(j, "ops.0.multishot_gap_ns");
	assert_null_at(j, "ops.0.notif_delay_ns");
	json_decref(j);
	fab__free(&f);
}

static void test_latency(void **state)
{
	struct fab f = fab__new();
	struct op_stats *o;
	uint64_t sum = 0, last = 0;
	json_t *j, *pair;
	size_t i;

	(void)state;
	fab__healthy(&f);
	o = &f.s->rings[0].ops[0];
	j = render(&f);
	assert_u64(j, "ops.0.latency_ns.count", 1203424);
	assert_u64(j, "ops.0.latency_ns.sum", o->lat.sum_ns);
	assert_u64(j, "ops.0.latency_ns.min", o->lat.min_ns);
	assert_u64(j, "ops.0.latency_ns.max", o->lat.max_ns);
	assert_u64(j, "ops.0.latency_ns.p99", lat__quantile_ns(&o->lat, 0.99));
	assert_u64(j, "ops.0.latency_ns.p9999", lat__quantile_ns(&o->lat, 0.9999));
	json_array_foreach(at(j, "ops.0.latency_ns.buckets"), i, pair) {
		uint64_t upper = (uint64_t)json_integer_value(json_array_get(pair, 0));
		uint64_t count = (uint64_t)json_integer_value(json_array_get(pair, 1));

		assert_int_equal(json_array_size(pair), 2);
		assert_true(upper > last);
		assert_true(count > 0);
		assert_int_equal(o->lat.buckets[rs_hist_bucket(upper - 1)], count);
		sum += count;
		last = upper;
	}
	assert_true(last > o->lat.max_ns);
	assert_int_equal(sum, 1203424);
	json_decref(j);
	fab__free(&f);
}

static void test_latency_without_samples(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__op(fab__ring(&f, 1, "x"), OP_NOP, 3);
	j = render(&f);
	assert_u64(j, "ops.0.latency_ns.count", 0);
	assert_u64(j, "ops.0.latency_ns.sum", 0);
	assert_null_at(j, "ops.0.latency_ns.min");
	assert_null_at(j, "ops.0.latency_ns.max");
	assert_null_at(j, "ops.0.latency_ns.p50");
	assert_int_equal(json_array_size(at(j, "ops.0.latency_ns.buckets")), 0);
	json_decref(j);
	fab__free(&f);
}

static void test_ring(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__sick(&f);
	f.s->rings[1].cgroup = strdup("/system.slice/db.service");
	j = render(&f);
	assert_u64(j, "rings.1.id", 2);
	assert_u64(j, "rings.1.pid", 998);
	assert_text(j, "rings.1.comm", "rocksdb:low");
	assert_text(j, "rings.1.cgroup", "/system.slice/db.service");
	assert_null_at(j, "rings.0.cgroup");
	assert_u64(j, "rings.1.fd", 3);
	assert_u64(j, "rings.1.sq_entries", 128);
	assert_u64(j, "rings.1.cq_entries", 256);
	assert_int_equal(json_array_size(at(j, "rings.1.flags")), 2);
	assert_text(j, "rings.1.flags.0", "SQPOLL");
	assert_text(j, "rings.1.flags.1", "0x40000000");
	assert_text(j, "rings.1.state", "open");
	assert_text(j, "rings.2.state", "closing");
	assert_true(json_is_true(at(j, "rings.1.created_in_window")));
	assert_true(json_is_false(at(j, "rings.2.created_in_window")));
	assert_u64(j, "rings.1.sq_thread.tid", 1001);
	assert_true(json_real_value(at(j, "rings.1.sq_thread.cpu_pct")) == 98.0);
	assert_null_at(j, "rings.0.sq_thread");
	assert_u64(j, "rings.1.cq_depth_max", 256);
	assert_null_at(j, "rings_other");
	json_decref(j);
	fab__free(&f);
}

static void test_rings_other(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *others;
	json_t *j;

	(void)state;
	fab__healthy(&f);
	others = sample__others(f.s);
	fab__op(others, OP_NOP, 800);
	f.s->n_others = 41;
	j = render(&f);
	assert_u64(j, "rings_other.n_rings", 41);
	assert_u64(j, "rings_other.totals.submitted", 800);
	assert_u64(j, "rings_other.totals.batches", 100);
	assert_u64(j, "totals.submitted", 1203456 + 800);
	json_decref(j);
	/* some of them have no entry of their own: their batches run into each other */
	others->batchless = 800;
	j = render(&f);
	assert_null_at(j, "rings_other.totals.batches");
	assert_null_at(j, "rings_other.totals.batch_mean");
	assert_null_at(j, "totals.batches");
	assert_u64(j, "rings.0.totals.batches", 150432);
	json_decref(j);
	fab__free(&f);
}

static void test_tasks_and_registers(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__task(&f, 77, "io", 3, 4);
	sample__register(f.s, 0, 2, 1);
	sample__register(f.s, 99, 1, 0);
	j = render(&f);
	assert_u64(j, "tasks.0.tid", 77);
	assert_text(j, "tasks.0.comm", "io");
	assert_u64(j, "tasks.0.workers_bounded_max", 3);
	assert_u64(j, "tasks.0.workers_unbounded_max", 4);
	assert_text(j, "registers.0.op", "REGISTER_BUFFERS");
	assert_u64(j, "registers.0.count", 2);
	assert_u64(j, "registers.0.errors", 1);
	assert_u64(j, "registers.0.latency_ns.count", 0);
	assert_null_at(j, "registers.0.latency_ns.max");
	assert_int_equal(json_array_size(at(j, "registers.0.stacks")), 0);
	assert_text(j, "registers.1.op", "REGISTER_99");
	json_decref(j);
	f.s->registers[0].timed = 2;
	f.s->registers[0].sum_ns = 700;
	f.s->registers[0].max_ns = 600;
	j = render(&f);
	assert_u64(j, "registers.0.latency_ns.count", 2);
	assert_u64(j, "registers.0.latency_ns.sum", 700);
	assert_u64(j, "registers.0.latency_ns.max", 600);
	json_decref(j);
	/* the longest so far may have been before the interval */
	f.s->interval = true;
	j = render(&f);
	assert_null_at(j, "registers.0.latency_ns.max");
	json_decref(j);
	fab__feature(&f, RS_F_REGISTER_TIME, FEATURE_OFF, "no such function");
	j = render(&f);
	assert_null_at(j, "registers.0.latency_ns");
	json_decref(j);
	fab__free(&f);
}

static void test_findings(void **state)
{
	struct fab f = fab__new();
	struct report r = { .snap = f.s };
	json_t *j;

	(void)state;
	fab__finding(&f, SEVERITY_CRIT, "it is broken", 3, OP_READ);
	fab__finding(&f, SEVERITY_INFO, "odd", 0, -1);
	fab__not_checked(&f, "PUNT", "no event");
	fab__not_checked(&f, "BATCH", "not on 2 rings");
	f.d.not_checked[1].in_part = true;
	j = render(&f);
	assert_int_equal(json_array_size(at(j, "findings")), 2);
	assert_text(j, "findings.0.rule", "RULE");
	assert_text(j, "findings.0.severity", "crit");
	assert_text(j, "findings.0.title", "it is broken");
	assert_true(json_equal(at(j, "findings.0.evidence"), f.d.findings[0].evidence));
	assert_text(j, "findings.0.advice", f.d.findings[0].advice);
	assert_u64(j, "findings.0.ring", 3);
	assert_text(j, "findings.0.op", "READ");
	assert_null_at(j, "findings.0.file");
	assert_null_at(j, "findings.0.stack");
	assert_text(j, "findings.1.severity", "info");
	assert_null_at(j, "findings.1.ring");
	assert_null_at(j, "findings.1.op");
	assert_text(j, "not_checked.0.rule", "PUNT");
	assert_text(j, "not_checked.0.why", "no event");
	assert_true(json_is_false(at(j, "not_checked.0.in_part")));
	assert_text(j, "not_checked.1.rule", "BATCH");
	assert_true(json_is_true(at(j, "not_checked.1.in_part")));
	json_decref(j);
	/* nobody asked the doctor */
	j = report__json(&r);
	assert_null_at(j, "findings");
	assert_null_at(j, "not_checked");
	json_decref(j);
	fab__free(&f);
}

static void test_strings_of_strangers(void **state)
{
	static const struct {
		const char *comm, *want;
	} cases[] = {
		{ "a\xff\xfe"
		  "b",
			"a\xef\xbf\xbd\xef\xbf\xbd"
			"b" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },		    /* overlong */
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd" }, /* cut in the middle */
		{ "\xe2\x82\xac", "\xe2\x82\xac" },
		{ "0123456789abcdefX", "0123456789abcdef" }, /* no room for a NUL */
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fab f = fab__new();
		json_t *j;

		fab__ring(&f, 1, cases[i].comm);
		j = render(&f);
		assert_text(j, "rings.0.comm", cases[i].want);
		json_decref(j);
		fab__free(&f);
	}
}

static void test_huge_numbers(void **state)
{
	struct fab f = fab__new();
	json_t *j, *again;
	char *text;

	(void)state;
	fab__huge(&f);
	j = render(&f);
	assert_true(json_is_real(at(j, "fidelity.untracked")));
	assert_true(json_real_value(at(j, "fidelity.untracked")) == (double)UINT64_MAX);
	assert_u64(j, "rings.0.totals.waits", UINT64_MAX / 4);
	/* what is longer than the last bucket is in it all the same */
	assert_true(json_real_value(at(j, "ops.0.latency_ns.buckets.1.0")) == (double)UINT64_MAX);
	text = json_dumps(j, 0);
	again = json_loads(text, 0, NULL);
	assert_non_null(again);
	json_decref(again);
	free(text);
	json_decref(j);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_head),
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_op),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_latency_without_samples),
		cmocka_unit_test(test_ring),
		cmocka_unit_test(test_rings_other),
		cmocka_unit_test(test_tasks_and_registers),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_strings_of_strangers),
		cmocka_unit_test(test_huge_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
