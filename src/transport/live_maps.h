/* SPDX-License-Identifier: MIT */
/* The hash maps of a session read out; private to live.c. */
#ifndef RINGSIDE_LIVE_MAPS_H
#define RINGSIDE_LIVE_MAPS_H

#include "session.h"
#include "snapshot.h"

/* Gives every opcode of every ring in s its errnos. 0 or -ENOMEM. */
int live_maps__errnos(const struct session *s, struct snapshot *snap);

/* The map of errnos as it is at a moment, sorted by ring. */
struct errno_entry {
	struct rs_errno_key key;
	uint64_t n;
};

struct errno_list {
	struct errno_entry *e;
	size_t n;
};

/* 0 or -ENOMEM. Free with errno_list__free(). */
int errno_list__read(const struct session *s, struct errno_list *ret);
void errno_list__free(struct errno_list *l);

/* Moves what l has of r->uid out of the map. 0 or -ENOMEM. */
int live_maps__take_errnos(const struct session *s, const struct errno_list *l, struct ring_stats *r);

/* Adds the times that a series holds. 0 or -ENOMEM. */
int live_maps__add_times(const struct rs_series *se, struct op_times **sum);

/* Gives the opcodes of s their multishot gaps and notification delays. 0 or -ENOMEM. */
int live_maps__extras(const struct session *s, struct snapshot *snap);
/* Adds those of r->uid to r and gives their series back. 0 or negative errno. */
int live_maps__take_extras(struct session *s, struct ring_stats *r);

/* Gives s the spans that were asked for, but their errnos, which live_maps__errnos() does. 0 or negative errno. */
int live_maps__spans(const struct session *s, struct snapshot *snap);

int live_maps__tasks(const struct session *s, struct snapshot *snap);
int live_maps__registers(const struct session *s, struct snapshot *snap);
int live_maps__devices(const struct session *s, struct snapshot *snap);

#endif
