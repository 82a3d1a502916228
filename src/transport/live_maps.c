// SPDX-License-Identifier: MIT
#include "live_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "devices.h"

static int add_errno(struct ring_stats *r, const struct rs_errno_key *key, uint64_t n)
{
	struct op_stats *o;

	/* the opcode of an overflowed CQE is not known */
	if (key->op >= RS_OPS)
		return 0;
	o = ring_stats__op(r, key->op);
	return o ? op_stats__add_errno(o, key->err, n) : -ENOMEM;
}

static struct ring_stats *ring_of_uid(struct snapshot *s, uint32_t uid)
{
	size_t i;

	for (i = 0; i < s->n_rings; i++)
		if (s->rings[i].uid == uid)
			return &s->rings[i];
	return uid ? NULL : s->others;
}

/* A span's, or NULL: the key is a ring's. */
static struct ring_stats *requests_of_span(struct snapshot *s, uint32_t uid)
{
	return uid && uid <= s->n_spans ? &s->spans[uid - RS_SPAN_UID(0)].requests : NULL;
}

static bool has_op(const struct ring_stats *r, unsigned int op)
{
	size_t i;

	for (i = 0; i < r->n_ops && r->ops[i].op != op; i++)
		;
	return i < r->n_ops;
}

/*
 * Whose error this is: that of a ring that found no series of its own for the opcode is counted with
 * the others'. NULL: its counters will be in the next snapshot.
 */
static struct ring_stats *owner_of(struct snapshot *s, const struct rs_errno_key *key)
{
	struct ring_stats *r = requests_of_span(s, key->ring_uid);

	if (r)
		return has_op(r, key->op) ? r : NULL;
	r = ring_of_uid(s, key->ring_uid);
	if (key->op >= RS_OPS || (r && has_op(r, key->op)))
		return r;
	return s->others && has_op(s->others, key->op) ? s->others : NULL;
}

/* The map is read after the counters and may know of more errors than they do. */
static void catch_up(struct ring_stats *r)
{
	for (size_t i = 0; i < r->n_ops; i++) {
		struct op_stats *o = &r->ops[i];
		uint64_t named = 0;

		for (size_t k = 0; k < o->n_errnos; k++)
			named += o->errnos[k].count;
		/* without completions: of a ring that is gone and had no series for it */
		if (o->c[RS_SC_COMPLETED] && o->c[RS_SC_ERRORS] < named)
			o->c[RS_SC_ERRORS] = named;
	}
}

int live_maps__errnos(const struct session *s, struct snapshot *snap)
{
	int fd = session__maps(s)->errnos, err = 0;
	struct rs_errno_key key, *prev = NULL;
	struct ring_stats *r;
	uint64_t n;

	while (!err && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		r = owner_of(snap, &key);
		if (r && !bpf_map_lookup_elem(fd, &key, &n))
			err = add_errno(r, &key, n);
	}
	for (size_t i = 0; !err && i < snap->n_rings; i++)
		catch_up(&snap->rings[i]);
	if (!err && snap->others)
		catch_up(snap->others);
	for (size_t i = 0; !err && i < snap->n_spans; i++)
		catch_up(&snap->spans[i].requests);
	return err;
}

static int compare_entries(const void *a, const void *b)
{
	const struct errno_entry *x = a, *y = b;

	return x->key.ring_uid < y->key.ring_uid ? -1 : x->key.ring_uid > y->key.ring_uid;
}

int errno_list__read(const struct session *s, struct errno_list *ret)
{
	int fd = session__maps(s)->errnos;
	struct rs_errno_key key, *prev = NULL;
	struct errno_list l = { 0 };
	struct errno_entry *more;
	size_t cap = 0;
	uint64_t n;

	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &n))
			continue;
		if (l.n == cap) {
			cap = cap ? cap * 2 : 64;
			more = realloc(l.e, cap * sizeof(*more));
			if (!more) {
				errno_list__free(&l);
				return -ENOMEM;
			}
			l.e = more;
		}
		l.e[l.n++] = (struct errno_entry){ key, n };
	}
	if (l.n)
		qsort(l.e, l.n, sizeof(*l.e), compare_entries);
	*ret = l;
	return 0;
}

void errno_list__free(struct errno_list *l)
{
	free(l->e);
	memset(l, 0, sizeof(*l));
}

int live_maps__take_errnos(const struct session *s, const struct errno_list *l, struct ring_stats *r)
{
	int fd = session__maps(s)->errnos, err = 0;
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->e[mid].key.ring_uid < r->uid)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; !err && lo < l->n && l->e[lo].key.ring_uid == r->uid; lo++) {
		err = add_errno(r, &l->e[lo].key, l->e[lo].n);
		bpf_map_delete_elem(fd, &l->e[lo].key);
	}
	return err;
}

int live_maps__add_times(const struct rs_series *se, struct op_times **sum)
{
	struct op_times t = { .lat = se->lat };

	memcpy(t.tail_ns, se->tail_ns, sizeof(t.tail_ns));
	return op_times__add(sum, &t);
}

