/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include "names.h"

/* Less than a ring knows of an opcode: of what ends a request, and of its submission. */
static json_t *op__json(const struct snapshot *s, const struct op_stats *o)
{
	bool bytes = op_traits(o->op) & RS_OP_BYTES;
	json_t *j = json_object();
	char buf[NAME_LEN];

	jout__put(&j, "op", json_string(op_name(o->op, buf)));
	jout__put(&j, "submitted", op_stats__counter_json(s, o, "submitted"));
	jout__put(&j, "completed", jout__u64(op_stats__completed(o)));
	jout__put(&j, "rejected", op_stats__counter_json(s, o, "rejected"));
	jout__put(&j, "errors", op_stats__errors_json(o));
	jout__put(&j, "punted", jout__u64_if(snapshot__knows(s, RS_F_PUNT), op_stats__punted(o)));
	jout__put(&j, "punted_by", op_stats__punted_by_json(s, o));
	jout__put(&j, "bytes", bytes ? op_stats__counter_json(s, o, "bytes") : json_null());
	jout__put(&j, "latency_ns", lat__json(&o->lat));
	jout__put(&j, "stages", op_stats__stages_json(s, o));
	return j;
}

static json_t *ops_of_span__json(const struct snapshot *s, const struct ring_stats *requests)
{
	json_t *list;
	size_t i;

	if (!snapshot__knows_requests_of_spans(s))
		return json_null();
	list = json_array();
	for (i = 0; i < requests->n_ops && list; i++)
		jout__add(&list, op__json(s, &requests->ops[i]));
	return list;
}

json_t *spans__json(const struct snapshot *s)
{
	bool waits = snapshot__knows(s, RS_F_SPAN_WAIT);
	json_t *list;
	size_t i;

	if (!s->n_spans)
		return json_null();
	list = json_array();
	for (i = 0; i < s->n_spans && list; i++) {
		const struct span_stats *sp = &s->spans[i];
		json_t *o = json_object();

		jout__put(&o, "binary", jout__text(sp->binary));
		jout__put(&o, "function", jout__text(sp->function));
		jout__put(&o, "calls", jout__u64(sp->calls));
		jout__put(&o, "returned", jout__u64(sp->returned));
		jout__put(&o, "latency_ns", lat__json(&sp->lat));
		jout__put(&o, "waits", jout__u64_if(waits, sp->waits));
		jout__put(&o, "wait_ns", jout__u64_if(waits, sp->wait_ns));
		jout__put(&o, "ops", ops_of_span__json(s, &sp->requests));
		jout__add(&list, o);
	}
	return list;
}
