/* SPDX-License-Identifier: MIT */
/*
 * The doctor: names what is wrong in a snapshot. Returns findings, prints nothing.
 */
#ifndef RINGSIDE_DOCTOR_H
#define RINGSIDE_DOCTOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot.h"

enum severity { SEVERITY_INFO, SEVERITY_WARN, SEVERITY_CRIT };

struct finding {
	const char *rule; /* id, static */
	enum severity severity;
	char *title;	    /* one sentence with the decisive numbers */
	json_t *evidence;   /* object: names with units -> numbers or strings */
	const char *advice; /* static */
	uint32_t ring;	    /* id, 0: not one ring */
	int op;		    /* -1: not one opcode */
	const char *file;   /* its name, NULL: not one file; of a finding in a diagnosis its own */
	json_t *stack;	    /* array of frames in words, the innermost first; NULL: not one call site */
	/* What it costs; these order findings of one severity. */
	uint64_t time_ns; /* 0: not known */
	uint64_t weight;  /* requests that it concerns */
	bool never_gates; /* it is about ringside itself: set by the engine */
};

struct not_checked {
	const char *rule; /* static */
	char *why;
	bool in_part; /* the rule judged the rest; else nothing */
};

struct diagnosis {
	struct finding *findings; /* worst first */
	size_t n_findings;
	struct not_checked *not_checked;
	size_t n_not_checked;
};

struct rule;

/* Thresholds that are not the rules' own. */
struct threshold_setting {
	const struct rule *rule;
	size_t at; /* index into its thresholds */
	double value;
};

struct threshold_settings {
	struct threshold_setting *list; /* of several for one threshold the last counts */
	size_t n;
};

/* Runs every rule over s; settings may be NULL. 0 or -ENOMEM; on failure *ret is empty. */
int doctor__run(const struct snapshot *s, const struct threshold_settings *settings, struct diagnosis *ret);
void diagnosis__free(struct diagnosis *d);
/* Worst first. */
void diagnosis__sort(struct diagnosis *d);

const char *severity_name(enum severity s); /* "info", "warn", "crit" */
/* 0 and *ret, or -EINVAL. */
int severity__parse(const char *name, enum severity *ret);

/* For the rules. Takes ownership of evidence (NULL counts as out of memory) and of proto->stack, also on failure. */
int diagnosis__add(struct diagnosis *d, const struct finding *proto, json_t *evidence, const char *title_fmt,
	...) __attribute__((format(printf, 4, 5)));
/* A rule that could not judge: anything at all, or in part. 0 or -ENOMEM. */
int diagnosis__not_checked(struct diagnosis *d, const char *rule, bool in_part, const char *why_fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
