/* SPDX-License-Identifier: MIT */
/*
 * Reads a capture file, whatever is in it. Memory: what one block takes decompressed (at most 150 MiB, of files that
 * ringside writes some 10), the strings, and 80 bytes a block. Not thread safe.
 */
#ifndef RINGSIDE_READER_H
#define RINGSIDE_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "records.h"

struct capture_reader;

/* The records of one block. Columns that the file lacks are CAPTURE_UNKNOWN throughout. */
struct capture_batch {
	uint64_t offset; /* of the block in the file */
	uint64_t first_ns, last_ns;
	struct {
		size_t n;
		const uint64_t *columns[CAPTURE_MAX_COLUMNS];
	} kinds[CAPTURE_KINDS];
};

/*
 * fd stays the caller's, and is read with pread(2). 0 or negative errno, with a line that says what is wrong and at
 * which offset: -EBADMSG damaged, or no capture; -EPROTONOSUPPORT of a later version. *ret is untouched on failure,
 * free with capture_reader__free().
 */
int capture_reader__open(int fd, struct capture_reader **ret, char *errmsg, size_t errsize);

/* Closed as it should be; else errmsg says where what can be read ends, and why. */
bool capture_reader__is_whole(const struct capture_reader *r, char *errmsg, size_t errsize);

/* What the writer told of where it was taken, NULL: nothing. Borrowed. */
const json_t *capture_reader__facts(const struct capture_reader *r);

/* Times of the first and the last record, as the blocks' headers say. False: there are none. */
bool capture_reader__times(const struct capture_reader *r, uint64_t *ret_first_ns, uint64_t *ret_last_ns);
uint64_t capture_reader__n_records(const struct capture_reader *r);

/*
 * The next block's records, valid until the next call. 1; 0: there are no more; -EBADMSG: the block is damaged, with a
 * line that says where; the call after that goes on with the one behind it. -ENOMEM, or what pread(2) said.
 */
int capture_reader__next(struct capture_reader *r, struct capture_batch *ret, char *errmsg, size_t errsize);

/* The next block is the first one that has records of from_ns or later. */
void capture_reader__seek(struct capture_reader *r, uint64_t from_ns);

/*
 * Ends with a NUL that is not counted; valid until the next call of this or of capture_reader__next(). NULL: there is
 * none of that number, or its block is damaged. (A batch stays valid.)
 */
const char *capture_reader__string(struct capture_reader *r, uint64_t number, size_t *ret_n_bytes);

void capture_reader__free(struct capture_reader *r);

#endif
