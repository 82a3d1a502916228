// SPDX-License-Identifier: MIT
#include "writer.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "block.h"
#include "coding.h"
#include "schema.h"

/* A block is written once it has this much: compresses well, and little is lost in a crash. */
#define ENOUGH_BYTES (1u << 20)
#define ENOUGH_RECORDS (MAX_BLOCK_RECORDS / 2)
#define ZSTD_LEVEL 3

struct gathered {
	struct bytes columns[CAPTURE_MAX_COLUMNS];
	uint64_t prev[CAPTURE_MAX_COLUMNS];
	uint32_t n;
};

struct interned {
	uint64_t number;
	size_t n_bytes;
	char s[];
};

struct capture_writer {
	int fd;
	ZSTD_CCtx *zstd;
	struct gathered kinds[CAPTURE_KINDS];
	struct bytes strings;	  /* of this block */
	struct bytes raw, stored; /* a block under construction */
	struct bytes index;
	void *interned;	    /* of tsearch() */
	struct block block; /* what is gathered so far */
	size_t gathered_bytes;
	struct capture_written written;
	uint64_t at; /* where in the file */
	int failed;  /* what became of a write: 0 or negative errno */
};

/* What was written of a piece is no use. Of a pipe it can't be taken back. */
static void take_back(int fd, size_t n)
{
	off_t at = n ? lseek(fd, -(off_t)n, SEEK_CUR) : -1;

	if (at >= 0 && ftruncate(fd, at))
		lseek(fd, 0, SEEK_END);
}

/* All of it or nothing. */
static int write_all(struct capture_writer *w, const void *data, size_t n)
{
	const uint8_t *p = data;
	size_t done = 0;
	ssize_t got;

	while (done < n && !w->failed) {
		got = write(w->fd, p + done, n - done);
		if (got >= 0) {
			done += (size_t)got;
		} else if (errno != EINTR) {
			w->failed = -errno;
			take_back(w->fd, done);
		}
	}
	if (w->failed)
		return w->failed;
	w->at += n;
	return 0;
}

static int write_head(struct capture_writer *w, json_t *facts)
{
	json_t *description = schema__describe(facts);
	char *text = description ? json_dumps(description, JSON_COMPACT) : NULL;
	struct bytes head = { 0 };
	uint8_t fixed[HEAD_BYTES];
	int err = -ENOMEM;
	size_t n;

	json_decref(description);
	if (!text)
		return -ENOMEM;
	n = strlen(text);
	if (n > MAX_DESCRIPTION_BYTES) {
		free(text);
		return -E2BIG;
	}
	memcpy(fixed, CAPTURE_MAGIC, MAGIC_BYTES);
	put_u32(fixed + MAGIC_BYTES, CAPTURE_VERSION);
	put_u32(fixed + MAGIC_BYTES + 4, (uint32_t)n);
	put_u32(fixed + MAGIC_BYTES + 8, capture_checksum(text, (uint32_t)n));
	if (!bytes__add(&head, fixed, sizeof(fixed)) && !bytes__add(&head, text, n))
		err = write_all(w, head.p, head.n);
	bytes__free(&head);
	free(text);
	return err;
}

static void begin_block(struct capture_writer *w)
{
	for (size_t k = 0; k < CAPTURE_KINDS; k++) {
		struct gathered *g = &w->kinds[k];

		for (size_t c = 0; c < capture_records[k].n_columns; c++)
			g->columns[c].n = 0;
		memset(g->prev, 0, sizeof(g->prev));
		g->n = 0;
	}
	w->block = (struct block){
		.type = BLOCK_DATA,
		.first_ns = UINT64_MAX,
		.first_string = w->block.first_string + w->block.n_strings,
	};
	w->strings.n = 0;
	w->gathered_bytes = 0;
}

