/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * What the BPF programs and the loader share: map values, configuration.
 *
 * Fixed-width fields, padding named. Times are nanoseconds of CLOCK_MONOTONIC.
 */
#ifndef RINGSIDE_ABI_H
#define RINGSIDE_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "hist.h"

/* An opcode is a byte; refused SQEs may carry any. */
#define RS_OPS 256u

/* Traits of an opcode, see opcodes.def. */
#define RS_OP_BYTES 1u
#define RS_OP_ASYNC 2u
#define RS_OP_MULTI 4u	 /* may be multishot */
#define RS_OP_NOTIF 8u	 /* zero-copy: a notification follows */
#define RS_OP_RENAME 16u /* may change the user_data of another request */
#define RS_OP_WAITS 32u	 /* all it does is to wait */

#define RS_COMM_LEN 16

/* Indexes into rs_ring.c[]. */
enum rs_ring_counter {
#define RING(id, json, feature, source) RS_RC_##id,
#define RING_LINE(id) RS_RC_END_##id, RS_RC_LINE_##id = ((RS_RC_END_##id + 7) & ~7) - 1,
#include "counters.def"
	RS_RC_COUNT
};

/* Indexes into rs_series.c[]. */
enum rs_op_counter {
#define OPC(id, json, feature, source) RS_SC_##id,
#define OPC_LINE(id) RS_SC_END_##id, RS_SC_LINE_##id = ((RS_SC_END_##id + 7) & ~7) - 1,
#include "counters.def"
	RS_SC_COUNT
};

enum rs_feature {
#define FEATURE(id, name, essential, what) RS_F_##id,
#include "features.def"
#undef FEATURE
	RS_F_COUNT
};

/* Latency distribution. min_ns is ~0 while empty. The count is the sum of the buckets. */
struct rs_lat {
	__u64 sum_ns;
	__u64 min_ns;
	__u64 max_ns;
	__u64 pad;
	__u64 buckets[RS_HIST_BUCKETS];
};

/*
 * Counters and latency of one opcode on one ring. Series 0 means none. Series 1 .. RS_OPS
 * belong to ring 0, one an opcode, and are shared by everything that found no place of its own:
 * they are updated atomically, all others by one writer a side.
 */
enum rs_stage {
#define STAGE(id, name, feature, what) RS_ST_##id,
#include "stages.def"
	RS_STAGES
};

/* Those that a request can be in; the later ones are worked out of struct rs_block. */
#define RS_LIVE_STAGES 8u
_Static_assert(RS_ST_BLK_QUEUE == RS_LIVE_STAGES, "stages.def");

/*
 * Which series is whose. Besides its main one, (ring, opcode) may have series of other times, its kin:
 * RS_TAG_MULTI the gap between CQEs of a multishot request, RS_TAG_NOTIF from the CQE of a zero-copy send to its
 * notification; latencies of requests that did not end inline, and how long these were in each stage.
 */
#define RS_KIND_MAIN 0u
#define RS_KIND_SLOW 3u
#define RS_KIND_STAGE(s) (4u + (s))
#define RS_KINDS RS_KIND_STAGE(RS_STAGES)

#define RS_SERIES_SHARED(op) ((op) + 1)
#define RS_SERIES_FIRST (RS_OPS + 1)
#define RS_MAX_SERIES                                                                                        \
	(65518u -                                                                                            \
		RS_SERIES_FIRST) /* besides the shared ones, ours and a few of stages: indexes have 16 bits */

struct rs_series {
	__u64 c[RS_SC_COUNT];
	__u32 op;
	__u32 traits; /* of the opcode, RS_OP_* */
	__u32 span;   /* of a span's series: which */
	__u32 pad;
	__u16 kin[16];	   /* of a main series, by kind from RS_KIND_SLOW on: index, 0: none yet */
	__u64 stages_lost; /* requests whose stages found no series: what the others say is not all */
	__u64 pad2[7];
	struct rs_lat lat;
	__u64 tail_ns[RS_HIST_OCTAVES]; /* of a stage: its sum, by octave of the latency of the request */
} __attribute__((aligned(64)));

