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

static int extra_delta(const struct rs_lat *prev, const struct rs_lat *cur, struct rs_lat **d)
{
	if (!cur)
		return 0;
	*d = calloc(1, sizeof(**d));
	if (!*d)
		return -ENOMEM;
	if (prev)
		lat__delta(prev, cur, *d);
	else
		**d = *cur;
	return 0;
}

static int op_delta(const struct op_stats *prev, const struct op_stats *cur, struct op_stats *d)
{
	int err = extra_delta(prev->multishot_gap, cur->multishot_gap, &d->multishot_gap);

	err = err ? err : extra_delta(prev->notif_delay, cur->notif_delay, &d->notif_delay);
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
	d.batchless = minus(cur->batchless, prev->batchless);
	d.sq_dropped = (uint32_t)minus(cur->sq_dropped, prev->sq_dropped);
	d.sq_cpu_ns = minus(cur->sq_cpu_ns, prev->sq_cpu_ns);
	d.sq_alive_ns = minus(cur->sq_alive_ns, prev->sq_alive_ns);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		d.c[i] = minus(cur->c[i], prev->c[i]);
	err = ops_delta(prev, cur, &d);
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

static int by_uid(const void *a, const void *b)
{
	const struct ring_stats *x = *(const struct ring_stats *const *)a;
	const struct ring_stats *y = *(const struct ring_stats *const *)b;

	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

/* The rings of a snapshot by uid, for bsearch. Has room for one even if there are none. */
static const struct ring_stats **ring_index(const struct snapshot *s)
{
	const struct ring_stats **index = calloc(s->n_rings + 1, sizeof(*index));

	if (!index)
		return NULL;
	for (size_t i = 0; i < s->n_rings; i++)
		index[i] = &s->rings[i];
	qsort(index, s->n_rings, sizeof(*index), by_uid);
	return index;
}

static const struct ring_stats *find_ring(const struct ring_stats **index, size_t n,
	const struct ring_stats *r)
{
	const struct ring_stats **hit = bsearch(&r, index, n, sizeof(*index), by_uid);

	return hit ? *hit : NULL;
}

static int rings_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	static const struct ring_stats none;
	const struct ring_stats **index, *p;
	int err = 0;

	index = ring_index(prev);
	d->rings = calloc(cur->n_rings + 1, sizeof(*d->rings));
	if (!index || !d->rings)
		err = -ENOMEM;
	for (size_t i = 0; i < cur->n_rings && !err; i++) {
		p = find_ring(index, prev->n_rings, &cur->rings[i]);
		err = ring_delta(p ? p : &none, &cur->rings[i], &d->rings[i]);
		if (err)
			break;
		d->n_rings++;
		if (p) {
			d->rings[i].created_in_window = false;
			d->rings[i].sq_cpu_known = p->sq_cpu_known && cur->rings[i].sq_cpu_known;
		}
	}
	free(index);
	return err;
}

/*
 * The sum of the unlisted rings. A ring that prev listed and cur does not has
 * joined them meanwhile, so its earlier counts are part of the baseline.
 */
static int others_delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d)
{
	const struct ring_stats **index = ring_index(cur);
	struct ring_stats base = { 0 };
	int err = 0;

	if (!index)
		return -ENOMEM;
	if (prev->others)
		err = ring_stats__add(&base, prev->others);
	for (size_t i = 0; i < prev->n_rings && !err; i++)
		if (!find_ring(index, cur->n_rings, &prev->rings[i]))
			err = ring_stats__add(&base, &prev->rings[i]);
	if (!err) {
		d->others = calloc(1, sizeof(*d->others));
		err = d->others ? ring_delta(&base, cur->others, d->others) : -ENOMEM;
	}
	ring_stats__free(&base);
	free(index);
	return err;
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

static struct fidelity fidelity_delta(const struct fidelity *prev, const struct fidelity *cur)
{
	return (struct fidelity){
		.untracked = minus(cur->untracked, prev->untracked),
		.table_full = minus(cur->table_full, prev->table_full),
		.rings_full = minus(cur->rings_full, prev->rings_full),
		.records_lost = minus(cur->records_lost, prev->records_lost),
		.details_lost = minus(cur->details_lost, prev->details_lost),
		.children_lost = minus(cur->children_lost, prev->children_lost),
		.missed = minus(cur->missed, prev->missed),
		.missed_known = prev->missed_known && cur->missed_known,
	};
}

/* Everything of cur that the delta does not own memory for. */
static struct snapshot head_delta(const struct snapshot *prev, const struct snapshot *cur)
{
	struct snapshot d = {
		.start_unix_ns = cur->start_unix_ns + prev->duration_ns,
		.duration_ns = minus(cur->duration_ns, prev->duration_ns),
		.cpus = cur->cpus,
		.interval = true,
		.fidelity = fidelity_delta(&prev->fidelity, &cur->fidelity),
		.n_others = cur->n_others,
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
	if (err) {
		snapshot__free(&d);
		return err;
	}
	*ret = d;
	return 0;
}
