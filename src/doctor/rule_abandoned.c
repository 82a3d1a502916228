// SPDX-License-Identifier: MIT
/* ABANDONED: requests that were canceled because their ring or their program went away. */
#include "fmt.h"
#include "names.h"
#include "uapi.h"
#include "rules.h"

enum threshold_index { ABANDONED_MIN_REQUESTS };

static uint64_t closed(const struct op_stats *o)
{
	/* who waits for something may stop waiting */
	return op_traits(o->op) & RS_OP_WAITS || o->op == OPC_ACCEPT ? 0 : o->c[RS_SC_CANCELED_CLOSE];
}

/* A server that ends has reads in flight, and loses nothing by it. */
static uint64_t ended(const struct op_stats *o)
{
	return opcode__changes(o->op) ? o->c[RS_SC_CANCELED_EXIT] : 0;
}

static uint64_t abandoned(const struct op_stats *o)
{
	return closed(o) + ended(o);
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	uint64_t n = abandoned(o);
	char name[NAME_LEN], count[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = opcode__changes(o->op) ? SEVERITY_WARN : SEVERITY_INFO,
		.advice = r->advice,
		.ring = rule__main_ring(s, o, abandoned),
		.op = (int)o->op,
		.weight = n,
	};
	json_t *e;

	if (!n || (double)n < r->thresholds[ABANDONED_MIN_REQUESTS].value)
		return 0;
	e = json_object();
	evidence__u64(&e, "canceled_at_close", o->c[RS_SC_CANCELED_CLOSE]);
	evidence__u64(&e, "canceled_at_exit", o->c[RS_SC_CANCELED_EXIT]);
	evidence__u64(&e, "submitted", o->c[RS_SC_SUBMITTED]);
	return diagnosis__add(d, &f, e, "%s: %s %s canceled because %s", op_name(o->op, name),
		fmt_count(count, (double)n), n == 1 ? "request was" : "requests were",
		!ended(o)   ? "their ring was closed"
		: closed(o) ? "their ring was closed or their program ended"
			    : "their program ended");
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_abandoned = {
	.id = "ABANDONED",
	.what = "requests were in flight when their ring or their program went away",
	.severity = "warn for opcodes that change something, else info",
	.advice = "Reap every CQE before the ring is closed or the program ends: stop submitting, cancel what would "
		  "wait (io_uring_prep_cancel() with IORING_ASYNC_CANCEL_ANY), then wait until nothing is in flight. "
		  "Until then the kernel may write to buffers of requests.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(ENDS) | RULE_NEEDS(RING_EXIT),
	.thresholds = {
		[ABANDONED_MIN_REQUESTS] = { "min_requests", "requests", 1, "one is one write that was not made" },
	},
	.evidence = {
		{ "canceled_at_close", "requests canceled because a process that went on closed the ring" },
		{ "canceled_at_exit", "requests canceled because the process or thread ended" },
		{ "submitted", "requests of this opcode" },
	},
	.eval = eval,
};