int capture_writer__open(int fd, json_t *facts, struct capture_writer **ret)
{
	struct capture_writer *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->fd = fd;
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		free(w);
		return -ENOMEM;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	begin_block(w);
	err = write_head(w, facts);
	if (err) {
		capture_writer__free(w);
		return err;
	}
	w->written.file_bytes = w->at;
	*ret = w;
	return 0;
}

int capture_writer__add(struct capture_writer *w, enum capture_kind kind, const uint64_t *values,
	uint64_t time_ns)
{
	const struct capture_record *r = &capture_records[kind];
	struct gathered *g = &w->kinds[kind];
	size_t c;

	if (w->failed)
		return w->failed;
	/* all or nothing */
	for (c = 0; c < r->n_columns; c++)
		if (bytes__reserve(&g->columns[c], VARINT_MAX_BYTES))
			return -ENOMEM;
	for (c = 0; c < r->n_columns; c++) {
		struct bytes *b = &g->columns[c];
		uint8_t *end = varint__put(b->p + b->n, coded(r->columns[c].coding, values[c], &g->prev[c]));

		w->gathered_bytes += (size_t)(end - b->p) - b->n;
		b->n = (size_t)(end - b->p);
	}
	g->n++;
	w->block.n_records++;
	if (time_ns < w->block.first_ns)
		w->block.first_ns = time_ns;
	if (time_ns > w->block.last_ns)
		w->block.last_ns = time_ns;
	if (w->gathered_bytes < ENOUGH_BYTES && w->block.n_records < ENOUGH_RECORDS)
		return 0;
	return capture_writer__flush(w);
}

static int by_contents(const void *a, const void *b)
{
	const struct interned *x = a, *y = b;

	if (x->n_bytes != y->n_bytes)
		return x->n_bytes < y->n_bytes ? -1 : 1;
	return memcmp(x->s, y->s, x->n_bytes);
}

int capture_writer__intern(struct capture_writer *w, const char *s, size_t n_bytes, uint64_t *ret)
{
	struct interned *in, **at;
	uint8_t *end;

	if (n_bytes >= MAX_STRING_BYTES)
		n_bytes = MAX_STRING_BYTES - 1;
	if (w->block.first_string + w->block.n_strings == UINT32_MAX)
		return -EOVERFLOW;
	in = malloc(sizeof(*in) + n_bytes);
	if (!in)
		return -ENOMEM;
	in->number = (uint64_t)w->block.first_string + w->block.n_strings;
	in->n_bytes = n_bytes;
	memcpy(in->s, s, n_bytes);
	if (bytes__reserve(&w->strings, VARINT_MAX_BYTES + n_bytes)) {
		free(in);
		return -ENOMEM;
	}
	at = tsearch(in, &w->interned, by_contents);
	if (!at || *at != in) {
		free(in);
		if (!at)
			return -ENOMEM;
		*ret = (*at)->number;
		return 0;
	}
	end = varint__put(w->strings.p + w->strings.n, n_bytes);
	memcpy(end, s, n_bytes);
	w->gathered_bytes += (size_t)(end - (w->strings.p + w->strings.n)) + n_bytes;
	w->strings.n = (size_t)(end - w->strings.p) + n_bytes;
	w->block.n_strings++;
	w->written.strings++;
	*ret = in->number;
	return 0;
}

/* A section is its number, how many records, how many columns, and each column with its length before it. */
static int put_section(struct bytes *raw, uint64_t number, uint64_t n, const struct bytes *columns,
	size_t n_columns)
{
	size_t need = 3 * VARINT_MAX_BYTES, c;
	uint8_t *p;

	for (c = 0; c < n_columns; c++)
		need += VARINT_MAX_BYTES + columns[c].n;
	if (bytes__reserve(raw, need))
		return -ENOMEM;
	p = varint__put(raw->p + raw->n, number);
	p = varint__put(p, n);
	p = varint__put(p, n_columns);
	for (c = 0; c < n_columns; c++) {
		p = varint__put(p, columns[c].n);
		memcpy(p, columns[c].p, columns[c].n);
		p += columns[c].n;
	}
	raw->n = (size_t)(p - raw->p);
	return 0;
}