_Static_assert(RS_KINDS <= 16, "rs_series.kin");

/*
 * An io_ring_ctx as we know it. `uid` is generation << 16 | index and names this
 * ring and no later one at the same index or address. Entry 0 stands for all
 * rings that found the table full.
 */
#define RS_RING_IDX(uid) ((uid)&0xffffu)
#define RS_MAX_RINGS 0xffffu

/* What an entry is, in the order that it becomes so. */
#define RS_RING_FREE 0u
#define RS_RING_LISTED 1u  /* others can find it */
#define RS_RING_CLOSING 2u /* io_ring_exit_work was queued */
#define RS_RING_CLOSED 3u  /* io_ring_exit_work has run, or the address became another ring's */

#define RS_RING_CREATED_IN_WINDOW 1u /* its io_uring_create was seen while observing */
#define RS_RING_REWIND 2u	     /* IORING_SETUP_SQ_REWIND: every batch starts at entry 0 */

/*
 * Of each ring one CQE at a time is followed, from the moment it is posted until the application has
 * consumed it. The completer alone begins and records; others may look in between.
 */
struct rs_reap {
	__u64 posted_ns;   /* 0: none is followed */
	__u64 unreaped_ns; /* when it was last seen in the CQ */
	__u64 gone_ns;	   /* when the CQE that was posted at gone_of_ns was seen to be consumed */
	__u64 gone_of_ns;
	__u32 end;   /* it is consumed once the CQ head is here */
	__u32 skip;  /* CQEs that could be followed and are not, before the next that is */
	__u32 depth; /* cq_depth_max when that was drawn */
	__u32 left;  /* CQEs in the CQ when it was looked into for the last time, plus 1; 0: it was not */
};

/* Times from posting to consumption, or bounds of them. Buckets are two of hist.h's wide. */
#define RS_REAP_BUCKETS (RS_HIST_BUCKETS / 2)

struct rs_reap_dist {
	__u64 sum_ns;
	__u64 max_ns;
	__u32 buckets[RS_REAP_BUCKETS];
};

/* Of the CQEs that were followed to their end: it was after lower and before upper. */
struct rs_reaped {
	struct rs_reap_dist lower, upper;
} __attribute__((aligned(64)));

/* CQEs that are followed where every move of the CQ head is seen: by position, modulo their number. */
#define RS_LAG_SLOTS 64u

struct rs_lag_slot {
	__u64 posted_ns; /* 0: free */
	__u32 end;	 /* as in rs_reap */
	__u32 pad;
};

struct rs_lags {
	struct rs_reap_dist dist; /* written by many, atomically */
	__u64 astray_ns; /* since then the CQ head is not where it was last seen to move to; 0: it is */
	__u32 head;
	__u32 begun;
	__u32 unseen; /* not 0: it moved and nobody saw it */
	__u32 pad;
	struct rs_lag_slot s[RS_LAG_SLOTS];
} __attribute__((aligned(64)));

/* A CQ head in the memory of a process: of which ring. pid: in the initial pid namespace. */
struct rs_head_key {
	__u64 addr;
	__u32 pid;
	__u32 pad;
};

/* What rs_find_heads writes. */
struct rs_head {
	struct rs_head_key key;
	__u32 ring_uid;
	__u32 cq_map; /* through the mapping of the CQ */
};