static int add_extra(const struct session *s, struct ring_stats *r, const struct rs_series_key *key,
	uint32_t idx)
{
	const struct session_tables *t = session__tables(s);
	struct op_stats *o;

	if (idx >= t->n_series || key->kind >= RS_KINDS)
		return 0;
	o = ring_stats__op(r, key->op);
	return o ? live_maps__add_times(&t->series[idx], &o->kin[key->kind]) : -ENOMEM;
}

int live_maps__extras(const struct session *s, struct snapshot *snap)
{
	int fd = session__maps(s)->series_index, err = 0;
	struct rs_series_key key, *prev = NULL;
	struct ring_stats *r;
	uint32_t idx;

	while (!err && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		/* the others are their main series' kin, and read with it */
		if (key.kind != RS_TAG_MULTI && key.kind != RS_TAG_NOTIF)
			continue;
		r = ring_of_uid(snap, key.ring_uid);
		if (r && !bpf_map_lookup_elem(fd, &key, &idx))
			err = add_extra(s, r, &key, idx);
	}
	return err;
}

int live_maps__take_extras(struct session *s, struct ring_stats *r)
{
	int fd = session__maps(s)->series_index, err = 0;
	struct rs_series_key key = { .ring_uid = r->uid };
	uint32_t idx;
	size_t i;

	/* only opcodes of the ring can have one */
	for (i = 0; !err && i < 2 * r->n_ops; i++) {
		key.op = (__u16)r->ops[i / 2].op;
		key.kind = i % 2 ? RS_TAG_NOTIF : RS_TAG_MULTI;
		if (bpf_map_lookup_elem(fd, &key, &idx))
			continue;
		err = add_extra(s, r, &key, idx);
		if (err)
			break;
		err = session__recycle_series(s, &key, idx);
	}
	return err;
}

static int compare_tasks(const void *a, const void *b)
{
	const struct task_stats *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->tid_host < y->tid_host ? -1 : x->tid_host > y->tid_host;
}

int live_maps__tasks(const struct session *s, struct snapshot *snap)
{
	int fd = session__maps(s)->workers;
	uint32_t tid, *prev = NULL;
	struct task_stats *more, *t;
	struct rs_workers w;

	while (!bpf_map_get_next_key(fd, prev, &tid)) {
		prev = &tid;
		if (bpf_map_lookup_elem(fd, &tid, &w))
			continue;
		more = realloc(snap->tasks, (snap->n_tasks + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		snap->tasks = more;
		t = &more[snap->n_tasks++];
		*t = (struct task_stats){ .pid = w.pid_here,
			.tid = w.tid_here,
			.pid_host = w.pid != w.pid_here ? w.pid : 0,
			.tid_host = tid != w.tid_here ? tid : 0,
			.workers_bounded_max = w.bounded_max,
			.workers_unbounded_max = w.unbounded_max,
			.bounded_limit = w.bounded_limit,
			.unbounded_limit = w.unbounded_limit };
		memcpy(t->comm, w.comm, sizeof(t->comm));
		t->comm[sizeof(t->comm) - 1] = '\0';
	}
	if (snap->n_tasks)
		qsort(snap->tasks, snap->n_tasks, sizeof(*snap->tasks), compare_tasks);
	return 0;
}

static int add_register(struct snapshot *snap, unsigned int op, const struct rs_register_stat *st)
{
	struct register_stats *more = realloc(snap->registers, (snap->n_registers + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	snap->registers = more;
	more[snap->n_registers++] = (struct register_stats){ .op = op,
		.count = st->count,
		.errors = st->errors,
		.timed = st->timed,
		.sum_ns = st->sum_ns,
		.max_ns = st->max_ns };
	return 0;
}

static int compare_registers(const void *a, const void *b)
{
	const struct register_stats *x = a, *y = b;

	return x->op < y->op ? -1 : x->op > y->op;
}

int live_maps__registers(const struct session *s, struct snapshot *snap)
{
	int fd = session__maps(s)->registers, err = 0;
	uint32_t op, *prev = NULL;
	struct rs_register_stat st;

	while (!err && !bpf_map_get_next_key(fd, prev, &op)) {
		prev = &op;
		if (!bpf_map_lookup_elem(fd, &op, &st))
			err = add_register(snap, op, &st);
	}
	if (snap->n_registers)
		qsort(snap->registers, snap->n_registers, sizeof(*snap->registers), compare_registers);
	return err;
}

static int by_requests(const void *a, const void *b)
{
	uint64_t x = device__requests(a), y = device__requests(b);

	return x > y ? -1 : x < y;
}

int live_maps__devices(const struct session *s, struct snapshot *snap)
{
	uint64_t n = session__global(s)->devices, i;
	struct rs_device d;
	int err = 0;

	for (i = 0; !err && i < n && i < RS_DEVICES; i++) {
		/* an entry that lost its disk to another stays empty, one that was just taken is for now */
		if (!session__read_device(s, (uint32_t)i, &d) && device__requests(&d) + d.in_flight)
			err = snapshot__add_device(snap, &d);
	}
	if (snap->n_devices)
		qsort(snap->devices, snap->n_devices, sizeof(*snap->devices), by_requests);
	return err;
}
