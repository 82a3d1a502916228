// SPDX-License-Identifier: MIT
#include "records.h"

#define RECORD(id, number, name, doc) static const struct capture_column columns_of_##id[] = {
#define COLUMN(id, name, coding, doc) { #name, CAPTURE_##coding, doc },
#define RECORD_END(id)                                                                                       \
	}                                                                                                    \
	;                                                                                                    \
	_Static_assert(CAPTURE_##id##_COLUMNS <= CAPTURE_MAX_COLUMNS, "a record has room");
#include "records.def"

const struct capture_record capture_records[CAPTURE_KINDS] = {
#define RECORD(id, number, name, doc)                                                                        \
	[CAPTURE_##id] = { number, name, doc, columns_of_##id, CAPTURE_##id##_COLUMNS },
#include "records.def"
};

const char *const capture_codings[CAPTURE_CODINGS] = { "plain", "opt", "signed", "delta" };
