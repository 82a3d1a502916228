// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <unistd.h>

#include "devices.h"
#include "json_at.h"
#include "scarce.h"

static bool is_counter(const char *key)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ring_rows); i++) {
		if (!strcmp(key, ring_rows[i].json))
			return true;
	}
	for (i = 0; i < ARRAY_SIZE(op_rows); i++) {
		if (!strcmp(key, op_rows[i].json))
			return true;
	}
	return false;
}

/* These keys in this order and no others; with `counters`, rows of counters.def may stand between them. */
static void assert_keys_and(json_t *object, const char *keys, bool counters)
{
	char *copy = strdup(keys), *save = NULL, *want = strtok_r(copy, " ", &save);
	const char *key;
	json_t *v;

	assert_true(json_is_object(object));
	json_object_foreach(object, key, v) {
		if (want && !strcmp(key, want))
			want = strtok_r(NULL, " ", &save);
		else if (!counters || !is_counter(key))
			fail_msg("key %s where %s belongs", key, want ? want : "none");
	}
	if (want)
		fail_msg("no key %s", want);
	free(copy);
}

static void assert_keys(json_t *object, const char *keys)
{
	assert_keys_and(object, keys, false);
}

/* A new counter appears by itself. */
static void assert_counter_keys(json_t *object, const char *keys)
{
	assert_keys_and(object, keys, true);
}

static const char totals_keys[] =
	"in_flight_at_attach submitted completed silent in_flight rejected sq_dropped errors punted poll_armed "
	"cqes_multishot cqes_aux notifs cq_overflows cq_dropped short_writes batches batch_mean waits bytes";
static const char op_keys[] =
	"op submitted completed errors punted punted_by poll_armed bytes in_flight latency_ns multishot_gap_ns "
	"notif_delay_ns stages";

static void test_contract_keys(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__sick(&f);
	fab__op(sample__others(f.s), OP_NOP, 5);
	assert_int_equal(snapshot__add_device(f.s, &(struct rs_device){ .name = "sda", .reads = 1 }), 0);
	fab__op(&fab__span(&f, "/usr/bin/db", "db_get")->requests, OP_READ, 5);
	j = render(&f);
	assert_keys(j,
		"schema tool version kernel window cost fidelity totals rings rings_other tasks ops files files_other call_sites call_sites_other devices "
		"registers spans findings not_checked");
	assert_keys(at(j, "kernel"), "release features");
	assert_keys(at(j, "kernel.features.submit"), "state how why");
	assert_keys(at(j, "window"), "start_unix_ns duration_ns cpus");
	assert_keys(at(j, "cost"),
		"estimated_cpu_ns programs_ns process_ns request_ns timing_ns events sample timed budget");
	assert_keys(at(j, "fidelity"),
		"untracked table_full rings_full series_full records_lost details_lost stages_lost "
		"files_lost stacks_skipped stacks_lost ambiguous unmatched children_lost missed extras_missed");
	assert_counter_keys(at(j, "totals"), totals_keys);
	assert_keys(at(j, "rings.1"),
		"id pid pid_in_namespace host_pid comm cgroup fd sq_entries cq_entries flags state created_in_window "
		"one_submitter sq_thread cq_depth_max reap totals ops");
	assert_keys(at(j, "rings.1.sq_thread"), "tid cpu_pct");
	assert_keys(at(j, "rings.1.reap"),
		"how count lag_ns lower_ns upper_ns unreaped unreaped_ns cq_depth_mean");
	assert_keys(at(j, "rings.1.reap.lower_ns"), "count sum max p50 p90 p99");
	assert_keys(at(j, "rings.1.reap.upper_ns"), "count sum max p50 p90 p99");
	assert_counter_keys(at(j, "rings.1.totals"), totals_keys);
	assert_counter_keys(at(j, "rings.1.ops.0"), op_keys);
	assert_keys(at(j, "rings_other"), "n_rings totals");
	assert_counter_keys(at(j, "rings_other.totals"), totals_keys);
	assert_keys(at(j, "tasks.0"),
		"pid tid host_pid host_tid comm workers_bounded_max workers_unbounded_max bounded_limit "
		"unbounded_limit");
	assert_counter_keys(at(j, "ops.0"), op_keys);
	assert_keys(at(j, "ops.0.punted_by"), "asked opcode drain unwanted");
	assert_keys(at(j, "ops.0.latency_ns"), "count sum min max p50 p90 p99 p999 p9999 buckets");
	assert_keys(at(j, "files.0"), "path kind deleted dev inode op punted errors slow time_ns");
	assert_keys(at(j, "files_other"), "n_files punted errors slow time_ns");
	assert_keys(at(j, "call_sites.0"), "caller op samples stack complete why");
	assert_keys(at(j, "call_sites.0.stack.0"), "function inlined file line module offset");
	assert_keys(at(j, "call_sites_other"), "samples");
	assert_keys(at(j, "devices.0"),
		"name major minor requests observed reads writes others read_bytes written_bytes errors merged "
		"split in_flight depth_mean depth_max request_bytes latency_ns");
	assert_keys(at(j, "devices.0.request_bytes"), "mean max buckets");
	assert_keys(at(j, "registers.0"), "op count errors latency_ns stacks");
	assert_keys(at(j, "registers.0.latency_ns"), "count sum max");
	assert_keys(at(j, "spans.0"), "binary function calls returned latency_ns waits wait_ns ops");
	assert_keys(at(j, "spans.0.latency_ns"), "count sum min max p50 p90 p99 p999 p9999 buckets");
	assert_keys(at(j, "spans.0.ops.0"),
		"op submitted completed rejected errors punted punted_by bytes latency_ns stages");
	assert_keys(at(j, "findings.0"),
		"rule severity title evidence advice ring op file stack requests time_ns gates");
	assert_keys(at(j, "not_checked.0"), "rule why in_part");
	json_decref(j);
	fab__free(&f);
}