struct rs_ring {
	/* read by every event */
	__u64 ctx; /* address, 0 while the entry is free */
	__u32 uid;
	__u32 flags;  /* RS_RING_CREATED_IN_WINDOW, RS_RING_REWIND: set before it is listed */
	__s32 sq_tid; /* thread of an SQPOLL ring, in the initial pid namespace; 0: none */
	__u32 cq_entries;
	__u32 state; /* RS_RING_FREE to RS_RING_CLOSED */
	__u32 pad0[9];
	/* submitter */
	__u64 last_sq_head;	/* ~0 before the first batch; of a REWIND ring: the last position */
	__u64 no_slot;		/* submitted without a slot and not yet completed, signed, atomic */
	__u64 rejected_no_slot; /* refused without a slot, their CQE still to come; signed, atomic */
	__u64 untagged;		/* not 0: requests that may give many CQEs have no tag */
	__u64 batch_ns; /* when the first request of this batch that is timed was submitted, 0: none yet */
	__u32 skip;	/* requests that go untimed before the next one that is timed */
	__s32 issuer;	/* thread that submitted first; 0: none yet */
	__u32 issuers;	/* not 0: others did, too */
	__u32 pad1[3];
	/* completer */
	__u32 cq_depth_max;
	__u32 watched;	/* moves of the CQ head are seen */
	__u64 last_end; /* io_kiocb that ended last */
	struct rs_reap reap;
	__u64 c[RS_RC_COUNT];
	/* index into the series table, 0: none yet */
	__u16 series[RS_OPS];
	/* facts, written once */
	__u64 created_ns; /* 0 if it existed before */
	__u64 closed_ns;
	__u64 cgroup_id;
	__u32 pid; /* tgid, initial pid namespace */
	__u32 tid;
	__u32 user; /* real uid of the creator, ~0 unknown */
	__s32 fd;
	__u32 sq_entries;
	__u32 setup_flags;
	__u32 sq_dropped;      /* rings->sq_dropped as last read */
	__u32 sq_dropped_base; /* its value when we first saw the ring */
	char comm[RS_COMM_LEN];
	__u32 pid_here; /* in ringside's pid namespace; 0: it is not in there, or not known */
	__u32 pid_own;	/* in its own pid namespace; 0: that is ringside's or the initial one, or not known */
	__u32 sq_tid_here; /* as pid_here */
	__u32 exited;	   /* not 0: its last user closed it by ending */
	__u64 overflow_ns; /* when a CQE overflowed for the last time */
	__u64 stuck_ns; /* for so long overflowed CQEs had waited when it was last looked, plus 1; 0: not known */
	__u64 hashed_inode; /* of the last punt that io-wq keeps apart from others of the same file */
} __attribute__((aligned(64)));

/* Flags of an in-flight slot. */
#define RS_SLOT_REJECTED 1u /* not a request: the CQE of a refused SQE is still to come */
#define RS_SLOT_PUNTED 2u
#define RS_SLOT_ASKED 4u  /* IOSQE_ASYNC in the SQE, or in the head of its chain */
#define RS_SLOT_FORCED 8u /* REQ_F_FORCE_ASYNC at submission */
#define RS_SLOT_DRAIN 16u
#define RS_SLOT_CQE_SKIP 32u
#define RS_SLOT_MULTI 64u    /* multishot */
#define RS_SLOT_NOTIF 128u   /* a zero-copy send: a notification follows */
#define RS_SLOT_BEGUN 256u   /* a worker has begun it */
#define RS_SLOT_LINKED 512u  /* follows another in a chain */
#define RS_SLOT_HEAD 1024u   /* another follows it */
#define RS_SLOT_STAGED 2048u /* its rs_cold says what happened to it */
#define RS_SLOT_SPAN 4096u   /* it was submitted inside of a span: its rs_cold says which */

#define RS_KEY_BUSY 1u

/* A request in flight: what submission and completion need. */
struct rs_hot {
	__u64 key;	 /* io_kiocb address, 0: free, RS_KEY_BUSY: changing hands */
	__u64 submit_ns; /* 0: it is not timed */
	__u64 user_data;
	__u32 ring_uid;
	__u16 series;
	__u16 flags;
};

