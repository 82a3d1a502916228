/* SPDX-License-Identifier: MIT */
/* Captures for tests: records that a random number makes, in files without a name. */
#ifndef RINGSIDE_TEST_CAPTURED_H
#define RINGSIDE_TEST_CAPTURED_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reader.h"
#include "rng.h"
#include "writer.h"

static inline int captured__file(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Record i of those that this seed makes: its kind, its values and its time. */
static inline enum capture_kind captured__record(uint64_t seed, uint64_t i, uint64_t *values,
	uint64_t *ret_time_ns)
{
	struct rng r = { seed * 1000003 + i + 1 };
	enum capture_kind kind = rng__next(&r) % CAPTURE_KINDS;
	size_t c;

	for (c = 0; c < capture_records[kind].n_columns; c++)
		values[c] =
			rng__next(&r) % 8 ? rng__log_uniform(&r, 64) : CAPTURE_UNKNOWN - rng__next(&r) % 2;
	*ret_time_ns = 1000000 + 1000 * i + rng__next(&r) % 5000;
	return kind;
}

static inline void captured__add(struct capture_writer *w, uint64_t seed, uint64_t from, uint64_t to)
{
	uint64_t values[CAPTURE_MAX_COLUMNS], time_ns;

	for (uint64_t i = from; i < to; i++) {
		enum capture_kind kind = captured__record(seed, i, values, &time_ns);

		assert_int_equal(capture_writer__add(w, kind, values, time_ns), 0);
	}
}

static inline struct capture_reader *captured__open(int fd)
{
	struct capture_reader *r;
	char errmsg[256];

	if (capture_reader__open(fd, &r, errmsg, sizeof(errmsg)))
		fail_msg("%s", errmsg);
	return r;
}

/* What is left to be read are records from `from` on; returns the number behind the last one. */
static inline uint64_t captured__expect(struct capture_reader *r, uint64_t seed, uint64_t from)
{
	uint64_t values[CAPTURE_MAX_COLUMNS], time_ns, i = from;
	struct capture_batch b;
	char errmsg[256];
	int got;

	while ((got = capture_reader__next(r, &b, errmsg, sizeof(errmsg))) == 1) {
		size_t at[CAPTURE_KINDS] = { 0 }, n = 0, k;

		for (k = 0; k < CAPTURE_KINDS; k++)
			n += b.kinds[k].n;
		for (; n; n--, i++) {
			k = captured__record(seed, i, values, &time_ns);
			assert_true(at[k] < b.kinds[k].n);
			for (size_t c = 0; c < capture_records[k].n_columns; c++)
				assert_true(b.kinds[k].columns[c][at[k]] == values[c]);
			assert_in_range(time_ns, b.first_ns, b.last_ns);
			at[k]++;
		}
	}
	if (got < 0)
		fail_msg("%s", errmsg);
	return i;
}

#endif
