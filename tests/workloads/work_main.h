/* SPDX-License-Identifier: MIT */
/* The second half of work.h: options in, JSON out. */
#ifndef WORK_MAIN_H
#define WORK_MAIN_H

#include <signal.h>

#include "work.h"

static inline const char *work_op_name(unsigned int op)
{
	static const char *const names[WORK_OPS] = {
		[IORING_OP_NOP] = "NOP",
		[IORING_OP_READV] = "READV",
		[IORING_OP_WRITEV] = "WRITEV",
		[IORING_OP_FSYNC] = "FSYNC",
		[IORING_OP_READ_FIXED] = "READ_FIXED",
		[IORING_OP_WRITE_FIXED] = "WRITE_FIXED",
		[IORING_OP_POLL_ADD] = "POLL_ADD",
		[IORING_OP_POLL_REMOVE] = "POLL_REMOVE",
		[IORING_OP_TIMEOUT] = "TIMEOUT",
		[IORING_OP_ASYNC_CANCEL] = "ASYNC_CANCEL",
		[IORING_OP_LINK_TIMEOUT] = "LINK_TIMEOUT",
		[IORING_OP_OPENAT] = "OPENAT",
		[IORING_OP_CLOSE] = "CLOSE",
		[IORING_OP_READ] = "READ",
		[IORING_OP_WRITE] = "WRITE",
		[IORING_OP_SEND] = "SEND",
		[IORING_OP_RECV] = "RECV",
		[IORING_OP_PROVIDE_BUFFERS] = "PROVIDE_BUFFERS",
		[IORING_OP_MSG_RING] = "MSG_RING",
		[IORING_OP_SEND_ZC] = "SEND_ZC",
		[63] = "NOP128",
	};

	if (op >= WORK_OPS || !names[op])
		die(1, "opcode %u has no name", op);
	return names[op];
}

static inline void print_known(FILE *f, const char *key, uint64_t v)
{
	if (v == WORK_UNKNOWN)
		fprintf(f, ",\"%s\":null", key);
	else
		fprintf(f, ",\"%s\":%llu", key, (unsigned long long)v);
}

static inline void print_spans(FILE *f, const char *key, const struct span_tally *s)
{
	if (s->count)
		fprintf(f, ",\"%s\":{\"count\":%llu,\"sum_ns\":%llu}", key, (unsigned long long)s->count,
			(unsigned long long)s->sum_ns);
}

static inline void print_op(FILE *f, unsigned int op, const struct op_tally *o, bool timed)
{
	static const char *const causes[PUNT_CAUSES] = { "asked", "opcode", "unwanted" };
	const char *sep = "";

	fprintf(f, "\"%s\":{\"submitted\":%llu,\"completed\":%llu,\"errors\":%llu", work_op_name(op),
		(unsigned long long)o->submitted, (unsigned long long)o->completed,
		(unsigned long long)o->errors);
	print_known(f, "bytes", op_moves_bytes(op) ? o->bytes : WORK_UNKNOWN);
	fputs(",\"punted_by\":{", f);
	for (unsigned int c = 0; c < PUNT_CAUSES; c++) {
		if (o->punted[c] == WORK_UNKNOWN)
			continue;
		fprintf(f, "%s\"%s\":%llu", sep, causes[c], (unsigned long long)o->punted[c]);
		sep = ",";
	}
	fputc('}', f);
	if (timed) {
		print_spans(f, "gaps", &o->gaps);
		print_spans(f, "holds", &o->holds);
	}
	fputc('}', f);
}

static inline int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The top byte of a sample is its opcode. */
#define SAMPLE_NS(v) ((v) & (((uint64_t)1 << 56) - 1))

/* The n samples of one opcode, sorted. */
static inline void print_op_latency(FILE *f, const uint64_t *v, size_t n)
{
	static const struct {
		const char *key;
		unsigned int per_10000;
	} ranks[] = { { "min_ns", 0 }, { "p50_ns", 5000 }, { "p90_ns", 9000 }, { "p99_ns", 9900 },
		{ "p999_ns", 9990 }, { "p9999_ns", 9999 }, { "max_ns", 10000 } };
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += SAMPLE_NS(v[i]);
	fprintf(f, "\"%s\":{\"count\":%zu", work_op_name((unsigned int)(*v >> 56)), n);
	print_known(f, "sum_ns", sum);
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
		size_t rank = (n * ranks[i].per_10000 + 9999) / 10000;

		print_known(f, ranks[i].key, SAMPLE_NS(v[rank ? rank - 1 : 0]));
	}
	fputc('}', f);
}

