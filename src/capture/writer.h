/* SPDX-License-Identifier: MIT */
/* Writes a capture file: records into columns, columns into blocks. Not thread safe. */
#ifndef RINGSIDE_WRITER_H
#define RINGSIDE_WRITER_H

#include <jansson.h>
#include <stdint.h>

#include "records.h"

struct capture_writer;

struct capture_written {
	uint64_t records, strings, blocks;
	uint64_t file_bytes; /* whole blocks only, and the head */
};

/*
 * Writes the head to fd, which stays the caller's and is written to from where it stands. facts: borrowed, NULL: none.
 * 0 or negative errno; *ret is untouched on failure, free with capture_writer__free().
 */
int capture_writer__open(int fd, json_t *facts, struct capture_writer **ret);

/*
 * A record of this kind: as many values as it has columns. time_ns: of its end, for the index. Writes a block when
 * there is enough for one. 0; -ENOMEM: it is not in; other negative errno: a block could not be written, and so it will
 * be from then on. The file is good up to the last whole one.
 */
int capture_writer__add(struct capture_writer *w, enum capture_kind kind, const uint64_t *values,
	uint64_t time_ns);

/* Its number, for columns that are strings: equal strings have the same. At most 65,535 bytes; longer ones are cut. */
int capture_writer__intern(struct capture_writer *w, const char *s, size_t n_bytes, uint64_t *ret);

/* Writes what has been gathered as a block. Nothing gathered: 0. */
int capture_writer__flush(struct capture_writer *w);

/* Flushes, and writes index and trailer: nothing may be added after it. */
int capture_writer__finish(struct capture_writer *w);

struct capture_written capture_writer__written(const struct capture_writer *w);
void capture_writer__free(struct capture_writer *w);

#endif
