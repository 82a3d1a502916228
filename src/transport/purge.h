/* SPDX-License-Identifier: MIT */
/* What rings leave in maps when they are gone; private to live_rings.c. */
#ifndef RINGSIDE_PURGE_H
#define RINGSIDE_PURGE_H

#include "session.h"

/* Drops what the maps of tags, overflowed CQEs, and errnos hold of rings that have no entry any more. */
void purge__dead_rings(const struct session *s);

#endif
