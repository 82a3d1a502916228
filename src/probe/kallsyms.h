/* SPDX-License-Identifier: MIT */
/* Addresses of the few kernel symbols that we need. */
#ifndef RINGSIDE_KALLSYMS_H
#define RINGSIDE_KALLSYMS_H

#include <stdint.h>

#include "select.h"

/* One pass over /proc/kallsyms for every symbol of the variant table. */
struct kallsyms;

/*
 * options: also what only options need; reading ends with the last one found. 0 or negative errno; a file that can't be
 * read is no error, its symbols are KSYM_UNREADABLE.
 */
int kallsyms__read(bool options, struct kallsyms **ret);
/* The same from another file in that format. */
int kallsyms__read_file(const char *path, bool options, struct kallsyms **ret);
void kallsyms__free(struct kallsyms *k);
/* A ksym_lookup_fn; arg is the struct kallsyms. */
enum ksym_state kallsyms__lookup(const char *name, void *arg);
/* 0 unless the symbol is KSYM_PRESENT. */
uint64_t kallsyms__address(const struct kallsyms *k, const char *name);

#endif
