/* SPDX-License-Identifier: MIT */
/* The ring table read out; private to live.c. */
#ifndef RINGSIDE_LIVE_RINGS_H
#define RINGSIDE_LIVE_RINGS_H

#include "budget.h"
#include "live.h"
#include "live_files.h"
#include "live_maps.h"
#include "live_sites.h"
#include "retired.h"
#include "track.h"
#include "watches.h"

struct new_ring {
	uint64_t created_ns; /* 0: before it was met */
	uint32_t idx;
};

struct live {
	struct session *s;
	struct new_ring *met; /* room for as many as there are entries */
	struct track *tracks; /* by index of the ring table */
	struct watches watches;
	struct cgroup_names cgroups;
	uint32_t next_id;
	size_t n_seen;
	uint64_t purged_ns;
	uint64_t retired_ns; /* when rings were last read out */
	struct cost_work retired_work;
	struct budget budget;
	uint64_t process_start_ns;		   /* CPU time of this process when the window began */
	uint64_t start_unix_ns, start_ns, stop_ns; /* stop_ns 0: running */
	bool frozen;
	bool woken;    /* since the last tick */
	bool has_proc; /* /proc is that of our pid namespace */
	struct kept_files files;
	struct kept_sites sites;
	struct retired retired; /* rings read out and gone */
};

uint64_t live__now_ns(const struct live *l);

/* Meets new rings, samples all. Returns the number of table entries in use. */
size_t live_rings__track(struct live *l);

/* Requests and events so far, cheaply: `timed` is not set. */
struct cost_work live_rings__work(const struct live *l);

/* Whether a ring that is being torn down has requests in flight, or may have. */
bool live_rings__dying(const struct live *l);

/* Fills rings and others of s. 0 or -ENOMEM. */
int live_rings__read(struct live *l, struct snapshot *s);

/* Reads out the rings that are gone and gives their entries back. 0 or negative errno. */
int live_rings__retire(struct live *l);

#endif