static inline void print_latency(FILE *f, struct tally *t)
{
	size_t n;

	qsort(t->samples, t->n_samples, sizeof(t->samples[0]), by_value);
	fputs(",\"latency\":{", f);
	for (size_t at = 0; at < t->n_samples; at += n) {
		const uint64_t *v = &t->samples[at];

		for (n = 1; at + n < t->n_samples && v[n] >> 56 == *v >> 56; n++)
			;
		fputs(at ? "," : "", f);
		print_op_latency(f, v, n);
	}
	fputc('}', f);
}

static inline void print_lags(FILE *f, const struct lag_tally *l)
{
	if (!l->count && !l->left)
		return;
	fprintf(f, ",\"lags\":{\"count\":%llu", (unsigned long long)l->count);
	print_known(f, "lower_sum_ns", l->lower_sum_ns);
	print_known(f, "upper_sum_ns", l->upper_sum_ns);
	print_known(f, "lower_min_ns", l->lower_min_ns);
	print_known(f, "upper_max_ns", l->upper_max_ns);
	print_known(f, "seen_min_ns", l->seen_min_ns);
	print_known(f, "left", l->left);
	fputc('}', f);
}

/*
 * Some hypervisors lose now and then why a watchpoint trapped, and the kernel then sends SIGTRAP: the program goes on,
 * and says that whoever set the watchpoint missed that. (Of this process; its children keep their own count.)
 */
static volatile sig_atomic_t lost_traps;

static void on_trap(int signal)
{
	(void)signal;
	lost_traps++;
}

static inline void print_totals(FILE *f, const struct tally *t)
{
	struct op_tally all = { 0 };

	for (unsigned int i = 0; i < WORK_OPS; i++) {
		all.submitted += t->op[i].submitted;
		all.completed += t->op[i].completed;
		all.errors += t->op[i].errors;
		all.bytes += t->op[i].bytes;
	}
	print_known(f, "submitted", all.submitted);
	print_known(f, "completed", all.completed);
	print_known(f, "silent", t->silent);
	print_known(f, "errors", all.errors);
	print_known(f, "bytes", all.bytes);
	print_known(f, "rejected", t->rejected);
	print_known(f, "rings", t->rings);
	print_known(f, "batches", t->batches);
	print_known(f, "enters", t->enters);
	print_known(f, "imports", t->imports);
	print_known(f, "overflows", t->overflows);
	print_known(f, "poll_armed", t->poll_armed);
	print_known(f, "multishot", t->multishot);
	print_known(f, "aux", t->aux);
	print_known(f, "notifs", t->notifs);
	print_known(f, "lost_traps", (uint64_t)lost_traps);
	if (t->poller_cpu_ns) {
		print_known(f, "poller_cpu_ns", t->poller_cpu_ns);
		print_known(f, "poller_wait_ns", t->poller_wait_ns);
	}
}

/* Prints the truth. Consumes the samples. */
static inline void tally__print(struct tally *t, const char *scenario, FILE *f)
{
	const char *sep = "";

	fprintf(f, "{\"scenario\":\"%s\"", scenario);
	print_totals(f, t);
	print_lags(f, &t->lags);
	fputs(",\"errnos\":{", f);
	for (int e = 1; e < WORK_ERRNOS; e++) {
		if (!t->errnos[e])
			continue;
		fprintf(f, "%s\"%s\":%llu", sep, strerrorname_np(e), (unsigned long long)t->errnos[e]);
		sep = ",";
	}
	fputs("},\"ops\":{", f);
	sep = "";
	for (unsigned int i = 0; i < WORK_OPS; i++) {
		if (!t->op[i].submitted)
			continue;
		fputs(sep, f);
		print_op(f, i, &t->op[i], t->max_samples > 0);
		sep = ",";
	}
	fputs("},\"registers\":{", f);
	for (size_t i = 0; i < t->n_registers; i++)
		fprintf(f, "%s\"%s\":{\"count\":%llu,\"errors\":%llu}", i ? "," : "", t->registers[i].name,
			(unsigned long long)t->registers[i].count,
			(unsigned long long)t->registers[i].errors);
	fputc('}', f);
	if (t->max_samples)
		print_latency(f, t);
	fputs("}\n", f);
}

