/* SPDX-License-Identifier: MIT */
/*
 * The variant table: for each feature, the programs that can provide it and the kernel shape
 * that each of them fits. Shapes are asked of BTF, never of a version number.
 */
#ifndef RINGSIDE_VARIANTS_H
#define RINGSIDE_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot.h"

/* A program that goes with another, at a tracepoint of its own. */
struct companion {
	const char *program, *hook, *args; /* as in struct variant */
};

#define COMPANIONS 2

struct variant {
	enum rs_feature feature;
	const char *program; /* in the BPF object; NULL: another feature's program tells it */
	const char *begin;   /* a second program, where that begins whose end the first one sees, or NULL */
	struct companion also[COMPANIONS]; /* all or nothing; without a program: none */
	/*
	 * Name of a tracepoint, "iter:TYPE", "fentry:FUNCTION", "fexit:FUNCTION", or of whatever functions of programs
	 * "uprobe", "uprobe_multi".
	 */
	const char *hook;
	/*
	 * The arguments of the tracepoint or function: "NAME*" pointer to struct NAME, "*" untyped pointer, "u8".."u64"
	 * and "s8".."s64" integers, "..." anything from here on. NULL for iterators.
	 */
	const char *args;
	const char *fields; /* "struct.field[,struct.field]" that must exist, or NULL */
	bool raw;	    /* untyped: the verifier refuses a typed pointer to a function */
	const char *ksym;   /* symbol that must be in /proc/kallsyms, or NULL */
	enum feature_level level;
	const char *why; /* of a level that is not full */
};

/* In order of preference; the first that fits wins. */
extern const struct variant variants[];
extern const size_t n_variants;

/* Symbols that programs of options compare with, and can do without. */
extern const char *const optional_ksyms[];
extern const size_t n_optional_ksyms;

/* The function of an fentry or fexit hook; NULL: it is no such hook. */
const char *hook__function(const char *hook);

/* Whether its programs are attached to functions of other programs. */
bool variant__is_uprobe(const struct variant *v);
bool variant__is_uprobe_multi(const struct variant *v);

/* Whether only extras have this program: what it misses makes nothing else wrong. */
bool program__is_extra(const char *name);

const char *feature_name(enum rs_feature f);
const char *feature_what(enum rs_feature f);
bool feature_essential(enum rs_feature f);

#endif
