// SPDX-License-Identifier: MIT
#include "live_rings.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "live_maps.h"
#include "purge.h"
#include "slots.h"
#include "tally.h"

/* RS_RING_FREE and so on; what was written before it got there is visible. */
static uint32_t state_in_table(const struct rs_ring *r)
{
	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE);
}

static int compare_new(const void *a, const void *b)
{
	const struct new_ring *x = a, *y = b;

	if (x->created_ns != y->created_ns)
		return x->created_ns < y->created_ns ? -1 : 1;
	return x->idx < y->idx ? -1 : x->idx > y->idx;
}

/* Numbers them in the order of their creation: an entry used again says nothing of that. */
static void meet(struct live *l, size_t n)
{
	const struct session_tables *t = session__tables(l->s);
	size_t i;

	qsort(l->met, n, sizeof(*l->met), compare_new);
	for (i = 0; i < n; i++) {
		uint32_t idx = l->met[i].idx;

		track__begin(&l->tracks[idx], &t->rings[idx], l->next_id++, l->start_ns, l->has_proc,
			&l->cgroups);
	}
	l->n_seen += n;
}

size_t live_rings__track(struct live *l)
{
	const struct session_tables *t = session__tables(l->s);
	int exits = session__maps(l->s)->sq_exits;
	size_t used = 0, n_new = 0;
	uint32_t i;

	for (i = 1; i < t->n_rings; i++) {
		const struct rs_ring *r = &t->rings[i];

		if (state_in_table(r) == RS_RING_FREE)
			continue;
		used++;
		if (l->tracks[i].uid != r->uid)
			l->met[n_new++] = (struct new_ring){ r->created_ns, i };
	}
	meet(l, n_new);
	for (i = 1; i < t->n_rings; i++)
		if (l->tracks[i].uid)
			track__sample(&l->tracks[i], &t->rings[i], exits);
	return used;
}

static bool is_used(const struct rs_series *se)
{
	unsigned int i;

	for (i = 0; i < RS_SC_COUNT && !se->c[i]; i++)
		;
	return i < RS_SC_COUNT;
}

/* How the times of a main series came about. */
static int read_kin(const struct session *s, const struct rs_series *se, struct op_stats *o)
{
	struct rs_series kin;
	unsigned int k;
	int err = 0;

	o->stages_lost = se->stages_lost;
	for (k = RS_KIND_SLOW; !err && k < RS_KINDS; k++) {
		if (!se->kin[k])
			continue;
		err = session__read_kin(s, se->kin[k], &kin);
		err = err ? err : live_maps__add_times(&kin, &o->kin[k]);
	}
	return err;
}

static int read_ops(const struct session *s, const struct rs_ring *r, const struct slot_counts *c,
	struct ring_stats *ret)
{
	const struct session_tables *t = session__tables(s);
	struct op_stats *o;
	unsigned int op;
	int err;

	for (op = 0; op < RS_OPS; op++) {
		uint32_t idx = r->series[op];
		const struct rs_series *se = &t->series[idx];

		if (!idx || idx >= t->n_series)
			continue;
		/* shared series are ring 0's, so this ring's batches hold SQEs that it does not count */
		if (RS_RING_IDX(r->uid) && idx < RS_SERIES_FIRST) {
			ret->batchless++;
			continue;
		}
		if (!RS_RING_IDX(r->uid) && !is_used(se))
			continue;
		o = ring_stats__op(ret, op);
		if (!o)
			return -ENOMEM;
		memcpy(o->c, se->c, sizeof(o->c));
		o->lat = se->lat;
		o->in_flight = c->in_flight[idx];
		err = op_times__add(&o->kin[OP_TIMES_AGE], c->ages[idx]);
		if (err)
			return err;
		o->c[RS_SC_SILENT] = c->silent[idx];
		o->c[RS_SC_OVERFLOWED] = c->overflowed[idx];
		err = read_kin(s, se, o);
		if (err)
			return err;
	}
	return 0;
}

