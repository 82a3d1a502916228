/* SPDX-License-Identifier: MIT */
/*
 * Live transport: the tables of a session read out as snapshots. Cumulative from
 * live__start(); rings that are gone stay in every later snapshot.
 */
#ifndef RINGSIDE_LIVE_H
#define RINGSIDE_LIVE_H

#include "session.h"
#include "snapshot.h"

struct live;

/*
 * Activates the session and starts the window. The session stays the caller's and must outlive *ret.
 * Of rings that are gone and whose entries were needed, the n_listed busiest are listed, or
 * LIVE_LISTED_MIN if that is more.
 */
#define LIVE_LISTED_MIN 1024
int live__start(struct session *s, size_t n_listed, struct live **ret);

/*
 * To be called every LIVE_TICK_MS or so: gives new rings their id, samples the threads of SQPOLL
 * rings and reads out rings that are gone before their entries run short. 0 or negative errno.
 */
#define LIVE_TICK_MS 100
int live__tick(struct live *l);

/* Becomes readable when a tick is needed at once; owned by the session. */
int live__wakeup_fd(const struct live *l);

/*
 * From now on as many requests are timed as keep the cost below this part (0 .. 1) of the busy CPU time.
 * 0; -EOPNOTSUPP: what a request costs is not known; other negative errno: nor what the machine does.
 */
int live__set_budget(struct live *l, double part);

/*
 * Ends the window, and gives rings that are being torn down up to limit_ms to end what they have in
 * flight: the kernel does that after their process has ended. live__stop() is still to be called.
 */
void live__settle(struct live *l, unsigned int limit_ms);

/* Freezes the session: later snapshots all show this moment. */
void live__stop(struct live *l);

/* A consistent whole after live__stop(); before, counters may differ by what happens meanwhile. */
int live__snapshot(struct live *l, struct snapshot *ret);

/* Rings seen so far. */
size_t live__n_rings(const struct live *l);

void live__free(struct live *l);

#endif
