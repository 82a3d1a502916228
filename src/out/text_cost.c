// SPDX-License-Identifier: MIT
/* What the observation itself cost. */
#include "text.h"

#include <inttypes.h>

#include "tally.h"

static void sampling(const struct cost *c, struct list *l)
{
	const struct cost_budget *b = &c->budget;

	if (b->on && b->sample_min != b->sample_max)
		list__add(l, ", ", "1 request in %" PRIu32 " to %" PRIu32 " timed", b->sample_min,
			b->sample_max);
	else if (c->sample > 1)
		list__add(l, ", ", "1 request in %" PRIu32 " timed", c->sample);
}

static void estimate(const struct snapshot *s, struct list *l)
{
	const struct cost *c = &s->cost;
	struct cost_work w = snapshot__work(s);
	uint64_t programs_ns = cost__programs_ns(&c->rates, &w), all_ns = programs_ns + c->process_ns;
	char took[FMT_LEN], each[FMT_LEN], part[FMT_LEN];

	list__add(l, ", ", "Cost of observing: about %s of CPU time", fmt_ns(took, all_ns));
	if (s->duration_ns && s->cpus)
		list__add(l, ", ", "%s of what the machine has",
			fmt_pct(part, (double)all_ns, (double)s->duration_ns * s->cpus));
	if (w.requests)
		list__add(l, ", ", "%s a request", fmt_ns(each, programs_ns / w.requests));
}

/* A limit that was not held is worth a colour. */
static void budget(struct text *t, const struct cost_budget *b)
{
	bool held = cost_budget__held(b);
	char used[FMT_LEN], over[FMT_LEN];
	struct list l = { 0 };

	list__add(&l, "", "Budget of %g%% of the busy CPU time: %s used", b->part * 100,
		fmt_pct(used, (double)b->spent_ns, (double)b->busy_ns));
	if (b->over_ns)
		list__add(&l, "; ", "for %s counting alone took more than that", fmt_ns(over, b->over_ns));
	if (l.s)
		text__wrapf(t, held ? ATTR_PLAIN : ATTR_YELLOW, 0, 2, "%s%s.", held ? "" : "NOT HELD: ", l.s);
	list__end(&l, t);
}

void text__cost(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	struct list l = { 0 };

	if (!s->cost.known || !text__saw_requests(t))
		return;
	estimate(s, &l);
	sampling(&s->cost, &l);
	if (l.s) {
		text__pad(t, 1, 0);
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s.", l.s);
	}
	list__end(&l, t);
	if (s->cost.budget.on)
		budget(t, &s->cost.budget);
}
