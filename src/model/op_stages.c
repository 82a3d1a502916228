// SPDX-License-Identifier: MIT
#include "op_stages.h"

#include "lat.h"

static const struct {
	const char *name;
	enum rs_feature feature;
} stages[RS_STAGES] = {
#define STAGE(id, name, feature, what) [RS_ST_##id] = { name, RS_F_##feature },
#include "stages.def"
};

const char *stage_name(enum rs_stage stage)
{
	return stages[stage].name;
}

bool snapshot__knows_stage(const struct snapshot *s, enum rs_stage stage)
{
	if (!snapshot__knows(s, RS_F_STAGES) || !snapshot__knows(s, RS_F_COMPLETE))
		return false;
	/* either both in one, or each */
	if (stage == RS_ST_WQ && snapshot__knows(s, RS_F_WQ_QUEUE))
		return false;
	return snapshot__knows(s, stages[stage].feature);
}

bool op_stats__knows_stages(const struct snapshot *s, const struct op_stats *o)
{
	return snapshot__knows_stage(s, RS_ST_ISSUE) && !o->stages_lost;
}

/* Requests that ended inline had no other stage, and are not counted there: they are what the slow ones leave. */
static void make_issue(const struct op_stats *o, struct rs_lat *ret)
{
	const struct rs_lat *slow = op_stats__times(o, RS_KIND_SLOW);
	const struct rs_lat *part = op_stats__times(o, RS_KIND_STAGE(RS_ST_ISSUE));

	*ret = o->lat;
	if (slow)
		lat__delta(slow, &o->lat, ret);
	if (part)
		lat__add(ret, part);
}

static double middle_ns(uint32_t bucket)
{
	return ((double)rs_hist_lower_ns(bucket) + (double)rs_hist_upper_ns(bucket)) / 2;
}

/* Of an octave: the requests, and the time of those that ended inline. */
static double inline_ns(const struct op_stats *o, uint32_t octave, double *ret_n)
{
	const struct rs_lat *slow = op_stats__times(o, RS_KIND_SLOW);
	double n = 0, ns = 0;
	uint32_t i;

	for (i = octave * RS_HIST_SUB; i < (octave + 1) * RS_HIST_SUB; i++) {
		uint64_t all = o->lat.buckets[i], slower = slow ? slow->buckets[i] : 0;

		n += (double)all;
		ns += all > slower ? (double)(all - slower) * middle_ns(i) : 0;
	}
	*ret_n = n;
	return ns;
}

static void make_tail(const struct op_stats *o, struct op_stages *ret)
{
	double left = (double)lat__count(&o->lat) / 100, n, part, ns;
	uint32_t octave, s;

	/* of few requests, the slowest */
	left = left < 1 ? 1 : left;
	for (octave = RS_HIST_OCTAVES; octave-- > 0 && left > 0;) {
		ns = inline_ns(o, octave, &n);
		if (n <= 0)
			continue;
		part = n > left ? left / n : 1;
		ret->tail_ns[RS_ST_ISSUE] += part * ns;
		for (s = 0; s < RS_STAGES; s++)
			if (o->kin[RS_KIND_STAGE(s)])
				ret->tail_ns[s] += part * (double)o->kin[RS_KIND_STAGE(s)]->tail_ns[octave];
		ret->tail_n += part * n;
		left -= part * n;
	}
}

void op_stages__make(const struct op_stats *o, struct op_stages *ret)
{
	uint32_t s;

	*ret = (struct op_stages){ 0 };
	make_issue(o, &ret->issue);
	for (s = 0; s < RS_STAGES; s++)
		ret->lat[s] = op_stats__times(o, RS_KIND_STAGE(s));
	ret->lat[RS_ST_ISSUE] = &ret->issue;
	make_tail(o, ret);
}

double op_stages__share(const struct op_stages *st, enum rs_stage stage)
{
	double sum = 0;
	uint32_t s;

	for (s = 0; s < RS_STAGES; s++)
		sum += st->lat[s] ? (double)st->lat[s]->sum_ns : 0;
	return sum > 0 && st->lat[stage] ? (double)st->lat[stage]->sum_ns / sum : 0;
}

double op_stages__tail_share(const struct op_stages *st, enum rs_stage stage)
{
	double sum = 0;
	uint32_t s;

	for (s = 0; s < RS_STAGES; s++)
		sum += st->tail_ns[s];
	return sum > 0 ? st->tail_ns[stage] / sum : 0;
}
