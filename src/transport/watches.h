/* SPDX-License-Identifier: MIT */
/* Which rings have their CQ head watched; private to live.c. */
#ifndef RINGSIDE_WATCHES_H
#define RINGSIDE_WATCHES_H

#include "session.h"

struct watches {
	struct watch **of; /* by index of the ring; NULL: nothing is watched */
	uint32_t *tried;   /* uid of the ring there for which it was tried */
};

/* 0 or -ENOMEM. */
int watches__begin(struct watches *w, const struct session *s);
/* Watches the rings that have come since; now_ns: monotonic. A ring where it can't be done stays as it is. */
void watches__update(struct watches *w, struct session *s, uint64_t now_ns);
/* The ring at idx is gone. */
void watches__drop(struct watches *w, struct session *s, uint32_t idx);
/* Before the session ends. */
void watches__end(struct watches *w, struct session *s);

#endif
