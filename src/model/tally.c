// SPDX-License-Identifier: MIT
#include "tally.h"

#include <string.h>

#include "lat.h"

struct tally ring_stats__tally(const struct ring_stats *r)
{
	struct tally sum = { 0 };
	size_t i, c;

	memcpy(sum.ring, r->c, sizeof(sum.ring));
	for (i = 0; i < r->n_ops; i++) {
		for (c = 0; c < RS_SC_COUNT; c++)
			sum.op[c] += r->ops[i].c[c];
	}
	return sum;
}

static void tally__add(struct tally *sum, const struct ring_stats *r)
{
	struct tally one = ring_stats__tally(r);
	size_t c;

	for (c = 0; c < RS_RC_COUNT; c++)
		sum->ring[c] += one.ring[c];
	for (c = 0; c < RS_SC_COUNT; c++)
		sum->op[c] += one.op[c];
}

struct tally snapshot__tally(const struct snapshot *s)
{
	struct tally sum = { 0 };
	size_t i;

	for (i = 0; i < s->n_rings; i++)
		tally__add(&sum, &s->rings[i]);
	if (s->others)
		tally__add(&sum, s->others);
	return sum;
}

uint64_t tally__events(const struct tally *raw)
{
	static const enum rs_ring_counter ring_events[] = { RS_RC_CQES_REJECTED, RS_RC_CQES_MULTISHOT,
		RS_RC_CQES_AUX, RS_RC_NOTIFS, RS_RC_CQ_OVERFLOWS, RS_RC_WAITS, RS_RC_ENTERS,
		RS_RC_BUFFER_IMPORTS };
	static const enum rs_op_counter op_events[] = { RS_SC_SUBMITTED, RS_SC_REJECTED, RS_SC_COMPLETED,
		RS_SC_POLL_ARMED, RS_SC_PUNT_ASKED, RS_SC_PUNT_OPCODE, RS_SC_PUNT_DRAIN, RS_SC_PUNT_UNWANTED,
		RS_SC_WQ_QUEUED };
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < sizeof(ring_events) / sizeof(ring_events[0]); i++)
		n += raw->ring[ring_events[i]];
	for (i = 0; i < sizeof(op_events) / sizeof(op_events[0]); i++)
		n += raw->op[op_events[i]];
	return n;
}

static uint64_t ring_stats__timed(const struct ring_stats *r)
{
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < r->n_ops; i++)
		n += lat__count(&r->ops[i].lat);
	return n;
}

struct cost_work snapshot__work(const struct snapshot *s)
{
	struct tally raw = snapshot__tally(s);
	struct cost_work w = { .requests = raw.op[RS_SC_SUBMITTED], .events = tally__events(&raw) };
	size_t i;

	for (i = 0; i < s->n_rings; i++)
		w.timed += ring_stats__timed(&s->rings[i]);
	if (s->others)
		w.timed += ring_stats__timed(s->others);
	return w;
}
