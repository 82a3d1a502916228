/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include <stdlib.h>

#include "lat.h"
#include "names.h"
#include "op_stages.h"

/* The last bucket takes whatever is longer, so it reaches beyond its nominal end. */
static uint64_t bucket_upper_ns(const struct rs_lat *l, uint32_t bucket)
{
	uint64_t upper_ns = rs_hist_upper_ns(bucket);

	if (bucket == RS_HIST_BUCKETS - 1 && l->max_ns >= upper_ns)
		return l->max_ns == UINT64_MAX ? UINT64_MAX : l->max_ns + 1;
	return upper_ns;
}

static json_t *buckets__json(const struct rs_lat *l)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < RS_HIST_BUCKETS; i++) {
		json_t *pair;

		if (!l->buckets[i])
			continue;
		pair = json_array();
		jout__add(&pair, jout__u64(bucket_upper_ns(l, i)));
		jout__add(&pair, jout__u64(l->buckets[i]));
		jout__add(&list, pair);
	}
	return list;
}

json_t *lat__json(const struct rs_lat *l)
{
	static const struct {
		const char *key;
		double q;
	} quantiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p999", 0.999 },
		{ "p9999", 0.9999 } };
	uint64_t count = lat__count(l);
	json_t *o = json_object();
	size_t i;

	jout__put(&o, "count", jout__u64(count));
	jout__put(&o, "sum", jout__u64(l->sum_ns));
	jout__put(&o, "min", jout__u64_if(count > 0, l->min_ns));
	jout__put(&o, "max", jout__u64_if(count > 0, l->max_ns));
	for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		jout__put(&o, quantiles[i].key, jout__u64_if(count > 0, lat__quantile_ns(l, quantiles[i].q)));
	jout__put(&o, "buckets", buckets__json(l));
	return o;
}

static json_t *times__json(const struct op_stats *o, unsigned int kind)
{
	const struct rs_lat *l = op_stats__times(o, kind);

	return l ? lat__json(l) : json_null();
}

static json_t *stage__json(const struct op_stages *st, enum rs_stage stage)
{
	static const struct rs_lat none;
	const struct rs_lat *l = st->lat[stage] ? st->lat[stage] : &none;
	uint64_t count = lat__count(l);
	json_t *o = json_object();

	jout__put(&o, "count", jout__u64(count));
	jout__put(&o, "sum", jout__u64(l->sum_ns));
	jout__put(&o, "p50", jout__u64_if(count > 0, lat__quantile_ns(l, 0.5)));
	jout__put(&o, "p99", jout__u64_if(count > 0, lat__quantile_ns(l, 0.99)));
	jout__put(&o, "max", jout__u64_if(count > 0, l->max_ns));
	jout__put(&o, "share_of_slowest", jout__ratio(op_stages__tail_share(st, stage), st->tail_n > 0));
	return o;
}

json_t *op_stats__stages_json(const struct snapshot *s, const struct op_stats *o)
{
	struct op_stages *st;
	json_t *j;
	size_t i;

	if (!op_stats__knows_stages(s, o))
		return json_null();
	st = malloc(sizeof(*st));
	if (!st)
		return NULL;
	op_stages__make(o, st);
	j = json_object();
	for (i = 0; i < RS_STAGES; i++)
		jout__put(&j, stage_name(i), snapshot__knows_stage(s, i) ? stage__json(st, i) : json_null());
	jout__put(&j, "reap", json_null());
	free(st);
	return j;
}

json_t *op_stats__errors_json(const struct op_stats *o)
{
	json_t *errors = json_object();
	char buf[NAME_LEN];
	uint64_t named = 0;
	size_t i;

	for (i = 0; i < o->n_errnos; i++) {
		jout__put(&errors, errno_name(o->errnos[i].err, buf), jout__u64(o->errnos[i].count));
		named += o->errnos[i].count;
	}
	if (o->c[RS_SC_ERRORS] > named)
		jout__put(&errors, "OTHER", jout__u64(o->c[RS_SC_ERRORS] - named));
	return errors;
}

static json_t *op_stats__json(const struct snapshot *s, const struct op_stats *o)
{
	bool completions = snapshot__knows(s, RS_F_COMPLETE), bytes = op_traits(o->op) & RS_OP_BYTES;
	json_t *j = json_object();
	char buf[NAME_LEN];

	jout__put(&j, "op", json_string(op_name(o->op, buf)));
	jout__put(&j, "submitted", op_stats__counter_json(s, o, "submitted"));
	jout__put(&j, "completed", jout__u64_if(completions, op_stats__completed(o)));
	jout__put(&j, "errors", completions ? op_stats__errors_json(o) : json_null());
	jout__put(&j, "punted", jout__u64_if(snapshot__knows(s, RS_F_PUNT), op_stats__punted(o)));
	jout__put(&j, "punted_by", op_stats__punted_by_json(s, o));
	jout__put(&j, "poll_armed", op_stats__counter_json(s, o, "poll_armed"));
	jout__put(&j, "bytes", bytes ? op_stats__counter_json(s, o, "bytes") : json_null());
	op_stats__put_counters(&j, s, o);
	jout__put(&j, "in_flight", jout__u64_if(snapshot__knows(s, RS_F_SUBMIT), o->in_flight));
	jout__put(&j, "latency_ns", completions ? lat__json(&o->lat) : json_null());
	jout__put(&j, "multishot_gap_ns", times__json(o, RS_TAG_MULTI));
	jout__put(&j, "notif_delay_ns", times__json(o, RS_TAG_NOTIF));
	jout__put(&j, "stages", op_stats__stages_json(s, o));
	return j;
}

json_t *ops__json(const struct snapshot *s, const struct op_stats *ops, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n && list; i++)
		jout__add(&list, op_stats__json(s, &ops[i]));
	return list;
}
