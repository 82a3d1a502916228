// SPDX-License-Identifier: MIT
/* What was observed: sums, lists, ownership. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "names.h"
#include "snapshot.h"

static void op_stats__free(struct op_stats *o)
{
	free(o->errnos);
	o->errnos = NULL;
	o->n_errnos = 0;
	for (unsigned int k = 0; k < OP_TIMES; k++) {
		free(o->kin[k]);
		o->kin[k] = NULL;
	}
}

void ring_stats__free(struct ring_stats *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_ops; i++)
		op_stats__free(&r->ops[i]);
	reap_stats__free(&r->reap);
	free(r->ops);
	free(r->cgroup);
	r->ops = NULL;
	r->n_ops = 0;
	r->cgroup = NULL;
}

void span_stats__free(struct span_stats *s)
{
	if (!s)
		return;
	ring_stats__free(&s->requests);
	free(s->binary);
	free(s->function);
	s->binary = s->function = NULL;
}

void snapshot__free(struct snapshot *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_rings; i++)
		ring_stats__free(&s->rings[i]);
	ring_stats__free(s->others);
	free(s->rings);
	free(s->others);
	free(s->tasks);
	free(s->registers);
	file_list__free(&s->files);
	site_list__free(&s->sites);
	for (size_t i = 0; i < s->n_spans; i++)
		span_stats__free(&s->spans[i]);
	free(s->spans);
	free(s->devices);
	memset(s, 0, sizeof(*s));
}

bool snapshot__knows_sites(const struct snapshot *s)
{
	size_t i = 0;

	while (i < s->n_rings && s->rings[i].sq_tid)
		i++;
	return snapshot__knows(s, RS_F_CALL_SITES) && (i < s->n_rings || !s->n_rings || s->others);
}

uint64_t op_stats__completed(const struct op_stats *o)
{
	return o->c[RS_SC_COMPLETED] + o->c[RS_SC_OVERFLOWED];
}

uint64_t op_stats__punted(const struct op_stats *o)
{
	return o->c[RS_SC_PUNT_ASKED] + o->c[RS_SC_PUNT_OPCODE] + o->c[RS_SC_PUNT_DRAIN] +
	       o->c[RS_SC_PUNT_UNWANTED];
}

/* completed without the overflowed: the ring counts all of those, its opcodes only the ones matched. */
static void add_op_totals(struct totals *t, const struct op_stats *o)
{
	t->in_flight_at_attach += o->c[RS_SC_AT_ATTACH];
	t->submitted += o->c[RS_SC_SUBMITTED];
	t->completed += o->c[RS_SC_COMPLETED];
	t->silent += o->c[RS_SC_SILENT];
	t->rejected += o->c[RS_SC_REJECTED];
	t->in_flight += o->in_flight;
	t->errors += o->c[RS_SC_ERRORS];
	t->punted += op_stats__punted(o);
	t->poll_armed += o->c[RS_SC_POLL_ARMED];
	t->untracked += o->c[RS_SC_UNTRACKED];
	t->no_slot += o->c[RS_SC_NO_SLOT];
	if (op_traits(o->op) & RS_OP_BYTES)
		t->bytes += o->c[RS_SC_BYTES];
}

struct totals ring_stats__totals(const struct ring_stats *r)
{
	struct totals t = {
		.completed = r->c[RS_RC_OVERFLOW_ENDS],
		.in_flight = r->in_flight_no_slot,
		.sq_dropped = r->sq_dropped,
		.errors = r->c[RS_RC_OVERFLOW_ERRORS],
		.cqes_multishot = r->c[RS_RC_CQES_MULTISHOT],
		.cqes_aux = r->c[RS_RC_CQES_AUX],
		.notifs = r->c[RS_RC_NOTIFS],
		.cq_overflows = r->c[RS_RC_CQ_OVERFLOWS],
		.cq_dropped = r->c[RS_RC_CQ_DROPPED],
		.short_writes = r->c[RS_RC_SHORT_WRITES],
		.batches = r->c[RS_RC_BATCHES],
		.waits = r->c[RS_RC_WAITS],
		.enters = r->c[RS_RC_ENTERS],
		.enter_ns = r->c[RS_RC_ENTER_NS],
		.buffer_imports = r->c[RS_RC_BUFFER_IMPORTS],
		/* rings that share an entry overwrite each other's SQ head */
		.batches_known = r->batchless == 0,
	};

	for (size_t i = 0; i < r->n_ops; i++)
		add_op_totals(&t, &r->ops[i]);
	return t;
}

uint64_t ring_stats__cqes(const struct ring_stats *r)
{
	struct totals t = ring_stats__totals(r);

	return t.completed + r->c[RS_RC_CQES_REJECTED] + t.cqes_multishot + t.cqes_aux + t.notifs -
	       t.cq_dropped;
}

