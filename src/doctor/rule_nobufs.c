// SPDX-License-Identifier: MIT
/* NOBUFS: provided buffers ran out. */
#include <errno.h>

#include "failing.h"
#include "fmt.h"
#include "names.h"
#include "opcode.h"

enum threshold_index { NOBUFS_MIN_TIMES, NOBUFS_MIN_PCT };

/* Of sends ENOBUFS says something else. */
static bool takes_buffers(unsigned int op)
{
	return op == OPCODE_READ || op == OPCODE_READV || op == OPCODE_READ_MULTISHOT || op == OPCODE_RECV ||
	       op == OPCODE_RECVMSG;
}

static int judge(const struct rule *r, const struct failing *f, struct diagnosis *d)
{
	char op[NAME_LEN], n[FMT_LEN], pct[FMT_LEN];
	struct finding finding;
	json_t *e;

	if (f->err != ENOBUFS || !takes_buffers(f->op->op) ||
		(double)f->n < rule__limit(r, NOBUFS_MIN_TIMES) ||
		rule__pct(f->n, f->of) < rule__limit(r, NOBUFS_MIN_PCT))
		return 0;
	finding = failing__finding(r, f);
	e = failing__evidence(f);
	evidence__u64(&e, "submitted", f->op->c[RS_SC_SUBMITTED]);
	evidence__u64(&e, "cqes_multishot", f->op->c[RS_SC_MULTISHOT]);
	return diagnosis__add(d, &finding, e, "%s: the provided buffers ran out %s times (%s of its CQEs)",
		op_name(f->op->op, op), fmt_count(n, (double)f->n),
		fmt_pct(pct, (double)f->n, (double)f->of));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return failing__each(r, s, judge, d);
}

const struct rule rule_nobufs = {
	.id = "NOBUFS",
	.what = "provided buffers run out (ENOBUFS)",
	.severity = "warn",
	.advice = "Give buffers back as soon as their data is used, and provide more: as many as can arrive between "
		  "two turns of the event loop. Each time they run out, a multishot request ends and has to be "
		  "submitted again.",
	.needs = RULE_NEEDS(COMPLETE),
	.thresholds = {
		[NOBUFS_MIN_TIMES] = { "min_times", "CQEs", 10, "fewer are one burst" },
		[NOBUFS_MIN_PCT] = { "min_pct", "% of the CQEs of this opcode", 1,
			"then most buffers are in use most of the time" },
	},
	.evidence = {
		{ "failed", "CQEs with ENOBUFS" },
		{ "cqes", "CQEs of this opcode" },
		{ "failed_pct", "failed as a share of these" },
		{ "failed_per_s", "failed by second of the window" },
		{ "submitted", "requests of this opcode: a multishot one that ended is submitted again" },
		{ "cqes_multishot", "CQEs of multishot requests, but the last of each" },
	},
	.eval = eval,
};