/* Section 0 is the strings. */
static int gather_sections(struct capture_writer *w)
{
	w->raw.n = 0;
	if (w->block.n_strings && put_section(&w->raw, 0, w->block.n_strings, &w->strings, 1))
		return -ENOMEM;
	for (size_t k = 0; k < CAPTURE_KINDS; k++) {
		const struct gathered *g = &w->kinds[k];

		if (g->n && put_section(&w->raw, capture_records[k].number, g->n, g->columns,
				    capture_records[k].n_columns))
			return -ENOMEM;
	}
	return 0;
}

/* Compresses w->raw behind a header, and writes both in one piece. */
static int write_block(struct capture_writer *w, struct block *b)
{
	size_t room = ZSTD_compressBound(w->raw.n), n;

	w->stored.n = 0;
	if (bytes__reserve(&w->stored, BLOCK_BYTES + room))
		return -ENOMEM;
	n = ZSTD_compress2(w->zstd, w->stored.p + BLOCK_BYTES, room, w->raw.p, w->raw.n);
	if (ZSTD_isError(n))
		return -ENOMEM;
	b->raw_bytes = (uint32_t)w->raw.n;
	b->stored_bytes = (uint32_t)n;
	b->checksum = capture_checksum(w->stored.p + BLOCK_BYTES, b->stored_bytes);
	block__put(b, w->stored.p);
	return write_all(w, w->stored.p, BLOCK_BYTES + n);
}

static int note_in_index(struct capture_writer *w, uint64_t at)
{
	uint8_t entry[8 + BLOCK_BYTES];

	put_u64(entry, at);
	memcpy(entry + 8, w->stored.p, BLOCK_BYTES);
	return bytes__add(&w->index, entry, sizeof(entry));
}

int capture_writer__flush(struct capture_writer *w)
{
	uint64_t at = w->at;
	int err;

	if (!w->block.n_records && !w->block.n_strings)
		return 0;
	if (!w->block.n_records)
		w->block.first_ns = 0;
	err = bytes__reserve(&w->index, 8 + BLOCK_BYTES);
	err = err ? err : gather_sections(w);
	err = err ? err : write_block(w, &w->block);
	if (err)
		return err;
	note_in_index(w, at);
	w->written.records += w->block.n_records;
	w->written.blocks++;
	w->written.file_bytes = w->at;
	begin_block(w);
	return 0;
}

int capture_writer__finish(struct capture_writer *w)
{
	struct block b = { .type = BLOCK_INDEX };
	uint8_t trailer[TRAILER_BYTES];
	uint64_t at;
	int err = capture_writer__flush(w);

	if (err)
		return err;
	at = w->at;
	w->raw.n = 0;
	b.n_records = (uint32_t)w->written.blocks;
	err = bytes__add(&w->raw, w->index.p, w->index.n);
	if (!err && w->raw.n > MAX_BLOCK_BYTES)
		return 0; /* more than a reader takes: it looks for the blocks itself */
	err = err ? err : write_block(w, &b);
	if (err)
		return err;
	put_u64(trailer, at);
	put_u32(trailer + 8, capture_checksum(trailer, 8));
	memcpy(trailer + 12, CAPTURE_END_MAGIC, MAGIC_BYTES);
	return write_all(w, trailer, sizeof(trailer));
}

struct capture_written capture_writer__written(const struct capture_writer *w)
{
	return w->written;
}

void capture_writer__free(struct capture_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->zstd);
	for (size_t k = 0; k < CAPTURE_KINDS; k++)
		for (size_t c = 0; c < CAPTURE_MAX_COLUMNS; c++)
			bytes__free(&w->kinds[k].columns[c]);
	bytes__free(&w->strings);
	bytes__free(&w->raw);
	bytes__free(&w->stored);
	bytes__free(&w->index);
	tdestroy(w->interned, free);
	free(w);
}
