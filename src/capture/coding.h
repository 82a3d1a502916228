/* SPDX-License-Identifier: MIT */
/* Numbers as bytes: seven bits a byte, the lowest first, the eighth says that more follow. */
#ifndef RINGSIDE_CODING_H
#define RINGSIDE_CODING_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "records.h"

#define VARINT_MAX_BYTES 10

/* Grows as it is written to. */
struct bytes {
	uint8_t *p;
	size_t n, room;
};

/* Room for more bytes at p + n. 0 or -ENOMEM. */
int bytes__reserve(struct bytes *b, size_t more);
int bytes__add(struct bytes *b, const void *data, size_t n);
void bytes__free(struct bytes *b);

/* Bytes to read from. */
struct span {
	const uint8_t *p, *end;
};

static inline uint8_t *varint__put(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* 0; -EBADMSG: it does not end, or is more than 64 bits. */
int varint__get(struct span *s, uint64_t *ret);

/* prev: the value before it in its column, which this one takes the place of. */
static inline uint64_t coded(enum capture_coding coding, uint64_t v, uint64_t *prev)
{
	uint64_t d = v;

	switch (coding) {
	case CAPTURE_OPT:
		return v + 1;
	case CAPTURE_DELTA:
		d = v - *prev;
		*prev = v;
		/* fall through */
	case CAPTURE_SIGNED:
		return d << 1 ^ (uint64_t)((int64_t)d >> 63);
	default:
		return v;
	}
}

static inline uint64_t decoded(enum capture_coding coding, uint64_t v, uint64_t *prev)
{
	switch (coding) {
	case CAPTURE_OPT:
		return v - 1;
	case CAPTURE_DELTA:
		*prev += v >> 1 ^ -(v & 1);
		return *prev;
	case CAPTURE_SIGNED:
		return v >> 1 ^ -(v & 1);
	default:
		return v;
	}
}

/* Little endian, wherever it is read. */
static inline void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void put_u64(uint8_t *p, uint64_t v)
{
	put_u32(p, (uint32_t)v);
	put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint32_t get_u32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t get_u64(const uint8_t *p)
{
	return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

#endif
