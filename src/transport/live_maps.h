/* SPDX-License-Identifier: MIT */
/* The hash maps of a session read out; private to live.c. */
#ifndef RINGSIDE_LIVE_MAPS_H
#define RINGSIDE_LIVE_MAPS_H

#include "session.h"
#include "snapshot.h"

/* Gives every opcode of every ring in s its errnos. 0 or -ENOMEM. */
int live_maps__errnos(const struct session *s, struct snapshot *snap);
/* Moves the errnos of r->uid out of the map. 0 or -ENOMEM. */
int live_maps__take_errnos(const struct session *s, struct ring_stats *r);

/* Gives the opcodes of s their multishot gaps and notification delays. 0 or -ENOMEM. */
int live_maps__extras(const struct session *s, struct snapshot *snap);
/* Adds those of r->uid to r and gives their series back. 0 or negative errno. */
int live_maps__take_extras(struct session *s, struct ring_stats *r);

int live_maps__tasks(const struct session *s, struct snapshot *snap);
int live_maps__registers(const struct session *s, struct snapshot *snap);

#endif