/* Null exactly where `off` is what the row needs. */
static void assert_known(json_t *object, const char *key, enum rs_feature needs, enum rs_feature off)
{
	json_t *v = json_object_get(object, key);

	if (!v)
		fail_msg("no key %s", key);
	if (json_is_null(v) != (needs == off))
		fail_msg("%s is %snull with feature %d off", key, json_is_null(v) ? "" : "not ", (int)off);
}

static void assert_totals_known(json_t *totals, enum rs_feature off)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ring_rows); i++) {
		if (*ring_rows[i].json)
			assert_known(totals, ring_rows[i].json, ring_rows[i].feature, off);
	}
	for (i = 0; i < ARRAY_SIZE(op_rows); i++) {
		if (*op_rows[i].json && strncmp(op_rows[i].id, "PUNT_", 5))
			assert_known(totals, op_rows[i].json, op_rows[i].feature, off);
	}
	assert_known(totals, "completed", RS_F_COMPLETE, off);
	assert_known(totals, "in_flight", RS_F_SUBMIT, off);
	assert_known(totals, "sq_dropped", RS_F_SUBMIT, off);
	assert_known(totals, "punted", RS_F_PUNT, off);
	assert_known(totals, "batch_mean", RS_F_SUBMIT, off);
}

static void assert_op_known(json_t *op, enum rs_feature off)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(op_rows); i++) {
		bool cause = !strncmp(op_rows[i].id, "PUNT_", 5);

		if (*op_rows[i].json)
			assert_known(cause ? json_object_get(op, "punted_by") : op, op_rows[i].json,
				op_rows[i].feature, off);
	}
	assert_known(op, "completed", RS_F_COMPLETE, off);
	assert_known(op, "in_flight", RS_F_SUBMIT, off);
	assert_known(op, "punted", RS_F_PUNT, off);
	assert_known(op, "latency_ns", RS_F_COMPLETE, off);
}

/* Each feature off in turn: what rests on it is null, and nothing else. */
static void test_unknown_is_null(void **state)
{
	unsigned int off;

	(void)state;
	for (off = 0; off <= RS_F_COUNT; off++) {
		struct fab f = fab__new();
		json_t *j;

		fab__healthy(&f);
		sample__others(f.s);
		if (off < RS_F_COUNT)
			fab__feature(&f, off, FEATURE_OFF, "not here");
		j = render(&f);
		assert_totals_known(at(j, "rings.0.totals"), off);
		assert_totals_known(at(j, "totals"), off);
		assert_op_known(at(j, "ops.0"), off);
		assert_op_known(at(j, "rings.0.ops.0"), off);
		assert_int_equal(json_is_null(at(j, "rings_other.totals.waits")), off == RS_F_WAIT);
		assert_int_equal(json_is_null(at(j, "registers")), off == RS_F_REGISTER);
		assert_int_equal(json_is_null(at(j, "tasks")), off == RS_F_PUNT);
		assert_int_equal(json_is_null(at(j, "rings.0.state")), off == RS_F_RING_EXIT);
		assert_int_equal(json_is_null(at(j, "rings.0.reap")), off == RS_F_ENDS);
		json_decref(j);
		fab__free(&f);
	}
}

static void test_degraded_is_known(void **state)
{
	struct fab f = fab__new();
	json_t *j;

	(void)state;
	fab__healthy(&f);
	fab__feature(&f, RS_F_PUNT, FEATURE_DEGRADED, "worse than usual");
	j = render(&f);
	assert_u64(j, "totals.punted", 0);
	json_decref(j);
	fab__free(&f);
}