static void add_work(struct cost_work *sum, const struct tally *raw)
{
	sum->requests += raw->op[RS_SC_SUBMITTED];
	sum->events += tally__events(raw);
}

struct cost_work live_rings__work(const struct live *l)
{
	const struct session_tables *t = session__tables(l->s);
	struct cost_work sum = l->retired_work;
	uint32_t i, op, c;

	for (i = 0; i < t->n_rings; i++) {
		const struct rs_ring *r = &t->rings[i];
		struct tally raw = { 0 };

		if (i && state_in_table(r) == RS_RING_FREE)
			continue;
		memcpy(raw.ring, r->c, sizeof(raw.ring));
		for (op = 0; op < RS_OPS; op++) {
			/* shared ones are ring 0's */
			if (!r->series[op] || r->series[op] >= t->n_series ||
				(i && r->series[op] < RS_SERIES_FIRST))
				continue;
			for (c = 0; c < RS_SC_COUNT; c++)
				raw.op[c] += t->series[r->series[op]].c[c];
		}
		add_work(&sum, &raw);
	}
	return sum;
}

static void read_sq_thread(const struct live *l, const struct rs_ring *r, const struct track *k,
	struct ring_stats *ret)
{
	uint64_t end = r->closed_ns ? r->closed_ns : live__now_ns(l);

	ret->sq_tid = r->sq_tid_here ? r->sq_tid_here : (uint32_t)r->sq_tid;
	ret->sq_outside = !r->sq_tid_here;
	ret->sq_cpu_known = k->sq_known;
	ret->sq_wait_known = k->sq_wait_known;
	ret->sq_wait_ns = k->sq_wait_last_ns - k->sq_wait_base_ns;
	ret->cpus_known = k->cpus_known;
	ret->sq_only_cpu = k->sq_only_cpu;
	ret->maker_only_cpu = k->maker_only_cpu;
	ret->sq_cpu_ns = k->sq_last_ns - k->sq_base_ns;
	ret->sq_alive_ns = end > k->sq_from_ns ? end - k->sq_from_ns : 0;
	/* the thread outlives the ring's closing by a little */
	if (ret->sq_alive_ns < ret->sq_cpu_ns)
		ret->sq_alive_ns = ret->sq_cpu_ns;
}

static uint64_t alive_ns(const struct live *l, const struct rs_ring *r)
{
	uint64_t begin = r->created_ns > l->start_ns ? r->created_ns : l->start_ns;
	uint64_t end = r->closed_ns ? r->closed_ns : live__now_ns(l);

	return end > begin ? end - begin : 0;
}

static bool adds_up(const struct ring_stats *s)
{
	struct totals t = ring_stats__totals(s);

	return t.in_flight_at_attach + t.submitted + t.untracked == t.completed + t.silent + t.in_flight;
}

static bool knows_gone(const struct live *l)
{
	return session__features(l->s)[RS_F_RING_GONE].level != FEATURE_OFF;
}

/* Of a ring that is older than the window, requests may be in flight that we do not know. */
static enum ring_state state_of(const struct live *l, uint32_t state, const struct ring_stats *s,
	uint64_t in_flight)
{
	if (state == RS_RING_CLOSED)
		return RING_CLOSED;
	if (state != RS_RING_CLOSING)
		return RING_OPEN;
	if (s->in_flight_no_slot || in_flight || !adds_up(s))
		return RING_CLOSING;
	return s->created_in_window || !knows_gone(l) ? RING_CLOSED : RING_CLOSING;
}

/*
 * Nothing of a closed ring is in flight: what has no CQE ended without one, requests without a slot
 * included. Not where CQEs overflowed without their opcode: whose they were is unknown.
 */
static void end_silently(struct ring_stats *r)
{
	size_t i;

	if (r->c[RS_RC_OVERFLOW_ENDS])
		return;
	r->in_flight_no_slot = 0;
	for (i = 0; i < r->n_ops; i++) {
		uint64_t *c = r->ops[i].c,
			 came = c[RS_SC_SUBMITTED] + c[RS_SC_AT_ATTACH] + c[RS_SC_UNTRACKED];

		r->ops[i].in_flight = 0;
		free(r->ops[i].kin[OP_TIMES_AGE]);
		r->ops[i].kin[OP_TIMES_AGE] = NULL;
		if (came > c[RS_SC_COMPLETED])
			c[RS_SC_SILENT] = came - c[RS_SC_COMPLETED];
	}
}