static inline void work__report(const struct work *w, struct tally *t)
{
	FILE *f = w->out ? fopen(w->out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", w->out, strerror(errno));
	tally__print(t, w->scenario, f);
	if (fflush(f) || ferror(f) || (w->out && fclose(f)))
		die(1, "%s: %s", w->out ? w->out : "stdout", strerror(errno));
}

static inline uint64_t work_number(const char *option, const char *s, uint64_t max)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || end == s || *end || *s == '-' || v > max)
		die(2, "%s: not a number up to %llu: %s", option, (unsigned long long)max, s);
	return v;
}

static inline unsigned int work_flags(char *list)
{
	unsigned int flags = 0;

	for (char *save = NULL, *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		if (!strcmp(s, "defer"))
			flags |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
		else if (!strcmp(s, "coop"))
			flags |= IORING_SETUP_COOP_TASKRUN;
		else if (!strcmp(s, "sqpoll"))
			flags |= IORING_SETUP_SQPOLL;
		else
			die(2, "--flags: unknown flag %s", s);
	}
	return flags;
}

__attribute__((noreturn)) static inline void work_usage(const struct scenario *s, size_t n, int status)
{
	FILE *f = status ? stderr : stdout;

	fprintf(f,
		"usage: %s SCENARIO [--count N] [--batch N] [--workers N] [--flags defer,coop,sqpoll] [--ms N]\n"
		"       [--stray N] [--dir DIR] [--out FILE] [--untimed]\n",
		program_invocation_short_name);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "  %-10s %s\n", s[i].name, s[i].what);
	exit(status);
}

static inline void work_options(struct work *w, int argc, char **argv, const struct scenario *s, size_t n)
{
	static const struct option longs[] = { { "count", 1, NULL, 'c' }, { "batch", 1, NULL, 'b' },
		{ "workers", 1, NULL, 'w' }, { "flags", 1, NULL, 'f' }, { "ms", 1, NULL, 'm' },
		{ "stray", 1, NULL, 's' }, { "dir", 1, NULL, 'd' }, { "out", 1, NULL, 'o' },
		{ "untimed", 0, NULL, 'u' }, { "help", 0, NULL, 'h' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			w->count = work_number("--count", optarg, 1000000000);
			break;
		case 'b':
			w->batch = (unsigned int)work_number("--batch", optarg, WORK_SLOTS / 4);
			break;
		case 'w':
			w->workers = (unsigned int)work_number("--workers", optarg, 100000);
			break;
		case 'f':
			w->setup_flags = work_flags(optarg);
			break;
		case 'm':
			w->ms = work_number("--ms", optarg, 60000);
			break;
		case 's':
			w->stray = work_number("--stray", optarg, 1000000000);
			break;
		case 'd':
			w->dir = optarg;
			break;
		case 'o':
			w->out = optarg;
			break;
		case 'u':
			w->timed = false;
			break;
		default:
			work_usage(s, n, c == 'h' ? 0 : 2);
		}
	}
	if (optind != argc || !w->batch || !w->workers)
		work_usage(s, n, 2);
}

static inline int work_main(int argc, char **argv, const struct scenario *s, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	struct work w = { .dir = tmp && *tmp ? tmp : "/tmp", .timed = true, .ms = 50 };
	struct tally *t;
	size_t i;

	for (i = 0; argc > 1 && i < n && strcmp(s[i].name, argv[1]); i++)
		;
	if (argc < 2 || i == n)
		work_usage(s, n, argc > 1 && !strcmp(argv[1], "--help") ? 0 : 2);
	w.scenario = s[i].name;
	w.count = s[i].count;
	w.batch = s[i].batch;
	w.workers = s[i].workers;
	work_options(&w, argc - 1, argv + 1, s, n);
	signal(SIGTRAP, on_trap);
	t = tally__new(w.timed ? w.count + WORK_SLOTS : 0);
	s[i].run(&w, t);
	work__report(&w, t);
	return 0;
}

#endif
