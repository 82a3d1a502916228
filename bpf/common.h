/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* What every .bpf.c starts with. */
#ifndef RINGSIDE_COMMON_H
#define RINGSIDE_COMMON_H

#include "kernel_types.h"

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi.h"
#include "maps.h"

/*
 * The low 32 bits of a kernel pointer as a number. The verifier forbids shifts and
 * masks on a typed pointer; a 32-bit move drops the type.
 */
#define PTR_LOW32(p)                                                                                         \
	({                                                                                                   \
		u32 __lo;                                                                                    \
		asm volatile("%0 = %1" : "=w"(__lo) : "w"((u32)(long)(p)));                                  \
		__lo;                                                                                        \
	})

/*
 * A pointer in a kernel structure is read at the top of a program, once: for each that is followed the
 * verifier searches the whole BTF by name, again on every path that leads there.
 */

/* Counter increments: plain for one writer, atomic (no result used: fine on every kernel) for many. */
#define ATOMIC_ADD(p, n) ((void)__sync_fetch_and_add((p), (n)))

/* A slow-path function in a header, which not every file that includes it needs. */
#define SHARED static __noinline __attribute__((unused))

/*
 * The same for one that takes numbers and returns one: the verifier goes through it once and forgets what it
 * returned; through a static one at each call, and on from there once for each result. Weak: every file has a
 * copy, and one stays. Each program that calls it is charged for it, though.
 */
#define VERIFIED_ONCE __weak __noinline

#endif
