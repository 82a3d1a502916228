/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * Every shared map and global. maps.bpf.c defines them, the others refer to them.
 * Sizes of 1 are set by the loader.
 */
#ifndef RINGSIDE_MAPS_H
#define RINGSIDE_MAPS_H

#ifdef RS_DEFINE_MAPS
#define RS_MAP
#else
#define RS_MAP extern
#endif

#define RS_HINTS 4096u

/* Requests in flight. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_hot_group);
} rs_hot SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_cold_group);
} rs_cold SEC(".maps");

/* Where the block layer is observed, as all that follows until rs_rings; else of size 1. As rs_cold. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_block_group);
} rs_blocks SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_issuing);
} rs_issuing SEC(".maps");

/* The least recently used are forgotten: some bios end where nobody sees it. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct rs_bio);
} rs_bios SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, struct rs_rq);
} rs_rqs SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_device);
} rs_devices SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} rs_device_index SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_ring);
} rs_rings SEC(".maps");

/* By index of the ring. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_reaped);
} rs_reaped SEC(".maps");

/* By index of the ring; sized only where CQ heads are watched. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_lags);
} rs_lags SEC(".maps");

/* Ring uid; sized as rs_lags. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_head_key);
	__type(value, u32);
} rs_heads SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_series);
} rs_series SEC(".maps");

/* Requests in flight where CQEs do not name them; sized only there. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_named_key);
	__type(value, struct rs_named);
} rs_named SEC(".maps");

/* Free entries of rs_rings and rs_series: pop to take, the loader pushes. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} rs_free_rings SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} rs_free_series SEC(".maps");

/* Series of stages come from a part of rs_series that is theirs, lest they take those of opcodes. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} rs_free_kin SEC(".maps");

/* Tells the loader that entries run short; what is written does not matter. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} rs_wakeups SEC(".maps");

/* ctx address -> ring uid: decides; the hints only make it fast. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} rs_ring_index SEC(".maps");

/* ctx address of a ring without an entry of its own -> whether it is ours: decided once, as for the others. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u8);
} rs_unplaced SEC(".maps");

/* hash of a ctx address -> index into rs_rings, to be verified there. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RS_HINTS);
	__type(key, u32);
	__type(value, u32);
} rs_ring_hints SEC(".maps");

/* hash of a ctx address -> the one there that is known not to be ours. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RS_HINTS);
	__type(key, u32);
	__type(value, u64);
} rs_foreign SEC(".maps");

/* Process ids whose rings are watched. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u8);
} rs_targets SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct rs_errno_key);
	__type(value, u64);
} rs_errnos SEC(".maps");

/* io_kiocb addresses of refused SQEs that found no slot -> ring uid; their CQE is still to come, if any is. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, u32);
} rs_rejected SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct rs_overflow_key);
	__type(value, u64);
} rs_overflowed SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct rs_tag_key);
	__type(value, struct rs_tag);
} rs_tags SEC(".maps");

/* Index into rs_series. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_series_key);
	__type(value, u32);
} rs_series_index SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct rs_register_stat);
} rs_registers SEC(".maps");

/* Sized only where files are noted. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct rs_file_key);
	__type(value, struct rs_file);
} rs_files SEC(".maps");

/* What new entries of rs_files begin as: a value so large has no room on the stack. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_file);
} rs_file_blank SEC(".maps");

/* struct rs_stack; sized only where stacks are taken. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} rs_stacks SEC(".maps");

/* Until when the stacks are paid for that were taken on this CPU. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} rs_stacks_paid SEC(".maps");

/* Sized only where calls are timed. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_call);
} rs_calls SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct rs_workers);
} rs_workers SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct rs_sq_exit);
} rs_sq_exits SEC(".maps");

/* What --span needs; made only then. By number of the span. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_span);
} rs_spans SEC(".maps");

RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rs_series);
} rs_span_series SEC(".maps");

/* Numbers of pairs of span and opcode, from 1. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, sizeof(u32));
} rs_free_span_ops SEC(".maps");

/* Of threads that have been in a span. */
RS_MAP struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rs_span_stack);
} rs_span_stacks SEC(".maps");

#ifdef RS_DEFINE_MAPS
const volatile struct rs_config rs_config = {};
struct rs_global rs = {};
#else
extern const volatile struct rs_config rs_config;
extern struct rs_global rs;
#endif

#endif
