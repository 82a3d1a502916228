/* SPDX-License-Identifier: MIT */
/* The text report under construction, and what its sections share. */
#ifndef RINGSIDE_TEXT_H
#define RINGSIDE_TEXT_H

#include <stdint.h>

#include "fmt.h"
#include "out.h"

enum attr { ATTR_PLAIN, ATTR_BOLD, ATTR_DIM, ATTR_RED, ATTR_YELLOW, ATTR_CYAN };

/* What the pointers refer to must outlive it. The first failure is kept in err; everything after it is a no-op. */
struct text {
	FILE *f;
	const struct text_options *o;
	const struct report *r;
	struct totals totals;
	struct op_list ops; /* all rings together, busiest first */
	int err;	    /* 0 or negative errno */
};

/* Keeps the first failure. */
void text__fail(struct text *t, int err);

/* s as it is, with the attribute around it. */
void text__put(struct text *t, enum attr a, const char *s);

/*
 * A paragraph, wrapped at blanks and ended with a newline. `used` columns of its first line are taken;
 * its other lines start at column `indent`. Unprintable characters become '?'.
 */
void text__wrap(struct text *t, enum attr a, int used, int indent, const char *s);
void text__wrapf(struct text *t, enum attr a, int used, int indent, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* So many newlines, then so many blanks. */
void text__pad(struct text *t, int lines, int columns);

/* An empty line and a title. */
void text__title(struct text *t, const char *title);

/* A list "a, b, c" growing in memory; an empty one gives "". */
struct list {
	char *s; /* NULL until the first item, and after a failure */
	bool failed;
};
void list__add(struct list *l, const char *sep, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Frees the list; marks t as failed if the list is. */
void list__end(struct list *l, struct text *t);

/* "1 ring", "2 rings". */
const char *text__plural(uint64_t n, const char *one, const char *many);
/* "…" or "...". */
const char *text__ellipsis(const struct text_options *o);
/* "fio" of a field that may lack its NUL. */
#define COMM_BUF (RS_COMM_LEN + 1)
const char *text__comm(char buf[COMM_BUF], const char comm[RS_COMM_LEN]);
/* n a second, "n/a" for an empty window. */
char *text__rate(char buf[FMT_LEN], const struct snapshot *s, double n);

/* The sections, in the order in which they are printed. */
void text__head(struct text *t);
void text__findings(struct text *t);
void text__ops(struct text *t);
void text__histograms(struct text *t);
void text__stages(struct text *t);
void text__files(struct text *t);
void text__sites(struct text *t);
void text__spans(struct text *t);
void text__devices(struct text *t);
void text__rings(struct text *t);
void text__ops_by_ring(struct text *t);
void text__workers(struct text *t);
void text__registers(struct text *t);
void text__cost(struct text *t);

/* The parts of text__spans(): of the first n spans, labels[] is what each is called. */
void text__ops_by_span(struct text *t, const struct span_stats *const *spans, char *const *labels, size_t n);
void text__stages_by_span(struct text *t, const struct span_stats *const *spans, char *const *labels,
	size_t n);

/* Says what ringside itself missed, if anything. Returns whether there was something to say. */
bool text__fidelity_problems(struct text *t);

/* 0 or negative errno; text__end() frees what text__begin() made, after a success only, and reports t->err. */
int text__begin(struct text *t, const struct report *r, const struct text_options *o, FILE *f);
int text__end(struct text *t);

/* Rings listed and not listed. */
uint64_t text__count_rings(const struct snapshot *s);

/* Whether anything at all was seen of io_uring, and whether it was used. */
bool text__saw_anything(const struct text *t);
bool text__saw_requests(const struct text *t);

#endif
