/* SPDX-License-Identifier: MIT */
/* Whole reports made by hand, for tests of what renders them. On top of sample.h. */
#ifndef RINGSIDE_TEST_FABRICATE_H
#define RINGSIDE_TEST_FABRICATE_H

#include <errno.h>
#include <stdio.h>

#include "doctor.h"
#include "sample.h"

/* A snapshot, its diagnosis and the report of both. */
struct fab {
	struct snapshot *s;
	struct diagnosis d;
};

/* Two seconds in which nothing happened, on a kernel that shows everything. */
static inline struct fab fab__new(void)
{
	struct fab f = { .s = sample__snapshot() };
	size_t i;

	f.s->duration_ns = 2000000000;
	f.s->fidelity.missed_known = true;
	for (i = 0; i < RS_F_COUNT; i++)
		snprintf(f.s->features[i].how, sizeof(f.s->features[i].how), "tp_btf/event_%zu", i);
	return f;
}

static inline void fab__free(struct fab *f)
{
	sample__free(f->s);
	diagnosis__free(&f->d);
}

static inline void fab__feature(struct fab *f, enum rs_feature feature, enum feature_level level,
	const char *why)
{
	struct feature_state *state = &f->s->features[feature];

	state->level = level;
	if (level == FEATURE_OFF)
		state->how[0] = '\0';
	snprintf(state->why, sizeof(state->why), "%s", why);
}

/* May fill the field without a NUL, as in a damaged capture. */
static inline void fab__comm(char to[RS_COMM_LEN], const char *comm)
{
	size_t len = strlen(comm);

	memcpy(to, comm, len < RS_COMM_LEN ? len : RS_COMM_LEN);
}

/* An open ring of 128/256 entries. */
static inline struct ring_stats *fab__ring(struct fab *f, uint32_t pid, const char *comm)
{
	struct ring_stats *r = sample__ring(f->s, (uint32_t)f->s->n_rings + 1);

	r->pid = pid;
	r->user = 1000;
	r->fd = 3;
	r->sq_entries = 128;
	r->cq_entries = 256;
	r->cq_depth_max = 17;
	r->created_in_window = true;
	fab__comm(r->comm, comm);
	return r;
}

/* n more requests of an opcode, submitted in batches of 8 and completed. */
static inline struct op_stats *fab__op(struct ring_stats *r, unsigned int op, uint64_t n)
{
	struct op_stats *o = sample__op(r, op);

	o->c[RS_SC_SUBMITTED] += n;
	o->c[RS_SC_COMPLETED] += n;
	r->c[RS_RC_BATCHES] += n / 8;
	return o;
}

/* n latencies: a body around typical_ns and a tail that falls to a quarter with every octave. */
static inline void fab__latency(struct op_stats *o, uint64_t typical_ns, uint64_t n)
{
	uint64_t ns = typical_ns, part;

	for (; n; n -= part, ns *= 2) {
		part = n > 3 ? n * 3 / 4 : n;
		if (part > part / 2)
			sample__latency(o, ns + ns / 8, part - part / 2);
		if (part / 2)
			sample__latency(o, ns - ns / 8, part / 2);
	}
}

static inline void fab__errno(struct op_stats *o, int err, uint64_t n)
{
	if (op_stats__add_errno(o, err, n))
		abort();
	o->c[RS_SC_ERRORS] += n;
}

/* A function that has not been called yet; adding one moves the others. */
static inline struct span_stats *fab__span(struct fab *f, const char *binary, const char *function)
{
	struct span_stats *spans = reallocarray(f->s->spans, f->s->n_spans + 1, sizeof(*spans)), *sp;

	if (!spans)
		abort();
	f->s->spans = spans;
	sp = &spans[f->s->n_spans++];
	*sp = (struct span_stats){ .binary = strdup(binary),
		.function = strdup(function),
		.lat.min_ns = UINT64_MAX };
	if (!sp->binary || !sp->function)
		abort();
	return sp;
}

/* n calls of so long each, which returned. */
static inline void fab__calls(struct span_stats *sp, uint64_t n, uint64_t ns)
{
	struct op_stats o = { .lat = sp->lat };

	sample__latency(&o, ns, n);
	sp->lat = o.lat;
	sp->calls += n;
	sp->returned += n;
}