/* CQEs that overflowed and that no slot explains ended requests without one. Where CQEs name their request. */
static void end_overflowed(struct ring_stats *r)
{
	uint64_t n = r->c[RS_RC_OVERFLOW_ENDS];
	size_t i;

	for (i = 0; i < r->n_ops; i++)
		n -= n < r->ops[i].c[RS_SC_OVERFLOWED] ? n : r->ops[i].c[RS_SC_OVERFLOWED];
	r->in_flight_no_slot -= n < r->in_flight_no_slot ? n : r->in_flight_no_slot;
}

/* Everything about the ring at idx, but its errnos. */
static int read_ring(const struct live *l, uint32_t idx, const struct slot_counts *c, struct ring_stats *ret)
{
	const struct session_tables *t = session__tables(l->s);
	const struct rs_ring *r = &t->rings[idx];
	const struct track *k = &l->tracks[idx];
	uint32_t state = state_in_table(r);
	uint64_t gone = c->rejected_overflowed[idx];
	struct rs_reaped reaped;
	int err;

	memset(ret, 0, sizeof(*ret));
	ret->id = k->id;
	ret->uid = r->uid;
	ret->pid = r->pid_here;
	ret->pid_own = r->pid_own;
	ret->pid_host = r->pid != r->pid_here ? r->pid : 0;
	ret->user = r->user;
	memcpy(ret->comm, r->comm, sizeof(ret->comm));
	ret->comm[sizeof(ret->comm) - 1] = '\0';
	ret->fd = r->fd;
	ret->sq_entries = r->sq_entries;
	ret->cq_entries = r->cq_entries;
	ret->setup_flags = r->setup_flags;
	ret->cq_depth_max = r->cq_depth_max;
	ret->sq_dropped = r->sq_dropped - r->sq_dropped_base;
	if (r->issuer)
		ret->submitters = r->issuers ? SUBMITTERS_SEVERAL : SUBMITTERS_ONE;
	ret->created_in_window = r->flags & RS_RING_CREATED_IN_WINDOW;
	memcpy(ret->c, r->c, sizeof(ret->c));
	ret->c[RS_RC_OVERFLOW_ENDS] -= gone;
	ret->c[RS_RC_CQES_REJECTED] += gone;
	ret->in_flight_no_slot = ((int64_t)r->no_slot > 0 ? r->no_slot : 0) + c->unnamed[idx];
	ret->stuck_known = r->stuck_ns != 0;
	ret->stuck_ns = r->stuck_ns ? r->stuck_ns - 1 : 0;
	read_sq_thread(l, r, k, ret);
	ret->alive_ns = alive_ns(l, r);
	err = session__read_reaped(l->s, idx, &reaped);
	err = err ? err
		  : reap_stats__read(&r->reap, r->cq_depth_max, &reaped, r->watched ? &t->lags[idx] : NULL,
			    &ret->reap);
	err = err ? err : read_ops(l->s, r, c, ret);
	if (!err && k->cgroup && !(ret->cgroup = strdup(k->cgroup)))
		err = -ENOMEM;
	if (err)
		ring_stats__free(ret);
	else if (session__maps(l->s)->named < 0)
		end_overflowed(ret);
	if (!err)
		ret->state = state_of(l, state, ret, c->ring_in_flight[idx]);
	if (!err && state == RS_RING_CLOSED)
		end_silently(ret);
	return err;
}