/*
 * Requests in flight where a CQE does not name its request (before 5.19): known by (ring, user_data).
 * Up to RS_COPIES with the same user_data are told apart by number, but not which of them a CQE ends.
 */
#define RS_COPIES 8u

struct rs_named_key {
	__u32 ring_uid;
	__u32 copy;
	__u64 user_data;
};

/* What is not known of a request because another with its user_data was in flight at the same time. */
#define RS_DOUBT_TIME 1u
#define RS_DOUBT_OP 2u

struct rs_named {
	__u64 submit_ns; /* 0: it is not timed */
	__u64 punt_ns;
	__u32 series;
	__u16 flags; /* RS_SLOT_* */
	__u16 doubt; /* RS_DOUBT_* */
};

/* What only the slow path of a request needs; the programs reach it by the hot slot's index. */
struct rs_cold {
	__u64 punt_ns;
	__u64 since_ns; /* when the stage began that it is in */
	__u64 ns[RS_LIVE_STAGES];
	__u32 stage;
	__u32 span_op; /* RS_SLOT_SPAN: number of the pair of span and opcode */
};

/* Slots stand in groups: a request may take any slot of its group. */
#define RS_GROUP 8u
struct rs_hot_group {
	struct rs_hot s[RS_GROUP];
};
struct rs_cold_group {
	struct rs_cold s[RS_GROUP];
};

#include "abi_block.h"

/*
 * Files that requests had trouble with: punts that nobody asked for, errors, slowness. Device and inode as the kernel
 * has them inside, which on btrfs and overlayfs are others than those of stat(2).
 */
struct rs_file_key {
	__u64 inode;
	__u32 dev;
	__u32 generation; /* inode numbers are used again */
	__u32 op;
	__u32 pad;
};

/* A name of up to RS_FILE_NAME - 1 bytes and its NUL end at RS_FILE_NAME; what is behind that is for the verifier. */
#define RS_FILE_NAME 512u
#define RS_NAME_PART 256u /* more than the longest name in a directory */

#define RS_FILE_READY 1u  /* all but the counts is there */
#define RS_FILE_PSEUDO 2u /* it never was in a directory: the name is not a path */
#define RS_FILE_CUT 4u	  /* the name lacks its beginning */

/* Ports in host byte order, addresses as in packets, of IPv4 in the first four bytes. */
struct rs_sock {
	char protocol[16]; /* as the kernel calls it: "TCPv6" */
	__u8 local[16], peer[16];
	__u16 local_port, peer_port;
	__u16 family; /* 0: no socket */
	__u8 listening;
	__u8 pad;
};

struct rs_file {
	__u64 punted, errors, slow;
	__u64 time_ns; /* of these requests, from submission to end */
	__u32 flags;   /* RS_FILE_* */
	__u32 mode;
	__u32 nlink;
	__u32 name_at; /* where in name it begins */
	struct rs_sock sock;
	char name[RS_FILE_NAME +
		  RS_NAME_PART]; /* of a unix socket its address, whose first byte may be NUL */
};

/*
 * A thread that submitted a request which went to a worker unasked: its registers as it entered the kernel, and what
 * was on its stack from sp on.
 */
#define RS_STACK_BYTES 4096u

struct rs_stack {
	__u64 ip, sp, bp;
	__u32 pid; /* in ringside's pid namespace, 0: it is not in there */
	__u32 op;
	__u32 size; /* of bytes, those that are known */
	__u32 pad;
	__u8 bytes[RS_STACK_BYTES];
};

/* So many a second on each CPU, and so many at once. */
#define RS_STACK_EVERY_NS 5000000ull
#define RS_STACK_BURST 64u

/* Key of the map of error counts. op is RS_OPS for an overflowed CQE. */
struct rs_errno_key {
	__u32 ring_uid;
	__u16 op;
	__u16 err; /* positive errno */
};

