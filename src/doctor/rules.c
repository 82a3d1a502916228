// SPDX-License-Identifier: MIT
/* The rule table: what is looked for, from when on, and what to do about it. */
#include "rules.h"

const struct rule doctor_rules[] = {
	{
		.id = "PUNT",
		.what = "requests were handed to io-wq worker threads although nobody asked for it",
		.hurts = "A request that would block is moved to a kernel worker thread: two context "
			 "switches, lost cache warmth, and a queue behind the other requests of a "
			 "limited number of workers. Latency becomes that of a thread pool.",
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
				"then that ring is where to look" },
		},
		.eval = rule_punt__eval,
	},
	{
		.id = "BATCH",
		.what = "a busy ring submits its SQEs one at a time",
		.hurts = "Each io_uring_enter() is a system call that one batch of SQEs shares. With one "
			 "SQE a batch, io_uring costs what plain read() and write() cost, and its ring "
			 "on top.",
		.advice = "Prepare all SQEs that are ready and submit them with one io_uring_submit(); "
			  "in an event loop submit once a turn, best with io_uring_submit_and_wait(), "
			  "which waits in the same system call. A thread that must submit at once can "
			  "let the kernel do it (IORING_SETUP_SQPOLL, for the price of a polling CPU).",
		.needs = RULE_NEEDS(SUBMIT),
		.thresholds = {
			[BATCH_MIN_BATCHES] = { "min_batches", "submissions", 1000,
				"fewer are no pattern" },
			[BATCH_MAX_MEAN] = { "max_mean", "SQEs a submission", 1.5,
				"below it, most submissions carry a single SQE" },
			[BATCH_MIN_PER_S] = { "min_per_s", "submissions/s", 10000,
				"at some 0.3 us a system call, slower rings lose less than 0.5 % of a CPU" },
			[BATCH_LONE_DEPTH] = { "lone_depth", "CQEs", 1,
				"never more than one CQE waiting: most likely one request at a time, "
				"nothing to batch: info" },
		},
		.eval = rule_batch__eval,
	},
	{
		.id = "OVERFLOW",
		.what = "completions found the CQ ring full",
		.hurts = "The kernel keeps an overflowed CQE in memory that it allocates for it, and "
			 "delivers it on a later io_uring_enter(): slower, later, and an application "
			 "that only looks at the ring does not see it. A CQE for which there was no "
			 "memory is lost: whoever waits for it waits for ever.",
		.advice = "Make the CQ as large as the CQEs that can be outstanding "
			  "(IORING_SETUP_CQSIZE; the default is twice the SQ), reap all CQEs that are "
			  "there each time, and bound what can complete between two reaps: requests in "
			  "flight, multishot requests, msg_ring senders.",
		.needs = RULE_NEEDS(OVERFLOW),
		.thresholds = {
			[OVERFLOW_MIN_OVERFLOWS] = { "min_overflows", "CQEs", 1,
				"a CQ of the right size never overflows" },
			[OVERFLOW_CRIT_DROPPED] = { "crit_dropped", "CQEs", 1,
				"the application never learns how that request ended" },
		},
		.eval = rule_overflow__eval,
	},
};

const size_t doctor_n_rules = sizeof(doctor_rules) / sizeof(doctor_rules[0]);
