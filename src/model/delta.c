// SPDX-License-Identifier: MIT
/*
 * What happened between two snapshots of one observation.
 *
 * Counters are read while they run, each at its own moment, so one may seem to
 * go back by a few; such a difference is 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"
#include "lat.h"
#include "snapshot.h"

static uint64_t minus(uint64_t cur, uint64_t prev)
{
	return cur > prev ? cur - prev : 0;
}

static uint64_t errno_count(const struct op_stats *o, int err)
{
	for (size_t i = 0; i < o->n_errnos; i++)
		if (o->errnos[i].err == err)
			return o->errnos[i].count;
	return 0;
}

static const struct op_stats *find_op(const struct ring_stats *r, unsigned int op)
{
	for (size_t i = 0; i < r->n_ops; i++)
		if (r->ops[i].op == op)
			return &r->ops[i];
	return NULL;
}

static int times_delta(const struct op_times *prev, const struct op_times *cur, struct op_times **d)
{
	if (!cur)
		return 0;
	*d = calloc(1, sizeof(**d));
	if (!*d)
		return -ENOMEM;
	**d = *cur;
	if (!prev)
		return 0;
	lat__delta(&prev->lat, &cur->lat, &(*d)->lat);
	for (unsigned int i = 0; i < RS_HIST_OCTAVES; i++)
		(*d)->tail_ns[i] = minus(cur->tail_ns[i], prev->tail_ns[i]);
	return 0;
}

static int op_delta(const struct op_stats *prev, const struct op_stats *cur, struct op_stats *d)
{
	int err = 0;

	for (unsigned int k = 0; !err && k < OP_TIMES; k++)
		err = times_delta(k == OP_TIMES_AGE ? NULL : prev->kin[k], cur->kin[k], &d->kin[k]);
	if (err)
		return err;
	for (size_t i = 0; i < cur->n_errnos; i++) {
		const struct errno_count *e = &cur->errnos[i];

		err = op_stats__add_errno(d, e->err, minus(e->count, errno_count(prev, e->err)));
		if (err)
			return err;
	}
	for (unsigned int i = 0; i < RS_SC_COUNT; i++)
		d->c[i] = minus(cur->c[i], prev->c[i]);
	d->in_flight = cur->in_flight;
	/* what one interval lacks is lacking in the difference to it, too */
	d->stages_lost = cur->stages_lost;
	lat__delta(&prev->lat, &cur->lat, &d->lat);
	return 0;
}

static int ops_delta(const struct ring_stats *prev, const struct ring_stats *cur, struct ring_stats *d)
{
	static const struct op_stats none = { .lat.min_ns = UINT64_MAX };
	const struct op_stats *o;
	struct op_stats *to;
	int err;

	for (size_t i = 0; i < cur->n_ops; i++) {
		to = ring_stats__op(d, cur->ops[i].op);
		if (!to)
			return -ENOMEM;
		o = find_op(prev, cur->ops[i].op);
		err = op_delta(o ? o : &none, &cur->ops[i], to);
		if (err)
			return err;
	}
	return 0;
}

/* Facts and gauges of cur, counters less those of prev. On failure *ret needs no free. */
static int ring_delta(const struct ring_stats *prev, const struct ring_stats *cur, struct ring_stats *ret)
{
	struct ring_stats d = *cur;
	int err;

	d.cgroup = NULL;
	d.ops = NULL;
	d.n_ops = 0;
	d.reap.times = NULL;
	d.alive_ns = minus(cur->alive_ns, prev->alive_ns);
	d.n_brief = minus(cur->n_brief, prev->n_brief);
	d.brief_ns = minus(cur->brief_ns, prev->brief_ns);
	d.sq_dropped = (uint32_t)minus(cur->sq_dropped, prev->sq_dropped);
	d.sq_wait_ns = minus(cur->sq_wait_ns, prev->sq_wait_ns);
	d.sq_cpu_ns = minus(cur->sq_cpu_ns, prev->sq_cpu_ns);
	d.sq_alive_ns = minus(cur->sq_alive_ns, prev->sq_alive_ns);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		d.c[i] = minus(cur->c[i], prev->c[i]);
	err = ops_delta(prev, cur, &d);
	err = err ? err : reap_stats__delta(&prev->reap, &cur->reap, &d.reap);
	if (!err && cur->cgroup) {
		d.cgroup = strdup(cur->cgroup);
		if (!d.cgroup)
			err = -ENOMEM;
	}
	if (err) {
		ring_stats__free(&d);
		return err;
	}
	*ret = d;
	return 0;
}

static int by_id(const void *key, const void *ring)
{
	uint32_t id = *(const uint32_t *)key, other = ((const struct ring_stats *)ring)->id;

	return id < other ? -1 : id > other;
}

