// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The least that an observer of every request can cost: one program where a request is submitted,
 * one where it completes; empty, or reading the clock once each.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("?tp_btf/io_uring_submit_req")
int empty_submit(void *ctx)
{
	return 0;
}

SEC("?tp_btf/io_uring_complete")
int empty_complete(void *ctx)
{
	return 0;
}

SEC("?tp_btf/io_uring_submit_req")
int clock_submit(void *ctx)
{
	bpf_ktime_get_ns();
	return 0;
}

SEC("?tp_btf/io_uring_complete")
int clock_complete(void *ctx)
{
	bpf_ktime_get_ns();
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
