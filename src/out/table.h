/* SPDX-License-Identifier: MIT */
/*
 * Tables that fit the terminal: columns as wide as their cells; when that is too
 * wide, lists are cut first, then the gaps, then whole columns go.
 */
#ifndef RINGSIDE_TABLE_H
#define RINGSIDE_TABLE_H

#include "text.h"

struct table_column {
	const char *head;
	bool right; /* numbers */
	bool list;  /* a name, or items: may be cut down to `min` columns */
	bool items; /* a list "a, b, c", perhaps after "head: ": cut to whole items and "+2" for the others */
	bool optional; /* left out when no row has more than "" or "-" in it */
	int min;       /* at least this wide */
	int cut;       /* of a list: columns that may be dropped go before it is cut to less; 0: as min */
	int drop;      /* 0: never dropped; else the highest goes first, 1 when all lists are at their min */
};

struct table;

/* The columns are not copied. NULL: out of memory. */
struct table *table__new(const struct table_column *columns, size_t n);
void table__free(struct table *t);

/*
 * Starts a row, then fills its cells from left to right. Cells that are not filled are empty.
 * Failures are kept until table__print(). NULL tables are fine.
 */
void table__row(struct table *t);
void table__cell(struct table *t, enum attr a, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * Prints the rows, under their heads when `heads`, and frees the table. `fixed`: the layout comes from `min`
 * and the heads alone, for rows that are printed one at a time.
 */
void table__print(struct table *t, struct text *text, bool heads, bool fixed);

#endif
