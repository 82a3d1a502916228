/* SPDX-License-Identifier: MIT */
/* What a capture holds, as records.def lists it. */
#ifndef RINGSIDE_RECORDS_H
#define RINGSIDE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#define CAPTURE_UNKNOWN UINT64_MAX

enum capture_coding { CAPTURE_PLAIN, CAPTURE_OPT, CAPTURE_SIGNED, CAPTURE_DELTA, CAPTURE_CODINGS };

/* Kinds of records: not their numbers in a file. */
enum capture_kind {
#define RECORD(id, number, name, doc) CAPTURE_##id,
#include "records.def"
	CAPTURE_KINDS
};

/* A record is an array of uint64_t: record[CAPTURE_REQUEST_res]. CAPTURE_REQUEST_COLUMNS is its length. */
enum capture_columns {
#define RECORD(id, number, name, doc) CAPTURE_##id##_BEFORE = -1,
#define COLUMN(id, name, coding, doc) CAPTURE_##id##_##name,
#define RECORD_END(id) CAPTURE_##id##_COLUMNS,
#include "records.def"
};

#define CAPTURE_MAX_COLUMNS 32

/* The column `how` of requests. */
#define CAPTURE_HOW_PUNTED (1u << 0)	 /* a worker ran it */
#define CAPTURE_HOW_ASKED (1u << 1)	 /* that was asked for with IOSQE_ASYNC */
#define CAPTURE_HOW_SILENT (1u << 2)	 /* without a CQE */
#define CAPTURE_HOW_OVERFLOWED (1u << 3) /* its CQE found no room */
#define CAPTURE_HOW_REJECTED (1u << 4)	 /* its SQE was refused */

struct capture_column {
	const char *name;
	enum capture_coding coding;
	const char *doc;
};

struct capture_record {
	uint32_t number; /* in files */
	const char *name;
	const char *doc;
	const struct capture_column *columns;
	size_t n_columns;
};

extern const struct capture_record capture_records[CAPTURE_KINDS];
extern const char *const capture_codings[CAPTURE_CODINGS]; /* their names in files */

#endif
