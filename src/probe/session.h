/* SPDX-License-Identifier: MIT */
/*
 * The programs in the kernel: chosen, loaded, attached; and their maps. Owns everything
 * that exists in the kernel because of us: when a session ends, or its process does,
 * nothing of it is left.
 */
#ifndef RINGSIDE_SESSION_H
#define RINGSIDE_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi.h"
#include "cost.h"
#include "sampling.h"
#include "select.h"
#include "sizes.h"

#define SLOW_NS 10000000ull

/* A function whose calls are a span. */
struct span_place {
	const char *path; /* opens its file as long as the session is being opened */
	uint64_t file_offset;
	const char *binary, *function; /* for people */
};

struct session_options {
	bool all;	      /* watch every ring, else only those of the targets */
	bool scan;	      /* look for rings that exist already */
	const pid_t *targets; /* process ids, in our pid namespace */
	size_t n_targets;
	uint32_t pid_ns;	/* our pid namespace: its inode, 0: the initial one */
	struct table_sizes max; /* requests in flight are rounded up to a power of 2 */
	uint32_t sample;	/* one request in so many is timed, 1 .. RS_SAMPLE_MAX; 0: 1 */
	uint64_t slow_ns;	/* requests are slow that take this long, 0: SLOW_NS */
	/* filters on a ring's owner: all that are given must hold */
	bool by_user, by_cgroup;
	uint32_t user;
	uint64_t cgroup_id;
	const char *comm;		/* of the process, at most RS_COMM_LEN - 1 bytes; NULL: any */
	bool no_extras;			/* leave them out: they can cost as much as all the rest */
	bool watch_heads;		/* let session__watch() see CQ heads move */
	bool partial;			/* go on without what is essential to an observation */
	const struct span_place *spans; /* must outlive the session */
	size_t n_spans;			/* at most RS_SPANS_MAX */
	bool block;			/* observe the block layer */
	/* gets what libbpf and the verifier said of each program that was refused, and of a failure; may be NULL */
	void (*on_refusal)(const char *text);
};

/* Whether err is of what a process runs out of, which says nothing about the kernel. */
bool session__out_of_resources(int err);

/* File descriptors of the maps, owned by the session. named: -1 where CQEs name their request. */
struct session_maps {
	int ring_index, free_rings, free_series, free_kin, errnos, named, overflowed, series_index, registers,
		tags, workers, sq_exits, files;
};

/* The mapped tables. Written by the programs while active. */
struct session_tables {
	struct rs_hot_group *hot;
	uint32_t n_groups;
	struct rs_ring *rings;
	uint32_t n_rings;
	struct rs_lags *lags; /* by ring; NULL: CQ heads can't be watched */
	struct rs_series *series;
	uint32_t n_series;
	uint32_t n_kin;	     /* series of stages: behind the others, and not mapped */
	uint32_t n_span_ops; /* pairs of span and opcode */
};

struct session;

/*
 * Loads and attaches; nothing is counted before session__activate(). On failure *ret is NULL and
 * errmsg (of size errsize) holds one line: what failed, why, what would help. 0 or negative errno.
 */
int session__open(const struct session_options *o, struct session **ret, char *errmsg, size_t errsize);

/* Starts counting; rings that exist already are looked for first. 0 or negative errno. */
int session__activate(struct session *s);

/*
 * Stops counting, for good: when it returns, no program of ours runs any more, so the tables
 * are a consistent whole. The programs are detached.
 */
void session__freeze(struct session *s);

/* Detaches, unloads, frees. NULL is fine. */
void session__close(struct session *s);

const struct feature_state *session__features(const struct session *s);
/* Those of IORING_SETUP_COOP_TASKRUN, SINGLE_ISSUER, DEFER_TASKRUN that this kernel knows. */
uint32_t session__setup_flags(const struct session *s);
const struct session_maps *session__maps(const struct session *s);
const struct session_tables *session__tables(const struct session *s);
const struct rs_global *session__global(const struct session *s);

/*
 * What watching a request costs here, measured by session__activate(). NULL: it is not known, as
 * io_uring is not allowed to us.
 */
const struct cost_rates *session__rates(const struct session *s);

/* One request in n is timed from now on, 1 .. RS_SAMPLE_MAX; counts do not depend on it. */
void session__set_sample(struct session *s, uint32_t n);
uint32_t session__sample(const struct session *s);

/*
 * Runs of our programs that the kernel skipped because one was active on that CPU: *ret_extras of those that
 * only extras have, *ret of the others. False: not known.
 */
bool session__missed(const struct session *s, uint64_t *ret, uint64_t *ret_extras);

/* Entries that the map of files has. */
size_t session__files_max(void);

/* Readable when ring entries run short, or when a stack was taken; owned by the session. */
int session__wakeup_fd(const struct session *s);
/*
 * Makes the descriptor unreadable until that happens again, and gives fn the stacks that were taken meanwhile. Whether
 * entries ran short.
 */
typedef void (*session_stack_fn)(const struct rs_stack *st, void *arg);
bool session__drain_wakeups(struct session *s, session_stack_fn fn, void *arg);
/* More than this many entries in use are short. */
uint32_t session__rings_high_water(const struct session *s);

/* How long CQEs of the ring at idx lay there. 0 or negative errno. */
int session__read_reaped(const struct session *s, uint32_t idx, struct rs_reaped *ret);

/* What the slow path knows of the slots of a group. 0 or negative errno. */
int session__read_cold(const struct session *s, uint32_t group, struct rs_cold_group *ret);

/* A disk, of the first session__global()->devices. 0 or negative errno. */
int session__read_device(const struct session *s, uint32_t idx, struct rs_device *ret);

/* A series of a stage. 0 or negative errno. */
int session__read_kin(const struct session *s, uint32_t idx, struct rs_series *ret);

/* What was asked for, in the order of their numbers. */
const struct span_place *session__spans(const struct session *s, size_t *ret_n);
/* A span, and the series of a kind of one of its pairs with an opcode. 0 or negative errno. */
int session__read_span(const struct session *s, uint32_t idx, struct rs_span *ret);
int session__read_span_series(const struct session *s, uint32_t pair, uint32_t kind, struct rs_series *ret);

/*
 * Tells of every CQ head in the memory of a process that is of a known ring. visit returns negative errno to end it.
 * 0 or negative errno; -EOPNOTSUPP: it was not asked for, or the kernel refuses it.
 */
int session__find_heads(struct session *s, int (*visit)(const struct rs_head *h, void *arg), void *arg);

struct watch;

/*
 * Sees the CQ head at h move, whichever of the threads of the process moves it, also later ones. pid: of the process, as
 * /proc names it. 0 or negative errno: -ENOSPC when the CPU has no watchpoint left.
 */
int session__watch(struct session *s, const struct rs_head *h, uint32_t pid, struct watch **ret);
void session__unwatch(struct session *s, struct watch *w);

/* Returns a series that was read out. 0 or negative errno. */
int session__recycle_series(struct session *s, const struct rs_series_key *key, uint32_t idx);

/* Returns an entry whose ring has been read out and is gone. 0 or negative errno. */
int session__recycle_ring(struct session *s, uint32_t idx);

#endif
