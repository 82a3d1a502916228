// SPDX-License-Identifier: MIT
/* What is in a block. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader_private.h"

int reader__decompress(struct capture_reader *r, const struct listed *l, const char **why)
{
	size_t n;
	int err;

	r->stored.n = r->raw.n = 0;
	*why = "out of memory";
	/* never NULL */
	if (bytes__reserve(&r->stored, l->block.stored_bytes + 1ul) ||
		bytes__reserve(&r->raw, l->block.raw_bytes + 1ul))
		return -ENOMEM;
	err = reader__pread(r, r->stored.p, l->block.stored_bytes, l->offset + BLOCK_BYTES);
	if (err) {
		*why = err == -EBADMSG ? "the file ends in it" : strerror(-err);
		return err;
	}
	*why = "its checksum is wrong";
	if (l->block.checksum != capture_checksum(r->stored.p, l->block.stored_bytes))
		return -EBADMSG;
	n = ZSTD_decompressDCtx(r->zstd, r->raw.p, l->block.raw_bytes, r->stored.p, l->block.stored_bytes);
	*why = "it does not decompress";
	if (ZSTD_isError(n) || n != l->block.raw_bytes)
		return -EBADMSG;
	r->raw.n = n;
	return 0;
}

/* Room for n strings more, of n_bytes in all. */
static int strings__room(struct capture_reader *r, size_t n, size_t n_bytes)
{
	void *more;

	if (bytes__reserve(&r->strings, n + n_bytes))
		return -ENOMEM;
	if (n <= r->room_strings - r->n_strings)
		return 0;
	n += 2 * r->n_strings;
	more = reallocarray(r->string, n, sizeof(*r->string));
	if (!more)
		return -ENOMEM;
	r->string = more;
	r->room_strings = n;
	return 0;
}

static int read_strings(struct capture_reader *r, struct listed *l, uint64_t n, struct span s)
{
	size_t first = r->n_strings, first_byte = r->strings.n;
	uint64_t n_bytes;

	if (l->strings_at != NOT_READ)
		return 0;
	if (n != l->block.n_strings || n > (size_t)(s.end - s.p))
		return -EBADMSG;
	if (strings__room(r, n, (size_t)(s.end - s.p)))
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		if (varint__get(&s, &n_bytes) || n_bytes > (size_t)(s.end - s.p))
			break;
		r->string[r->n_strings].at = r->strings.n;
		r->string[r->n_strings++].n_bytes = n_bytes;
		memcpy(r->strings.p + r->strings.n, s.p, n_bytes);
		r->strings.n += n_bytes;
		r->strings.p[r->strings.n++] = '\0';
		s.p += n_bytes;
	}
	if (r->n_strings - first != n || s.p != s.end) {
		r->n_strings = first;
		r->strings.n = first_byte;
		return -EBADMSG;
	}
	l->strings_at = first;
	return 0;
}

static int take_column(struct span *s, struct span *ret)
{
	uint64_t n;

	if (varint__get(s, &n) || n > (size_t)(s->end - s->p))
		return -EBADMSG;
	*ret = (struct span){ s->p, s->p + n };
	s->p += n;
	return 0;
}

static int decode_column(struct span s, enum capture_coding coding, uint64_t *values, size_t n)
{
	uint64_t v, prev = 0;

	for (size_t i = 0; i < n; i++) {
		if (varint__get(&s, &v))
			return -EBADMSG;
		values[i] = decoded(coding, v, &prev);
	}
	return s.p == s.end ? 0 : -EBADMSG;
}

static int make_room(struct decoded *d, size_t n)
{
	uint64_t *more;

	if (n <= d->room)
		return 0;
	more = reallocarray(NULL, n, sizeof(*more));
	if (!more)
		return -ENOMEM;
	free(d->values);
	d->values = more;
	d->room = n;
	return 0;
}

/* The columns of one kind, of which s starts with the first. */
static int decode_records(struct capture_reader *r, const struct schema_record *sr, size_t n, struct span *s,
	struct capture_batch *batch)
{
	size_t n_columns = capture_records[sr->kind].n_columns, i;
	struct decoded *d = &r->kinds[sr->kind];
	struct span column;
	uint64_t seen = 0;
	int err;

	if (batch->kinds[sr->kind].n)
		return -EBADMSG; /* one section a kind */
	if (make_room(d, n * n_columns))
		return -ENOMEM;
	for (i = 0; i < sr->n_columns; i++) {
		const struct schema_column *c = &sr->columns[i];

		err = take_column(s, &column);
		/* a value takes a byte at least */
		if (err || n > (size_t)(column.end - column.p))
			return -EBADMSG;
		if (c->column == SCHEMA_SKIP)
			continue;
		err = decode_column(column, c->coding, d->values + (size_t)c->column * n, n);
		if (err)
			return err;
		seen |= 1ull << c->column;
	}
	for (i = 0; i < n_columns; i++) {
		if (!(seen & 1ull << i))
			memset(d->values + i * n, 0xff, n * sizeof(*d->values));
		batch->kinds[sr->kind].columns[i] = d->values + i * n;
	}
	batch->kinds[sr->kind].n = n;
	return 0;
}

static int skip_columns(struct span *s, uint64_t n_columns)
{
	struct span column;
	int err = 0;

	for (uint64_t i = 0; i < n_columns && !err; i++)
		err = take_column(s, &column);
	return err;
}

static int decode_section(struct capture_reader *r, struct listed *l, struct span *s,
	struct capture_batch *batch)
{
	const struct schema_record *sr;
	uint64_t number, n, n_columns;
	struct span strings;

	if (varint__get(s, &number) || varint__get(s, &n) || varint__get(s, &n_columns))
		return -EBADMSG;
	if (!number)
		return n_columns != 1 || take_column(s, &strings) ? -EBADMSG : read_strings(r, l, n, strings);
	sr = schema__record(&r->schema, number);
	if (!sr || n_columns != sr->n_columns || !n || n > MAX_BLOCK_RECORDS)
		return -EBADMSG;
	if (!batch || sr->kind == SCHEMA_SKIP)
		return skip_columns(s, n_columns);
	return decode_records(r, sr, n, s, batch);
}

int reader__decode(struct capture_reader *r, struct listed *l, struct capture_batch *batch, const char **why)
{
	struct span s = { r->raw.p, r->raw.p + r->raw.n };
	int err = 0;

	while (s.p < s.end && !err)
		err = decode_section(r, l, &s, batch);
	*why = err == -ENOMEM ? "out of memory" : "its contents are not what the description says";
	return err;
}
