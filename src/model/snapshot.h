/* SPDX-License-Identifier: MIT */
/*
 * One picture of what was observed: plain data, no kernel handles.
 *
 * A live run, a capture and a unit test fill the same structure; the doctor and
 * the outputs read nothing else. Times are nanoseconds. Counters whose feature
 * is off hold 0 and must be shown as unknown: ask snapshot__knows() first.
 */
#ifndef RINGSIDE_SNAPSHOT_H
#define RINGSIDE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"
#include "cost.h"
#include "files.h"
#include "reaping.h"
#include "sites.h"

enum feature_level { FEATURE_OFF, FEATURE_DEGRADED, FEATURE_FULL };

struct feature_state {
	enum feature_level level;
	char how[96];  /* e.g. "tp_btf/io_uring_submit_req(io_kiocb*)" */
	char why[192]; /* why not full, else "" */
};

struct errno_count {
	int err; /* positive errno */
	uint64_t count;
};

#define OP_TIMES_AGE RS_KINDS
#define OP_TIMES (RS_KINDS + 1)
#define SLOT_AGE_MIN_NS 100000000ull

/* Other times of an opcode than its latency. */
struct op_times {
	struct rs_lat lat;
	uint64_t tail_ns[RS_HIST_OCTAVES]; /* of a stage: its sum, by octave of the request's latency */
};

/* One opcode on one ring (or summed over rings). */
struct op_stats {
	unsigned int op;
	uint64_t c[RS_SC_COUNT];    /* enum rs_op_counter */
	uint64_t in_flight;	    /* live slots of this opcode, overflowed ones taken out */
	struct errno_count *errnos; /* by falling count; may sum to less than errors */
	size_t n_errnos;
	struct rs_lat lat; /* one-shot requests; min_ns is ~0 while empty */
	/*
	 * By kind, NULL: none. RS_TAG_MULTI: between CQEs of multishot requests; RS_TAG_NOTIF: from a zero-copy
	 * send's CQE to its notification; RS_KIND_SLOW: latency of requests that did not end inline;
	 * RS_KIND_STAGE: how long those were in a stage; OP_TIMES_AGE: since when requests are in flight that neither
	 * wait for an event nor for another request. Of these only such as are timed, end once and are no younger than
	 * SLOT_AGE_MIN_NS.
	 */
	struct op_times *kin[OP_TIMES];
	uint64_t
		stages_lost; /* requests whose stages found no room: RS_KIND_SLOW and RS_KIND_STAGE lack them */
};

/* Which threads submit to a ring, as far as they were seen to. */
enum submitters { SUBMITTERS_UNKNOWN, SUBMITTERS_ONE, SUBMITTERS_SEVERAL };

enum ring_state { RING_OPEN, RING_CLOSING, RING_CLOSED };

struct ring_stats {
	uint32_t id;  /* shown to the user: 1, 2, ... in order of first sight; 0: all that found no entry */
	uint32_t uid; /* the kernel side's name for it */
	uint32_t pid; /* in our pid namespace; 0: it is not in there, or unknown */
	uint32_t pid_own;  /* in its own pid namespace; 0: that is ours or the initial one, or unknown */
	uint32_t pid_host; /* in the initial pid namespace; 0: that is ours, or unknown */
	uint32_t user;	   /* ~0: unknown */
	char comm[RS_COMM_LEN];
	char *cgroup; /* path, NULL: unknown */
	int fd;	      /* -1: unknown */
	uint32_t sq_entries, cq_entries, setup_flags;
	uint32_t cq_depth_max;
	uint32_t sq_dropped;
	enum ring_state state;
	bool created_in_window;
	uint32_t sq_tid; /* 0: not SQPOLL */
	bool sq_outside; /* of our pid namespace: sq_tid is that in the initial one */
	bool sq_cpu_known;
	uint64_t sq_cpu_ns;   /* CPU time of the SQPOLL thread inside the window */
	uint64_t sq_alive_ns; /* how long it could have run inside the window */
	bool sq_wait_known;
	uint64_t sq_wait_ns; /* how long it was ready to run and had no CPU, as far as it was looked at */
	bool cpus_known;
	int sq_only_cpu,
		maker_only_cpu; /* the only CPU on which it, and the thread that made the ring, may run; -1: several */
	uint64_t alive_ns;	/* how long it has existed inside the window */
	struct reap_stats reap; /* of one ring; sums have none */
	bool stuck_known;
	uint64_t
		stuck_ns; /* at the end overflowed CQEs waited in the kernel, and had for so long, at least */
	uint64_t c[RS_RC_COUNT];    /* enum rs_ring_counter */
	uint64_t in_flight_no_slot; /* of no known opcode, too */
	uint64_t batchless; /* not 0: SQEs and batches are not counted in the same place, so have no ratio */
	enum submitters submitters;
	uint64_t n_brief;     /* of a sum: rings that were created and ended in the window, */
	uint64_t brief_ns;    /* how long these existed in all */
	uint64_t batches_max; /* of a sum: most batches of one of its rings without an SQPOLL thread */
	struct op_stats *ops; /* by opcode */
	size_t n_ops;
};

