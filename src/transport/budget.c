// SPDX-License-Identifier: MIT
#include "budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "sampling.h"

/* Loads change: what is planned stays this far below the limit. */
#define PLANNED_PART 0.8
/* The cost of one period says little of the next: more is timed again in steps of this factor. */
#define STEP 2

void budget__begin(struct budget *b, double part, const struct budget_reading *r)
{
	*b = (struct budget){
		.said = { .on = true,
			.part = part,
			.sample_min = BUDGET_FIRST_SAMPLE,
			.sample_max = BUDGET_FIRST_SAMPLE },
		.last = *r,
		.sample = BUDGET_FIRST_SAMPLE,
	};
}

static struct budget_reading since(const struct budget_reading *now, const struct budget_reading *last)
{
	struct budget_reading d = { .now_ns = now->now_ns - last->now_ns };

	/* tables are read while they change, so a sum may go back a little */
	d.busy_ns = now->busy_ns > last->busy_ns ? now->busy_ns - last->busy_ns : 0;
	d.process_ns = now->process_ns > last->process_ns ? now->process_ns - last->process_ns : 0;
	d.requests = now->requests > last->requests ? now->requests - last->requests : 0;
	d.events = now->events > last->events ? now->events - last->events : 0;
	return d;
}

/* The fewest untimed requests between timed ones that `left_ns` allows; 0: none are allowed. */
static uint32_t affordable(const struct cost_rates *rates, uint64_t requests, double left_ns)
{
	double all_ns = (double)requests * rates->timing_ns, n;

	if (left_ns <= 0)
		return 0;
	n = all_ns / left_ns;
	return n < 1 ? 1 : n >= RS_SAMPLE_MAX ? 0 : (uint32_t)n + 1;
}

static uint32_t at_most(uint32_t n, uint32_t limit)
{
	return n > limit ? n : limit;
}

uint32_t budget__next(struct budget *b, const struct cost_rates *rates, const struct budget_reading *r)
{
	struct budget_reading d = since(r, &b->last);
	struct cost_work w = { .requests = d.requests, .events = d.events };
	uint64_t fixed_ns = cost__programs_ns(rates, &w) + d.process_ns, spent_ns;
	double allowed_ns = (double)d.busy_ns * b->said.part;
	uint32_t n = affordable(rates, d.requests, allowed_ns * PLANNED_PART - (double)fixed_ns);

	spent_ns = fixed_ns + (uint64_t)((double)d.requests / b->sample * rates->timing_ns);
	b->said.busy_ns += d.busy_ns;
	b->said.spent_ns += spent_ns;
	if ((double)fixed_ns > allowed_ns)
		b->said.over_ns += d.now_ns;
	b->last = *r;
	b->sample = n ? at_most(n, b->sample / STEP) : RS_SAMPLE_MAX;
	b->sample = b->sample ? b->sample : 1;
	if (b->sample < b->said.sample_min)
		b->said.sample_min = b->sample;
	if (b->sample > b->said.sample_max)
		b->said.sample_max = b->sample;
	return b->sample;
}

int budget__read_busy(uint64_t *ret_ns)
{
	uint64_t user, nice, system, irq, softirq;
	long hz = sysconf(_SC_CLK_TCK);
	FILE *f = fopen("/proc/stat", "re");
	int n;

	if (!f)
		return -errno;
	/* idle and iowait are left out; so is stolen time, and guests are in user and nice */
	n = fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64 " %" SCNu64, &user, &nice,
		&system, &irq, &softirq);
	fclose(f);
	if (n != 5 || hz <= 0)
		return -EIO;
	*ret_ns = (user + nice + system + irq + softirq) * (1000000000ull / (uint64_t)hz);
	return 0;
}
