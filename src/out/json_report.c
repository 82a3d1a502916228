/* SPDX-License-Identifier: MIT */
/* The report as JSON: docs/json.md is its contract. */
#include "json_out.h"

#include <string.h>

#include "names.h"

static json_t *feature__json(const struct feature_state *f)
{
	static const char *const levels[] = {
		[FEATURE_OFF] = "off",
		[FEATURE_DEGRADED] = "degraded",
		[FEATURE_FULL] = "full",
	};
	json_t *o = json_object();

	jout__put(&o, "state", json_string(levels[f->level]));
	jout__put(&o, "how", jout__text(f->how));
	jout__put(&o, "why", jout__text(f->why));
	return o;
}

static json_t *kernel__json(const struct snapshot *s)
{
	static const char *const names[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = name,
#include "features.def"
#undef FEATURE
	};
	json_t *o = json_object(), *features = json_object();
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++)
		jout__put(&features, names[i], feature__json(&s->features[i]));
	jout__put(&o, "release", jout__text(s->kernel_release));
	jout__put(&o, "features", features);
	return o;
}

static json_t *window__json(const struct snapshot *s)
{
	json_t *o = json_object();

	jout__put(&o, "start_unix_ns", jout__u64_if(s->start_unix_ns != 0, s->start_unix_ns));
	jout__put(&o, "duration_ns", jout__u64(s->duration_ns));
	jout__put(&o, "cpus", jout__u64_if(s->cpus != 0, s->cpus));
	return o;
}

static json_t *budget__json(const struct cost_budget *b)
{
	json_t *o;

	if (!b->on)
		return json_null();
	o = json_object();
	jout__put(&o, "percent", json_real(b->part * 100));
	jout__put(&o, "held", json_boolean(cost_budget__held(b)));
	jout__put(&o, "used_percent", jout__ratio(100.0 * (double)b->spent_ns, (double)b->busy_ns));
	jout__put(&o, "busy_cpu_ns", jout__u64(b->busy_ns));
	jout__put(&o, "over_ns", jout__u64(b->over_ns));
	jout__put(&o, "sample_min", json_integer(b->sample_min));
	jout__put(&o, "sample_max", json_integer(b->sample_max));
	return o;
}

static json_t *cost__json(const struct snapshot *s)
{
	const struct cost *c = &s->cost;
	struct cost_work w = snapshot__work(s);
	uint64_t programs_ns = cost__programs_ns(&c->rates, &w);
	json_t *o = json_object();

	jout__put(&o, "estimated_cpu_ns", jout__u64_if(c->known, programs_ns + c->process_ns));
	jout__put(&o, "programs_ns", jout__u64_if(c->known, programs_ns));
	jout__put(&o, "process_ns", jout__u64(c->process_ns));
	jout__put(&o, "request_ns", c->known ? json_real(c->rates.request_ns) : json_null());
	jout__put(&o, "timing_ns", c->known ? json_real(c->rates.timing_ns) : json_null());
	jout__put(&o, "events", jout__u64(w.events));
	jout__put(&o, "sample", json_integer(c->sample));
	jout__put(&o, "timed", jout__u64(w.timed));
	jout__put(&o, "budget", budget__json(&c->budget));
	return o;
}

static json_t *fidelity__json(const struct fidelity *f)
{
	json_t *o = json_object();

	jout__put(&o, "untracked", jout__u64(f->untracked));
	jout__put(&o, "table_full", jout__u64(f->table_full));
	jout__put(&o, "rings_full", jout__u64(f->rings_full));
	jout__put(&o, "series_full", jout__u64(f->series_full));
	jout__put(&o, "records_lost", jout__u64(f->records_lost));
	jout__put(&o, "details_lost", jout__u64(f->details_lost));
	jout__put(&o, "stages_lost", jout__u64(f->stages_lost));
	jout__put(&o, "files_lost", jout__u64(f->files_lost));
	jout__put(&o, "stacks_skipped", jout__u64(f->stacks_skipped));
	jout__put(&o, "stacks_lost", jout__u64(f->stacks_lost));
	jout__put(&o, "ambiguous", jout__u64(f->ambiguous));
	jout__put(&o, "unmatched", jout__u64(f->unmatched));
	jout__put(&o, "children_lost", jout__u64(f->children_lost));
	jout__put(&o, "missed", jout__u64_if(f->missed_known, f->missed));
	jout__put(&o, "extras_missed", jout__u64_if(f->missed_known, f->extras_missed));
	return o;
}

static json_t *tasks__json(const struct snapshot *s)
{
	json_t *list;
	size_t i;

	if (!snapshot__knows(s, RS_F_PUNT))
		return json_null();
	list = json_array();
	for (i = 0; i < s->n_tasks && list; i++) {
		const struct task_stats *t = &s->tasks[i];
		json_t *o = json_object();

		jout__put(&o, "pid", jout__u64_if(t->pid != 0, t->pid));
		jout__put(&o, "tid", jout__u64_if(t->tid != 0, t->tid));
		jout__put(&o, "host_pid", jout__u64_if(t->pid_host != 0, t->pid_host));
		jout__put(&o, "host_tid", jout__u64_if(t->tid_host != 0, t->tid_host));
		jout__put(&o, "comm", jout__comm(t->comm));
		jout__put(&o, "workers_bounded_max", jout__u64(t->workers_bounded_max));
		jout__put(&o, "workers_unbounded_max", jout__u64(t->workers_unbounded_max));
		jout__put(&o, "bounded_limit", jout__u64_if(t->bounded_limit != 0, t->bounded_limit));
		jout__put(&o, "unbounded_limit", jout__u64_if(t->unbounded_limit != 0, t->unbounded_limit));
		jout__add(&list, o);
	}
	return list;
}