struct task_stats {
	uint32_t pid, tid;	     /* in our pid namespace; 0: not in there */
	uint32_t pid_host, tid_host; /* in the initial pid namespace; 0: that is ours */
	char comm[RS_COMM_LEN];
	uint32_t workers_bounded_max, workers_unbounded_max;
	uint32_t bounded_limit, unbounded_limit; /* as last seen; 0: unknown */
};

struct register_stats {
	unsigned int op;
	uint64_t count, errors;
	uint64_t timed, sum_ns; /* of count, those whose time is known */
	uint64_t max_ns;	/* of a difference: of all so far */
};

/* What ringside itself missed. */
struct fidelity {
	uint64_t untracked;    /* completions without a submission seen, on rings we saw being created */
	uint64_t table_full;   /* requests counted but not timed: no free slot */
	uint64_t rings_full;   /* requests counted under no ring of their own */
	uint64_t series_full;  /* those of them whose ring is listed: it had no room for their opcode */
	uint64_t records_lost; /* events that found no room on their way to user space */
	uint64_t
		details_lost; /* facts beside the counts that found no room: errnos, opcodes of further CQEs, workers */
	uint64_t stages_lost; /* requests of which some stages are not known: no room */
	uint64_t ambiguous;   /* requests without a latency: another with their user_data was in flight */
	uint64_t
		unmatched; /* CQEs that no request in flight explains, where a CQE does not name its request */
	uint64_t files_lost;	 /* requests in trouble whose file found no room */
	uint64_t stacks_skipped; /* punts whose call site was not asked for: too many at a time */
	uint64_t stacks_lost;	 /* those for which it could not be told */
	uint64_t children_lost;	 /* child processes that could not be followed */
	uint64_t missed; /* runs of our programs that the kernel skipped (recursion), but for extras' */
	uint64_t extras_missed; /* the same of programs that only extras have: what extras count is short */
	bool missed_known;	/* both; bpf_prog_info.recursion_misses exists since 5.12 */
};

/* Calls of a function, and the requests that threads submitted in it: of no other span, further in. */
struct span_stats {
	char *binary, *function;
	uint64_t calls, returned; /* the others last on, or were jumped out of, or ended with their thread */
	uint64_t waits, wait_ns;  /* for CQEs */
	struct rs_lat lat;	  /* of those that returned */
	struct ring_stats requests; /* its opcodes only: there is no ring of these */
};

struct snapshot {
	char kernel_release[65];
	struct feature_state features[RS_F_COUNT];
	uint64_t start_unix_ns;
	uint64_t duration_ns;
	unsigned int cpus;
	uint32_t
		setup_flags; /* those of IORING_SETUP_COOP_TASKRUN, SINGLE_ISSUER, DEFER_TASKRUN that this kernel has */
	bool interval; /* the difference of two snapshots: lat.min_ns and max_ns are bucket bounds */
	struct fidelity fidelity;
	struct cost cost;
	struct ring_stats *rings; /* by id; without those folded into others */
	size_t n_rings;
	struct ring_stats *others; /* sum of the rings not listed, NULL: all are listed */
	size_t n_others; /* how many they are, without those that have no entry: nobody counts these */
	struct task_stats *tasks;
	size_t n_tasks;
	struct register_stats *registers; /* by opcode, summed over rings */
	size_t n_registers;
	struct file_list files;
	struct site_list sites;
	struct span_stats *spans; /* in the order that they were asked for */
	size_t n_spans;
	struct rs_device *devices; /* that observed requests used, if the block layer is observed */
	size_t n_devices;
};