static void test_ring_unknown_facts(void **state)
{
	struct fab f = fab__new();
	struct ring_stats *r = sample__ring(f.s, 1);
	json_t *j;

	(void)state;
	r->sq_tid = 12;
	r->state = RING_CLOSED;
	fab__feature(&f, RS_F_RING_CREATE, FEATURE_OFF, "not here");
	fab__feature(&f, RS_F_RING_EXIT, FEATURE_OFF, "not here");
	j = render(&f);
	assert_null_at(j, "rings.0.pid");
	assert_null_at(j, "rings.0.comm");
	assert_null_at(j, "rings.0.fd");
	assert_null_at(j, "rings.0.sq_entries");
	assert_null_at(j, "rings.0.created_in_window");
	assert_null_at(j, "rings.0.sq_thread.cpu_pct");
	assert_null_at(j, "rings.0.totals.batch_mean");
	assert_u64(j, "rings.0.totals.batches", 0);
	/* its address went to another ring: that needs no exit event */
	assert_text(j, "rings.0.state", "closed");
	json_decref(j);
	fab__free(&f);
}

static void test_empty(void **state)
{
	static const char *const arrays[] = { "rings", "tasks", "ops", "files", "registers", "findings",
		"not_checked" };
	struct fab f = fab__new();
	json_t *j = render(&f);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(arrays); i++) {
		assert_true(json_is_array(at(j, arrays[i])));
		assert_int_equal(json_array_size(at(j, arrays[i])), 0);
	}
	assert_u64(j, "totals.submitted", 0);
	assert_u64(j, "cost.events", 0);
	json_decref(j);
	fab__free(&f);
}

static void test_interval_has_the_same_keys(void **state)
{
	struct fab f = fab__new(), g = fab__new();
	struct snapshot delta;
	struct report r = { .snap = &delta, .diag = &g.d };
	json_t *j;

	(void)state;
	fab__healthy(&f);
	fab__healthy(&g);
	g.s->duration_ns += 1000000000;
	fab__op(&g.s->rings[0], OP_READ, 7);
	assert_int_equal(snapshot__delta(f.s, g.s, &delta), 0);
	j = report__json(&r);
	assert_u64(j, "totals.submitted", 7);
	assert_u64(j, "window.duration_ns", 1000000000);
	assert_counter_keys(at(j, "totals"), totals_keys);
	assert_counter_keys(at(j, "ops.0"), op_keys);
	json_decref(j);
	snapshot__free(&delta);
	fab__free(&f);
	fab__free(&g);
}

static void test_out_of_memory(void **state)
{
	struct fab f = fab__new();
	struct report r = { .snap = f.s, .diag = &f.d };
	json_t *j = NULL;
	size_t n;

	(void)state;
	fab__sick(&f);
	fab__op(sample__others(f.s), OP_NOP, 5);
	for (n = 0; !j; n++) {
		scarce__begin(n);
		j = report__json(&r);
		scarce__end();
	}
	assert_true(n > 1000);
	json_decref(j);
	fab__free(&f);
}

/* Every key at j and below must stand in the contract as `key`; names of features, errnos and evidence are data. */
static void assert_documented(json_t *j, const char *doc)
{
	static const char *const maps[] = { "features", "errors", "evidence" };
	char quoted[64];
	const char *key;
	size_t i;
	json_t *v;

	json_array_foreach(j, i, v)
		assert_documented(v, doc);
	json_object_foreach(j, key, v) {
		bool map = false;

		snprintf(quoted, sizeof(quoted), "`%s`", key);
		if (!strstr(doc, quoted))
			fail_msg("docs/json.md does not say what %s is", quoted);
		for (i = 0; i < ARRAY_SIZE(maps); i++)
			map |= !strcmp(key, maps[i]);
		if (!map)
			assert_documented(v, doc);
	}
}

static FILE *open_contract(void)
{
	char path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);
	char *slash;
	int i;

	assert_true(len > 0);
	path[len] = '\0';
	/* build/unit/test_report_json, wherever the test was started */
	for (i = 0; i < 3; i++) {
		slash = strrchr(path, '/');
		assert_non_null(slash);
		*slash = '\0';
	}
	strncat(path, "/docs/json.md", 31);
	return fopen(path, "r");
}

static void test_every_key_is_documented(void **state)
{
	struct fab f = fab__new();
	char *doc = calloc(1, 65536);
	FILE *file = open_contract();
	json_t *j;

	(void)state;
	if (!file)
		fail_msg("docs/json.md: %s", strerror(errno));
	assert_true(fread(doc, 1, 65535, file) > 0);
	fclose(file);
	fab__sick(&f);
	fab__op(sample__others(f.s), OP_NOP, 5);
	assert_int_equal(snapshot__add_device(f.s, &(struct rs_device){ .name = "sda", .reads = 1 }), 0);
	j = render(&f);
	assert_documented(j, doc);
	json_decref(j);
	fab__free(&f);
	free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contract_keys),
		cmocka_unit_test(test_unknown_is_null),
		cmocka_unit_test(test_degraded_is_known),
		cmocka_unit_test(test_ring_unknown_facts),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_interval_has_the_same_keys),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_every_key_is_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