/* Not by uid, which a later ring can have once its generation has been through all of its values. */
static const struct ring_stats *find_ring(const struct snapshot *s, uint32_t id)
{
	return s->n_rings ? bsearch(&id, s->rings, s->n_rings, sizeof(*s->rings), by_id) : NULL;
}

static bool op_is_idle(const struct op_stats *d)
{
	uint64_t sum = d->in_flight + d->n_errnos + lat__count(&d->lat);

	for (unsigned int i = 0; i < RS_SC_COUNT; i++)
		sum |= d->c[i];
	for (unsigned int k = 0; k < OP_TIMES; k++)
		sum |= d->kin[k] ? lat__count(&d->kin[k]->lat) : 0;
	return !sum;
}

/* Whether a difference says that nothing happened, and nothing is still to come. */
static bool ring_is_idle(const struct ring_stats *d)
{
	uint64_t sum = d->sq_dropped | d->in_flight_no_slot;

	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		sum |= d->c[i];
	for (size_t i = 0; !sum && i < d->n_ops; i++)
		sum |= !op_is_idle(&d->ops[i]);
	return !sum;
}

static int rings_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	static const struct ring_stats none;

	d->rings = calloc(cur->n_rings + 1, sizeof(*d->rings));
	if (!d->rings)
		return -ENOMEM;
	for (size_t i = 0; i < cur->n_rings; i++) {
		const struct ring_stats *c = &cur->rings[i], *p = find_ring(prev, c->id);
		struct ring_stats *r = &d->rings[d->n_rings];
		int err = ring_delta(p ? p : &none, c, r);

		if (err)
			return err;
		if (p && p->state == RING_CLOSED && c->state == RING_CLOSED && ring_is_idle(r)) {
			ring_stats__free(r);
			continue;
		}
		d->n_rings++;
		if (p) {
			r->created_in_window = false;
			r->sq_cpu_known = p->sq_cpu_known && c->sq_cpu_known;
			r->sq_wait_known = p->sq_wait_known && c->sq_wait_known;
		}
	}
	return 0;
}

/*
 * What the unlisted rings had before: a ring that prev listed and cur does not has joined them
 * meanwhile. *ret_ended: how many of them had ended by then.
 */
static int others_before(const struct snapshot *prev, const struct snapshot *cur, struct ring_stats *base,
	size_t *ret_ended)
{
	size_t ended = prev->n_others;
	int err = prev->others ? ring_stats__add(base, prev->others) : 0;

	for (size_t i = 0; i < prev->n_rings && !err; i++) {
		if (find_ring(cur, prev->rings[i].id))
			continue;
		err = ring_stats__add(base, &prev->rings[i]);
		ended += prev->rings[i].state == RING_CLOSED;
	}
	*ret_ended = ended;
	return err;
}

static int others_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	struct ring_stats base = { 0 }, sum;
	size_t ended;
	int err = others_before(prev, cur, &base, &ended);

	err = err ? err : ring_delta(&base, cur->others, &sum);
	if (!err) {
		/* of a sum it is how many SQEs lack their batches */
		sum.batchless = minus(cur->others->batchless, base.batchless);
		if (sum.batches_max > sum.c[RS_RC_BATCHES])
			sum.batches_max = sum.c[RS_RC_BATCHES];
		d->n_others = (size_t)minus(cur->n_others, ended);
	}
	ring_stats__free(&base);
	if (err)
		return err;
	if (!d->n_others && ring_is_idle(&sum)) {
		ring_stats__free(&sum);
		return 0;
	}
	d->others = calloc(1, sizeof(*d->others));
	if (!d->others) {
		ring_stats__free(&sum);
		return -ENOMEM;
	}
	*d->others = sum;
	return 0;
}

static int registers_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	d->registers = calloc(cur->n_registers + 1, sizeof(*d->registers));
	if (!d->registers)
		return -ENOMEM;
	for (size_t i = 0; i < cur->n_registers; i++) {
		struct register_stats r = cur->registers[i];

		for (size_t k = 0; k < prev->n_registers; k++) {
			if (prev->registers[k].op != r.op)
				continue;
			r.count = minus(r.count, prev->registers[k].count);
			r.errors = minus(r.errors, prev->registers[k].errors);
			r.timed = minus(r.timed, prev->registers[k].timed);
			r.sum_ns = minus(r.sum_ns, prev->registers[k].sum_ns);
		}
		if (r.count)
			d->registers[d->n_registers++] = r;
	}
	return 0;
}

static int tasks_copy(const struct snapshot *cur, struct snapshot *d)
{
	d->tasks = calloc(cur->n_tasks + 1, sizeof(*d->tasks));
	if (!d->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < cur->n_tasks; i++)
		d->tasks[i] = cur->tasks[i];
	d->n_tasks = cur->n_tasks;
	return 0;
}

