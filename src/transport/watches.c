// SPDX-License-Identifier: MIT
#include "watches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int watches__begin(struct watches *w, const struct session *s)
{
	const struct session_tables *t = session__tables(s);

	if (!t->lags)
		return 0;
	w->of = calloc(t->n_rings, sizeof(*w->of));
	w->tried = calloc(t->n_rings, sizeof(*w->tried));
	return w->of && w->tried ? 0 : -ENOMEM;
}

struct search {
	struct watches *w;
	struct session *s;
	bool cq_map; /* look at these mappings only */
};

/* Only in the process whose ring it is: others that share it are seen to move the head unseen. */
static int watch_if_new(const struct rs_head *h, void *arg)
{
	struct search *x = arg;
	uint32_t idx = RS_RING_IDX(h->ring_uid);
	struct session_tables t = *session__tables(x->s);
	struct rs_ring *r;

	if (idx >= t.n_rings || h->cq_map != x->cq_map)
		return 0;
	r = &t.rings[idx];
	if (r->uid != h->ring_uid || r->pid != h->key.pid || !r->pid_here || x->w->of[idx] ||
		x->w->tried[idx] == r->uid)
		return 0;
	x->w->tried[idx] = r->uid;
	if (!session__watch(x->s, h, r->pid_here, &x->w->of[idx]))
		__atomic_store_n(&r->watched, 1, __ATOMIC_RELEASE);
	return 0;
}

void watches__drop(struct watches *w, struct session *s, uint32_t idx)
{
	if (!w->of)
		return;
	session__unwatch(s, w->of[idx]);
	w->of[idx] = NULL;
}

/* An application maps a ring soon after it has made it. */
#define SOON_NS 50000000ull

static bool is_due(const struct rs_ring *r, uint32_t tried)
{
	return __atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == RS_RING_LISTED && tried != r->uid;
}

void watches__update(struct watches *w, struct session *s, uint64_t now_ns)
{
	const struct session_tables *t = session__tables(s);
	struct search x = { .w = w, .s = s, .cq_map = true };
	bool any = false;
	uint32_t i;

	if (!w->of)
		return;
	for (i = 1; i < t->n_rings; i++) {
		any |= is_due(&t->rings[i], w->tried[i]);
		/* there are few watchpoints */
		if (w->of[i] && t->rings[i].state != RS_RING_LISTED)
			watches__drop(w, s, i);
	}
	if (!any)
		return;
	/* who has mapped the CQ by itself moves its head there */
	if (session__find_heads(s, watch_if_new, &x))
		return;
	x.cq_map = false;
	session__find_heads(s, watch_if_new, &x);
	for (i = 1; i < t->n_rings; i++)
		if (is_due(&t->rings[i], w->tried[i]) && t->rings[i].created_ns + SOON_NS < now_ns)
			w->tried[i] = t->rings[i].uid;
}

void watches__end(struct watches *w, struct session *s)
{
	uint32_t i;

	for (i = 0; w->of && i < session__tables(s)->n_rings; i++)
		session__unwatch(s, w->of[i]);
	free(w->of);
	free(w->tried);
	memset(w, 0, sizeof(*w));
}
