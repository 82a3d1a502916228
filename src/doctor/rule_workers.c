// SPDX-License-Identifier: MIT
/*
 * WORKERS: tasks with very many io-wq workers, and tasks whose requests queue up because there may be no more.
 *
 * Workers belong to a task; what they had to do is known of rings, so of a process.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fmt.h"
#include "rules.h"

enum threshold_index { WORKERS_MANY, WORKERS_WARN_MANY, WORKERS_MIN_QUEUE_FACTOR, WORKERS_MIN_REQUESTS };

/* What a process gave to io-wq, but for what waits there for its file's turn. */
struct load {
	uint64_t punted;
	double wq_ns;
	uint64_t span_ns; /* of its ring that was there longest */
	size_t n_rings;
	uint32_t ring; /* the last of them */
};

static void add_load(const struct ring_stats *ring, struct load *l)
{
	l->n_rings++;
	l->ring = ring->id;
	if (ring->alive_ns > l->span_ns)
		l->span_ns = ring->alive_ns;
	for (size_t i = 0; i < ring->n_ops; i++) {
		const struct op_stats *o = &ring->ops[i];

		if (!o->c[RS_SC_WQ_TIMED] || o->c[RS_SC_HASHED])
			continue;
		l->punted += op_stats__punted(o);
		l->wq_ns += (double)o->c[RS_SC_WQ_NS] / (double)o->c[RS_SC_WQ_TIMED] *
			    (double)op_stats__punted(o);
	}
}

static struct load load_of(const struct snapshot *s, const struct task_stats *t)
{
	struct load l = { 0 };

	for (size_t i = 0; i < s->n_rings; i++)
		if (t->pid && s->rings[i].pid == t->pid)
			add_load(&s->rings[i], &l);
	return l;
}

/* Several tasks of a process share its rings: what each of them gave is not known. */
static bool is_only_task(const struct snapshot *s, const struct task_stats *t)
{
	for (size_t i = 0; i < s->n_tasks; i++)
		if (&s->tasks[i] != t && s->tasks[i].pid == t->pid)
			return false;
	return true;
}

struct kind {
	const char *name;
	uint32_t workers, limit;
};

static int add(const struct rule *r, const struct task_stats *t, const struct kind *k, const struct load *l,
	enum severity severity, double queue, struct diagnosis *d)
{
	char what[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = severity,
		.advice = r->advice,
		.ring = l->n_rings == 1 ? l->ring : 0,
		.op = -1,
		.weight = queue > 0 ? l->punted : k->workers,
		.time_ns = queue > 0 ? (uint64_t)l->wq_ns : 0,
	};
	json_t *e = json_object();

	if (t->pid)
		evidence__u64(&e, "pid", t->pid);
	evidence__string(&e, "kind", k->name);
	evidence__u64(&e, "workers_max", k->workers);
	if (k->limit)
		evidence__u64(&e, "limit", k->limit);
	if (l->punted)
		evidence__u64(&e, "punted", l->punted);
	if (queue <= 0)
		return diagnosis__add(d, &f, e, "%.*s: up to %u %s io-wq workers at a time", RS_COMM_LEN,
			t->comm, k->workers, k->name);
	evidence__real(&e, "in_wq_mean", queue);
	return diagnosis__add(d, &f, e,
		"%.*s: all %u %s io-wq workers that there may be, and %s requests with them on average",
		RS_COMM_LEN, t->comm, k->limit, k->name, fmt_count(what, queue));
}

/* Requests with io-wq on average, if there were as many workers as there may be and far more requests. */
static double queue_of(const struct rule *r, const struct snapshot *s, const struct task_stats *t,
	const struct kind *k, const struct load *l)
{
	uint64_t workers = (uint64_t)t->workers_bounded_max + t->workers_unbounded_max;
	double queue = l->span_ns ? l->wq_ns / (double)l->span_ns : 0;

	if (!k->limit || k->workers < k->limit || !is_only_task(s, t))
		return 0;
	if ((double)l->punted < r->thresholds[WORKERS_MIN_REQUESTS].value)
		return 0;
	/* which of them are for which kind of worker is not known, so it must be too many for both */
	return queue >= (double)workers * r->thresholds[WORKERS_MIN_QUEUE_FACTOR].value ? queue : 0;
}

static int look(const struct rule *r, const struct snapshot *s, const struct task_stats *t,
	const struct kind *k, struct diagnosis *d)
{
	struct load l = load_of(s, t);
	double queue = queue_of(r, s, t, k, &l);

	if (queue > 0)
		return add(r, t, k, &l, SEVERITY_WARN, queue, d);
	if (!k->workers || k->workers < r->thresholds[WORKERS_MANY].value)
		return 0;
	return add(r, t, k, &l,
		k->workers >= r->thresholds[WORKERS_WARN_MANY].value ? SEVERITY_WARN : SEVERITY_INFO, 0, d);
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	int err = 0;

	for (size_t i = 0; i < s->n_tasks && !err; i++) {
		const struct task_stats *t = &s->tasks[i];
		struct kind bounded = { "bounded", t->workers_bounded_max, t->bounded_limit };
		struct kind unbounded = { "unbounded", t->workers_unbounded_max, t->unbounded_limit };

		err = look(r, s, t, &bounded, d);
		err = err ? err : look(r, s, t, &unbounded, d);
	}
	return err;
}

const struct rule rule_workers = {
	.id = "WORKERS",
	.what = "a task has very many io-wq workers, or too few for what it gives them",
	.severity = "warn where requests queue because there may be no more workers, or from warn_many workers on; "
		    "else info",
	.advice = "Keep requests from io-wq: PUNT tells which went there. Bounded workers (files) and unbounded ones "
		  "(what may wait for ever: sockets, pipes) have limits of their own, to be set with "
		  "IORING_REGISTER_IOWQ_MAX_WORKERS; raise that which is reached if the device can take more at a "
		  "time, lower one that lets hundreds of threads come.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(PUNT),
	.thresholds = {
		[WORKERS_MANY] = { "many", "workers", 64,
			"a kernel thread each; as many mostly wait, for what a poll could wait for" },
		[WORKERS_WARN_MANY] = { "warn_many", "workers", 512,
			"megabytes of kernel stacks, and a part of the limit on processes" },
		[WORKERS_MIN_QUEUE_FACTOR] = { "min_queue_factor", "requests for each worker", 2,
			"with io-wq on average: each request waits as long as it takes, at least" },
		[WORKERS_MIN_REQUESTS] = { "min_requests", "requests", 100, "fewer are a moment" },
	},
	.evidence = {
		{ "kind", "of these workers: bounded (files) or unbounded (what may wait for ever)" },
		{ "workers_max", "most workers of the kind at a time" },
		{ "limit", "as many there may be" },
		{ "punted", "requests that the process gave to io-wq, but those that wait for their file's turn" },
		{ "in_wq_mean", "those of them that were with io-wq, on average over the time that its rings were there" },
	},
	.eval = eval,
};