static inline void fab__task(struct fab *f, uint32_t tid, const char *comm, uint32_t bounded,
	uint32_t unbounded)
{
	struct task_stats *tasks = reallocarray(f->s->tasks, f->s->n_tasks + 1, sizeof(*tasks)), *t;

	if (!tasks)
		abort();
	f->s->tasks = tasks;
	t = &tasks[f->s->n_tasks++];
	*t = (struct task_stats){ .pid = tid,
		.tid = tid,
		.workers_bounded_max = bounded,
		.workers_unbounded_max = unbounded };
	fab__comm(t->comm, comm);
}

static inline void fab__finding(struct fab *f, enum severity severity, const char *title, uint32_t ring,
	int op)
{
	json_t *evidence =
		json_pack("{s:I, s:f, s:I, s:I, s:s}", "batches", (json_int_t)41000, "overflow_pct", 3.98,
			"wait_ns", (json_int_t)1500, "zero", (json_int_t)0, "path", "/var/lib/x");
	struct finding proto = {
		.rule = "RULE",
		.severity = severity,
		.advice =
			"Prepare all SQEs that are ready and submit them with one io_uring_submit(); in an event loop "
			"submit once a turn.",
		.ring = ring,
		.op = op,
	};

	if (diagnosis__add(&f->d, &proto, evidence, "%s", title))
		abort();
}

static inline void fab__not_checked(struct fab *f, const char *rule, const char *why)
{
	struct diagnosis *d = &f->d;
	struct not_checked *list = reallocarray(d->not_checked, d->n_not_checked + 1, sizeof(*list));

	if (!list)
		abort();
	d->not_checked = list;
	list[d->n_not_checked++] = (struct not_checked){ .rule = rule, .why = strdup(why) };
}

enum { OP_READV = 1, OP_TIMEOUT = 11, OP_RECV = 27 };
enum { SETUP_SQPOLL = 1u << 1, SETUP_SINGLE_ISSUER = 1u << 12, SETUP_DEFER_TASKRUN = 1u << 13 };

/* One healthy ring: 1203456 reads, 32 of them in flight. */
static inline void fab__healthy(struct fab *f)
{
	struct ring_stats *r = fab__ring(f, 41234, "fio");
	struct op_stats *o = fab__op(r, OP_READ, 1203456);

	r->setup_flags = SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN;
	o->c[RS_SC_COMPLETED] -= 32;
	o->in_flight = 32;
	o->c[RS_SC_BYTES] = 1203424ull * 4096;
	fab__latency(o, 45000, 1203424);
	fab__task(f, 41234, "fio", 8, 0);
	sample__register(f->s, 0, 1, 0);
}

/* Three rings with a bit of everything that can go wrong. */
static inline void fab__sick(struct fab *f)
{
	struct ring_stats *r;
	struct op_stats *o;

	fab__healthy(f);
	r = fab__ring(f, 998, "rocksdb:low");
	r->setup_flags = SETUP_SQPOLL | 1u << 30;
	r->sq_tid = 1001;
	r->sq_cpu_known = true;
	r->sq_cpu_ns = 1960000000;
	r->sq_alive_ns = 2000000000;
	r->cq_depth_max = 256;
	r->c[RS_RC_WAITS] = 12;
	r->c[RS_RC_CQ_OVERFLOWS] = 812;
	o = fab__op(r, OP_READV, 20000);
	o->c[RS_SC_REJECTED] = 3;
	o->c[RS_SC_BYTES] = 20000ull * 16384;
	o->c[RS_SC_PUNT_UNWANTED] = 5000;
	o->c[RS_SC_REJECTED] = 3;
	fab__latency(o, 90000, 20000);
	fab__errno(o, EAGAIN, 9);
	fab__errno(o, ENOENT, 3);
	o = fab__op(r, OP_FSYNC, 412);
	o->c[RS_SC_PUNT_OPCODE] = 412;
	fab__latency(o, 9000000, 412);
	r = fab__ring(f, 777, "nginx");
	r->created_in_window = false;
	r->state = RING_CLOSING;
	o = fab__op(r, OP_RECV, 300000);
	o->c[RS_SC_POLL_ARMED] = 280000;
	o->c[RS_SC_AT_ATTACH] = 5;
	o->c[RS_SC_COMPLETED] += 5;
	o->c[RS_SC_BYTES] = 300000ull * 512;
	fab__latency(o, 400000, 300000);
	fab__errno(o, ECANCELED, 1200);
	o = fab__op(r, OP_TIMEOUT, 99);
	fab__latency(o, 1000000000, 99);
	fab__errno(o, ETIME, 99);
	sample__file(f->s, "/var/lib/db/wal.log", 12, OP_READV,
		(struct file_counts){ .punted = 4000, .time_ns = 360000000 });
	sample__file(f->s, "/var/lib/db/1.sst", 13, OP_READV,
		(struct file_counts){ .punted = 1000, .errors = 12, .slow = 3, .time_ns = 90000000 });
	sample__site(f->s, "read_block", 12, OP_READV, 60);
	f->s->sites.others = 3;
	f->s->files.n_others = 2;
	f->s->files.others = (struct file_counts){ .errors = 5 };
	f->s->fidelity = (struct fidelity){ .untracked = 12,
		.table_full = 1234,
		.missed = 3,
		.extras_missed = 4,
		.missed_known = true };
	fab__feature(f, RS_F_WAIT, FEATURE_OFF, "no tracepoint io_uring_cqring_wait");
	fab__feature(f, RS_F_LINK, FEATURE_DEGRADED, "the event has no second request");
	fab__finding(f, SEVERITY_CRIT, "ring 2: 812 of 20.4k CQEs (3.98%) found the CQ full", 2, -1);
	fab__finding(f, SEVERITY_INFO, "one at a time", 3, OP_RECV);
	fab__not_checked(f, "PUNT", "cannot observe punt: no such event");
}

