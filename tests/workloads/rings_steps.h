/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that go on step by step: each line on stdin is one more, answered when it is done; "quit"
 * or the end of stdin ends them with the truth of all.
 */
#ifndef RINGS_STEPS_H
#define RINGS_STEPS_H

#include "rings_told.h"

/* Whether there is one more. */
static inline bool next_step(void)
{
	char line[16];

	return fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n") != 0;
}

static inline void some_nops(struct raw *r, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		queue_nop(r, 0);
	raw__submit(r);
	raw__drain(r);
}

/* --- many rings ----------------------------------------------------------------------------- */
#define GATHER_STEPS 8u

/* --workers rings before the first step and at each; all that there are get --batch NOPs each time. */
static inline void run_gather(struct work *w, struct tally *t)
{
	struct raw *rings = zalloc((size_t)w->workers * GATHER_STEPS, sizeof(*rings));
	unsigned int n = 0;

	t->max_samples = 0;
	for (unsigned int step = 0; step < GATHER_STEPS; step++) {
		for (unsigned int k = 0; k < w->workers; k++)
			raw__open(&rings[n++], t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
		for (unsigned int k = 0; k < n; k++)
			some_nops(&rings[k], w->batch);
		if (step)
			say_done();
		else
			say_ready(getpid());
		if (!next_step())
			break;
	}
	for (unsigned int k = 0; k < n; k++)
		raw__close(&rings[k]);
	free(rings);
}

static inline void open_and_use(struct raw *rings, const struct work *w, struct tally *t)
{
	for (unsigned int k = 0; k < w->workers; k++)
		raw__open(&rings[k], t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
	for (unsigned int k = 0; k < w->workers; k++)
		some_nops(&rings[k], w->batch);
}

/* At each step --workers rings instead of those of the last; every other time a child's, which just ends. */
static inline void run_turnover(struct work *w, struct tally *t)
{
	struct raw *rings = zalloc(w->workers, sizeof(*rings));
	bool open = false;
	int status;

	t->max_samples = 0;
	say_ready(getpid());
	for (unsigned int step = 0; next_step(); step++) {
		for (unsigned int k = 0; open && k < w->workers; k++)
			raw__close(&rings[k]);
		open = step % 2;
		if (open) {
			open_and_use(rings, w, t);
		} else {
			pid_t pid = fork();

			if (pid == 0) {
				open_and_use(rings, w, t);
				_exit(0);
			}
			if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
				die(1, "the child failed");
		}
		say_done();
	}
	for (unsigned int k = 0; open && k < w->workers; k++)
		raw__close(&rings[k]);
	free(rings);
}

/* At each step --workers rings one after the other, each with --batch NOPs. */
static inline void run_burst(struct work *w, struct tally *t)
{
	struct raw r;

	t->max_samples = 0;
	say_ready(getpid());
	while (next_step()) {
		for (unsigned int k = 0; k < w->workers; k++) {
			raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, w->setup_flags);
			some_nops(&r, w->batch);
			raw__close(&r);
		}
		say_done();
	}
}

/* --- dropped SQEs ------------------------------------------------------------------------------ */
struct dropper {
	unsigned int before, after; /* SQEs dropped until it is ready, and at the step */
	unsigned int flags;
	bool late;   /* opened at the step */
	bool hidden; /* has no descriptor */
	struct raw r;
};

/* Some NOPs and then an index that the SQ array must not hold: the kernel drops that and stops there. */
static inline void raw__drop(struct raw *r, unsigned int nops)
{
	unsigned int *array = (unsigned int *)((char *)r->rings + r->p.sq_off.array), at;
	const unsigned int *head = (unsigned int *)((char *)r->rings + r->p.sq_off.head);
	int ret = 0;

	for (unsigned int i = 0; i < nops; i++)
		queue_nop(r, 0);
	at = r->tail++ & (r->p.sq_entries - 1);
	array[at] = r->p.sq_entries;
	__atomic_store_n(r->sq_tail, r->tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!r->w.sqpoll)
		ret = raw__enter(r, nops + 1, 0, 0);
	else if (__atomic_load_n(r->sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		raw__enter(r, 0, 0, IORING_ENTER_SQ_WAKEUP);
	if (!r->w.sqpoll && ret != (int)nops && (nops || ret != -EAGAIN))
		die(1, "of %u NOPs and one SQE to drop it took %d", nops, ret);
	r->w.t->batches += nops > 0;
	while (__atomic_load_n(head, __ATOMIC_ACQUIRE) != r->tail)
		sched_yield();
	array[at] = at;
	r->w.n_queued = r->w.n_sqes = 0;
	raw__drain(r);
}

static inline void dropper__open(struct dropper *d, struct tally *t)
{
	raw__open(&d->r, t, RINGS_ENTRIES, RINGS_ENTRIES, d->flags);
	if (d->hidden)
		raw__hide_descriptor(&d->r);
}

/* The last that happens on a ring that drops SQEs is that; sometimes alone. */
static inline void dropper__act(struct dropper *d, unsigned int drops)
{
	some_nops(&d->r, 5);
	for (unsigned int i = 0; i < drops; i++)
		raw__drop(&d->r, i % 3);
}

static inline void say_dropped(const struct dropper *d, size_t n)
{
	printf("{\"done\":true,\"rings\":[");
	for (size_t i = 0; i < n; i++) {
		printf("%s{\"dropped\":%u,\"created_in_window\":%s,\"fd\":", i ? "," : "", d[i].after,
			d[i].late ? "true" : "false");
		if (d[i].hidden)
			printf("null}");
		else
			printf("%d}", d[i].r.fd);
	}
	printf("]}\n");
	fflush(stdout);
}

/* Rings that drop SQEs and then do nothing more, and some that do not drop any. */
static inline void run_dropped(struct work *w, struct tally *t)
{
	struct dropper d[] = {
		{ .before = 5, .after = 3 },
		{ .before = 2 },
		{ 0 },
		{ .before = 1, .after = 4, .hidden = true },
		{ .before = 2, .after = 6, .flags = IORING_SETUP_SQPOLL },
		{ .after = 1 },
		{ .after = 7, .late = true },
		{ .after = 4, .flags = SETUP_DEFER, .late = true },
		{ .late = true },
	};
	const size_t n = sizeof(d) / sizeof(d[0]);
	uint64_t early = 0;

	(void)w;
	t->max_samples = 0;
	for (size_t i = 0; i < n; i++) {
		if (d[i].late)
			continue;
		early++;
		dropper__open(&d[i], t);
		dropper__act(&d[i], d[i].before);
	}
	start_over(t, early);
	say_ready(getpid());
	if (next_step()) {
		for (size_t i = 0; i < n; i++) {
			if (d[i].late)
				dropper__open(&d[i], t);
			dropper__act(&d[i], d[i].after);
		}
		/* one of them is an SQPOLL ring */
		t->batches = WORK_UNKNOWN;
		say_dropped(d, n);
		next_step();
	}
	for (size_t i = 0; i < n; i++)
		if (d[i].r.rings)
			raw__close(&d[i].r);
}

#endif
