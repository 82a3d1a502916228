// SPDX-License-Identifier: MIT
#include "delivery.h"

#include <errno.h>

#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "op_stages.h"

/* Bit 13 of io_uring_params.flags. */
#define SETUP_DEFER_TASKRUN (1u << 13)

static const struct rs_lat *stage(const struct op_stats *o, enum rs_stage s)
{
	return op_stats__times(o, RS_KIND_STAGE(s));
}

static uint64_t stage_ns(const struct op_stats *o, enum rs_stage s)
{
	const struct rs_lat *l = stage(o, s);

	return l ? l->sum_ns : 0;
}

/* Of the time that the kernel had something to do for the request. */
static double share_pct(const struct op_stats *o)
{
	uint64_t waited = stage_ns(o, RS_ST_ARMED) + stage_ns(o, RS_ST_LINK);

	return o->lat.sum_ns > waited ? rule__pct(stage_ns(o, RS_ST_DELIVER), o->lat.sum_ns - waited) : 0;
}

/* Requests that are canceled with their ring or task are woken for that, thousands at a time. */
static uint64_t canceled(const struct snapshot *s, const struct op_stats *o)
{
	uint64_t n = o->c[RS_SC_CANCELED_EXIT] + o->c[RS_SC_CANCELED_CLOSE];

	return s->cost.sample > 1 ? n / s->cost.sample : n;
}

static bool is_slow(const struct rule *r, const struct snapshot *s, const struct op_stats *o)
{
	const struct rs_lat *l = stage(o, RS_ST_DELIVER);
	uint64_t n = l ? lat__count(l) : 0;

	return n && op_stats__knows_stages(s, o) && canceled(s, o) * 10 <= n &&
	       (double)(n - canceled(s, o)) >= rule__limit(r, DELIVERY_MIN_REQUESTS) &&
	       (double)lat__quantile_ns(l, 0.5) >= rule__limit(r, DELIVERY_MIN_P50) * 1e6 &&
	       share_pct(o) >= rule__limit(r, DELIVERY_MIN_SHARE);
}

/* The opcode of this ring that lost most. NULL: none is slow. */
static const struct op_stats *slowest(const struct rule *r, const struct snapshot *s,
	const struct ring_stats *ring)
{
	const struct op_stats *worst = NULL;

	for (size_t i = 0; i < ring->n_ops; i++)
		if (is_slow(r, s, &ring->ops[i]) &&
			(!worst || stage_ns(&ring->ops[i], RS_ST_DELIVER) > stage_ns(worst, RS_ST_DELIVER)))
			worst = &ring->ops[i];
	return worst;
}

static bool fires(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	const struct op_stats *o = ring->id ? slowest(r, s, ring) : NULL;

	if (o)
		ret_hit->weight = rule__scaled(s, lat__count(stage(o, RS_ST_DELIVER)));
	return o;
}

static bool fires_deferred(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	return (ring->setup_flags & SETUP_DEFER_TASKRUN) && fires(r, s, ring, ret_hit);
}

static bool fires_others(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit)
{
	return !(ring->setup_flags & SETUP_DEFER_TASKRUN) && fires(r, s, ring, ret_hit);
}

static int report(const struct hit_group *g, struct diagnosis *d)
{
	const struct ring_stats *ring = g->hits[0].ring;
	const struct op_stats *o = slowest(g->rule, g->snap, ring), *one;
	const struct rs_lat *l = stage(o, RS_ST_DELIVER);
	char whose[WHOSE_LEN], name[NAME_LEN], p50[FMT_LEN];
	struct finding f = hit_group__finding(g);
	json_t *e = json_object();

	f.op = (int)o->op;
	for (size_t i = 0; i < g->n; i++) {
		one = slowest(g->rule, g->snap, g->hits[i].ring);
		f.time_ns += rule__scaled(g->snap, stage_ns(one, RS_ST_DELIVER));
		if (one->op != o->op)
			f.op = -1;
	}
	hit_group__evidence(g, &e);
	evidence__u64(&e, "delivered", lat__count(l));
	evidence__u64(&e, "deliver_p50_ns", lat__quantile_ns(l, 0.5));
	evidence__u64(&e, "deliver_p99_ns", lat__quantile_ns(l, 0.99));
	evidence__u64(&e, "deliver_sum_ns", l->sum_ns);
	evidence__real(&e, "deliver_pct", share_pct(o));
	if (snapshot__knows(g->snap, RS_F_WAIT))
		evidence__u64(&e, "waits", ring->c[RS_RC_WAITS]);
	return diagnosis__add(d, &f, e,
		"%s: half of the %s requests were ready for %s or longer before their CQE came",
		hit_group__whose(g, whose), op_name(o->op, name), fmt_ns(p50, lat__quantile_ns(l, 0.5)));
}

int delivery__judge(const struct rule *r, const struct snapshot *s, bool deferred, struct diagnosis *d)
{
	return rings__judge(r, s, deferred ? fires_deferred : fires_others, report, d);
}
