// SPDX-License-Identifier: MIT
#include "live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "live_maps.h"
#include "live_rings.h"
#include "pidns.h"

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

int live__start(struct session *s, size_t n_listed, struct live **ret)
{
	struct live *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	l->s = s;
	l->next_id = 1;
	l->has_proc = pidns__owns_proc();
	l->retired.max = n_listed > LIVE_LISTED_MIN ? n_listed : LIVE_LISTED_MIN;
	l->tracks = calloc(session__tables(s)->n_rings, sizeof(*l->tracks));
	l->met = calloc(session__tables(s)->n_rings, sizeof(*l->met));
	if (!l->tracks || !l->met || watches__begin(&l->watches, s) || kept_sites__begin(&l->sites)) {
		live__free(l);
		return -ENOMEM;
	}
	l->start_unix_ns = clock_ns(CLOCK_REALTIME);
	err = session__activate(s);
	l->start_ns = clock_ns(CLOCK_MONOTONIC);
	l->process_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (!err)
		err = live__tick(l);
	if (err) {
		live__free(l);
		return err;
	}
	*ret = l;
	return 0;
}

static uint64_t process_ns(const struct live *l)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - l->process_start_ns;
}

static int read_budget(const struct live *l, struct budget_reading *ret)
{
	struct cost_work w = live_rings__work(l);
	struct budget_reading r = {
		.now_ns = live__now_ns(l),
		.process_ns = process_ns(l),
		.requests = w.requests,
		.events = w.events,
	};
	int err = budget__read_busy(&r.busy_ns);

	if (!err)
		*ret = r;
	return err;
}

int live__set_budget(struct live *l, double part)
{
	struct budget_reading r;
	int err;

	if (!session__rates(l->s))
		return -EOPNOTSUPP;
	err = read_budget(l, &r);
	if (!err)
		budget__begin(&l->budget, part, &r);
	return err;
}

/* The kernel counts busy time in ticks of some milliseconds: not too often. */
#define ADJUST_EVERY_NS 500000000ull

static int adjust(struct live *l)
{
	struct budget *b = &l->budget;
	struct budget_reading r;
	uint32_t n = b->sample;
	int err;

	if (!b->said.on || live__now_ns(l) - b->last.now_ns < ADJUST_EVERY_NS)
		return 0;
	err = read_budget(l, &r);
	if (!err && budget__next(b, session__rates(l->s), &r) != n)
		session__set_sample(l->s, b->sample);
	return err;
}

/* What was spent since it was last adjusted belongs to the window too. Without /proc/stat it stays unknown. */
static void end_budget(struct live *l)
{
	struct budget_reading r;

	if (l->budget.said.on && !read_budget(l, &r))
		budget__next(&l->budget, session__rates(l->s), &r);
}

static void drain(struct live *l)
{
	if (session__drain_wakeups(l->s, kept_sites__add, &l->sites))
		l->woken = true;
}

int live__tick(struct live *l)
{
	size_t used = live_rings__track(l);
	int err = adjust(l);
	bool woken;

	drain(l);
	woken = l->woken;
	l->woken = false;
	if (err)
		return err;
	watches__update(&l->watches, l->s, live__now_ns(l));
	err = kept_files__tick(&l->files, l->s);
	if (err)
		return err;
	return woken || used >= session__rings_high_water(l->s) ? live_rings__retire(l) : 0;
}

int live__wakeup_fd(const struct live *l)
{
	return session__wakeup_fd(l->s);
}

void live__settle(struct live *l, unsigned int limit_ms)
{
	const struct timespec one_ms = { .tv_nsec = 1000000 };

	if (!l->stop_ns)
		l->stop_ns = clock_ns(CLOCK_MONOTONIC);
	while (limit_ms-- && live_rings__dying(l))
		nanosleep(&one_ms, NULL);
}

void live__stop(struct live *l)
{
	if (l->frozen)
		return;
	/* counting ends at the first thing that freezing does; the rest takes a while */
	if (!l->stop_ns)
		l->stop_ns = clock_ns(CLOCK_MONOTONIC);
	end_budget(l);
	session__freeze(l->s);
	l->frozen = true;
}

size_t live__n_rings(const struct live *l)
{
	return l->n_seen;
}

uint64_t live__now_ns(const struct live *l)
{
	return l->stop_ns ? l->stop_ns : clock_ns(CLOCK_MONOTONIC);
}

static void describe(const struct live *l, struct snapshot *s)
{
	struct utsname u;
	long cpus;

	if (!uname(&u))
		memcpy(s->kernel_release, u.release, sizeof(s->kernel_release) - 1);
	memcpy(s->features, session__features(l->s), sizeof(s->features));
	s->start_unix_ns = l->start_unix_ns;
	s->duration_ns = live__now_ns(l) - l->start_ns;
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	s->setup_flags = session__setup_flags(l->s);
	s->cpus = cpus > 0 ? (unsigned int)cpus : 1;
}

static void describe_cost(const struct live *l, struct snapshot *s)
{
	const struct cost_rates *rates = session__rates(l->s);

	s->cost.process_ns = process_ns(l);
	s->cost.sample = session__sample(l->s);
	s->cost.budget = l->budget.said;
	s->cost.known = rates != NULL;
	if (rates)
		s->cost.rates = *rates;
}

static void count_losses(const struct live *l, struct snapshot *s)
{
	const struct rs_global *g = session__global(l->s);
	struct totals t = snapshot__totals(s);

	s->fidelity.untracked = t.untracked;
	s->fidelity.table_full = t.no_slot;
	s->fidelity.details_lost = g->errnos_full + g->overflow_full + g->tags_full + g->workers_full +
				   g->sq_exits_full + g->rejected_full + g->tags_mixed + g->spans_full +
				   g->devices_full;
	s->fidelity.stages_lost = g->stages_full;
	s->fidelity.files_lost = g->files_full;
	s->fidelity.stacks_skipped = g->stacks_skipped;
	s->fidelity.stacks_lost = l->sites.lost;
	s->fidelity.ambiguous = g->ambiguous;
	s->fidelity.unmatched = g->unmatched;
	s->fidelity.children_lost = g->targets_full;
	s->fidelity.missed_known = session__missed(l->s, &s->fidelity.missed, &s->fidelity.extras_missed);
}

int live__snapshot(struct live *l, struct snapshot *ret)
{
	struct snapshot s = { 0 };
	int err;

	drain(l);
	live_rings__track(l);
	describe(l, &s);
	describe_cost(l, &s);
	err = live_maps__spans(l->s, &s);
	err = err ? err : live_rings__read(l, &s);
	err = err ? err : live_maps__tasks(l->s, &s);
	err = err ? err : live_maps__registers(l->s, &s);
	err = err ? err : kept_files__read(&l->files, l->s, &s.files);
	err = err ? err : site_list__copy(&l->sites.list, &s.sites);
	err = err ? err : live_maps__devices(l->s, &s);
	if (err) {
		snapshot__free(&s);
		return err;
	}
	count_losses(l, &s);
	*ret = s;
	return 0;
}

void live__free(struct live *l)
{
	size_t i;

	if (!l)
		return;
	watches__end(&l->watches, l->s);
	for (i = 0; l->tracks && i < session__tables(l->s)->n_rings; i++)
		track__free(&l->tracks[i]);
	retired__free(&l->retired);
	kept_files__free(&l->files);
	kept_sites__end(&l->sites);
	cgroup_names__free(&l->cgroups);
	free(l->tracks);
	free(l->met);
	free(l);
}
