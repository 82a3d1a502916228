// SPDX-License-Identifier: MIT
#include "reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reader_private.h"

static int complain(char *errmsg, size_t errsize, int err, uint64_t offset, const char *what)
{
	snprintf(errmsg, errsize, "at offset %llu: %s", (unsigned long long)offset, what);
	return err;
}

/* The version comes before all that may differ with it. */
static int read_fixed_head(struct capture_reader *r, uint8_t head[HEAD_BYTES], char *errmsg, size_t errsize)
{
	int err = reader__pread(r, head, HEAD_BYTES, 0);
	uint32_t version;

	if (err && err != -EBADMSG)
		return complain(errmsg, errsize, err, 0, strerror(-err));
	if (err || memcmp(head, CAPTURE_MAGIC, MAGIC_BYTES))
		return complain(errmsg, errsize, -EBADMSG, 0, "not a capture of ringside's");
	version = get_u32(head + MAGIC_BYTES);
	if (version == CAPTURE_VERSION)
		return 0;
	snprintf(errmsg, errsize,
		"at offset %d: captures of version %u need a later ringside; this one reads version %d",
		MAGIC_BYTES, version, CAPTURE_VERSION);
	return -EPROTONOSUPPORT;
}

static int read_description(struct capture_reader *r, const char *text, size_t n, char *errmsg,
	size_t errsize)
{
	json_error_t error;
	int err;

	r->description = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
	if (!r->description) {
		snprintf(errmsg, errsize, "at offset %d: its description is not JSON: %s", HEAD_BYTES,
			error.text);
		return -EBADMSG;
	}
	err = schema__read(r->description, &r->schema);
	if (err == -EPROTONOSUPPORT)
		return complain(errmsg, errsize, err, HEAD_BYTES,
			"its columns are coded as only a later ringside knows");
	return err ? complain(errmsg, errsize, err, HEAD_BYTES, "its description does not list records") : 0;
}

static int read_head(struct capture_reader *r, char *errmsg, size_t errsize)
{
	uint8_t head[HEAD_BYTES];
	int err = read_fixed_head(r, head, errmsg, errsize);
	uint32_t n;
	char *text;

	if (err)
		return err;
	n = get_u32(head + MAGIC_BYTES + 4);
	if (n > MAX_DESCRIPTION_BYTES || n > r->file_bytes - HEAD_BYTES)
		return complain(errmsg, errsize, -EBADMSG, MAGIC_BYTES + 4,
			"the file ends in its description");
	text = malloc(n ? n : 1);
	if (!text)
		return complain(errmsg, errsize, -ENOMEM, HEAD_BYTES, strerror(ENOMEM));
	err = reader__pread(r, text, n, HEAD_BYTES);
	if (err)
		complain(errmsg, errsize, err, HEAD_BYTES, strerror(-err));
	else if (get_u32(head + MAGIC_BYTES + 8) != capture_checksum(text, n))
		err = complain(errmsg, errsize, -EBADMSG, HEAD_BYTES,
			"the checksum of its description is wrong");
	else
		err = read_description(r, text, n, errmsg, errsize);
	free(text);
	r->first_block = HEAD_BYTES + (uint64_t)n;
	return err;
}

