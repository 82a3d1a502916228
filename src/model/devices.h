/* SPDX-License-Identifier: MIT */
/* Disks that observed requests used. */
#ifndef RINGSIDE_DEVICES_H
#define RINGSIDE_DEVICES_H

#include "snapshot.h"

/* Requests of the block layer that a disk has done. */
static inline uint64_t device__requests(const struct rs_device *d)
{
	return d->reads + d->writes + d->others;
}

/* Bytes of a request on average; 0: there was none that reads or writes. */
double device__mean_bytes(const struct rs_device *d);

/* Requests that were with the disk at a time, on average over the window of s. */
double device__depth_mean(const struct snapshot *s, const struct rs_device *d);

/* One more octave of bytes: what is in sizes[i] has no more than this many. 0: there is no limit. */
uint64_t device__size_limit(unsigned int i);

/* Adds a copy of d. 0 or -ENOMEM. */
int snapshot__add_device(struct snapshot *s, const struct rs_device *d);

/* The devices of cur with what happened to them since prev; in_flight, depth_max and max_bytes are cur's. 0 or -ENOMEM. */
int devices__delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *d);

#endif