/* Sums over a ring or over everything; JSON's `totals`. */
struct totals {
	uint64_t in_flight_at_attach, submitted, completed, silent, in_flight, rejected, sq_dropped;
	uint64_t errors, punted, poll_armed, cqes_multishot, cqes_aux, notifs;
	uint64_t cq_overflows, cq_dropped, short_writes, batches, waits, bytes;
	uint64_t enters, enter_ns, buffer_imports;
	uint64_t untracked, no_slot;
	bool batches_known; /* false for a sum that holds rings without an entry */
};

/* Frees what the snapshot owns and zeroes it. */
void snapshot__free(struct snapshot *s);
void ring_stats__free(struct ring_stats *r);
void span_stats__free(struct span_stats *s);

/* Whether counters that rest on this feature mean anything. */
static inline bool snapshot__knows(const struct snapshot *s, enum rs_feature f)
{
	return s->features[f].level != FEATURE_OFF;
}

/* The same of call sites: threads of SQPOLL rings submit for others. */
bool snapshot__knows_sites(const struct snapshot *s);

/* Whether it is known which requests spans submitted: not where the events do not name their request. */
static inline bool snapshot__knows_requests_of_spans(const struct snapshot *s)
{
	return snapshot__knows(s, RS_F_SPANS) && snapshot__knows(s, RS_F_ENDS);
}

struct totals ring_stats__totals(const struct ring_stats *r);
/* CQEs posted to it, those that went through the overflow list included. */
uint64_t ring_stats__cqes(const struct ring_stats *r);
/* What makes a ring a busy one: requests submitted, or in flight when the observation began. */
uint64_t ring_stats__requests(const struct ring_stats *r);
struct totals snapshot__totals(const struct snapshot *s);
void totals__add(struct totals *t, const struct totals *o);

/* Requests that ended with a CQE, overflowed ones included. */
uint64_t op_stats__completed(const struct op_stats *o);
uint64_t op_stats__punted(const struct op_stats *o);

/* The entry of opcode op, added (zeroed) if absent; an addition moves the others. NULL: out of memory. */
struct op_stats *ring_stats__op(struct ring_stats *r, unsigned int op);
/* Adds counters, errnos and latency of o to *sum. 0 or -ENOMEM. */
int op_stats__add(struct op_stats *sum, const struct op_stats *o);
/* Adds everything countable of r to *sum. 0 or -ENOMEM, after which the sum is of no use. */
int ring_stats__add(struct ring_stats *sum, const struct ring_stats *r);
/* A copy that owns its own memory. 0 or -ENOMEM. */
int ring_stats__copy(const struct ring_stats *r, struct ring_stats *ret);
/* Adds t (NULL: nothing) to *sum, allocated when first needed. 0 or -ENOMEM. */
int op_times__add(struct op_times **sum, const struct op_times *t);
/* Rings that were created and ended in the window, of one ring or a sum of rings, and how long they existed. */
uint64_t ring_stats__brief(const struct ring_stats *r, uint64_t *ret_ns);
/* The times of this kind, NULL: none. */
static inline const struct rs_lat *op_stats__times(const struct op_stats *o, unsigned int kind)
{
	return o->kin[kind] ? &o->kin[kind]->lat : NULL;
}
/* Adds n to the count of err. 0 or -ENOMEM. */
int op_stats__add_errno(struct op_stats *o, int err, uint64_t n);

/*
 * The opcodes of all rings (and others) summed, by falling number of requests.
 * The caller frees with op_list__free(). 0 or -ENOMEM; *ret is untouched on failure.
 */
struct op_list {
	struct op_stats *ops;
	size_t n;
};
int snapshot__ops(const struct snapshot *s, struct op_list *ret);
void op_list__free(struct op_list *l);

/*
 * Keeps the n busiest rings and adds the rest to others. 0 or -ENOMEM; s stays valid on failure.
 */
int snapshot__limit_rings(struct snapshot *s, size_t n);

/*
 * cur - prev into *ret, rings matched by id; a ring that prev lacks counts whole. Both are complete:
 * what they do not list has ended. Gauges (in_flight, cq_depth_max, state) are cur's.
 *
 * The rings of the difference are those that were there in between: one that had ended before is left
 * out, unless something of it was counted only now. 0 or -ENOMEM.
 */
int snapshot__delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *ret);

#endif