int capture_reader__open(int fd, struct capture_reader **ret, char *errmsg, size_t errsize)
{
	struct capture_reader *r = calloc(1, sizeof(*r));
	struct stat st;
	int err;

	if (!r || !(r->zstd = ZSTD_createDCtx())) {
		free(r);
		return complain(errmsg, errsize, -ENOMEM, 0, strerror(ENOMEM));
	}
	r->fd = fd;
	if (fstat(fd, &st))
		err = complain(errmsg, errsize, -errno, 0, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		err = complain(errmsg, errsize, -ESPIPE, 0, "a capture is read from a regular file only");
	else {
		r->file_bytes = (uint64_t)st.st_size;
		err = read_head(r, errmsg, errsize);
	}
	if (!err) {
		err = reader__list_blocks(r);
		if (err)
			complain(errmsg, errsize, err, r->first_block, strerror(-err));
	}
	if (err) {
		capture_reader__free(r);
		return err;
	}
	*ret = r;
	return 0;
}

bool capture_reader__is_whole(const struct capture_reader *r, char *errmsg, size_t errsize)
{
	if (!r->whole)
		snprintf(errmsg, errsize, "can be read up to offset %llu of %llu: %s",
			(unsigned long long)r->end, (unsigned long long)r->file_bytes, r->why_not_whole);
	return r->whole;
}

const json_t *capture_reader__facts(const struct capture_reader *r)
{
	return json_object_get(r->description, "facts");
}

bool capture_reader__times(const struct capture_reader *r, uint64_t *ret_first_ns, uint64_t *ret_last_ns)
{
	uint64_t first = UINT64_MAX, last = 0;
	bool any = false;

	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct block *b = &r->blocks[i].block;

		if (!b->n_records)
			continue;
		any = true;
		first = b->first_ns < first ? b->first_ns : first;
		last = b->last_ns > last ? b->last_ns : last;
	}
	if (any) {
		*ret_first_ns = first;
		*ret_last_ns = last;
	}
	return any;
}

uint64_t capture_reader__n_records(const struct capture_reader *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_blocks; i++)
		n += r->blocks[i].block.n_records;
	return n;
}

static int read_block(struct capture_reader *r, struct listed *l, struct capture_batch *batch, char *errmsg,
	size_t errsize)
{
	const char *why;
	int err = reader__decompress(r, l, &why);

	err = err ? err : reader__decode(r, l, batch, &why);
	if (err)
		snprintf(errmsg, errsize, "block at offset %llu: %s", (unsigned long long)l->offset, why);
	return err;
}

int capture_reader__next(struct capture_reader *r, struct capture_batch *ret, char *errmsg, size_t errsize)
{
	struct capture_batch batch = { 0 };
	int err;

	if (r->next == r->n_blocks)
		return 0;
	batch.offset = r->blocks[r->next].offset;
	batch.first_ns = r->blocks[r->next].block.first_ns;
	batch.last_ns = r->blocks[r->next].block.last_ns;
	err = read_block(r, &r->blocks[r->next++], &batch, errmsg, errsize);
	if (err)
		return err;
	*ret = batch;
	return 1;
}

void capture_reader__seek(struct capture_reader *r, uint64_t from_ns)
{
	for (r->next = 0; r->next < r->n_blocks; r->next++)
		if (r->blocks[r->next].block.n_records && r->blocks[r->next].block.last_ns >= from_ns)
			break;
}

/* The block that has this string. NULL: none. */
static struct listed *block_of_string(struct capture_reader *r, uint64_t number)
{
	size_t low = 0, high = r->n_blocks;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct block *b = &r->blocks[mid].block;

		if (number < b->first_string)
			high = mid;
		else if (number - b->first_string >= b->n_strings)
			low = mid + 1;
		else
			return &r->blocks[mid];
	}
	return NULL;
}

const char *capture_reader__string(struct capture_reader *r, uint64_t number, size_t *ret_n_bytes)
{
	struct listed *l = block_of_string(r, number);
	const char *why;
	size_t i;

	if (!l)
		return NULL;
	if (l->strings_at == NOT_READ && (reader__decompress(r, l, &why) || reader__decode(r, l, NULL, &why)))
		return NULL;
	if (l->strings_at == NOT_READ)
		return NULL;
	i = l->strings_at + (size_t)(number - l->block.first_string);
	if (ret_n_bytes)
		*ret_n_bytes = r->string[i].n_bytes;
	return (const char *)r->strings.p + r->string[i].at;
}

void capture_reader__free(struct capture_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->zstd);
	json_decref(r->description);
	for (size_t k = 0; k < CAPTURE_KINDS; k++)
		free(r->kinds[k].values);
	bytes__free(&r->stored);
	bytes__free(&r->raw);
	bytes__free(&r->strings);
	free(r->string);
	free(r->blocks);
	free(r);
}
