// SPDX-License-Identifier: MIT
/*
 * The reader of captures, with any input. The first byte says what the rest is: a file as it stands, or what is to be
 * in the blocks of one whose checksums are right, which is what no mutation would find.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "block.h"
#include "coding.h"
#include "reader.h"
#include "schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(cond)                                                                                          \
	do {                                                                                                 \
		if (!(cond)) {                                                                               \
			fprintf(stderr, "%d: not so: %s\n", __LINE__, #cond);                                \
			abort();                                                                             \
		}                                                                                            \
	} while (0)

static void put(int fd, const void *data, size_t n)
{
	CHECK(write(fd, data, n) == (ssize_t)n);
}

static void put_head(int fd, const char *text, uint32_t n)
{
	uint8_t head[HEAD_BYTES];

	memcpy(head, CAPTURE_MAGIC, MAGIC_BYTES);
	put_u32(head + MAGIC_BYTES, CAPTURE_VERSION);
	put_u32(head + MAGIC_BYTES + 4, n);
	put_u32(head + MAGIC_BYTES + 8, capture_checksum(text, n));
	put(fd, head, sizeof(head));
	put(fd, text, n);
}

static void put_own_head(int fd)
{
	json_t *description = schema__describe(NULL);
	char *text = json_dumps(description, JSON_COMPACT);

	CHECK(text);
	put_head(fd, text, (uint32_t)strlen(text));
	free(text);
	json_decref(description);
}

/* Blocks of what is between bytes 0xfe; the first byte of each says how many strings it has, as its header. */
static void put_blocks(int fd, const uint8_t *data, size_t size)
{
	const uint8_t *end = data + size, *next;
	uint32_t first_string = 0;

	for (; data < end; data = next + 1) {
		uint8_t header[BLOCK_BYTES], stored[ZSTD_COMPRESSBOUND(1 << 16)];
		struct block b = { .type = BLOCK_DATA, .n_records = 1, .first_string = first_string };
		size_t n;

		next = memchr(data, 0xfe, (size_t)(end - data));
		next = next ? next : end;
		n = (size_t)(next - data);
		if (!n || n > 1 << 16)
			continue;
		b.raw_bytes = (uint32_t)n - 1;
		b.n_strings = *data < b.raw_bytes ? *data : 0;
		b.stored_bytes = (uint32_t)ZSTD_compress(stored, sizeof(stored), data + 1, n - 1, 1);
		b.checksum = capture_checksum(stored, b.stored_bytes);
		first_string += b.n_strings;
		block__put(&b, header);
		put(fd, header, sizeof(header));
		put(fd, stored, b.stored_bytes);
	}
}

/* Every value of it can be read. */
static uint64_t look_at(const struct capture_batch *b, struct capture_reader *r)
{
	uint64_t sum = 0;

	for (size_t k = 0; k < CAPTURE_KINDS; k++)
		for (size_t c = 0; c < capture_records[k].n_columns; c++)
			for (size_t i = 0; i < b->kinds[k].n; i++)
				sum += b->kinds[k].columns[c][i];
	for (uint64_t i = 0; i < 4; i++) {
		size_t n = 0;
		const char *s = capture_reader__string(r, i, &n);

		CHECK(!s || !s[n]);
	}
	return sum;
}

static void read_all(int fd)
{
	char errmsg[256] = "";
	struct capture_reader *r;
	struct capture_batch b;
	uint64_t first, last;
	int got;

	if (capture_reader__open(fd, &r, errmsg, sizeof(errmsg))) {
		CHECK(strstr(errmsg, "offset"));
		return;
	}
	capture_reader__is_whole(r, errmsg, sizeof(errmsg));
	capture_reader__facts(r);
	for (int round = 0; round < 2; round++) {
		while ((got = capture_reader__next(r, &b, errmsg, sizeof(errmsg)))) {
			CHECK(got > 0 || strstr(errmsg, "offset"));
			if (got > 0)
				look_at(&b, r);
		}
		capture_reader__seek(r,
			capture_reader__times(r, &first, &last) ? first + (last - first) / 2 : 0);
	}
	capture_reader__free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!size)
		return 0;
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	CHECK(fd >= 0);
	switch (*data) {
	case 'f':
		put(fd, data + 1, size - 1);
		break;
	case 'd': /* a description */
		put_head(fd, (const char *)data + 1, (uint32_t)size - 1);
		break;
	default:
		put_own_head(fd);
		put_blocks(fd, data + 1, size - 1);
	}
	read_all(fd);
	close(fd);
	return 0;
}