/* 1,000 rings and 234 more that are not listed, 30 opcodes (on the first ring), 20 errnos. */
static inline void fab__crowd(struct fab *f)
{
	struct ring_stats *r;
	struct op_stats *o;
	unsigned int op;
	char name[32];
	int i, err;

	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		r = fab__ring(f, 10000 + (uint32_t)i, name);
		for (op = 0; op < (i ? 4 : 30); op++) {
			o = fab__op(r, op, 1000 - op * 10 + (uint64_t)i);
			fab__latency(o, 1000 * (op + 1), 8);
			for (err = 1; op == 1 && err <= 20; err++)
				fab__errno(o, err, 21 - (uint64_t)err);
		}
		fab__task(f, 10000 + (uint32_t)i, name, (uint32_t)i % 7, 1);
	}
	fab__op(sample__others(f->s), OP_NOP, 1000000);
	f->s->n_others = 234;
	for (op = 0; op < 30; op++)
		sample__register(f->s, op, op + 1, op % 4);
	for (i = 0; i < 40; i++)
		fab__finding(f, SEVERITY_WARN, "something is wrong", (uint32_t)i + 1, -1);
}

/* Every number as large as its field. */
static inline void fab__huge(struct fab *f)
{
	struct ring_stats *r = fab__ring(f, UINT32_MAX, "0123456789abcdef!");
	struct op_stats *o = sample__op(r, OP_READ);
	size_t i;

	r->fd = INT32_MAX;
	r->sq_entries = r->cq_entries = r->cq_depth_max = r->sq_dropped = r->setup_flags = UINT32_MAX;
	r->sq_tid = UINT32_MAX;
	r->sq_cpu_known = true;
	r->sq_cpu_ns = UINT64_MAX;
	r->sq_alive_ns = 1;
	r->in_flight_no_slot = UINT64_MAX / 4;
	for (i = 0; i < RS_RC_COUNT; i++)
		r->c[i] = UINT64_MAX / 4;
	for (i = 0; i < RS_SC_COUNT; i++)
		o->c[i] = UINT64_MAX / 8;
	fab__errno(o, 4095, UINT64_MAX / 16);
	o->lat.buckets[0] = UINT64_MAX / 4;
	o->lat.buckets[RS_HIST_BUCKETS - 1] = UINT64_MAX / 4;
	o->lat.min_ns = 0;
	o->lat.max_ns = o->lat.sum_ns = UINT64_MAX;
	f->s->duration_ns = 1;
	fab__task(f, UINT32_MAX, "0123456789abcde", UINT32_MAX, UINT32_MAX);
	sample__register(f->s, UINT32_MAX, UINT64_MAX, UINT64_MAX);
	memset(&f->s->fidelity, 0xff, offsetof(struct fidelity, missed_known));
	f->s->fidelity.missed_known = true;
}

#endif
