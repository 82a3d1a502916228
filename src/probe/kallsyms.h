/* SPDX-License-Identifier: MIT */
/* Which of the kernel symbols that we need can be had. */
#ifndef RINGSIDE_KALLSYMS_H
#define RINGSIDE_KALLSYMS_H

#include "select.h"

/* One pass over /proc/kallsyms for every symbol of the variant table. */
struct kallsyms;

/* 0 or negative errno. */
int kallsyms__read(struct kallsyms **ret);
void kallsyms__free(struct kallsyms *k);
/* A ksym_lookup_fn; arg is the struct kallsyms. */
enum ksym_state kallsyms__lookup(const char *name, void *arg);

#endif
