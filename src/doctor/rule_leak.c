// SPDX-License-Identifier: MIT
/* LEAK: requests that should have ended long ago. */
#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { LEAK_MIN_AGE_S, LEAK_MIN_REQUESTS };

/* What may wait for somebody else for as long as that takes, be it in a worker. */
static bool may_wait(unsigned int op)
{
	switch (op) {
	case OPC_ACCEPT:
	case OPC_CONNECT:
	case OPC_RECV:
	case OPC_RECVMSG:
	case OPC_RECV_ZC:
	case OPC_READ_MULTISHOT:
	case OPC_SPLICE:
	case OPC_TEE:
	case OPC_EPOLL_WAIT:
	case OPC_URING_CMD:
	case OPC_URING_CMD128:
	/* a FIFO that nobody opens at the other end */
	case OPC_OPENAT:
	case OPC_OPENAT2:
		return true;
	default:
		return op_traits(op) & RS_OP_WAITS;
	}
}

static uint64_t all_ages(const struct op_stats *o)
{
	const struct rs_lat *l = op_stats__times(o, OP_TIMES_AGE);

	return l ? lat__count(l) : 0;
}

static uint64_t older_than(const struct rs_lat *l, double ns)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < RS_HIST_BUCKETS; i++)
		if ((double)rs_hist_lower_ns(i) >= ns)
			n += l->buckets[i];
	/* of the bucket that the limit is in the oldest is known */
	if (!n && (double)l->max_ns >= ns)
		n = 1;
	return n;
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	const struct rs_lat *l = op_stats__times(o, OP_TIMES_AGE);
	double min_s = r->thresholds[LEAK_MIN_AGE_S].value;
	char name[NAME_LEN], age[FMT_LEN];
	struct finding f = { .rule = r->id,
		.severity = SEVERITY_WARN,
		.advice = r->advice,
		.op = (int)o->op };
	json_t *e;
	uint64_t n;

	if (!l || may_wait(o->op))
		return 0;
	n = older_than(l, min_s * 1e9);
	if (!n || (double)n < r->thresholds[LEAK_MIN_REQUESTS].value)
		return 0;
	f.ring = rule__main_ring(s, o, all_ages);
	f.weight = n;
	f.time_ns = l->max_ns;
	e = json_object();
	evidence__u64(&e, "requests", n);
	evidence__u64(&e, "in_flight", o->in_flight);
	evidence__u64(&e, "oldest_ns", l->max_ns);
	return diagnosis__add(d, &f, e, "%s: %llu %s in flight for more than %g s, one since %s",
		op_name(o->op, name), (unsigned long long)n, n == 1 ? "request" : "requests", min_s,
		fmt_ns(age, l->max_ns));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_leak = {
	.id = "LEAK",
	.what = "requests that should end by themselves are in flight for very long",
	.severity = "warn",
	.advice = "See what they wait for: the stacks of io-wq workers are in /proc/PID/task/*/stack (comm iou-wrk-*), "
		  "a device or network file system that does not answer is in the kernel's log. Give such requests "
		  "a LINK_TIMEOUT, or cancel them (io_uring_prep_cancel()), and keep their buffers until the CQE.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS) | RULE_NEEDS(STAGES) |
		 RULE_NEEDS(POLL) | RULE_NEEDS(LINK) | RULE_NEEDS(DEFER),
	.thresholds = {
		[LEAK_MIN_AGE_S] = { "min_age_s", "s", 30,
			"as long as the kernel's block layer waits for a device, by default; not below 0.1" },
		[LEAK_MIN_REQUESTS] = { "min_requests", "requests", 1, "one is one buffer that can't be used" },
	},
	.evidence = {
		{ "requests", "that are older, neither parked on a poll nor behind others nor allowed to end without a CQE" },
		{ "in_flight", "requests of this opcode in flight" },
		{ "oldest_ns", "age of the oldest of them" },
	},
	.eval = eval,
};
