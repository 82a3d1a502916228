/* SPDX-License-Identifier: MIT */
/* The modules that are held, each once, however many processes map it. */
#ifndef RINGSIDE_HOLDING_H
#define RINGSIDE_HOLDING_H

#include "module.h"
#include "procdir.h"

struct held {
	struct module *module;
	size_t users;  /* mappings that refer to it */
	uint64_t used; /* when, by the clock of the holding */
};

struct holding {
	struct held **list;
	size_t n, max, max_awake, refused;
	uint64_t clock;
};

/* 0 or -ENOMEM. */
int holding__init(struct holding *h, size_t max, size_t max_awake);
void holding__free(struct holding *h);

/*
 * The module of a mapping, with a user more; NULL: it has none, or there is no room. root as for module__open().
 * 0; -ENOMEM.
 */
int holding__get(struct holding *h, const struct procdir *dir, int root, const struct mapping *m,
	struct held **ret);
/* A user less; NULL is fine. */
void holding__put(struct held *held);

/* Like module__find(), with others put to rest before if too many are awake. */
int holding__find(struct holding *h, struct held *held, uint64_t vaddr, struct module_answer *ret);

#endif
