// SPDX-License-Identifier: MIT
/* Where requests are submitted that go to workers unasked. */
#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"
#include "names.h"

static json_t *frame__json(const struct site_frame *f)
{
	json_t *o = json_object();
	char offset[24];

	snprintf(offset, sizeof(offset), "0x%" PRIx64, f->offset);
	jout__put(&o, "function", jout__text(f->function));
	jout__put(&o, "inlined", jout__text(f->inlined));
	jout__put(&o, "file", jout__text(f->file));
	jout__put(&o, "line", jout__u64_if(f->line > 0, (uint64_t)f->line));
	jout__put(&o, "module", jout__text(f->module));
	jout__put(&o, "offset", json_string(offset));
	return o;
}

static json_t *site__json(const struct site_stats *s)
{
	const struct site_frame *caller = site_stats__caller(s);
	char text[SITE_TEXT_LEN], op[NAME_LEN];
	json_t *o = json_object(), *stack = json_array();

	for (size_t i = 0; i < s->n && stack; i++)
		jout__add(&stack, frame__json(&s->frames[i]));
	jout__put(&o, "caller", caller ? jout__text(site_frame__text(text, caller)) : json_null());
	jout__put(&o, "op", json_string(op_name(s->op, op)));
	jout__put(&o, "samples", jout__u64(s->samples));
	jout__put(&o, "stack", stack);
	jout__put(&o, "complete", json_boolean(s->end == SITE_COMPLETE));
	jout__put(&o, "why", jout__text(site_end__words(s->end)));
	return o;
}

json_t *call_sites__json(const struct snapshot *s)
{
	json_t *list;

	if (!snapshot__knows_sites(s))
		return json_null();
	list = json_array();
	for (size_t i = 0; i < s->sites.n && list; i++)
		jout__add(&list, site__json(&s->sites.list[i]));
	return list;
}

json_t *call_sites_other__json(const struct snapshot *s)
{
	json_t *o;

	if (!snapshot__knows_sites(s) || !s->sites.others)
		return json_null();
	o = json_object();
	jout__put(&o, "samples", jout__u64(s->sites.others));
	return o;
}