/* Key of the map of CQEs that overflowed and are not yet matched with their request. */
struct rs_overflow_key {
	__u32 ring_uid;
	__u32 pad;
	__u64 user_data;
};

/*
 * What is known of a request by its user_data alone: CQEs of multishot requests and
 * notifications name nothing else.
 */
#define RS_TAG_MULTI 1u
#define RS_TAG_NOTIF 2u

struct rs_tag_key {
	__u32 ring_uid;
	__u32 kind; /* RS_TAG_* */
	__u64 user_data;
};

struct rs_tag {
	__u64 since_ns; /* the last CQE of it, or its submission */
	__u32 series;
	__u32 op; /* RS_OPS: requests of several opcodes have this user_data */
	__u64 n;  /* requests in flight under this user_data */
};

struct rs_series_key {
	__u32 ring_uid;
	__u16 op;
	__u16 kind; /* RS_KIND_* or RS_TAG_* */
};

/* Calls of io_uring_register on watched rings; key of the map: its opcode. */
struct rs_register_stat {
	__u64 count;
	__u64 errors;
	__u64 timed; /* of count, those whose beginning was seen */
	__u64 sum_ns;
	__u64 max_ns;
};

/* A thread's io_uring_enter or io_uring_register under way; key of the map: tid. */
struct rs_call {
	__u64 ctx;	/* io_uring_enter: of the ring; io_uring_register: 0 */
	__u64 begin_ns; /* 0: none is under way */
};

/* io-wq workers of one task; key of the map: tid. */
struct rs_workers {
	__u64 start_ns; /* of the task: tids are used again */
	__u32 pid;
	__u32 bounded_max;
	__u32 unbounded_max;
	__u32 pad;
	char comm[RS_COMM_LEN];
	__u32 pid_here, tid_here;	      /* in ringside's pid namespace; 0: not in there, or not known */
	__u32 bounded_limit, unbounded_limit; /* as last seen */
};

/* CPU time of an SQPOLL thread at its end; key of the map: tid. */
struct rs_sq_exit {
	__u64 cpu_ns;
};

/* A process: in the initial pid namespace and in ringside's. What rs_list_pids writes. */
struct rs_pid {
	__u32 pid;
	__u32 here;
};

/*
 * Spans: functions of programs. A request belongs to the innermost call that its thread is in when it submits it.
 * Everything about a span is added atomically: many threads may be in it.
 */
#define RS_SPANS_MAX 256u

struct rs_span {
	__u64 calls;	/* begun */
	__u64 returned; /* of these; those in lat */
	__u64 waits;	/* for CQEs, inside of it and of no other span in it */
	__u64 wait_ns;	/* off the CPU in them */
	__u64 pad[4];
	struct rs_lat lat;
	__u32 ops[RS_OPS]; /* numbers of the pairs of it and an opcode, 0: none yet */
} __attribute__((aligned(64)));

/* A pair of span and opcode has its main series, then its kin, by kind from RS_KIND_SLOW on. */
#define RS_SPAN_SERIES (1u + RS_KINDS - RS_KIND_SLOW)

static __always_inline __u32 rs_span_series_index(__u32 pair, __u32 kind)
{
	return (pair - 1) * RS_SPAN_SERIES + (kind == RS_KIND_MAIN ? 0 : 1 + kind - RS_KIND_SLOW);
}

/* In struct rs_errno_key a span stands in the place of a ring: generation 0 is ring 0's alone. */
#define RS_SPAN_UID(span) ((span) + 1)

/* Calls that a thread is in, the innermost last. */
#define RS_SPAN_DEPTH 32u

struct rs_span_call {
	__u64 begin_ns;
	__u64 sp; /* at its entry */
	__u32 span;
	__u32 pad;
};

struct rs_span_stack {
	__u32 depth;
	__u32 waiting; /* number of the span, plus 1, that waits for CQEs; 0: none */
	__u64 off_ns;  /* since then it is off the CPU; 0: it is not */
	struct rs_span_call calls[RS_SPAN_DEPTH];
};

