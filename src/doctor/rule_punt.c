// SPDX-License-Identifier: MIT
/*
 * PUNT: requests handed to io-wq workers that neither the application (IOSQE_ASYNC,
 * IOSQE_IO_DRAIN) nor the nature of the opcode sent there.
 */
#include <errno.h>

#include "fmt.h"
#include "lat.h"
#include "names.h"
#include "rules.h"

enum threshold_index {
	PUNT_MIN_REQUESTS,
	PUNT_MIN_PCT,
	PUNT_WARN_PER_S,
	PUNT_CRIT_REQUESTS,
	PUNT_CRIT_PCT,
	PUNT_CRIT_PER_S,
	PUNT_ONE_RING_PCT
};

enum opcode {
#define OP(number, name, traits) OPCODE_##name = number,
#include "opcodes.def"
#undef OP
};

static const char read_advice[] =
	"The inline attempt would have blocked. Buffered reads do so on filesystems without nowait "
	"support (tmpfs, FUSE, network filesystems), and elsewhere when the data is not in the page "
	"cache and cannot be awaited; use ext4, xfs or btrfs, read ahead, or use O_DIRECT. For O_DIRECT: "
	"check alignment, and that the device queue is not full (nr_requests). If it must block, "
	"IOSQE_ASYNC saves the useless attempt.";

static const char write_advice[] =
	"The inline attempt would have blocked. Buffered writes do so on filesystems without nowait "
	"support (ext4), and workers then write to one file one at a time; use xfs or btrfs, or "
	"O_DIRECT. For O_DIRECT: writes that allocate blocks or extend the file block, so preallocate "
	"with fallocate() and write zeroes once, and check alignment. If it must block, IOSQE_ASYNC "
	"saves the useless attempt.";

static const char socket_advice[] =
	"Sockets and pipes wait on a poll, not in a worker, so either the file cannot be polled, or its "
	"poll fired again and again with nothing to do: many requests waiting on one socket, where one "
	"multishot request would serve them all.";

static const char path_advice[] =
	"The path was not in the dentry cache, or the operation changes the filesystem (O_CREAT, "
	"O_TRUNC); such requests block. Keep files open, open them ahead of need, and keep these "
	"requests out of chains that are waited for.";

static const char *advice_for(const struct rule *r, unsigned int op)
{
	switch (op) {
	case OPCODE_READ:
	case OPCODE_READV:
	case OPCODE_READ_FIXED:
	case OPCODE_READV_FIXED:
	case OPCODE_READ_MULTISHOT:
		return read_advice;
	case OPCODE_WRITE:
	case OPCODE_WRITEV:
	case OPCODE_WRITE_FIXED:
	case OPCODE_WRITEV_FIXED:
		return write_advice;
	case OPCODE_SEND:
	case OPCODE_SENDMSG:
	case OPCODE_SEND_ZC:
	case OPCODE_SENDMSG_ZC:
	case OPCODE_RECV:
	case OPCODE_RECVMSG:
	case OPCODE_RECV_ZC:
	case OPCODE_ACCEPT:
	case OPCODE_CONNECT:
		return socket_advice;
	case OPCODE_OPENAT:
	case OPCODE_OPENAT2:
		return path_advice;
	default:
		return r->advice;
	}
}

/* What the percentage is of. Punts of requests submitted before the window could outnumber those inside. */
static uint64_t base(const struct op_stats *o)
{
	uint64_t unwanted = o->c[RS_SC_PUNT_UNWANTED];

	return o->c[RS_SC_SUBMITTED] > unwanted ? o->c[RS_SC_SUBMITTED] : unwanted;
}

static bool fires(const struct rule *r, const struct op_stats *o)
{
	uint64_t unwanted = o->c[RS_SC_PUNT_UNWANTED];

	if (op_traits(o->op) & RS_OP_ASYNC)
		return false;
	return (double)unwanted >= r->thresholds[PUNT_MIN_REQUESTS].value &&
	       rule__pct(unwanted, base(o)) >= r->thresholds[PUNT_MIN_PCT].value;
}

static enum severity judge(const struct rule *r, const struct snapshot *s, const struct op_stats *o)
{
	uint64_t unwanted = o->c[RS_SC_PUNT_UNWANTED];
	double per_s = rule__per_s(s, unwanted);

	if (per_s < r->thresholds[PUNT_WARN_PER_S].value)
		return SEVERITY_INFO;
	if ((double)unwanted >= r->thresholds[PUNT_CRIT_REQUESTS].value &&
		rule__pct(unwanted, base(o)) >= r->thresholds[PUNT_CRIT_PCT].value &&
		per_s >= r->thresholds[PUNT_CRIT_PER_S].value)
		return SEVERITY_CRIT;
	return SEVERITY_WARN;
}

