/* SPDX-License-Identifier: MIT */
/*
 * The rules. A rule is rule_<name>.c, with its row and its eval function, a line in rules.def and a page of
 * text in pages/<ID>.md.
 *
 * A rule must be right before it is complete: it fires only on what the snapshot
 * proves and what is worth somebody's time.
 */
#ifndef RINGSIDE_RULES_H
#define RINGSIDE_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor.h"
#include "snapshot.h"

#define RULE_MAX_THRESHOLDS 10
#define RULE_MAX_EVIDENCE 20

struct threshold {
	const char *name; /* NULL ends the list */
	const char *unit;
	double value;
	const char *why; /* why this much and not less */
};

/* A key of the evidence of a finding. Those of hit_group__evidence() need no row. */
struct evidence_key {
	const char *key; /* NULL ends the list */
	const char *what;
};

struct rule {
	const char *id;
	const char *what;     /* what a finding says, one line */
	const char *severity; /* which it has, and when */
	const char *advice;   /* findings may have a better one */
	uint32_t needs;	      /* RULE_NEEDS() of the features without which it cannot judge */
	bool never_gates;     /* it is about ringside itself: --fail-on does not ask for it */
	/* Indexes are an enum of the rule's. A rule without a number to compare with has none. */
	struct threshold thresholds[RULE_MAX_THRESHOLDS];
	struct evidence_key evidence[RULE_MAX_EVIDENCE];
	int (*eval)(const struct rule *r, const struct snapshot *s, struct diagnosis *d); /* 0 or -ENOMEM */
};

#define RULE_NEEDS(feature) (1u << RS_F_##feature)

#define RULE(name) extern const struct rule rule_##name;
#include "rules.def"
#undef RULE

extern const struct rule *const doctor_rules[];
extern const size_t doctor_n_rules;

/* By its id, in capitals or not. NULL: there is none. */
const struct rule *rule__find(const char *id);
/* Its page: Markdown with the sections of pages/. */
const char *rule__page(const struct rule *r);
size_t rule__n_thresholds(const struct rule *r);
size_t rule__n_evidence(const struct rule *r);
/* The name of a feature that `needs` may have a bit for. */
const char *rule__feature_name(unsigned int feature);

/*
 * Evidence under construction. Once an addition fails, *e is NULL and stays so;
 * diagnosis__add() then reports it.
 */
void evidence__u64(json_t **e, const char *name, uint64_t v);
void evidence__real(json_t **e, const char *name, double v); /* left out if v is no number */
void evidence__string(json_t **e, const char *name, const char *v);
/* s, which need not be UTF-8. NULL: out of memory. */
json_t *rule__string(const char *s);

/* 100 * part / whole, 0 if whole is 0. */
double rule__pct(uint64_t part, uint64_t whole);
/* The value of a threshold, by its index. */
double rule__limit(const struct rule *r, unsigned int threshold);
/* What n timed requests had is taken for so much of all. */
uint64_t rule__scaled(const struct snapshot *s, uint64_t n);
/* Events a second over the snapshot's window, 0 if it has no length. */
double rule__per_s(const struct snapshot *s, uint64_t n);

/* The ring that has nearly all that value() finds in an opcode summed over rings, 0: none has. */
uint32_t rule__main_ring(const struct snapshot *s, const struct op_stats *sum,
	uint64_t (*value)(const struct op_stats *o));

/* Asks of every opcode, summed over all rings. 0 or the first error of look(). */
int ops__judge(const struct rule *r, const struct snapshot *s,
	int (*look)(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
		struct diagnosis *d),
	struct diagnosis *d);

/* A ring that a rule fires on. */
struct ring_hit {
	const struct ring_stats *ring;
	enum severity severity;
	uint64_t weight;
};

/* Hits of one severity and one program (same process or same command name), heaviest first, n >= 1. */
struct hit_group {
	const struct rule *rule;
	const struct snapshot *snap;
	const struct ring_hit *hits;
	size_t n;
	uint64_t weight; /* their sum */
};

/*
 * Calls report() for each group of the n hits, which it reorders: sixty workers
 * with a ring each are one finding, not sixty. 0 or the first error of report().
 */
int ring_hits__report(const struct rule *r, const struct snapshot *s, struct ring_hit *hits, size_t n,
	int (*report)(const struct hit_group *g, struct diagnosis *d), struct diagnosis *d);

/* Whether a rule fires on a ring, and how; what it leaves of *ret_hit is the ring, warn, weight 0. */
typedef bool (*ring_judge)(const struct rule *r, const struct snapshot *s, const struct ring_stats *ring,
	struct ring_hit *ret_hit);

/* Asks of every ring, last of those that are only summed (id 0), and reports as above. */
int rings__judge(const struct rule *r, const struct snapshot *s, ring_judge fires,
	int (*report)(const struct hit_group *g, struct diagnosis *d), struct diagnosis *d);
/* For rules that ask for what a sum of rings does not have: says so if there is one with CQEs. 0 or -ENOMEM. */
int rule__skips_summed(const struct rule *r, const struct snapshot *s, struct diagnosis *d);

#define WHOSE_LEN 64
/* The subject of a title: "ring 3", "5 rings (worst: ring 3)", "unlisted rings". */
const char *hit_group__whose(const struct hit_group *g, char buf[WHOSE_LEN]);
/* Which rings, as evidence: rings, ring_ids (the heaviest first), pid if it is one. */
void hit_group__evidence(const struct hit_group *g, json_t **e);
/* A finding of this group: rule, severity, weight, ring id if it is one; op and advice as of the rule. */
struct finding hit_group__finding(const struct hit_group *g);

#endif
