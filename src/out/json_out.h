/* SPDX-License-Identifier: MIT */
/*
 * Building the JSON report. A container under construction is passed as a pointer
 * to its pointer: the first failure frees it and leaves NULL, later additions do
 * nothing, so only the finished value needs a check.
 */
#ifndef RINGSIDE_JSON_OUT_H
#define RINGSIDE_JSON_OUT_H

#include <jansson.h>

#include "out.h"
#include "tally.h"

/* Adds value (whose reference is taken; NULL counts as out of memory). */
void jout__put(json_t **object, const char *key, json_t *value);
void jout__add(json_t **array, json_t *value);

/* Exact up to 2^63 - 1, rounded to a double above. */
json_t *jout__u64(uint64_t n);
json_t *jout__u64_if(bool known, uint64_t n);
/* part / whole rounded to three decimals, null if whole is 0. */
json_t *jout__ratio(double part, double whole);
/* NULL and "" give null; malformed UTF-8 is replaced. */
json_t *jout__text(const char *s);
json_t *jout__comm(const char comm[RS_COMM_LEN]);

/* The contract's `totals`, of one ring or of all. */
json_t *totals__json(const struct snapshot *s, const struct totals *t, const struct tally *raw);
/* The opcode's counter with this JSON key. */
json_t *op_stats__counter_json(const struct snapshot *s, const struct op_stats *o, const char *key);
/* Adds to an opcode's object the counters that it does not have yet. */
void op_stats__put_counters(json_t **object, const struct snapshot *s, const struct op_stats *o);
/* The contract's `punted_by`. */
json_t *op_stats__punted_by_json(const struct snapshot *s, const struct op_stats *o);

json_t *lat__json(const struct rs_lat *l);
/* The contract's `errors` of an opcode. */
json_t *op_stats__errors_json(const struct op_stats *o);
/* The contract's `stages`: null where requests can't be followed, or where it is not known of all. */
json_t *op_stats__stages_json(const struct snapshot *s, const struct op_stats *o);

/* null: none was asked for. */
json_t *spans__json(const struct snapshot *s);
/* ops[] of a ring or of everything. */
json_t *ops__json(const struct snapshot *s, const struct op_stats *ops, size_t n);
json_t *lat__json(const struct rs_lat *l);
/* devices[]; null unless the block layer is observed. */
json_t *devices__json(const struct snapshot *s);
json_t *rings__json(const struct snapshot *s);
json_t *rings_other__json(const struct snapshot *s);

json_t *files__json(const struct snapshot *s);
json_t *files_other__json(const struct snapshot *s);
json_t *call_sites__json(const struct snapshot *s);
json_t *call_sites_other__json(const struct snapshot *s);

#endif