static uint64_t unwanted_on(const struct ring_stats *ring, unsigned int op)
{
	for (size_t i = 0; i < ring->n_ops; i++)
		if (ring->ops[i].op == op)
			return ring->ops[i].c[RS_SC_PUNT_UNWANTED];
	return 0;
}

/* The ring that has nearly all of them, 0: none has. */
static uint32_t one_ring(const struct rule *r, const struct snapshot *s, const struct op_stats *o)
{
	for (size_t i = 0; i < s->n_rings; i++) {
		uint64_t n = unwanted_on(&s->rings[i], o->op);

		if (n && rule__pct(n, o->c[RS_SC_PUNT_UNWANTED]) >= r->thresholds[PUNT_ONE_RING_PCT].value)
			return s->rings[i].id;
	}
	return 0;
}

/* The file that most of them were for, NULL: not known. */
static const struct file_stats *worst_file(const struct snapshot *s, unsigned int op)
{
	const struct file_stats *worst = NULL;

	for (size_t i = 0; i < s->files.n; i++) {
		const struct file_stats *f = &s->files.list[i];

		if (f->op == op && f->name && f->c.punted && (!worst || f->c.punted > worst->c.punted))
			worst = f;
	}
	return worst;
}

/* The name of the file that nearly all of them were for, NULL: none is. */
static const char *one_file(const struct rule *r, const struct file_stats *f, uint64_t unwanted)
{
	return f && rule__pct(f->c.punted, unwanted) >= r->thresholds[PUNT_ONE_RING_PCT].value ? f->name
											       : NULL;
}

/* The call site that most of them come from, NULL: not known. *ret_all: the samples that there are of the opcode. */
static const struct site_stats *worst_site(const struct snapshot *s, unsigned int op, uint64_t *ret_all)
{
	const struct site_stats *worst = NULL;

	*ret_all = 0;
	for (size_t i = 0; i < s->sites.n; i++) {
		const struct site_stats *site = &s->sites.list[i];

		if (site->op != op)
			continue;
		*ret_all += site->samples;
		if (!worst || site->samples > worst->samples)
			worst = site;
	}
	return worst && site_stats__caller(worst) ? worst : NULL;
}

/* 0 or -ENOMEM. */
static int stack_of(const struct site_stats *site, json_t **ret)
{
	char text[SITE_TEXT_LEN];
	json_t *list = json_array();

	for (size_t i = 0; i < site->n; i++) {
		if (json_array_append_new(list, rule__string(site_frame__text(text, &site->frames[i])))) {
			json_decref(list);
			return -ENOMEM;
		}
	}
	*ret = list;
	return list ? 0 : -ENOMEM;
}

static void add_times(const struct op_stats *o, json_t **e)
{
	uint64_t timed = o->c[RS_SC_WQ_TIMED], wq_ns = o->c[RS_SC_WQ_NS], count = lat__count(&o->lat);

	if (timed)
		evidence__u64(e, "wq_mean_ns", wq_ns / timed);
	/* 0 also where it can't be observed */
	if (o->c[RS_SC_WQ_QUEUED])
		evidence__u64(e, "wq_queue_mean_ns", o->c[RS_SC_WQ_QUEUE_NS] / o->c[RS_SC_WQ_QUEUED]);
	/*
	 * The latency sum holds, for a punted request, also the time before its punt. Spread over the
	 * others that is small only while the others are the larger part.
	 */
	if (timed && count > timed && count - timed >= timed && o->lat.sum_ns >= wq_ns)
		evidence__u64(e, "unpunted_mean_ns", (o->lat.sum_ns - wq_ns) / (count - timed));
	if (count)
		evidence__u64(e, "p99_ns", lat__quantile_ns(&o->lat, 0.99));
}

static json_t *evidence_of(const struct snapshot *s, const struct op_stats *o, const struct file_stats *file,
	const struct site_stats *site)
{
	char text[SITE_TEXT_LEN];
	json_t *e = json_object();

	evidence__u64(&e, "submitted", o->c[RS_SC_SUBMITTED]);
	evidence__u64(&e, "punted_unwanted", o->c[RS_SC_PUNT_UNWANTED]);
	evidence__u64(&e, "punted_asked", o->c[RS_SC_PUNT_ASKED]);
	evidence__u64(&e, "punted_opcode", o->c[RS_SC_PUNT_OPCODE]);
	evidence__u64(&e, "punted_drain", o->c[RS_SC_PUNT_DRAIN]);
	evidence__real(&e, "unwanted_pct", rule__pct(o->c[RS_SC_PUNT_UNWANTED], base(o)));
	if (s->duration_ns)
		evidence__real(&e, "unwanted_per_s", rule__per_s(s, o->c[RS_SC_PUNT_UNWANTED]));
	add_times(o, &e);
	if (file) {
		evidence__string(&e, "file", file->name);
		evidence__u64(&e, "file_punted", file->c.punted);
	}
	if (site)
		evidence__string(&e, "call_site", site_frame__text(text, site_stats__caller(site)));
	return e;
}

