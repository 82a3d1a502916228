/* SPDX-License-Identifier: MIT */
/* A reader's parts: the list of blocks (reader_index.c), what is in one (reader_block.c). */
#ifndef RINGSIDE_READER_PRIVATE_H
#define RINGSIDE_READER_PRIVATE_H

#include <zstd.h>

#include "block.h"
#include "coding.h"
#include "reader.h"
#include "schema.h"

#define NOT_READ SIZE_MAX

struct listed {
	uint64_t offset;
	struct block block;
	size_t strings_at; /* its first in reader.string, or NOT_READ */
};

struct decoded {
	uint64_t *values; /* columns one after the other */
	size_t room;
};

struct capture_reader {
	int fd;
	uint64_t file_bytes, first_block; /* where blocks begin */
	json_t *description;
	struct schema schema;
	ZSTD_DCtx *zstd;
	struct listed *blocks;
	size_t n_blocks, room_blocks, next;
	bool whole;
	uint64_t end; /* of what can be read */
	const char *why_not_whole;
	struct bytes stored, raw;
	struct decoded kinds[CAPTURE_KINDS];
	struct bytes strings; /* each with a NUL */
	struct {
		size_t at, n_bytes;
	} * string; /* block by block, as they were read */
	size_t n_strings, room_strings;
};

/* All n bytes at offset. 0; -EBADMSG: the file ends before; other negative errno. */
int reader__pread(const struct capture_reader *r, void *buf, size_t n, uint64_t offset);

/* Fills r->blocks, from the index or else by going through the file. 0 or negative errno. */
int reader__list_blocks(struct capture_reader *r);

/* Into r->raw. 0, -EBADMSG with *why, or negative errno. */
int reader__decompress(struct capture_reader *r, const struct listed *l, const char **why);

/* From r->raw. A batch of NULL: only the strings are wanted. Likewise. */
int reader__decode(struct capture_reader *r, struct listed *l, struct capture_batch *batch, const char **why);

#endif
