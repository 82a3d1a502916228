// SPDX-License-Identifier: MIT
/*
 * Reading a latency distribution. A live one may be read between two of its
 * writes, so no field is taken to agree with another.
 */
#include "lat.h"

uint64_t lat__count(const struct rs_lat *l)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < RS_HIST_BUCKETS; i++)
		n += l->buckets[i];
	return n;
}

static uint64_t midpoint_ns(unsigned int bucket)
{
	uint64_t lower = rs_hist_lower_ns(bucket);

	return lower + (rs_hist_upper_ns(bucket) - lower) / 2;
}

/* Rank of the sample wanted, 1 .. count. */
static uint64_t quantile_rank(double q, uint64_t count)
{
	double exact = q * (double)count;
	uint64_t rank;

	if (!(q > 0))
		return 1;
	/* compared as doubles first: a count near 2^64 rounds up to what no uint64_t holds */
	if (q >= 1 || exact >= (double)count)
		return count;
	rank = (uint64_t)exact;
	return rank < count && (double)rank < exact ? rank + 1 : rank;
}

uint64_t lat__quantile_ns(const struct rs_lat *l, double q)
{
	uint64_t count = lat__count(l), rank, seen = 0, ns = 0;

	if (count == 0)
		return 0;
	rank = quantile_rank(q, count);
	for (unsigned int i = 0; i < RS_HIST_BUCKETS; i++) {
		seen += l->buckets[i];
		if (seen >= rank) {
			ns = midpoint_ns(i);
			break;
		}
	}
	if (l->min_ns > l->max_ns)
		return ns;
	if (ns < l->min_ns)
		return l->min_ns;
	return ns > l->max_ns ? l->max_ns : ns;
}

void lat__add(struct rs_lat *sum, const struct rs_lat *o)
{
	/* a zeroed accumulator has a minimum of 0 that no sample gave it */
	if (sum->min_ns == 0 && lat__count(sum) == 0)
		sum->min_ns = UINT64_MAX;
	if (lat__count(o) == 0)
		return;
	sum->sum_ns += o->sum_ns;
	if (o->min_ns < sum->min_ns)
		sum->min_ns = o->min_ns;
	if (o->max_ns > sum->max_ns)
		sum->max_ns = o->max_ns;
	for (unsigned int i = 0; i < RS_HIST_BUCKETS; i++)
		sum->buckets[i] += o->buckets[i];
}

/* The bounds of the outermost buckets, narrowed by cur's extremes where those lie in the same bucket. */
static void bound_delta(const struct rs_lat *cur, struct rs_lat *d)
{
	unsigned int first = 0, last = RS_HIST_BUCKETS - 1;

	d->min_ns = UINT64_MAX;
	d->max_ns = 0;
	while (first < RS_HIST_BUCKETS && d->buckets[first] == 0)
		first++;
	if (first == RS_HIST_BUCKETS)
		return;
	while (d->buckets[last] == 0)
		last--;
	d->min_ns = rs_hist_bucket(cur->min_ns) == first ? cur->min_ns : rs_hist_lower_ns(first);
	d->max_ns = rs_hist_bucket(cur->max_ns) == last ? cur->max_ns : rs_hist_upper_ns(last) - 1;
}

void lat__delta(const struct rs_lat *prev, const struct rs_lat *cur, struct rs_lat *ret)
{
	struct rs_lat d = { 0 };

	d.sum_ns = cur->sum_ns > prev->sum_ns ? cur->sum_ns - prev->sum_ns : 0;
	for (unsigned int i = 0; i < RS_HIST_BUCKETS; i++)
		if (cur->buckets[i] > prev->buckets[i])
			d.buckets[i] = cur->buckets[i] - prev->buckets[i];
	bound_delta(cur, &d);
	*ret = d;
}
