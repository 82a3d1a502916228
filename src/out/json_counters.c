/* SPDX-License-Identifier: MIT */
/*
 * Counters as JSON. The contract fixes keys and order; which feature makes a key
 * null comes from counters.def, and so do keys that the contract does not list yet.
 */
#include "json_out.h"

#include <string.h>

struct counter {
	const char *id;
	const char *json; /* "" or NULL: only feeds others */
	enum rs_feature feature;
};

/* clang-format off */
static const struct counter ring_counters[RS_RC_COUNT] = {
#define RING(id, json, feature, source) [RS_RC_##id] = { #id, json, RS_F_##feature },
#include "counters.def"
};

static const struct counter op_counters[RS_SC_COUNT] = {
#define OPC(id, json, feature, source) [RS_SC_##id] = { #id, json, RS_F_##feature },
#include "counters.def"
};
/* clang-format on */

/* A key of `totals` whose value struct totals holds. */
struct total_key {
	const char *key;
	size_t offset;
	enum rs_feature feature; /* COUNTED: what its row in counters.def says */
};

#define AT(name) #name, offsetof(struct totals, name)
#define COUNTED RS_F_COUNT

/* clang-format off */
static const struct total_key total_keys[] = {
	{ AT(in_flight_at_attach), COUNTED },
	{ AT(submitted), COUNTED },
	{ AT(completed), RS_F_COMPLETE },
	{ AT(silent), COUNTED },
	{ AT(in_flight), RS_F_SUBMIT },
	{ AT(rejected), COUNTED },
	{ AT(sq_dropped), RS_F_SUBMIT },
	{ AT(errors), COUNTED },
	{ AT(punted), RS_F_PUNT },
	{ AT(poll_armed), COUNTED },
	{ AT(cqes_multishot), COUNTED },
	{ AT(cqes_aux), COUNTED },
	{ AT(notifs), COUNTED },
	{ AT(cq_overflows), COUNTED },
	{ AT(cq_dropped), COUNTED },
	{ AT(short_writes), COUNTED },
	{ AT(batches), COUNTED }, /* batch_mean follows */
	{ AT(waits), COUNTED },
	{ AT(bytes), COUNTED },
};
/* clang-format on */

static bool counter__shown(const struct counter *c)
{
	return c->json && *c->json;
}

/* Causes of a punt stand under `punted_by`. */
static bool counter__is_punt_cause(const struct counter *c)
{
	return counter__shown(c) && !strncmp(c->id, "PUNT_", 5);
}

static const struct counter *counter__find(const struct counter *list, size_t n, const char *key)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (counter__shown(&list[i]) && !strcmp(list[i].json, key))
			return &list[i];
	}
	return NULL;
}

static bool total_key__known(const struct snapshot *s, const struct total_key *k)
{
	const struct counter *c;

	if (k->feature != COUNTED)
		return snapshot__knows(s, k->feature);
	c = counter__find(ring_counters, RS_RC_COUNT, k->key);
	if (!c)
		c = counter__find(op_counters, RS_SC_COUNT, k->key);
	return c && snapshot__knows(s, c->feature);
}

static uint64_t totals__at(const struct totals *t, size_t offset)
{
	uint64_t n;

	memcpy(&n, (const char *)t + offset, sizeof(n));
	return n;
}

/* Rows that the object does not have under their key. */
static void put_missing(json_t **object, const struct snapshot *s, const struct counter *list,
	const uint64_t *values, size_t n)
{
	size_t i;

	for (i = 0; i < n && *object; i++) {
		if (!counter__shown(&list[i]) || counter__is_punt_cause(&list[i]))
			continue;
		if (json_object_get(*object, list[i].json))
			continue;
		jout__put(object, list[i].json, jout__u64_if(snapshot__knows(s, list[i].feature), values[i]));
	}
}

json_t *totals__json(const struct snapshot *s, const struct totals *t, const struct tally *raw)
{
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < sizeof(total_keys) / sizeof(total_keys[0]); i++) {
		const struct total_key *k = &total_keys[i];
		bool known = total_key__known(s, k);

		if (k->offset != offsetof(struct totals, batches)) {
			jout__put(&o, k->key, jout__u64_if(known, totals__at(t, k->offset)));
			continue;
		}
		known = known && t->batches_known;
		jout__put(&o, k->key, jout__u64_if(known, t->batches));
		jout__put(&o, "batch_mean",
			jout__ratio((double)t->submitted + (double)t->rejected,
				known ? (double)t->batches : 0));
	}
	put_missing(&o, s, ring_counters, raw->ring, RS_RC_COUNT);
	put_missing(&o, s, op_counters, raw->op, RS_SC_COUNT);
	return o;
}

void op_stats__put_counters(json_t **object, const struct snapshot *s, const struct op_stats *o)
{
	put_missing(object, s, op_counters, o->c, RS_SC_COUNT);
}

json_t *op_stats__counter_json(const struct snapshot *s, const struct op_stats *o, const char *key)
{
	const struct counter *c = counter__find(op_counters, RS_SC_COUNT, key);

	return c ? jout__u64_if(snapshot__knows(s, c->feature), o->c[c - op_counters]) : json_null();
}

json_t *op_stats__punted_by_json(const struct snapshot *s, const struct op_stats *o)
{
	json_t *by = json_object();
	size_t i;

	for (i = 0; i < RS_SC_COUNT; i++) {
		const struct counter *c = &op_counters[i];

		if (counter__is_punt_cause(c))
			jout__put(&by, c->json, jout__u64_if(snapshot__knows(s, c->feature), o->c[i]));
	}
	return by;
}
