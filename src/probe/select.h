/* SPDX-License-Identifier: MIT */
/*
 * Which programs fit this kernel: a pure function of its BTF and its symbols.
 */
#ifndef RINGSIDE_SELECT_H
#define RINGSIDE_SELECT_H

#include "variants.h"

struct btf;

struct plan {
	const struct variant *chosen[RS_F_COUNT]; /* NULL: off */
	struct feature_state state[RS_F_COUNT];
};

enum ksym_state { KSYM_ABSENT, KSYM_HIDDEN, KSYM_PRESENT };

/* Whether a kernel symbol's address can be had. */
typedef enum ksym_state (*ksym_lookup_fn)(const char *name, void *arg);

/*
 * Fills *ret. Every feature gets a state; what is off says why. `refused[i]`, when refused is not
 * NULL, is why variants[i] can't be used although it fits (NULL: it can).
 */
void plan__select(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const char *const *refused,
	struct plan *ret);

/*
 * The arguments of a tracepoint in the notation of struct variant, without the leading void *__data.
 * 0; -ENOENT: no such tracepoint in this kernel; -E2BIG.
 */
int tracepoint__signature(const struct btf *btf, const char *name, char *buf, size_t size);

/* Whether a signature fits the pattern of a variant. */
bool signature__fits(const char *signature, const char *pattern);

#endif