/* Read-only for the programs, set before load. */
struct rs_config {
	__u32 all;	  /* watch every ring; else only those of the processes in `targets` */
	__u32 group_mask; /* number of slot groups - 1 */
	/* Filters on a ring's creator, decided once a ring. */
	__u32 by_user, user;
	__u32 by_comm;
	__u32 by_cgroup;
	/* An overflow event that names no request under way is an auxiliary CQE's; else (6.1) it may be anything. */
	__u32 overflow_names_request;
	/* taking an entry from this index on wakes the loader: they run short */
	__u32 wake_from, wake_from_series;
	__u64 cgroup_id;
	__u64 ring_exit_work; /* address of io_ring_exit_work */
	__u64 ring_file_poll; /* address of io_uring_poll */
	char comm[RS_COMM_LEN];
	__u8 op_traits[RS_OPS];
	__u32 pid_ns;	   /* ringside's pid namespace: its inode; 0: the initial one */
	__u32 pid_numbers; /* the numbers of a process in other namespaces can be read */
	__u32 links_told;  /* RS_SLOT_LINKED is set */
	__u32 wq_told;	   /* it is seen when a worker begins a request */
	__u32 watch_heads; /* `watched` may become true */
	__u32 own_ring;	   /* entry of the ring that ringside measures on; it has no other use */
	__u32 files;	   /* the files of requests in trouble are noted */
	__u32 call_sites;  /* stacks are taken */
	__u64 slow_ns;	   /* requests are slow that take this long */
	__u32 spans;	   /* how many there are */
	__u32 block;	   /* the block layer is observed */
	/* addresses of functions of the block layer that end a bio, 0: not known */
	__u64 iomap_dio_end, blkdev_dio_end, blkdev_dio_end_async, bio_chain_end;
};

/* Shared and writable. */
struct rs_global {
	__u32 active;	    /* programs return at once while 0 */
	__u32 refresh;	    /* the iterators look again at known rings, and for no others */
	__u64 sample_scale; /* of rs_sample_gap(); 0: every request is timed */
	__u32 own_pid; /* ringside, while it measures its own cost; in the initial pid namespace; 0: not now */
	__u32 zero;    /* always, and the verifier does not know */
	__u32 self; /* ringside, where functions are observed; in the initial pid namespace; 0: not known */
	__u32 pad0[9];
	/* losses, atomic */
	__u64 errnos_full;   /* errors whose errno found no place */
	__u64 overflow_full; /* overflowed CQEs whose opcode will stay unknown */
	__u64 tags_full;     /* multishot and zero-copy requests whose further CQEs stay without an opcode */
	__u64 workers_full;  /* observations of workers of tasks that found no place */
	__u64 sq_exits_full; /* SQPOLL threads whose CPU time at their end will stay unknown */
	__u64 targets_full;  /* children that could not be followed */
	__u64 rejected_full; /* refused SQEs that found neither a slot nor a place: their CQE will end a request */
	__u64 rings_full;  /* requests submitted on rings that have no entry */
	__u64 stages_full; /* stages of requests that found no series */
	__u64 files_full;  /* requests in trouble whose file found no place */
	__u64 tags_mixed;  /* CQEs whose user_data is that of requests of several opcodes */
	/* where CQEs do not name their request */
	__u64 ambiguous; /* ends without a latency, maybe without an opcode: RS_DOUBT_* */
	__u64 unmatched; /* CQEs that no request in flight explains: of refused SQEs, of older requests */
	__u64 n_files;	 /* noted, ever */
	__u64 stacks_skipped; /* not taken: too many at a time */
	__u64 spans_full;     /* calls of functions, and requests in them, that found no room */
	__u64 devices;	      /* entries of rs_devices that were asked for */
	__u64 devices_full;   /* requests of devices that found no entry */
	__u64 pad1[6];
};

#endif
