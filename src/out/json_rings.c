/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include <stdio.h>

#include "lat.h"
#include "names.h"

static json_t *flags__json(uint32_t flags)
{
	json_t *list = json_array();
	uint32_t unknown = 0;
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		const char *name = setup_flag_name(bit);

		if (!(flags & 1u << bit))
			continue;
		if (name)
			jout__add(&list, json_string(name));
		else
			unknown |= 1u << bit;
	}
	if (unknown)
		jout__add(&list, json_sprintf("0x%x", unknown));
	return list;
}

static json_t *sq_thread__json(const struct ring_stats *r)
{
	json_t *o;

	if (!r->sq_tid)
		return json_null();
	o = json_object();
	jout__put(&o, "tid", jout__u64_if(!r->sq_outside, r->sq_tid));
	jout__put(&o, "cpu_pct",
		r->sq_cpu_known ? jout__ratio(100.0 * (double)r->sq_cpu_ns, (double)r->sq_alive_ns)
				: json_null());
	return o;
}

/* Without the events that end a ring, "still open" would be a guess. */
static json_t *state__json(const struct snapshot *s, const struct ring_stats *r)
{
	static const char *const names[] = {
		[RING_OPEN] = "open",
		[RING_CLOSING] = "closing",
		[RING_CLOSED] = "closed",
	};

	if (r->state == RING_OPEN && !snapshot__knows(s, RS_F_RING_EXIT))
		return json_null();
	return json_string(names[r->state]);
}

static json_t *created_in_window__json(const struct snapshot *s, const struct ring_stats *r)
{
	if (!r->created_in_window && !snapshot__knows(s, RS_F_RING_CREATE))
		return json_null();
	return json_boolean(r->created_in_window);
}

static json_t *reap_times__json(const struct rs_reap_dist *d)
{
	json_t *o = json_object();
	struct rs_lat l;
	bool any;

	reap_dist__lat(d, &l);
	any = lat__count(&l) > 0;
	jout__put(&o, "count", jout__u64(lat__count(&l)));
	jout__put(&o, "sum", jout__u64(l.sum_ns));
	jout__put(&o, "max", jout__u64_if(any, l.max_ns));
	jout__put(&o, "p50", jout__u64_if(any, lat__quantile_ns(&l, 0.5)));
	jout__put(&o, "p90", jout__u64_if(any, lat__quantile_ns(&l, 0.9)));
	jout__put(&o, "p99", jout__u64_if(any, lat__quantile_ns(&l, 0.99)));
	return o;
}

/* A CQE that overflowed comes to the CQ later, when nothing tells. */
static json_t *cq_depth_mean__json(const struct snapshot *s, const struct ring_stats *r)
{
	double lower, upper;
	json_t *o;

	if (!snapshot__knows(s, RS_F_OVERFLOW) || r->c[RS_RC_CQ_OVERFLOWS] ||
		!reap_stats__depth(&r->reap, ring_stats__cqes(r), r->alive_ns, &lower, &upper))
		return json_null();
	o = json_object();
	jout__put(&o, "lower", jout__ratio(lower, 1));
	jout__put(&o, "upper", jout__ratio(upper, 1));
	return o;
}

/* Without the request that a CQE ends, its place in the CQ is not known. */
static json_t *reap__json(const struct snapshot *s, const struct ring_stats *r)
{
	static const struct rs_reap_dist none;
	const struct reap_times *t = r->reap.times;
	json_t *o;

	if (!r->id || !snapshot__knows(s, RS_F_ENDS))
		return json_null();
	o = json_object();
	jout__put(&o, "how", json_string(r->reap.exact ? "exact" : "bracketed"));
	jout__put(&o, "count", jout__u64(reap_stats__count(&r->reap)));
	jout__put(&o, "lag_ns", r->reap.exact ? reap_times__json(t ? &t->lag : &none) : json_null());
	jout__put(&o, "lower_ns", reap_times__json(t ? &t->lower : &none));
	jout__put(&o, "upper_ns", reap_times__json(t ? &t->upper : &none));
	jout__put(&o, "unreaped", jout__u64_if(r->reap.left_known, r->reap.left));
	jout__put(&o, "unreaped_ns",
		jout__u64_if(r->reap.left_known && r->reap.left && r->reap.unreaped_ns, r->reap.unreaped_ns));
	jout__put(&o, "cq_depth_mean", cq_depth_mean__json(s, r));
	return o;
}

static json_t *ring_stats__json(const struct snapshot *s, const struct ring_stats *r)
{
	struct totals totals = ring_stats__totals(r);
	struct tally raw = ring_stats__tally(r);
	bool one = r->id != 0; /* else the sum of rings that found no entry: no facts of its own */
	json_t *o = json_object();

	jout__put(&o, "id", jout__u64(r->id));
	jout__put(&o, "pid", jout__u64_if(r->pid != 0, r->pid));
	jout__put(&o, "pid_in_namespace", jout__u64_if(r->pid_own != 0, r->pid_own));
	jout__put(&o, "host_pid", jout__u64_if(r->pid_host != 0, r->pid_host));
	jout__put(&o, "comm", jout__comm(r->comm));
	jout__put(&o, "cgroup", jout__text(r->cgroup));
	jout__put(&o, "fd", one && r->fd >= 0 ? json_integer(r->fd) : json_null());
	jout__put(&o, "sq_entries", jout__u64_if(r->sq_entries != 0, r->sq_entries));
	jout__put(&o, "cq_entries", jout__u64_if(r->cq_entries != 0, r->cq_entries));
	jout__put(&o, "flags", one ? flags__json(r->setup_flags) : json_null());
	jout__put(&o, "state", one ? state__json(s, r) : json_null());
	jout__put(&o, "created_in_window", one ? created_in_window__json(s, r) : json_null());
	jout__put(&o, "one_submitter",
		r->submitters ? json_boolean(r->submitters == SUBMITTERS_ONE) : json_null());
	jout__put(&o, "sq_thread", sq_thread__json(r));
	jout__put(&o, "cq_depth_max",
		jout__u64_if(one && snapshot__knows(s, RS_F_COMPLETE), r->cq_depth_max));
	jout__put(&o, "reap", reap__json(s, r));
	jout__put(&o, "totals", totals__json(s, &totals, &raw));
	jout__put(&o, "ops", ops__json(s, r->ops, r->n_ops));
	return o;
}

json_t *rings__json(const struct snapshot *s)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < s->n_rings && list; i++)
		jout__add(&list, ring_stats__json(s, &s->rings[i]));
	return list;
}

json_t *rings_other__json(const struct snapshot *s)
{
	struct totals totals;
	struct tally raw;
	json_t *o;

	if (!s->others)
		return json_null();
	totals = ring_stats__totals(s->others);
	raw = ring_stats__tally(s->others);
	o = json_object();
	jout__put(&o, "n_rings", jout__u64(s->n_others));
	jout__put(&o, "totals", totals__json(s, &totals, &raw));
	return o;
}
