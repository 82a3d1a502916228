/* SPDX-License-Identifier: MIT */
/* Requests in flight where CQEs do not name them; private to slots.c. */
#ifndef RINGSIDE_NAMED_H
#define RINGSIDE_NAMED_H

#include "slots.h"

/* Adds the requests in flight to in_flight, ring_in_flight and unnamed. 0 or negative errno. */
int named__count(const struct session *s, struct slot_counts *c);

#endif
