// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lat.h"
#include "live_maps.h"

static int read_pair(const struct session *s, uint32_t pair, struct ring_stats *r)
{
	struct rs_series se;
	struct op_stats *o;
	uint32_t kind;
	int err = session__read_span_series(s, pair, RS_KIND_MAIN, &se);

	if (err)
		return err;
	o = ring_stats__op(r, se.op);
	if (!o)
		return -ENOMEM;
	memcpy(o->c, se.c, sizeof(o->c));
	o->lat = se.lat;
	for (kind = RS_KIND_SLOW; !err && kind < RS_KINDS; kind++) {
		err = session__read_span_series(s, pair, kind, &se);
		if (!err && lat__count(&se.lat))
			err = live_maps__add_times(&se, &o->kin[kind]);
	}
	return err;
}

static int read_span(const struct session *s, const struct span_place *place, uint32_t idx,
	struct span_stats *ret)
{
	struct rs_span sp;
	unsigned int op;
	int err = session__read_span(s, idx, &sp);

	if (err)
		return err;
	ret->binary = strdup(place->binary);
	ret->function = strdup(place->function);
	if (!ret->binary || !ret->function)
		return -ENOMEM;
	ret->calls = sp.calls;
	ret->returned = sp.returned;
	ret->waits = sp.waits;
	ret->wait_ns = sp.wait_ns;
	ret->lat = sp.lat;
	for (op = 0; !err && op < RS_OPS; op++)
		if (sp.ops[op])
			err = read_pair(s, sp.ops[op], &ret->requests);
	return err;
}

int live_maps__spans(const struct session *s, struct snapshot *snap)
{
	const struct span_place *places;
	size_t n;
	int err = 0;

	places = session__spans(s, &n);
	if (!n)
		return 0;
	snap->spans = calloc(n, sizeof(*snap->spans));
	if (!snap->spans)
		return -ENOMEM;
	for (; !err && snap->n_spans < n; snap->n_spans++)
		err = read_span(s, &places[snap->n_spans], (uint32_t)snap->n_spans,
			&snap->spans[snap->n_spans]);
	return err;
}