static int report(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	struct diagnosis *d)
{
	char name[NAME_LEN], n[FMT_LEN], all[FMT_LEN], pct[FMT_LEN], mean[FMT_LEN];
	uint64_t unwanted = o->c[RS_SC_PUNT_UNWANTED], timed = o->c[RS_SC_WQ_TIMED], samples;
	const struct site_stats *site = worst_site(s, o->op, &samples);
	const struct file_stats *file = worst_file(s, o->op);
	struct finding f = {
		.rule = r->id,
		.severity = judge(r, s, o),
		.advice = advice_for(r, o->op),
		.ring = one_ring(r, s, o),
		.op = (int)o->op,
		.file = one_file(r, file, unwanted),
		.weight = unwanted,
	};

	if (site && rule__pct(site->samples, samples) >= r->thresholds[PUNT_ONE_RING_PCT].value &&
		stack_of(site, &f.stack))
		return -ENOMEM;
	return diagnosis__add(d, &f, evidence_of(s, o, file, site),
		"%s: %s of %s requests (%s) went to io-wq workers unasked%s%s%s%s%s", op_name(o->op, name),
		fmt_count(n, (double)unwanted), fmt_count(all, (double)base(o)),
		fmt_pct(pct, (double)unwanted, (double)base(o)), timed ? ", " : "",
		timed ? fmt_ns(mean, o->c[RS_SC_WQ_NS] / timed) : "", timed ? " there on average" : "",
		f.file ? ": " : "", f.file ? f.file : "");
}

static int look(const struct rule *r, const struct snapshot *s, const struct op_stats *o, struct diagnosis *d)
{
	return fires(r, o) ? report(r, s, o, d) : 0;
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	return ops__judge(r, s, look, d);
}

const struct rule rule_punt = {
	.id = "PUNT",
	.what = "requests were handed to io-wq worker threads although nobody asked for it",
	.severity = "info; warn from warn_per_s on; crit from crit_requests, crit_pct and crit_per_s on, all three",
	.advice = "Find what makes the inline attempt block and remove it, or ask for the worker "
		  "(IOSQE_ASYNC) to save the useless attempt; bound the workers with "
		  "IORING_REGISTER_IOWQ_MAX_WORKERS.",
	/* without LINK, followers of an IOSQE_ASYNC head would look unwanted */
	.needs = RULE_NEEDS(SUBMIT) | RULE_NEEDS(COMPLETE) | RULE_NEEDS(PUNT) | RULE_NEEDS(LINK),
	.thresholds = {
		[PUNT_MIN_REQUESTS] = { "min_requests", "requests", 100,
			"fewer are a cold start or chance, and cost a few milliseconds in all" },
		[PUNT_MIN_PCT] = { "min_pct", "% of submitted", 5,
			"a program with a warm cache still misses now and then; from here on "
			"punts are well inside p99" },
		[PUNT_WARN_PER_S] = { "warn_per_s", "requests/s", 10,
			"slower than this, worker threads take no CPU time to speak of: info" },
		[PUNT_CRIT_REQUESTS] = { "crit_requests", "requests", 10000,
			"a state, not a phase" },
		[PUNT_CRIT_PCT] = { "crit_pct", "% of submitted", 50,
			"the median request goes through a worker: the ring is a thread pool" },
		[PUNT_CRIT_PER_S] = { "crit_per_s", "requests/s", 1000,
			"at some 10 us of CPU time each, percents of a CPU" },
		[PUNT_ONE_RING_PCT] = { "one_ring_pct", "% of punts", 90,
			"then that ring is where to look, and so with a file and a call" },
	},
	.evidence = {
		{ "submitted", "requests of this opcode" },
		{ "punted_unwanted", "those that went to a worker because the inline attempt would have blocked" },
		{ "punted_asked", "those that asked for a worker (IOSQE_ASYNC)" },
		{ "punted_opcode", "those whose opcode always runs in a worker" },
		{ "punted_drain", "those that a drain sent there" },
		{ "unwanted_pct", "punted_unwanted as a share of submitted" },
		{ "unwanted_per_s", "the same by second of the window" },
		{ "wq_mean_ns", "mean time from the punt to the CQE" },
		{ "wq_queue_mean_ns", "mean time until a worker began it, where the kernel lets it be seen" },
		{ "unpunted_mean_ns", "mean latency of the others, where they are the larger part" },
		{ "p99_ns", "99th percentile of the latency of all of them" },
		{ "file", "the file that most of them were for, where that is known" },
		{ "file_punted", "those that were for it" },
		{ "call_site", "the function that submitted most of those that were asked" },
	},
	.eval = eval,
};
