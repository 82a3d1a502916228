// SPDX-License-Identifier: MIT
#include "reaping.h"

#include <errno.h>
#include <stdlib.h>

#include "reap.h"

/* One bucket of the kernel side is two of ours: each gets half. */
void reap_dist__lat(const struct rs_reap_dist *d, struct rs_lat *ret)
{
	struct rs_lat l = { .sum_ns = d->sum_ns, .min_ns = UINT64_MAX, .max_ns = d->max_ns };

	for (unsigned int i = 0; i < RS_REAP_BUCKETS; i++) {
		uint32_t n = d->buckets[i];

		l.buckets[2 * i] = n - n / 2;
		l.buckets[2 * i + 1] = n / 2;
		if (n && l.min_ns == UINT64_MAX)
			l.min_ns = rs_hist_lower_ns(2 * i);
	}
	*ret = l;
}

static uint64_t dist_count(const struct rs_reap_dist *d)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < RS_REAP_BUCKETS; i++)
		n += d->buckets[i];
	return n;
}

/* cur - prev; its maximum is cur's where that may be in it, else the bound of the last bucket hit. */
static void dist_delta(const struct rs_reap_dist *prev, const struct rs_reap_dist *cur,
	struct rs_reap_dist *ret)
{
	struct rs_reap_dist d = { .sum_ns = cur->sum_ns > prev->sum_ns ? cur->sum_ns - prev->sum_ns : 0 };

	for (unsigned int i = 0; i < RS_REAP_BUCKETS; i++) {
		if (cur->buckets[i] <= prev->buckets[i])
			continue;
		d.buckets[i] = cur->buckets[i] - prev->buckets[i];
		d.max_ns =
			rs_hist_bucket(cur->max_ns) / 2 == i ? cur->max_ns : rs_hist_upper_ns(2 * i + 1) - 1;
	}
	*ret = d;
}

int reap_stats__read(const struct rs_reap *f, uint32_t depth_max, const struct rs_reaped *sum,
	const struct rs_lags *lags, struct reap_stats *ret)
{
	struct reap_stats r = { .exact = lags && !lags->unseen,
		.left_known = f->left != 0,
		.left = f->left ? f->left - 1 : 0 };
	static const struct rs_reap_dist none;
	uint64_t gone_ns = rs_reap_gone_ns(f);
	struct rs_reaped all = *sum;
	struct reap_times *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	/* no CQE came since, with which it would have been recorded */
	if (gone_ns)
		rs_reap_record(f, depth_max, gone_ns, &all);
	else if (f->posted_ns && f->unreaped_ns > f->posted_ns)
		r.unreaped_ns = f->unreaped_ns - f->posted_ns;
	t->lower = all.lower;
	t->upper = all.upper;
	t->lag = r.exact ? lags->dist : none;
	if (dist_count(&t->upper) || dist_count(&t->lag))
		r.times = t;
	else
		free(t);
	*ret = r;
	return 0;
}

int reap_stats__copy(const struct reap_stats *r, struct reap_stats *ret)
{
	struct reap_stats copy = *r;

	if (r->times) {
		copy.times = malloc(sizeof(*copy.times));
		if (!copy.times)
			return -ENOMEM;
		*copy.times = *r->times;
	}
	*ret = copy;
	return 0;
}

int reap_stats__delta(const struct reap_stats *prev, const struct reap_stats *cur, struct reap_stats *ret)
{
	struct reap_stats d;
	int err = reap_stats__copy(cur, &d);

	if (err)
		return err;
	if (d.times && prev->times) {
		dist_delta(&prev->times->lower, &cur->times->lower, &d.times->lower);
		dist_delta(&prev->times->upper, &cur->times->upper, &d.times->upper);
		dist_delta(&prev->times->lag, &cur->times->lag, &d.times->lag);
	}
	*ret = d;
	return 0;
}

void reap_stats__free(struct reap_stats *r)
{
	free(r->times);
	r->times = NULL;
}

uint64_t reap_stats__count(const struct reap_stats *r)
{
	if (!r->times)
		return 0;
	return dist_count(r->exact ? &r->times->lag : &r->times->upper);
}

bool reap_stats__depth(const struct reap_stats *r, uint64_t n_cqes, uint64_t span_ns, double *ret_lower,
	double *ret_upper)
{
	uint64_t count = reap_stats__count(r);
	double per_ns;

	if (!count || !span_ns)
		return false;
	per_ns = (double)n_cqes / (double)count / (double)span_ns;
	*ret_lower = (double)(r->exact ? &r->times->lag : &r->times->lower)->sum_ns * per_ns;
	*ret_upper = (double)(r->exact ? &r->times->lag : &r->times->upper)->sum_ns * per_ns;
	return true;
}