static json_t *all_ops__json(const struct snapshot *s)
{
	struct op_list ops;
	json_t *j;

	if (snapshot__ops(s, &ops))
		return NULL;
	j = ops__json(s, ops.ops, ops.n);
	op_list__free(&ops);
	return j;
}

/* The longest inside an interval is not known. */
static json_t *register_latency__json(const struct snapshot *s, const struct register_stats *r)
{
	json_t *o;

	if (!snapshot__knows(s, RS_F_REGISTER_TIME))
		return json_null();
	o = json_object();
	jout__put(&o, "count", jout__u64(r->timed));
	jout__put(&o, "sum", jout__u64(r->sum_ns));
	jout__put(&o, "max", jout__u64_if(r->timed && !s->interval, r->max_ns));
	return o;
}

static json_t *registers__json(const struct snapshot *s)
{
	char buf[NAME_LEN];
	json_t *list;
	size_t i;

	if (!snapshot__knows(s, RS_F_REGISTER))
		return json_null();
	list = json_array();
	for (i = 0; i < s->n_registers && list; i++) {
		const struct register_stats *r = &s->registers[i];
		json_t *o = json_object();

		jout__put(&o, "op", json_string(register_name(r->op, buf)));
		jout__put(&o, "count", jout__u64(r->count));
		jout__put(&o, "errors", jout__u64(r->errors));
		jout__put(&o, "latency_ns", register_latency__json(s, r));
		jout__put(&o, "stacks", json_array());
		jout__add(&list, o);
	}
	return list;
}

static json_t *findings__json(const struct diagnosis *d)
{
	char buf[NAME_LEN];
	json_t *list;
	size_t i;

	if (!d)
		return json_null();
	list = json_array();
	for (i = 0; i < d->n_findings && list; i++) {
		const struct finding *f = &d->findings[i];
		json_t *o = json_object();

		jout__put(&o, "rule", json_string(f->rule));
		jout__put(&o, "severity", json_string(severity_name(f->severity)));
		jout__put(&o, "title", jout__text(f->title));
		jout__put(&o, "evidence", f->evidence ? json_incref(f->evidence) : json_object());
		jout__put(&o, "advice", jout__text(f->advice));
		jout__put(&o, "ring", jout__u64_if(f->ring != 0, f->ring));
		jout__put(&o, "op",
			f->op >= 0 ? json_string(op_name((unsigned int)f->op, buf)) : json_null());
		jout__put(&o, "file", jout__text(f->file));
		jout__put(&o, "stack", f->stack ? json_incref(f->stack) : json_null());
		jout__put(&o, "requests", jout__u64_if(f->weight != 0, f->weight));
		jout__put(&o, "time_ns", jout__u64_if(f->time_ns != 0, f->time_ns));
		jout__put(&o, "gates", json_boolean(!f->never_gates));
		jout__add(&list, o);
	}
	return list;
}

static json_t *not_checked__json(const struct diagnosis *d)
{
	json_t *list;
	size_t i;

	if (!d)
		return json_null();
	list = json_array();
	for (i = 0; i < d->n_not_checked && list; i++) {
		json_t *o = json_object();

		jout__put(&o, "rule", json_string(d->not_checked[i].rule));
		jout__put(&o, "why", jout__text(d->not_checked[i].why));
		jout__put(&o, "in_part", json_boolean(d->not_checked[i].in_part));
		jout__add(&list, o);
	}
	return list;
}

json_t *report__json(const struct report *r)
{
	const struct snapshot *s = r->snap;
	struct totals totals = snapshot__totals(s);
	struct tally raw = snapshot__tally(s);
	json_t *o = json_object();

	jout__put(&o, "schema", json_integer(RINGSIDE_SCHEMA));
	jout__put(&o, "tool", json_string("ringside"));
	jout__put(&o, "version", json_string(RINGSIDE_VERSION));
	jout__put(&o, "kernel", kernel__json(s));
	jout__put(&o, "window", window__json(s));
	jout__put(&o, "cost", cost__json(s));
	jout__put(&o, "fidelity", fidelity__json(&s->fidelity));
	jout__put(&o, "totals", totals__json(s, &totals, &raw));
	jout__put(&o, "rings", rings__json(s));
	jout__put(&o, "rings_other", rings_other__json(s));
	jout__put(&o, "tasks", tasks__json(s));
	jout__put(&o, "ops", all_ops__json(s));
	jout__put(&o, "files", files__json(s));
	jout__put(&o, "files_other", files_other__json(s));
	jout__put(&o, "call_sites", call_sites__json(s));
	jout__put(&o, "call_sites_other", call_sites_other__json(s));
	jout__put(&o, "devices", devices__json(s));
	jout__put(&o, "registers", registers__json(s));
	jout__put(&o, "spans", spans__json(s));
	jout__put(&o, "findings", findings__json(r->diag));
	jout__put(&o, "not_checked", not_checked__json(r->diag));
	return o;
}
