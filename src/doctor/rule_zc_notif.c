// SPDX-License-Identifier: MIT
/* ZC-NOTIF: zero-copy sends that copied, or that hold their buffers for long. */
#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "rules.h"

enum threshold_index { ZC_NOTIF_MIN_NOTIFS, ZC_NOTIF_MIN_COPIED_PCT, ZC_NOTIF_SLOW_MS };

static const char slow_advice[] =
	"The buffer may not be touched until the notification, which for TCP comes when the other side has acknowledged "
	"the data: a slow or distant peer, or a full send queue, holds it. Keep enough buffers for that time, or copy "
	"(SEND) what is small.";

static uint64_t notifs(const struct op_stats *o)
{
	return o->c[RS_SC_NOTIFS];
}

static int report(const struct rule *r, const struct snapshot *s, const struct op_stats *o, bool copied,
	struct diagnosis *d)
{
	const struct rs_lat *held = op_stats__times(o, RS_TAG_NOTIF);
	uint64_t n = o->c[RS_SC_NOTIFS_COPIED], all = notifs(o);
	char name[NAME_LEN], count[FMT_LEN], of[FMT_LEN], pct[FMT_LEN], t[FMT_LEN];
	struct finding f = {
		.rule = r->id,
		.severity = copied ? SEVERITY_WARN : SEVERITY_INFO,
		.advice = copied ? r->advice : slow_advice,
		.ring = rule__main_ring(s, o, notifs),
		.op = (int)o->op,
		.weight = copied ? n : lat__count(held),
		.time_ns = copied ? 0 : held->sum_ns,
	};
	json_t *e = json_object();

	evidence__u64(&e, "notifs", all);
	evidence__u64(&e, "copied", n);
	if (held && lat__count(held)) {
		evidence__u64(&e, "held_p50_ns", lat__quantile_ns(held, 0.5));
		evidence__u64(&e, "held_p99_ns", lat__quantile_ns(held, 0.99));
	}
	if (op_stats__completed(o))
		evidence__u64(&e, "bytes_mean", o->c[RS_SC_BYTES] / op_stats__completed(o));
	if (copied)
		return diagnosis__add(d, &f, e, "%s: %s of %s sends (%s) copied the data after all",
			op_name(o->op, name), fmt_count(count, (double)n), fmt_count(of, (double)all),
			fmt_pct(pct, (double)n, (double)all));
	return diagnosis__add(d, &f, e, "%s: half of the sends held their buffer for more than %s",
		op_name(o->op, name), fmt_ns(t, lat__quantile_ns(held, 0.5)));
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	const struct rs_lat *held = op_stats__times(o, RS_TAG_NOTIF);
	double least = r->thresholds[ZC_NOTIF_MIN_NOTIFS].value;
	int err = 0;

	if (!notifs(o) || (double)notifs(o) < least)
		return 0;
	if (o->c[RS_SC_NOTIFS_COPIED] && rule__pct(o->c[RS_SC_NOTIFS_COPIED], notifs(o)) >=
						 r->thresholds[ZC_NOTIF_MIN_COPIED_PCT].value)
		err = report(r, s, o, true, d);
	if (!err && held && lat__count(held) && (double)lat__count(held) >= least &&
		(double)lat__quantile_ns(held, 0.5) >= r->thresholds[ZC_NOTIF_SLOW_MS].value * 1e6)
		err = report(r, s, o, false, d);
	return err;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_zc_notif = {
	.id = "ZC-NOTIF",
	.what = "zero-copy sends copied the data after all, or hold their buffers for long",
	.severity = "warn where they copied; info where buffers are held",
	.advice = "Then SEND is cheaper: it needs no second CQE. The data is copied where the way to the receiver can't do "
		  "otherwise: loopback, a device without scatter-gather or checksums, tunnels, packet sockets that "
		  "listen.",
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE),
	.thresholds = {
		[ZC_NOTIF_MIN_NOTIFS] = { "min_notifs", "sends", 100, "fewer are chance" },
		[ZC_NOTIF_MIN_COPIED_PCT] = { "min_copied_pct", "% of sends", 50,
			"a lost packet is copied when it is sent again" },
		[ZC_NOTIF_SLOW_MS] = { "slow_ms", "ms", 1000,
			"median; round trips around the world take a third of that" },
	},
	.evidence = {
		{ "notifs", "sends whose notification came" },
		{ "copied", "those whose notification says that it copied: only sends with "
			    "IORING_SEND_ZC_REPORT_USAGE ask" },
		{ "held_p50_ns", "how long after their CQE the buffers were held, median" },
		{ "held_p99_ns", "the same, 99th percentile" },
		{ "bytes_mean", "bytes to a send" },
	},
	.eval = eval,
};
