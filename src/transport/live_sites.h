/* SPDX-License-Identifier: MIT */
/* Call sites: stacks made into names; private to live.c. */
#ifndef RINGSIDE_LIVE_SITES_H
#define RINGSIDE_LIVE_SITES_H

#include "abi.h"
#include "sites.h"

struct symbols;
struct seen_stack;

struct kept_sites {
	struct symbols *symbols;
	struct site_list list; /* in order of first sight: `seen` has indexes */
	struct seen_stack *seen;
	size_t n_seen;
	uint64_t lost; /* stacks that could not be made into names */
};

#define KEPT_SITES_MAX 1024
#define SEEN_STACKS_MAX 4096

/* 0 or -ENOMEM. */
int kept_sites__begin(struct kept_sites *k);
/* While its process lives, or has been met before. */
void kept_sites__add(const struct rs_stack *st, void *kept_sites);
void kept_sites__end(struct kept_sites *k);

#endif
