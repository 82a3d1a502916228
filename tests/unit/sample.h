/* SPDX-License-Identifier: MIT */
/* Snapshots for tests, built piece by piece. Adding a ring or an opcode moves the others. */
#ifndef RINGSIDE_TEST_SAMPLE_H
#define RINGSIDE_TEST_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "snapshot.h"

enum { OP_NOP = 0, OP_FSYNC = 3, OP_OPENAT = 18, OP_STATX = 21, OP_READ = 22, OP_WRITE = 23 };

/* One second on two CPUs, every feature there, no ring. */
static inline struct snapshot *sample__snapshot(void)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	memcpy(s->kernel_release, "6.18.0", sizeof("6.18.0"));
	for (unsigned int f = 0; f < RS_F_COUNT; f++)
		s->features[f].level = FEATURE_FULL;
	s->start_unix_ns = 1700000000000000000ull;
	s->duration_ns = 1000000000;
	s->cpus = 2;
	s->cost.sample = 1;
	return s;
}

static inline void sample__free(struct snapshot *s)
{
	snapshot__free(s);
	free(s);
}

static inline struct ring_stats *sample__ring(struct snapshot *s, uint32_t id)
{
	struct ring_stats *rings = reallocarray(s->rings, s->n_rings + 1, sizeof(*rings));

	if (!rings)
		abort();
	s->rings = rings;
	rings[s->n_rings] = (struct ring_stats){ .id = id, .uid = (1u << 16) | id, .fd = -1, .user = ~0u };
	return &rings[s->n_rings++];
}

static inline struct ring_stats *sample__others(struct snapshot *s)
{
	s->others = calloc(1, sizeof(*s->others));
	if (!s->others)
		abort();
	s->others->fd = -1;
	s->n_others = 1;
	return s->others;
}

/* A file of device 8:1; c: what happened with it. */
static inline void sample__file(struct snapshot *s, const char *name, uint64_t inode, unsigned int op,
	struct file_counts c)
{
	struct file_stats f = { .name = name ? strdup(name) : NULL,
		.kind = "file",
		.dev_major = 8,
		.dev_minor = 1,
		.inode = inode,
		.op = op,
		.c = c };

	if (file_list__add(&s->files, &f))
		abort();
}

/* A call of `function` in line `line` of a.c, which main() made. */
static inline void sample__site(struct snapshot *s, const char *function, int line, unsigned int op,
	uint64_t samples)
{
	const struct site_frame frames[] = {
		{ .module = (char *)"/usr/lib/liburing.so.2", .offset = 0x2b95 },
		{ .module = (char *)"/opt/db",
			.offset = 0x1000 + (uint64_t)line,
			.function = (char *)function,
			.file = (char *)"src/a.c",
			.line = line },
		{ .module = (char *)"/opt/db", .offset = 0x900, .function = (char *)"main" },
	};
	struct site_stats one = { .frames = (struct site_frame *)frames,
		.n = 3,
		.op = op,
		.samples = samples };
	struct site_list l = { .list = &one, .n = 1 }, copy;
	struct site_stats *more = reallocarray(s->sites.list, s->sites.n + 1, sizeof(*more));

	if (!more || site_list__copy(&l, &copy))
		abort();
	s->sites.list = more;
	more[s->sites.n++] = copy.list[0];
	free(copy.list);
}

static inline struct op_stats *sample__op(struct ring_stats *r, unsigned int op)
{
	struct op_stats *o = ring_stats__op(r, op);

	if (!o)
		abort();
	return o;
}

/* A ring on which every counter differs, so that a sum of the wrong ones shows. */
static inline void sample__fill(struct ring_stats *r, uint64_t unit)
{
	struct op_stats *read, *nop;

	sample__op(r, OP_READ);
	nop = sample__op(r, OP_NOP);
	read = sample__op(r, OP_READ);
	for (unsigned int i = 0; i < RS_RC_COUNT; i++)
		r->c[i] = unit * (1000 + i);
	for (unsigned int i = 0; i < RS_SC_COUNT; i++) {
		read->c[i] = unit * (100 + i);
		nop->c[i] = unit * (200 + i);
	}
	r->in_flight_no_slot = unit * 3;
	r->sq_dropped = (uint32_t)unit * 7;
	read->in_flight = unit * 5;
	nop->in_flight = unit * 11;
}

/* n requests of ns each. */
static inline void sample__latency(struct op_stats *o, uint64_t ns, uint64_t n)
{
	o->lat.buckets[rs_hist_bucket(ns)] += n;
	o->lat.sum_ns += n * ns;
	if (ns < o->lat.min_ns)
		o->lat.min_ns = ns;
	if (ns > o->lat.max_ns)
		o->lat.max_ns = ns;
}

/* Adds to the counts of an io_uring_register opcode. */
static inline void sample__register(struct snapshot *s, unsigned int op, uint64_t count, uint64_t errors)
{
	struct register_stats *list;
	size_t i = 0;

	while (i < s->n_registers && s->registers[i].op != op)
		i++;
	if (i == s->n_registers) {
		list = reallocarray(s->registers, i + 1, sizeof(*list));
		if (!list)
			abort();
		list[i] = (struct register_stats){ .op = op };
		s->registers = list;
		s->n_registers++;
	}
	s->registers[i].count += count;
	s->registers[i].errors += errors;
}

#endif
