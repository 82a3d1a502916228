// SPDX-License-Identifier: MIT
/* FIDELITY: what ringside itself missed. */
#include <stddef.h>

#include "fmt.h"
#include "rules.h"

struct loss {
	const char *key;
	size_t offset;
	bool wrong; /* counts are wrong by it; else they only lack something beside them */
};

static const struct loss losses[] = {
	{ "untracked", offsetof(struct fidelity, untracked), true },
	{ "records_lost", offsetof(struct fidelity, records_lost), true },
	{ "children_lost", offsetof(struct fidelity, children_lost), true },
	{ "missed", offsetof(struct fidelity, missed), true },
	{ "table_full", offsetof(struct fidelity, table_full), false },
	{ "rings_full", offsetof(struct fidelity, rings_full), false },
	{ "series_full", offsetof(struct fidelity, series_full), false },
	{ "details_lost", offsetof(struct fidelity, details_lost), false },
	{ "stages_lost", offsetof(struct fidelity, stages_lost), false },
};

static uint64_t lost(const struct snapshot *s, const struct loss *l)
{
	uint64_t n;

	__builtin_memcpy(&n, (const char *)&s->fidelity + l->offset, sizeof(n));
	return n;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	struct finding f = { .rule = r->id, .severity = SEVERITY_INFO, .advice = r->advice, .op = -1 };
	json_t *e = json_object();
	uint64_t wrong = 0;
	char n[FMT_LEN];

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		uint64_t count = lost(s, &losses[i]);

		if (!count)
			continue;
		evidence__u64(&e, losses[i].key, count);
		/* those of series_full are in rings_full, too */
		if (losses[i].offset != offsetof(struct fidelity, series_full))
			f.weight += count;
		if (losses[i].wrong)
			wrong += count;
	}
	if (!f.weight) {
		json_decref(e);
		return 0;
	}
	if (wrong) {
		f.severity = SEVERITY_WARN;
		return diagnosis__add(d, &f, e, "ringside missed events: counts may be too small by %s or so",
			fmt_count(n, (double)wrong));
	}
	fmt_count(n, (double)f.weight);
	return diagnosis__add(d, &f, e, "ringside had no room for everything: counts are exact, %s %s", n,
		f.weight == 1 ? "detail is missing" : "details are missing");
}

const struct rule rule_fidelity = {
	.id = "FIDELITY",
	.what = "ringside itself missed something",
	.severity = "info; warn where counts are wrong by it. Never asked for by --fail-on",
	.advice = "Make room for what there is: --max-inflight for table_full, --max-rings for the other tables. Of "
		  "missed events only fewer at a time help: observe fewer processes, or a filter.",
	.never_gates = true,
	.evidence = {
		{ "untracked", "requests that ended and had not been seen to be submitted" },
		{ "records_lost", "events that found no room on their way to user space" },
		{ "children_lost", "child processes that could not be followed" },
		{ "missed", "runs of ringside's programs that the kernel skipped" },
		{ "table_full", "requests that are counted and not timed" },
		{ "rings_full", "requests that are counted under no ring of their own" },
		{ "series_full", "those of them whose ring had no room for their opcode" },
		{ "details_lost", "errnos, opcodes of further CQEs, workers that found no room" },
		{ "stages_lost", "requests of which some stages are not known" },
	},
	.eval = eval,
};