static int compare_ids(const void *a, const void *b)
{
	const struct ring_stats *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* The rings of the table, then those that are gone. */
static int read_each(const struct live *l, const struct slot_counts *c, struct snapshot *s)
{
	const struct session_tables *t = session__tables(l->s);
	uint32_t i;
	size_t k;
	int err;

	s->rings = calloc(t->n_rings + retired__n(&l->retired), sizeof(*s->rings));
	if (!s->rings)
		return -ENOMEM;
	for (i = 1; i < t->n_rings; i++) {
		/* one that came since it was last looked at waits for the next snapshot */
		if (!l->tracks[i].uid || l->tracks[i].uid != t->rings[i].uid)
			continue;
		err = read_ring(l, i, c, &s->rings[s->n_rings]);
		if (err)
			return err;
		s->n_rings++;
	}
	for (k = 0; k < retired__n(&l->retired); k++) {
		err = ring_stats__copy(retired__at(&l->retired, k), &s->rings[s->n_rings]);
		if (err)
			return err;
		s->n_rings++;
	}
	qsort(s->rings, s->n_rings, sizeof(*s->rings), compare_ids);
	return 0;
}

static bool has_counted(const struct ring_stats *r)
{
	unsigned int i;

	for (i = 0; i < RS_RC_COUNT && !r->c[i]; i++)
		;
	return i < RS_RC_COUNT;
}

/* Requests without a ring of their own, and the rings gone that have no row of their own. */
static int read_others(const struct live *l, const struct slot_counts *c, struct snapshot *s)
{
	size_t n_sum = retired__n_sum(&l->retired);
	struct ring_stats zero;
	uint64_t unplaced;
	struct totals t;
	int err;

	err = read_ring(l, 0, c, &zero);
	if (err)
		return err;
	t = ring_stats__totals(&zero);
	zero.batchless = t.submitted + t.rejected;
	s->fidelity.rings_full = t.submitted;
	/* read after the counter that it is part of */
	unplaced = __atomic_load_n(&session__global(l->s)->rings_full, __ATOMIC_ACQUIRE);
	s->fidelity.series_full = t.submitted > unplaced ? t.submitted - unplaced : 0;
	if (zero.n_ops || has_counted(&zero) || n_sum) {
		s->others = calloc(1, sizeof(*s->others));
		err = s->others ? ring_stats__copy(&zero, s->others) : -ENOMEM;
		if (!err)
			err = ring_stats__add(s->others, retired__sum(&l->retired));
		s->n_others = n_sum;
	}
	ring_stats__free(&zero);
	return err;
}

bool live_rings__dying(const struct live *l)
{
	const struct session_tables *t = session__tables(l->s);
	struct slot_counts c;
	bool dying = false;
	uint32_t i;

	for (i = 1; i < t->n_rings && !dying; i++)
		dying = state_in_table(&t->rings[i]) == RS_RING_CLOSING;
	if (!dying || slot_counts__take(l->s, 0, &c))
		return false;
	for (i = 1, dying = false; i < t->n_rings && !dying; i++)
		dying = state_in_table(&t->rings[i]) == RS_RING_CLOSING &&
			(c.ring_in_flight[i] || (int64_t)t->rings[i].no_slot > 0 ||
				!(t->rings[i].flags & RS_RING_CREATED_IN_WINDOW));
	slot_counts__free(&c);
	return dying;
}

int live_rings__read(struct live *l, struct snapshot *s)
{
	struct slot_counts c;
	int err;

	err = slot_counts__take(l->s, live__now_ns(l), &c);
	if (err)
		return err;
	err = read_each(l, &c, s);
	err = err ? err : read_others(l, &c, s);
	err = err ? err : live_maps__errnos(l->s, s);
	err = err ? err : live_maps__extras(l->s, s);
	slot_counts__free(&c);
	return err;
}

/* Forgets the address of a ring that is gone, unless a new ring has it by now. */
static void unindex(const struct live *l, const struct rs_ring *r)
{
	int fd = session__maps(l->s)->ring_index;
	uint64_t ctx = r->ctx;
	uint32_t uid;

	if (!ctx || bpf_map_lookup_and_delete_elem(fd, &ctx, &uid) || uid == r->uid)
		return;
	bpf_map_update_elem(fd, &ctx, &uid, BPF_NOEXIST);
}

/* The CPU time of an SQPOLL thread, which other rings may share, is of no use without one. */
static void forget_thread(const struct live *l, uint32_t idx)
{
	const struct session_tables *t = session__tables(l->s);
	uint32_t tid = (uint32_t)t->rings[idx].sq_tid, i;

	for (i = 1; tid && i < t->n_rings; i++)
		if (i != idx && (uint32_t)t->rings[i].sq_tid == tid &&
			state_in_table(&t->rings[i]) != RS_RING_FREE)
			return;
	if (tid)
		bpf_map_delete_elem(session__maps(l->s)->sq_exits, &tid);
}

static int retire_one(struct live *l, uint32_t idx, const struct slot_counts *c,
	const struct errno_list *errnos)
{
	const struct rs_ring *r = &session__tables(l->s)->rings[idx];
	struct ring_stats stats;
	struct tally raw;
	int err;

	if (l->tracks[idx].uid != r->uid)
		return 0;
	err = read_ring(l, idx, c, &stats);
	if (err)
		return err;
	if (stats.state != RING_CLOSED) {
		ring_stats__free(&stats);
		return 0;
	}
	err = live_maps__take_errnos(l->s, errnos, &stats);
	err = err ? err : live_maps__take_extras(l->s, &stats);
	raw = ring_stats__tally(&stats);
	/* uids come round again */
	stats.uid = UINT32_MAX;
	err = err ? err : retired__keep(&l->retired, &stats);
	if (err) {
		ring_stats__free(&stats);
		return err;
	}
	add_work(&l->retired_work, &raw);
	track__free(&l->tracks[idx]);
	watches__drop(&l->watches, l->s, idx);
	forget_thread(l, idx);
	unindex(l, r);
	return session__recycle_ring(l->s, idx);
}

/*
 * Which rings have ended by now. To be asked before anything of them is read: one that ends while the
 * slots are being counted is closed soon after, and requests that have ended would be in flight for ever.
 */
static size_t mark_ended(const struct live *l, bool *ret)
{
	const struct session_tables *t = session__tables(l->s);
	/* what still happens to a ring that is not gone must find its entry */
	uint32_t least = knows_gone(l) ? RS_RING_CLOSED : RS_RING_CLOSING;
	size_t n = 0;
	uint32_t i;

	for (i = 1; i < t->n_rings; i++) {
		ret[i] = state_in_table(&t->rings[i]) >= least;
		n += ret[i];
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return n;
}

/* Reading out means going through all slots: for a few rings not too often. */
static bool worth_retiring(struct live *l, size_t n_ended)
{
	uint64_t now = live__now_ns(l);

	if (!n_ended)
		return false;
	if (n_ended < session__tables(l->s)->n_rings / 32 && now - l->retired_ns < LIVE_TICK_MS * 1000000ull)
		return false;
	l->retired_ns = now;
	return true;
}

/* It goes through whole maps. */
#define PURGE_EVERY_NS 2000000000ull

int live_rings__retire(struct live *l)
{
	const struct session_tables *t = session__tables(l->s);
	bool *ended = calloc(t->n_rings, sizeof(*ended));
	struct errno_list errnos = { 0 };
	struct slot_counts c;
	uint32_t i;
	int err;

	if (!ended)
		return -ENOMEM;
	if (!worth_retiring(l, mark_ended(l, ended))) {
		free(ended);
		return 0;
	}
	err = slot_counts__take(l->s, 0, &c);
	if (err) {
		free(ended);
		return err;
	}
	err = errno_list__read(l->s, &errnos);
	/* the last entry first: what is given back last is taken first, and low entries wake nobody */
	for (i = t->n_rings - 1; !err && i >= 1; i--)
		if (ended[i])
			err = retire_one(l, i, &c, &errnos);
	errno_list__free(&errnos);
	slot_counts__free(&c);
	free(ended);
	if (live__now_ns(l) - l->purged_ns > PURGE_EVERY_NS) {
		l->purged_ns = live__now_ns(l);
		purge__dead_rings(l->s);
	}
	return err;
}
