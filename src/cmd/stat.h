/* SPDX-License-Identifier: MIT */
/* `ringside stat`: what its parts share. */
#ifndef RINGSIDE_STAT_H
#define RINGSIDE_STAT_H

#include <signal.h>

#include "child.h"
#include "live.h"
#include "options.h"
#include "pids.h"
#include "sinks.h"
#include "spans.h"

struct stat_options {
	struct pid_list pids;
	bool all;
	uint64_t duration_ns; /* 0: no limit */
	uint64_t interval_ns; /* 0: none */
	struct sinks_options to;
	bool rings, no_doctor, no_extras, block, quiet, verbose, as_root;
	int fail_on; /* -1: never */
	struct threshold_settings thresholds;
	const char *ready_file;
	const char *user, *comm, *cgroup; /* filters, NULL: none */
	uint64_t max_inflight, max_rings, max_report_rings;
	uint64_t slow_ns; /* 0: not given */
	const char *reap; /* "bracketed", "exact" or "exact-in-vm", NULL: not given */
	uint64_t sample;  /* 0: not given */
	double budget;	  /* percent, 0: none */
	struct string_list spans;
	char **program; /* NULL: none */
};

/* 0; 1: help was printed; -EINVAL: said why. o is zeroed before. */
int stat_options__parse(int argc, char **argv, struct stat_options *o);
void stat_options__free(struct stat_options *o);
/* What is observed, in words, malloc'ed; pids are the processes that -p named. NULL: out of memory. */
char *stat_options__target(const struct stat_options *o, const struct pid_set *pids);
/* Resolves the filters. 0, or the exit status after saying why. */
int stat_options__filters(const struct stat_options *o, struct session_options *so);
void stat_options__sizes(const struct stat_options *o, struct session_options *so);

/* What runs. */
struct stat_run {
	const struct stat_options *o;
	struct sinks sinks;
	struct session *session;
	struct live *live;
	struct child *child; /* NULL: none */
	struct pid_set pids;
	struct session_options filters; /* and nothing else in it */
	struct spans spans;
	struct signal_state signals; /* as ringside found them */
	int signal_fd;
	unsigned int n_ends; /* signals that ask for the end */
	char *target;	     /* for the first line of the report */
	char ended[64];
	bool targets_ended; /* the program, or all processes of -p */
	bool child_ended;
	int child_status;     /* wait status */
	struct snapshot last; /* for intervals */
	unsigned int n_intervals;
};

/* All return 0 or negative errno; those that talk say what went wrong themselves. */

/* Before anything is started: says itself nothing. */
int stat_run__open_signals(struct stat_run *r);
/* One that has come: the program gets its own. Returns whether the observation is to end. */
bool stat_run__take_signal(struct stat_run *r);

/* Observes until the target ends, the time is up or the user has had enough. */
int stat_run__loop(struct stat_run *r);
/* After an observation that ended before its program: until the program ends. */
int stat_run__wait_child(struct stat_run *r);

/* Prints what happened since the last interval. */
int stat_run__interval(struct stat_run *r);
/* Prints the report; *ret_findings becomes whether one reaches --fail-on. */
int stat_run__report(struct stat_run *r, bool *ret_findings);

#endif
