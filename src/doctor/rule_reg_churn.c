// SPDX-License-Identifier: MIT
/* REG-CHURN: buffers or files registered and unregistered again and again. */
#include <stdio.h>

#include "fmt.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { REG_CHURN_MIN_TIMES, REG_CHURN_MIN_PER_S, REG_CHURN_WARN_PER_S };

struct kind {
	const char *name;
	unsigned int make, make2, drop;
};

struct calls {
	uint64_t made, dropped, timed, ns;
};

static void add_call(const struct register_stats *c, uint64_t *n, struct calls *sum)
{
	*n += c->count - c->errors;
	sum->timed += c->timed;
	sum->ns += c->sum_ns;
}

static struct calls calls_of(const struct snapshot *s, const struct kind *k)
{
	struct calls sum = { 0 };

	for (size_t i = 0; i < s->n_registers; i++) {
		const struct register_stats *c = &s->registers[i];

		if (c->errors > c->count)
			continue;
		if (c->op == k->make || c->op == k->make2)
			add_call(c, &sum.made, &sum);
		else if (c->op == k->drop)
			add_call(c, &sum.dropped, &sum);
	}
	return sum;
}

static int report(const struct rule *r, const struct snapshot *s, const struct kind *k, const struct calls *c,
	uint64_t times, struct diagnosis *d)
{
	double per_s = rule__per_s(s, times);
	struct totals t = snapshot__totals(s);
	char n[FMT_LEN], rate[FMT_LEN], each[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity =
			per_s >= r->thresholds[REG_CHURN_WARN_PER_S].value ? SEVERITY_WARN : SEVERITY_INFO,
		.advice = r->advice,
		.ring = s->n_rings == 1 && !s->others ? s->rings[0].id : 0,
		.op = -1,
		.weight = times,
		.time_ns = c->ns,
	};
	json_t *e = json_object();

	evidence__string(&e, "what", k->name);
	evidence__u64(&e, "registered", c->made);
	evidence__u64(&e, "unregistered", c->dropped);
	evidence__real(&e, "per_s", per_s);
	evidence__u64(&e, "submitted", t.submitted);
	if (c->timed)
		evidence__u64(&e, "mean_ns", c->ns / c->timed);
	return diagnosis__add(d, &f, e,
		"%s registered and unregistered %s times (%s/s), for %s requests each", k->name,
		fmt_count(n, (double)times), fmt_count(rate, per_s),
		fmt_count(each, (double)t.submitted / (double)times));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	static const struct kind kinds[] = {
		{ "buffers", REG_REGISTER_BUFFERS, REG_REGISTER_BUFFERS2, REG_UNREGISTER_BUFFERS },
		{ "files", REG_REGISTER_FILES, REG_REGISTER_FILES2, REG_UNREGISTER_FILES },
	};
	/* each ring may do so once: that is setting up and tidying up */
	uint64_t rings = s->n_rings + s->n_others;
	int err = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !err; i++) {
		struct calls c = calls_of(s, &kinds[i]);
		uint64_t pairs = c.made < c.dropped ? c.made : c.dropped;
		uint64_t times = pairs > rings ? pairs - rings : 0;

		if (times && (double)times >= r->thresholds[REG_CHURN_MIN_TIMES].value &&
			rule__per_s(s, times) >= r->thresholds[REG_CHURN_MIN_PER_S].value)
			err = report(r, s, &kinds[i], &c, times, d);
	}
	return err;
}

const struct rule rule_reg_churn = {
	.id = "REG-CHURN",
	.what = "buffers or files are registered and unregistered in the hot path",
	.severity = "info; warn from warn_per_s on",
	.advice = "Register once, when the ring is set up. What changes goes into places of a table that stays: make it "
		  "large and sparse (io_uring_register_files_sparse(), io_uring_register_buffers_sparse()) and fill "
		  "places with io_uring_register_files_update() or requests that open or accept into them.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(REGISTER),
	.thresholds = {
		[REG_CHURN_MIN_TIMES] = { "min_times", "times", 100,
			"beyond once for each ring, which is setting up and tidying up" },
		[REG_CHURN_MIN_PER_S] = { "min_per_s", "times/s", 10, "slower than this it costs nothing" },
		[REG_CHURN_WARN_PER_S] = { "warn_per_s", "times/s", 100,
			"each pins its pages or takes its files anew, and may wait for requests in flight: some "
			"10 us to milliseconds" },
	},
	.evidence = {
		{ "what", "buffers or files" },
		{ "registered", "calls that made a table of them" },
		{ "unregistered", "calls that gave it up" },
		{ "per_s", "times that one was made and given up, by second of the window" },
		{ "submitted", "requests in the same time" },
		{ "mean_ns", "how long these calls took" },
	},
	.eval = eval,
};
