/* SPDX-License-Identifier: MIT */
/* The description at the head of a capture: which columns its records have, and facts about where it was taken. */
#ifndef RINGSIDE_SCHEMA_H
#define RINGSIDE_SCHEMA_H

#include <jansson.h>

#include "records.h"

/* Of a column that we don't know, or of a record of a kind that we don't. */
#define SCHEMA_SKIP (-1)

struct schema_column {
	enum capture_coding coding;
	int column; /* ours, or SCHEMA_SKIP */
};

struct schema_record {
	uint32_t number;
	int kind; /* enum capture_kind, or SCHEMA_SKIP */
	struct schema_column columns[CAPTURE_MAX_COLUMNS];
	size_t n_columns;
};

#define SCHEMA_MAX_RECORDS 64

struct schema {
	struct schema_record records[SCHEMA_MAX_RECORDS];
	size_t n_records;
};

/* What this version writes, and the facts, which are borrowed (NULL: none). NULL: out of memory. */
json_t *schema__describe(json_t *facts);

/* 0; -EBADMSG: it describes no capture; -EPROTONOSUPPORT: columns are coded in a way that came later. */
int schema__read(const json_t *description, struct schema *ret);

/* NULL: there are none of that number. */
const struct schema_record *schema__record(const struct schema *s, uint64_t number);

#endif