uint64_t ring_stats__requests(const struct ring_stats *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_ops; i++)
		n += r->ops[i].c[RS_SC_SUBMITTED] + r->ops[i].c[RS_SC_AT_ATTACH];
	return n;
}

void totals__add(struct totals *t, const struct totals *o)
{
	t->in_flight_at_attach += o->in_flight_at_attach;
	t->submitted += o->submitted;
	t->completed += o->completed;
	t->silent += o->silent;
	t->in_flight += o->in_flight;
	t->rejected += o->rejected;
	t->sq_dropped += o->sq_dropped;
	t->errors += o->errors;
	t->punted += o->punted;
	t->poll_armed += o->poll_armed;
	t->cqes_multishot += o->cqes_multishot;
	t->cqes_aux += o->cqes_aux;
	t->notifs += o->notifs;
	t->cq_overflows += o->cq_overflows;
	t->cq_dropped += o->cq_dropped;
	t->short_writes += o->short_writes;
	t->batches += o->batches;
	t->waits += o->waits;
	t->enters += o->enters;
	t->enter_ns += o->enter_ns;
	t->buffer_imports += o->buffer_imports;
	t->bytes += o->bytes;
	t->untracked += o->untracked;
	t->no_slot += o->no_slot;
	t->batches_known = t->batches_known && o->batches_known;
}

struct totals snapshot__totals(const struct snapshot *s)
{
	struct totals sum = { .batches_known = true }, t;

	for (size_t i = 0; i < s->n_rings; i++) {
		t = ring_stats__totals(&s->rings[i]);
		totals__add(&sum, &t);
	}
	if (s->others) {
		t = ring_stats__totals(s->others);
		totals__add(&sum, &t);
	}
	return sum;
}

/* First opcode not below op. */
static size_t op_position(const struct ring_stats *r, unsigned int op)
{
	size_t i = 0;

	while (i < r->n_ops && r->ops[i].op < op)
		i++;
	return i;
}

struct op_stats *ring_stats__op(struct ring_stats *r, unsigned int op)
{
	size_t at = op_position(r, op);
	struct op_stats *ops;

	if (at < r->n_ops && r->ops[at].op == op)
		return &r->ops[at];
	ops = reallocarray(r->ops, r->n_ops + 1, sizeof(*ops));
	if (!ops)
		return NULL;
	memmove(&ops[at + 1], &ops[at], (r->n_ops - at) * sizeof(*ops));
	ops[at] = (struct op_stats){ .op = op, .lat.min_ns = UINT64_MAX };
	r->ops = ops;
	r->n_ops++;
	return &ops[at];
}

/* Moves entry i, whose count grew, to its place. Equal counts stand by number. */
static void resort_errno(struct op_stats *o, size_t i)
{
	struct errno_count e = o->errnos[i];

	while (i > 0 && (o->errnos[i - 1].count < e.count ||
				(o->errnos[i - 1].count == e.count && o->errnos[i - 1].err > e.err))) {
		o->errnos[i] = o->errnos[i - 1];
		i--;
	}
	o->errnos[i] = e;
}

