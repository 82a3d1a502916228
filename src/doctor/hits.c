// SPDX-License-Identifier: MIT
/* Rings of one program that a rule fires on become one finding. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

/* Ring ids in the evidence: enough to go and look, short enough to read. */
#define MAX_RING_IDS 16

static int heaviest_first(const void *a, const void *b)
{
	const struct ring_hit *x = a, *y = b;

	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->ring->id < y->ring->id ? -1 : x->ring->id > y->ring->id;
}

static bool same_program(const struct ring_hit *a, const struct ring_hit *b)
{
	const struct ring_stats *x = a->ring, *y = b->ring;

	if (a->severity != b->severity || x->id == 0 || y->id == 0)
		return false;
	if (x->pid && x->pid == y->pid)
		return true;
	return x->comm[0] && strncmp(x->comm, y->comm, sizeof(x->comm)) == 0;
}

/* Moves the hits of the same program as hits[0] to the front, in order. Returns how many. */
static size_t gather(struct ring_hit *hits, size_t n)
{
	size_t k = 1;

	for (size_t i = 1; i < n; i++) {
		struct ring_hit h = hits[i];

		if (!same_program(&hits[0], &h))
			continue;
		memmove(&hits[k + 1], &hits[k], (i - k) * sizeof(h));
		hits[k++] = h;
	}
	return k;
}

int ring_hits__report(const struct rule *r, const struct snapshot *s, struct ring_hit *hits, size_t n,
	int (*report)(const struct hit_group *g, struct diagnosis *d), struct diagnosis *d)
{
	int err = 0;

	if (n)
		qsort(hits, n, sizeof(*hits), heaviest_first);
	while (n && !err) {
		struct hit_group g = { .rule = r, .snap = s, .hits = hits, .n = gather(hits, n) };

		for (size_t i = 0; i < g.n; i++)
			g.weight += hits[i].weight;
		err = report(&g, d);
		hits += g.n;
		n -= g.n;
	}
	return err;
}

int ops__judge(const struct rule *r, const struct snapshot *s,
	int (*look)(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
		struct diagnosis *d),
	struct diagnosis *d)
{
	struct op_list l;
	int err = snapshot__ops(s, &l);

	if (err)
		return err;
	for (size_t i = 0; i < l.n && !err; i++)
		err = look(r, s, &l.ops[i], d);
	op_list__free(&l);
	return err;
}

int rings__judge(const struct rule *r, const struct snapshot *s, ring_judge fires,
	int (*report)(const struct hit_group *g, struct diagnosis *d), struct diagnosis *d)
{
	struct ring_hit *hits = calloc(s->n_rings + 1, sizeof(*hits));
	size_t n = 0;
	int err;

	if (!hits)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_rings + (s->others != NULL); i++) {
		const struct ring_stats *ring = i < s->n_rings ? &s->rings[i] : s->others;

		hits[n] = (struct ring_hit){ ring, SEVERITY_WARN, 0 };
		n += fires(r, s, ring, &hits[n]);
	}
	err = ring_hits__report(r, s, hits, n, report, d);
	free(hits);
	return err;
}

int rule__skips_summed(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	if (!s->others || !ring_stats__cqes(s->others))
		return 0;
	return diagnosis__not_checked(d, r->id, true,
		"not on rings that are only summed: --max-report-rings");
}

const char *hit_group__whose(const struct hit_group *g, char buf[WHOSE_LEN])
{
	unsigned int worst = g->hits[0].ring->id;

	if (worst == 0)
		return "unlisted rings";
	if (g->n == 1)
		snprintf(buf, WHOSE_LEN, "ring %u", worst);
	else
		snprintf(buf, WHOSE_LEN, "%zu rings (worst: ring %u)", g->n, worst);
	return buf;
}

void hit_group__evidence(const struct hit_group *g, json_t **e)
{
	char ids[MAX_RING_IDS * 12 + 4] = "";
	uint32_t pid = g->hits[0].ring->pid;
	size_t len = 0;

	if (g->hits[0].ring->id == 0)
		return;
	for (size_t i = 0; i < g->n; i++) {
		if (g->hits[i].ring->pid != pid)
			pid = 0;
		if (i < MAX_RING_IDS)
			len += (size_t)snprintf(ids + len, sizeof(ids) - len, "%s%u", i ? " " : "",
				g->hits[i].ring->id);
		else if (i == MAX_RING_IDS)
			snprintf(ids + len, sizeof(ids) - len, " ...");
	}
	if (pid)
		evidence__u64(e, "pid", pid);
	if (g->n == 1)
		return;
	evidence__u64(e, "rings", g->n);
	evidence__string(e, "ring_ids", ids);
}

struct finding hit_group__finding(const struct hit_group *g)
{
	return (struct finding){
		.rule = g->rule->id,
		.severity = g->hits[0].severity,
		.advice = g->rule->advice,
		.ring = g->n == 1 ? g->hits[0].ring->id : 0,
		.op = -1,
		.weight = g->weight,
	};
}
