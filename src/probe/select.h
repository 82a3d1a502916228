/* SPDX-License-Identifier: MIT */
/*
 * Which programs fit this kernel: a pure function of its BTF and its symbols.
 */
#ifndef RINGSIDE_SELECT_H
#define RINGSIDE_SELECT_H

#include "variants.h"

struct btf;

/* What keeps a feature off, the closer to fitting the later. */
enum misfit {
	MISFIT_NONE,
	MISFIT_TRACEPOINT, /* there is none of that name */
	MISFIT_FUNCTION,   /* nor such a function: compilers may leave it out */
	MISFIT_FORM,	   /* it has other arguments than we know */
	MISFIT_FIELD,	   /* a structure lacks something */
	MISFIT_SYMBOL,	   /* its address can't be had, whoever asks */
	MISFIT_HIDDEN,	   /* its address is not for everybody */
	MISFIT_REFUSED,	   /* what fits was refused */
};

struct plan {
	const struct variant *chosen[RS_F_COUNT]; /* NULL: off, or told by another feature's program */
	const char *told_by[RS_F_COUNT];	  /* the hook of that program; NULL: off, or has its own */
	struct feature_state state[RS_F_COUNT];
	enum misfit misfit[RS_F_COUNT];
};

enum ksym_state {
	KSYM_ABSENT,
	KSYM_HIDDEN,	 /* listed without its address */
	KSYM_AMBIGUOUS,	 /* several of that name */
	KSYM_UNREADABLE, /* there is no list */
	KSYM_PRESENT,
};

/* Whether a kernel symbol's address can be had. */
typedef enum ksym_state (*ksym_lookup_fn)(const char *name, void *arg);

/*
 * Fills *ret. Every feature gets a state; what is off says why. `refused[i]`, when refused is not
 * NULL, is why variants[i] can't be used although it fits (NULL: it can).
 */
void plan__select(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const char *const *refused,
	struct plan *ret);

/* Turns off what only programs could tell that are off by now. */
void plan__drop_untold(struct plan *p);

/*
 * The arguments of a tracepoint in the notation of struct variant, without the leading void *__data.
 * 0; -ENOENT: no such tracepoint in this kernel; -E2BIG.
 */
int tracepoint__signature(const struct btf *btf, const char *name, char *buf, size_t size);

/* The same of a function, all of its arguments. */
int function__signature(const struct btf *btf, const char *name, char *buf, size_t size);

/* Whether all of "struct.field[,struct.field]" exist. */
bool kernel__has_fields(const struct btf *btf, const char *fields);

/* Whether a signature fits the pattern of a variant. */
bool signature__fits(const char *signature, const char *pattern);

#endif