int op_stats__add_errno(struct op_stats *o, int err, uint64_t n)
{
	struct errno_count *list;
	size_t i = 0;

	if (n == 0)
		return 0;
	while (i < o->n_errnos && o->errnos[i].err != err)
		i++;
	if (i == o->n_errnos) {
		list = reallocarray(o->errnos, o->n_errnos + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		list[i] = (struct errno_count){ .err = err };
		o->errnos = list;
		o->n_errnos++;
	}
	o->errnos[i].count += n;
	resort_errno(o, i);
	return 0;
}

int op_times__add(struct op_times **sum, const struct op_times *t)
{
	if (!t)
		return 0;
	if (!*sum) {
		*sum = calloc(1, sizeof(**sum));
		if (!*sum)
			return -ENOMEM;
		(*sum)->lat.min_ns = UINT64_MAX;
	}
	lat__add(&(*sum)->lat, &t->lat);
	for (unsigned int i = 0; i < RS_HIST_OCTAVES; i++)
		(*sum)->tail_ns[i] += t->tail_ns[i];
	return 0;
}

int op_stats__add(struct op_stats *sum, const struct op_stats *o)
{
	int err = 0;

	for (unsigned int k = 0; !err && k < OP_TIMES; k++)
		err = op_times__add(&sum->kin[k], o->kin[k]);
	if (err)
		return err;
	for (size_t i = 0; i < o->n_errnos; i++) {
		err = op_stats__add_errno(sum, o->errnos[i].err, o->errnos[i].count);
		if (err)
			return err;
	}
	for (unsigned int i = 0; i < RS_SC_COUNT; i++)
		sum->c[i] += o->c[i];
	sum->in_flight += o->in_flight;
	sum->stages_lost += o->stages_lost;
	lat__add(&sum->lat, &o->lat);
	return 0;
}

static int add_ops(struct ring_stats *sum, const struct ring_stats *r)
{
	struct op_stats *o;
	int err;

	for (size_t i = 0; i < r->n_ops; i++) {
		o = ring_stats__op(sum, r->ops[i].op);
		if (!o)
			return -ENOMEM;
		err = op_stats__add(o, &r->ops[i]);
		if (err)
			return err;
	}
	return 0;
}

uint64_t ring_stats__brief(const struct ring_stats *r, uint64_t *ret_ns)
{
	bool brief = r->created_in_window && r->state == RING_CLOSED;

	*ret_ns = r->id ? (brief ? r->alive_ns : 0) : r->brief_ns;
	return r->id ? brief : r->n_brief;
}

/* CPU time of SQPOLL threads is left out: rings can share a thread. */
int ring_stats__add(struct ring_stats *sum, const struct ring_stats *r)
{
	uint64_t batches = r->id ? (r->sq_tid ? 0 : r->c[RS_RC_BATCHES]) : r->batches_max, brief_ns;
	int err = add_ops(sum, r);

	if (err)
		return err;
	sum->n_brief += ring_stats__brief(r, &brief_ns);
	sum->brief_ns += brief_ns;
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		sum->c[i] += r->c[i];
	sum->in_flight_no_slot += r->in_flight_no_slot;
	sum->batchless += r->batchless;
	sum->sq_dropped += r->sq_dropped;
	if (batches > sum->batches_max)
		sum->batches_max = batches;
	if (r->cq_depth_max > sum->cq_depth_max)
		sum->cq_depth_max = r->cq_depth_max;
	return 0;
}

static void *copy_of(const void *p, size_t size)
{
	void *copy = malloc(size);

	return copy ? memcpy(copy, p, size) : NULL;
}

static int op_stats__copy(const struct op_stats *o, struct op_stats *ret)
{
	struct op_stats copy = *o;

	bool failed;

	copy.errnos = o->n_errnos ? copy_of(o->errnos, o->n_errnos * sizeof(*o->errnos)) : NULL;
	failed = o->n_errnos && !copy.errnos;
	for (unsigned int k = 0; k < OP_TIMES; k++) {
		copy.kin[k] = o->kin[k] ? copy_of(o->kin[k], sizeof(*o->kin[k])) : NULL;
		failed |= o->kin[k] && !copy.kin[k];
	}
	if (failed) {
		op_stats__free(&copy);
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

int ring_stats__copy(const struct ring_stats *r, struct ring_stats *ret)
{
	struct ring_stats copy = *r;
	int err;

	copy.n_ops = 0;
	copy.ops = r->n_ops ? reallocarray(NULL, r->n_ops, sizeof(*r->ops)) : NULL;
	copy.cgroup = r->cgroup ? strdup(r->cgroup) : NULL;
	copy.reap.times = NULL;
	err = reap_stats__copy(&r->reap, &copy.reap);
	if ((r->n_ops && !copy.ops) || (r->cgroup && !copy.cgroup))
		err = -ENOMEM;
	while (!err && copy.n_ops < r->n_ops) {
		err = op_stats__copy(&r->ops[copy.n_ops], &copy.ops[copy.n_ops]);
		if (!err)
			copy.n_ops++;
	}
	if (err) {
		ring_stats__free(&copy);
		return err;
	}
	*ret = copy;
	return 0;
}

static uint64_t requests(const struct op_stats *o)
{
	return o->c[RS_SC_SUBMITTED] + o->c[RS_SC_AT_ATTACH] + o->c[RS_SC_UNTRACKED];
}

static int by_requests(const void *a, const void *b)
{
	const struct op_stats *x = a, *y = b;

	if (requests(x) != requests(y))
		return requests(x) > requests(y) ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

int snapshot__ops(const struct snapshot *s, struct op_list *ret)
{
	struct ring_stats sum = { 0 };
	int err = 0;

	for (size_t i = 0; i < s->n_rings && !err; i++)
		err = add_ops(&sum, &s->rings[i]);
	if (!err && s->others)
		err = add_ops(&sum, s->others);
	if (err) {
		ring_stats__free(&sum);
		return err;
	}
	if (sum.n_ops)
		qsort(sum.ops, sum.n_ops, sizeof(*sum.ops), by_requests);
	ret->ops = sum.ops;
	ret->n = sum.n_ops;
	return 0;
}

void op_list__free(struct op_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		op_stats__free(&l->ops[i]);
	free(l->ops);
	l->ops = NULL;
	l->n = 0;
}