/* On failure *ret is to be freed. */
static int span_delta(const struct span_stats *prev, const struct span_stats *cur, struct span_stats *ret)
{
	*ret = (struct span_stats){
		.binary = strdup(cur->binary),
		.function = strdup(cur->function),
		.calls = minus(cur->calls, prev->calls),
		.returned = minus(cur->returned, prev->returned),
		.waits = minus(cur->waits, prev->waits),
		.wait_ns = minus(cur->wait_ns, prev->wait_ns),
	};
	lat__delta(&prev->lat, &cur->lat, &ret->lat);
	if (!ret->binary || !ret->function)
		return -ENOMEM;
	return ops_delta(&prev->requests, &cur->requests, &ret->requests);
}

/* They are the same ones in every snapshot. */
static int spans_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	static const struct span_stats none = { .lat.min_ns = UINT64_MAX };
	int err = 0;

	if (!cur->n_spans)
		return 0;
	d->spans = calloc(cur->n_spans, sizeof(*d->spans));
	if (!d->spans)
		return -ENOMEM;
	for (size_t i = 0; !err && i < cur->n_spans; i++) {
		d->n_spans++;
		err = span_delta(i < prev->n_spans ? &prev->spans[i] : &none, &cur->spans[i], &d->spans[i]);
	}
	return err;
}

static struct fidelity fidelity_delta(const struct fidelity *prev, const struct fidelity *cur)
{
	return (struct fidelity){
		.untracked = minus(cur->untracked, prev->untracked),
		.table_full = minus(cur->table_full, prev->table_full),
		.rings_full = minus(cur->rings_full, prev->rings_full),
		.series_full = minus(cur->series_full, prev->series_full),
		.records_lost = minus(cur->records_lost, prev->records_lost),
		.details_lost = minus(cur->details_lost, prev->details_lost),
		.stages_lost = minus(cur->stages_lost, prev->stages_lost),
		.ambiguous = minus(cur->ambiguous, prev->ambiguous),
		.unmatched = minus(cur->unmatched, prev->unmatched),
		.files_lost = minus(cur->files_lost, prev->files_lost),
		.stacks_skipped = minus(cur->stacks_skipped, prev->stacks_skipped),
		.stacks_lost = minus(cur->stacks_lost, prev->stacks_lost),
		.children_lost = minus(cur->children_lost, prev->children_lost),
		.missed = minus(cur->missed, prev->missed),
		.extras_missed = minus(cur->extras_missed, prev->extras_missed),
		.missed_known = prev->missed_known && cur->missed_known,
	};
}

/* Everything of cur that the delta does not own memory for. */
static struct cost cost_delta(const struct cost *prev, const struct cost *cur)
{
	struct cost d = *cur;

	d.process_ns = minus(cur->process_ns, prev->process_ns);
	d.budget.busy_ns = minus(cur->budget.busy_ns, prev->budget.busy_ns);
	d.budget.spent_ns = minus(cur->budget.spent_ns, prev->budget.spent_ns);
	d.budget.over_ns = minus(cur->budget.over_ns, prev->budget.over_ns);
	return d;
}

static struct snapshot head_delta(const struct snapshot *prev, const struct snapshot *cur)
{
	struct snapshot d = {
		.start_unix_ns = cur->start_unix_ns + prev->duration_ns,
		.duration_ns = minus(cur->duration_ns, prev->duration_ns),
		.cpus = cur->cpus,
		.setup_flags = cur->setup_flags,
		.interval = true,
		.fidelity = fidelity_delta(&prev->fidelity, &cur->fidelity),
		.cost = cost_delta(&prev->cost, &cur->cost),
	};

	memcpy(d.kernel_release, cur->kernel_release, sizeof(d.kernel_release));
	memcpy(d.features, cur->features, sizeof(d.features));
	return d;
}

int snapshot__delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *ret)
{
	struct snapshot d = head_delta(prev, cur);
	int err;

	err = rings_delta(prev, cur, &d);
	if (!err && cur->others)
		err = others_delta(prev, cur, &d);
	if (!err)
		err = registers_delta(prev, cur, &d);
	if (!err)
		err = tasks_copy(cur, &d);
	if (!err)
		err = file_list__delta(&prev->files, &cur->files, &d.files);
	if (!err)
		err = site_list__delta(&prev->sites, &cur->sites, &d.sites);
	if (!err)
		err = spans_delta(prev, cur, &d);
	if (!err)
		err = devices__delta(prev, cur, &d);
	if (err) {
		snapshot__free(&d);
		return err;
	}
	*ret = d;
	return 0;
}
