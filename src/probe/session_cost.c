// SPDX-License-Identifier: MIT
/* What watching costs, and how many requests are timed. */
#include "session_private.h"

#include <math.h>
#include <sys/random.h>
#include <unistd.h>

#include "nops.h"
#include "ringside.skel.h"

static int measure_once(double *ret_ns)
{
	struct nops *n;
	int err = nops__open(&n);

	if (err)
		return err;
	err = nops__measure(n, ret_ns);
	nops__close(n);
	return err;
}

void session__measure_unwatched(struct session *s)
{
	if (measure_once(&s->unwatched_ns))
		s->unwatched_ns = 0;
}

/* On a ring that the programs know for ours: all requests timed, then none. */
static int measure_both(struct session *s, double *ret_timed_ns, double *ret_untimed_ns)
{
	struct rs_ring *own = &s->tables.rings[session__own_ring(s)];
	struct nops *n;
	int err = nops__open(&n);

	if (err)
		return err;
	err = nops__measure(n, ret_timed_ns);
	own->skip = UINT32_MAX;
	err = err ? err : nops__measure(n, ret_untimed_ns);
	nops__close(n);
	return err;
}

static double positive(double x)
{
	return x > 0 ? x : 0;
}

void session__measure_watched(struct session *s)
{
	double timed_ns, untimed_ns;
	uint32_t pid;
	int err;

	if (!(s->unwatched_ns > 0) || session__own_pid(s, &pid))
		return;
	__atomic_store_n(&s->skel->bss->rs.own_pid, pid, __ATOMIC_RELEASE);
	err = measure_both(s, &timed_ns, &untimed_ns);
	__atomic_store_n(&s->skel->bss->rs.own_pid, 0, __ATOMIC_RELEASE);
	if (err)
		return;
	s->rates.request_ns = positive(untimed_ns - s->unwatched_ns);
	s->rates.timing_ns = positive(timed_ns - untimed_ns);
	s->rates_known = true;
}

const struct cost_rates *session__rates(const struct session *s)
{
	return s->rates_known ? &s->rates : NULL;
}

static uint64_t scale_of(uint32_t n)
{
	return n > 1 ? (uint64_t)(65536 / -log2(1 - 1.0 / n)) : 0;
}

/* Where the next one that is timed comes may be decided anew at any time: nobody knows it by anything. */
static void draw_again(struct session *s, uint64_t scale)
{
	const struct session_tables *t = &s->tables;
	uint32_t i, random;

	for (i = 0; i < t->n_rings; i++) {
		if (i && t->rings[i].state == RS_RING_FREE)
			continue;
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return;
		t->rings[i].skip = rs_sample_gap(random, scale);
	}
}

void session__set_sample(struct session *s, uint32_t n)
{
	uint64_t scale = scale_of(n);

	s->sample = n;
	__atomic_store_n(&s->skel->bss->rs.sample_scale, scale, __ATOMIC_RELEASE);
	draw_again(s, scale);
}

uint32_t session__sample(const struct session *s)
{
	return s->sample;
}
