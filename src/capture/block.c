// SPDX-License-Identifier: MIT
#include "block.h"

#include <errno.h>
#include <zlib.h>

#include "coding.h"

#define BLOCK_MAGIC 0x314b4c42u /* "BLK1" */

uint32_t capture_checksum(const void *data, uint32_t n_bytes)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), data, n_bytes);
}

void block__put(const struct block *b, uint8_t at[BLOCK_BYTES])
{
	put_u32(at, BLOCK_MAGIC);
	put_u32(at + 4, b->type);
	put_u32(at + 8, b->stored_bytes);
	put_u32(at + 12, b->raw_bytes);
	put_u64(at + 16, b->first_ns);
	put_u64(at + 24, b->last_ns);
	put_u32(at + 32, b->n_records);
	put_u32(at + 36, b->first_string);
	put_u32(at + 40, b->n_strings);
	put_u32(at + 44, b->checksum);
	put_u32(at + 48, capture_checksum(at, 48));
}

int block__get(const uint8_t at[BLOCK_BYTES], struct block *ret)
{
	uint32_t type = get_u32(at + 4);
	struct block b = {
		.type = type,
		.stored_bytes = get_u32(at + 8),
		.raw_bytes = get_u32(at + 12),
		.first_ns = get_u64(at + 16),
		.last_ns = get_u64(at + 24),
		.n_records = get_u32(at + 32),
		.first_string = get_u32(at + 36),
		.n_strings = get_u32(at + 40),
		.checksum = get_u32(at + 44),
	};

	if (get_u32(at) != BLOCK_MAGIC || get_u32(at + 48) != capture_checksum(at, 48) ||
		(type != BLOCK_DATA && type != BLOCK_INDEX) || b.stored_bytes > MAX_BLOCK_BYTES ||
		b.raw_bytes > MAX_BLOCK_BYTES || b.n_strings > b.raw_bytes)
		return -EBADMSG;
	*ret = b;
	return 0;
}
