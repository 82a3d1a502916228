// SPDX-License-Identifier: MIT
/* Where the blocks are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader_private.h"

int reader__pread(const struct capture_reader *r, void *buf, size_t n, uint64_t offset)
{
	uint8_t *p = buf;
	ssize_t got;

	if (offset > r->file_bytes || n > r->file_bytes - offset)
		return -EBADMSG;
	while (n) {
		got = pread(r->fd, p, n, (off_t)offset);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EBADMSG;
		p += got;
		n -= (size_t)got;
		offset += (size_t)got;
	}
	return 0;
}

/* Numbers of strings go on from block to block: so they are found by them. -EBADMSG: they don't. */
static int list_block(struct capture_reader *r, uint64_t offset, const struct block *b)
{
	const struct block *last = r->n_blocks ? &r->blocks[r->n_blocks - 1].block : NULL;

	if (b->first_string != (last ? (uint64_t)last->first_string + last->n_strings : 0))
		return -EBADMSG;
	if (r->n_blocks == r->room_blocks) {
		size_t room = r->room_blocks ? 2 * r->room_blocks : 64;
		struct listed *more = reallocarray(r->blocks, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		r->blocks = more;
		r->room_blocks = room;
	}
	r->blocks[r->n_blocks++] = (struct listed){ offset, *b, NOT_READ };
	return 0;
}

static bool fits(const struct capture_reader *r, uint64_t offset, const struct block *b, uint64_t end)
{
	return offset >= r->first_block && offset <= end && end - offset >= BLOCK_BYTES &&
	       b->stored_bytes <= end - offset - BLOCK_BYTES;
}

/* Entries are what the writer put: an offset and the header that is there. */
static int list_entries(struct capture_reader *r, uint64_t index_at)
{
	const size_t entry = 8 + BLOCK_BYTES;
	struct block b;

	if (r->raw.n % entry)
		return -EBADMSG;
	for (size_t i = 0; i < r->raw.n; i += entry) {
		uint64_t at = get_u64(r->raw.p + i);
		int err;

		if (block__get(r->raw.p + i + 8, &b) || b.type != BLOCK_DATA || !fits(r, at, &b, index_at))
			return -EBADMSG;
		err = list_block(r, at, &b);
		if (err)
			return err;
	}
	return 0;
}

/* -EBADMSG: there is no good one. */
static int read_index(struct capture_reader *r)
{
	uint8_t trailer[TRAILER_BYTES], header[BLOCK_BYTES];
	struct listed index;
	const char *why;
	int err;

	if (r->file_bytes < r->first_block + TRAILER_BYTES)
		return -EBADMSG;
	err = reader__pread(r, trailer, sizeof(trailer), r->file_bytes - TRAILER_BYTES);
	if (err)
		return err;
	index.offset = get_u64(trailer);
	if (memcmp(trailer + 12, CAPTURE_END_MAGIC, MAGIC_BYTES) ||
		get_u32(trailer + 8) != capture_checksum(trailer, 8))
		return -EBADMSG;
	err = reader__pread(r, header, sizeof(header), index.offset);
	if (err)
		return err;
	if (block__get(header, &index.block) || index.block.type != BLOCK_INDEX ||
		!fits(r, index.offset, &index.block, r->file_bytes - TRAILER_BYTES))
		return -EBADMSG;
	err = reader__decompress(r, &index, &why);
	return err ? err : list_entries(r, index.offset);
}

/* Goes from header to header. */
static int scan(struct capture_reader *r)
{
	uint64_t at = r->first_block;
	uint8_t header[BLOCK_BYTES];
	struct block b;
	int err;

	r->n_blocks = 0;
	while (at < r->file_bytes) {
		err = reader__pread(r, header, sizeof(header), at);
		if (err && err != -EBADMSG)
			return err;
		if (err || block__get(header, &b) || !fits(r, at, &b, r->file_bytes))
			break;
		err = b.type == BLOCK_DATA ? list_block(r, at, &b) : 0;
		if (err == -EBADMSG)
			break;
		if (err)
			return err;
		at += BLOCK_BYTES + b.stored_bytes;
	}
	r->end = at;
	r->why_not_whole = at == r->file_bytes ? "it was not closed" : "what follows is no whole block";
	return 0;
}

int reader__list_blocks(struct capture_reader *r)
{
	int err = read_index(r);

	if (err && err != -EBADMSG)
		return err;
	r->whole = !err;
	r->end = r->file_bytes;
	return err ? scan(r) : 0;
}
