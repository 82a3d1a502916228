/* SPDX-License-Identifier: MIT */
/*
 * The rule table. A rule is one row in rules.c and one eval function in rule_<id>.c.
 *
 * A rule must be right before it is complete: it fires only on what the snapshot
 * proves and what is worth somebody's time.
 */
#ifndef RINGSIDE_RULES_H
#define RINGSIDE_RULES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "doctor.h"
#include "snapshot.h"

#define RULE_MAX_THRESHOLDS 8

struct threshold {
	const char *name; /* NULL ends the list */
	const char *unit;
	double value;
	const char *why; /* why this much and not less */
};

/* Indexes into rule.thresholds, one enum for each rule. */
enum punt_threshold {
	PUNT_MIN_REQUESTS,
	PUNT_MIN_PCT,
	PUNT_WARN_PER_S,
	PUNT_CRIT_REQUESTS,
	PUNT_CRIT_PCT,
	PUNT_CRIT_PER_S,
	PUNT_ONE_RING_PCT
};
enum batch_threshold { BATCH_MIN_BATCHES, BATCH_MAX_MEAN, BATCH_MIN_PER_S, BATCH_LONE_DEPTH };
enum overflow_threshold { OVERFLOW_MIN_OVERFLOWS, OVERFLOW_CRIT_DROPPED };

struct rule {
	const char *id;
	const char *what;  /* what a finding says, one line */
	const char *hurts; /* what it costs */
	const char *advice;
	uint32_t needs; /* RULE_NEEDS() of the features without which it cannot judge */
	struct threshold thresholds[RULE_MAX_THRESHOLDS];
	int (*eval)(const struct rule *r, const struct snapshot *s, struct diagnosis *d); /* 0 or -ENOMEM */
};

#define RULE_NEEDS(feature) (1u << RS_F_##feature)

extern const struct rule doctor_rules[];
extern const size_t doctor_n_rules;

int rule_punt__eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d);
int rule_batch__eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d);
int rule_overflow__eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d);

/*
 * Evidence under construction. Once an addition fails, *e is NULL and stays so;
 * diagnosis__add() then reports it.
 */
void evidence__u64(json_t **e, const char *name, uint64_t v);
void evidence__real(json_t **e, const char *name, double v); /* left out if v is no number */
void evidence__string(json_t **e, const char *name, const char *v);

/* 100 * part / whole, 0 if whole is 0. */
double rule__pct(uint64_t part, uint64_t whole);
/* Events a second over the snapshot's window, 0 if it has no length. */
double rule__per_s(const struct snapshot *s, uint64_t n);

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

#define WHOSE_LEN 64
/* The subject of a title: "ring 3", "5 rings (worst: ring 3)", "unlisted rings". */
const char *hit_group__whose(const struct hit_group *g, char buf[WHOSE_LEN]);
/* Which rings, as evidence: rings, ring_ids (the heaviest first), pid if it is one. */
void hit_group__evidence(const struct hit_group *g, json_t **e);
/* A finding of this group: rule, severity, weight, ring id if it is one; op and advice as of the rule. */
struct finding hit_group__finding(const struct hit_group *g);

#endif
