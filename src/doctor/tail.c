// SPDX-License-Identifier: MIT
#include "tail.h"

#include <string.h>

#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "op_stages.h"

/* Evidence that is the same for each such rule is in their rows. */
static int report(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	const struct op_stages *st, enum rs_stage stage, const char *where, struct diagnosis *d)
{
	const struct rs_lat *l = st->lat[stage];
	double tail_pct = 100 * op_stages__tail_share(st, stage);
	uint64_t p99_ns = lat__quantile_ns(&o->lat, 0.99);
	char name[NAME_LEN], p99[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = SEVERITY_INFO,
		.advice = r->advice,
		.ring = rule__main_ring(s, o, op_stats__completed),
		.op = (int)o->op,
		.weight = (uint64_t)st->tail_n,
		.time_ns = l->sum_ns,
	};
	json_t *e = json_object();

	evidence__u64(&e, "timed", lat__count(&o->lat));
	evidence__u64(&e, "p50_ns", lat__quantile_ns(&o->lat, 0.5));
	evidence__u64(&e, "p99_ns", p99_ns);
	evidence__real(&e, "tail_pct", tail_pct);
	evidence__real(&e, "share_pct", 100 * op_stages__share(st, stage));
	evidence__u64(&e, "stage_p50_ns", lat__quantile_ns(l, 0.5));
	evidence__u64(&e, "stage_p99_ns", lat__quantile_ns(l, 0.99));
	return diagnosis__add(d, &f, e, "%s: %.0f%% of the time of the slowest (p99 %s) was spent %s",
		op_name(o->op, name), tail_pct, fmt_ns(p99, p99_ns), where);
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, enum rs_stage stage,
	const char *where, struct diagnosis *d)
{
	uint64_t n = lat__count(&o->lat);
	struct op_stages st;

	if (!n || (double)n < rule__limit(r, TAIL_MIN_REQUESTS) || !op_stats__knows_stages(s, o) ||
		(double)lat__quantile_ns(&o->lat, 0.99) < rule__limit(r, TAIL_MIN_P99_MS) * 1e6)
		return 0;
	op_stages__make(o, &st);
	if (!st.lat[stage] || 100 * op_stages__tail_share(&st, stage) < rule__limit(r, TAIL_MIN_PCT))
		return 0;
	return report(r, s, o, &st, stage, where, d);
}

/* 0 or -ENOMEM. */
static int not_asked(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	const struct feature_state *f = &s->features[RS_F_BLOCK];
	const char *unasked = "not asked for";

	if (!f->why[0] || !strncmp(f->why, unasked, strlen(unasked)))
		return diagnosis__not_checked(d, r->id, false, "needs --block");
	return diagnosis__not_checked(d, r->id, false, "cannot observe %s: %s",
		rule__feature_name(RS_F_BLOCK), f->why);
}

int tail__judge(const struct rule *r, const struct snapshot *s, enum rs_stage stage, const char *where,
	struct diagnosis *d)
{
	struct op_list l;
	int err;

	if (!snapshot__knows_stage(s, stage))
		return not_asked(r, s, d);
	err = snapshot__ops(s, &l);
	if (err)
		return err;
	for (size_t i = 0; i < l.n && !err; i++)
		err = look(r, s, &l.ops[i], stage, where, d);
	op_list__free(&l);
	return err;
}
