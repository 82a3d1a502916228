// SPDX-License-Identifier: MIT
#include "sizes.h"

#include <unistd.h>

#include "abi.h"

/* What rs_hot and rs_cold have for a request. */
#define REQUEST_BYTES (sizeof(struct rs_hot) + sizeof(struct rs_cold))

/* No table takes more than this part of the memory, unless it would be too small to be of use. */
#define MEMORY_SHARE 2048u
#define SERIES_SHARE 1024u
#define REQUESTS_SHARE 1024u

static uint32_t clamp(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : (uint32_t)n;
}

static uint32_t power_of_two_below(uint32_t n)
{
	while (n & (n - 1))
		n &= n - 1;
	return n;
}

void machine__read(struct machine *ret)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	ret->memory_bytes = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
	ret->cpus = cpus > 0 ? (uint32_t)cpus : 1;
}

/* Few opcodes do anything but end inline, and those that do have three stages or so. */
static uint32_t kin_for(uint32_t series)
{
	uint32_t room = RS_MAX_SERIES - series;

	return clamp(series / 4, 16, room < 16 ? 16 : room);
}

/*
 * Rings and requests in flight grow with the CPUs. Of the requests nearly all find a slot while half of them are taken.
 * Most rings use one opcode or two, and a series is large: where memory is short there are fewer than two for each ring,
 * since seldom are all rings open at once. What is spare is also what new rings take until those that are gone have
 * been read out.
 */
void table_sizes__choose(const struct machine *m, struct table_sizes *s)
{
	uint64_t share = m->memory_bytes / MEMORY_SHARE;
	uint32_t most;

	if (!s->inflight) {
		most = clamp(2048ull * m->cpus, 131072, 1u << 20);
		s->inflight = power_of_two_below(
			clamp(m->memory_bytes / REQUESTS_SHARE / REQUEST_BYTES, 8192, most));
	}
	if (s->rings) {
		s->series = clamp(2ull * s->rings, 1, RS_MAX_SERIES);
		s->kin = kin_for(s->series);
		return;
	}
	most = clamp(32ull * m->cpus, 2048, 16384);
	s->rings = clamp(share / sizeof(struct rs_ring), 256, most);
	s->series = clamp(m->memory_bytes / SERIES_SHARE / sizeof(struct rs_series), 1024, 2 * s->rings);
	s->kin = kin_for(s->series);
}
