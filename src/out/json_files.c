// SPDX-License-Identifier: MIT
/* Files of requests in trouble, and what they have in common. */
#include <inttypes.h>
#include <stdio.h>

#include "json_out.h"
#include "names.h"

static void put_counts(json_t **o, const struct snapshot *s, const struct file_counts *c)
{
	jout__put(o, "punted", jout__u64_if(snapshot__knows(s, RS_F_PUNT), c->punted));
	jout__put(o, "errors", jout__u64(c->errors));
	jout__put(o, "slow", jout__u64(c->slow));
	jout__put(o, "time_ns", jout__u64(c->time_ns));
}

static json_t *file__json(const struct snapshot *s, const struct file_stats *f)
{
	char dev[32], op[NAME_LEN];
	json_t *o = json_object();

	snprintf(dev, sizeof(dev), "%" PRIu32 ":%" PRIu32, f->dev_major, f->dev_minor);
	jout__put(&o, "path", jout__text(f->name));
	jout__put(&o, "kind", jout__text(f->kind));
	jout__put(&o, "deleted", json_boolean(f->deleted));
	jout__put(&o, "dev", json_string(dev));
	jout__put(&o, "inode", jout__u64(f->inode));
	jout__put(&o, "op", json_string(op_name(f->op, op)));
	put_counts(&o, s, &f->c);
	return o;
}

json_t *files__json(const struct snapshot *s)
{
	json_t *list;

	if (!snapshot__knows(s, RS_F_FILES))
		return json_null();
	list = json_array();
	for (size_t i = 0; i < s->files.n && list; i++)
		jout__add(&list, file__json(s, &s->files.list[i]));
	return list;
}

json_t *files_other__json(const struct snapshot *s)
{
	json_t *o;

	if (!snapshot__knows(s, RS_F_FILES) || !s->files.n_others)
		return json_null();
	o = json_object();
	jout__put(&o, "n_files", jout__u64(s->files.n_others));
	put_counts(&o, s, &s->files.others);
	return o;
}
