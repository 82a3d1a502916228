/* SPDX-License-Identifier: MIT */
/*
 * The layout of a capture file, in bytes, all of it little endian.
 *
 *   head     magic (8), version, length of the description, its checksum (u32 each), the description in JSON
 *   block    a header of BLOCK_BYTES, and what it describes, compressed with zstd; any number of them
 *   index    one more block, which lists the others
 *   trailer  offset of the index (u64), checksum of that (u32), magic (8)
 *
 * A block is complete in itself, but for strings that earlier ones hold. Index and trailer are written last: a file
 * without them was not closed, and is read up to its last whole block.
 */
#ifndef RINGSIDE_BLOCK_H
#define RINGSIDE_BLOCK_H

#include <stdint.h>

#define CAPTURE_MAGIC "\211RSCAP\r\n"
#define CAPTURE_END_MAGIC "\211RSEND\r\n"
#define MAGIC_BYTES 8
#define CAPTURE_VERSION 1
#define HEAD_BYTES (MAGIC_BYTES + 12)
#define TRAILER_BYTES (8 + 4 + MAGIC_BYTES)
#define BLOCK_BYTES 52

/* Sizes that a reader believes. */
#define MAX_DESCRIPTION_BYTES (1u << 20)
#define MAX_BLOCK_BYTES (1u << 24)
#define MAX_BLOCK_RECORDS (1u << 18)
#define MAX_STRING_BYTES (1u << 16)

enum block_type { BLOCK_DATA = 1, BLOCK_INDEX = 2 };

struct block {
	enum block_type type;
	uint32_t stored_bytes, raw_bytes; /* of what follows: as it stands in the file, and decompressed */
	uint64_t first_ns, last_ns;	  /* all its records are between them */
	uint32_t n_records;
	uint32_t first_string, n_strings; /* strings that stand in it */
	uint32_t checksum;		  /* of what follows */
};

uint32_t capture_checksum(const void *data, uint32_t n_bytes);
void block__put(const struct block *b, uint8_t at[BLOCK_BYTES]);
/* 0; -EBADMSG: that is no block of ours. */
int block__get(const uint8_t at[BLOCK_BYTES], struct block *ret);

#endif
