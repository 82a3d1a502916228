/* SPDX-License-Identifier: MIT */
/*
 * What the workloads of the benchmark have in common.
 *
 * A workload says "ready" when it has set itself up. For each line on its standard input, a number of
 * milliseconds, it works for that long, brings all its requests to an end, and prints one JSON object:
 *
 *   work                  what costs are divided by: requests, or messages
 *   submitted, completed  requests in this slice
 *   multishot             CQEs of requests that go on
 *   cpu_ns                of the process, the kernel's threads that belong to it included
 *   wall_ns
 *   p999_ns               latency, as the program saw it; the longest of fewer than 1,000
 *   timed                 how many latencies
 *
 * Exit status 77: this machine can't run it; why is on stderr.
 */
#ifndef SLICE_H
#define SLICE_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXIT_SKIP 77
#define MAX_SLICE_MS 600000

/* Latencies by octave and 64 parts of it: at most 0.8 % off. */
#define HIST_BITS 6
#define HIST_PARTS (1u << HIST_BITS)
#define HIST_SIZE ((64 - HIST_BITS + 1) * HIST_PARTS)

struct slice {
	uint64_t start_ns, cpu_start_ns, end_ns;
	uint64_t work, submitted, completed, multishot;
	uint64_t timed;
	uint32_t hist[HIST_SIZE];
};

__attribute__((noreturn, format(printf, 2, 3))) static inline void die(int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(status);
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline unsigned int hist_bucket(uint64_t ns)
{
	unsigned int shift;

	if (ns < HIST_PARTS)
		return (unsigned int)ns;
	shift = 63u - (unsigned int)__builtin_clzll(ns) - HIST_BITS;
	return (shift + 1) * HIST_PARTS + (unsigned int)(ns >> shift) - HIST_PARTS;
}

/* The middle of a bucket. */
static inline uint64_t hist_value(unsigned int bucket)
{
	unsigned int shift = bucket / HIST_PARTS;

	if (!shift--)
		return bucket;
	return ((uint64_t)(HIST_PARTS + bucket % HIST_PARTS) << shift) + ((1ull << shift) >> 1);
}

static inline void slice__latency(struct slice *s, uint64_t ns)
{
	s->hist[hist_bucket(ns)]++;
	s->timed++;
}

static inline bool slice__over(const struct slice *s, uint64_t at_ns)
{
	return at_ns >= s->end_ns;
}

static inline uint64_t slice__p999_ns(const struct slice *s)
{
	uint64_t above = s->timed / 1000, seen = 0;

	for (unsigned int i = HIST_SIZE; i-- > 0;) {
		seen += s->hist[i];
		if (seen > above)
			return hist_value(i);
	}
	return 0;
}

static inline void slice__print(const struct slice *s, uint64_t cpu_ns, uint64_t wall_ns)
{
	printf("{\"work\": %llu, \"submitted\": %llu, \"completed\": %llu, \"multishot\": %llu, \"cpu_ns\": %llu, "
	       "\"wall_ns\": %llu, \"p999_ns\": %llu, \"timed\": %llu}\n",
		(unsigned long long)s->work, (unsigned long long)s->submitted,
		(unsigned long long)s->completed, (unsigned long long)s->multishot,
		(unsigned long long)cpu_ns, (unsigned long long)wall_ns,
		(unsigned long long)slice__p999_ns(s), (unsigned long long)s->timed);
}

static inline void say_line(const char *line)
{
	if (line)
		puts(line);
	if (fflush(stdout))
		die(1, "stdout: %s", strerror(errno));
}

/* Runs a slice for each line of standard input. */
static inline void serve_slices(void (*run)(void *arg, struct slice *s), void *arg)
{
	static struct slice s;
	char line[32];

	say_line("ready");
	while (fgets(line, sizeof(line), stdin)) {
		char *end = NULL;
		unsigned long ms = strtoul(line, &end, 10);

		if (end == line || *end != '\n' || !ms || ms > MAX_SLICE_MS)
			die(2, "a slice is a number of milliseconds, not '%.*s'", (int)strcspn(line, "\n"),
				line);
		memset(&s, 0, sizeof(s));
		s.cpu_start_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		s.start_ns = now_ns();
		s.end_ns = s.start_ns + ms * 1000000;
		run(arg, &s);
		slice__print(&s, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - s.cpu_start_ns, now_ns() - s.start_ns);
		say_line(NULL);
	}
}

#endif
