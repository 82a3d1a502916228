// SPDX-License-Identifier: MIT
/* Disks as JSON. */
#include <string.h>

#include "devices.h"
#include "json_out.h"

/* [up to so many bytes, requests]; null: any number. */
static json_t *sizes__json(const struct rs_device *d)
{
	json_t *list = json_array(), *pair;
	unsigned int i;

	for (i = 0; i < RS_SIZES && list; i++) {
		if (!d->sizes[i])
			continue;
		pair = json_array();
		jout__add(&pair, jout__u64_if(device__size_limit(i) != 0, device__size_limit(i)));
		jout__add(&pair, jout__u64(d->sizes[i]));
		jout__add(&list, pair);
	}
	return list;
}

static json_t *request_bytes__json(const struct snapshot *s, const struct rs_device *d)
{
	bool any = d->reads + d->writes > 0;
	json_t *o = json_object();

	jout__put(&o, "mean", any ? json_real(device__mean_bytes(d)) : json_null());
	jout__put(&o, "max", jout__u64_if(any && !s->interval, d->max_bytes));
	jout__put(&o, "buckets", sizes__json(d));
	return o;
}

static json_t *device__json(const struct snapshot *s, const struct rs_device *d)
{
	char name[RS_DISK_NAME_LEN + 1] = "";
	json_t *o = json_object();

	memcpy(name, d->name, RS_DISK_NAME_LEN);
	jout__put(&o, "name", jout__text(name));
	jout__put(&o, "major", json_integer(d->major));
	jout__put(&o, "minor", json_integer(d->minor));
	jout__put(&o, "requests", jout__u64(device__requests(d)));
	jout__put(&o, "observed", jout__u64(d->observed));
	jout__put(&o, "reads", jout__u64(d->reads));
	jout__put(&o, "writes", jout__u64(d->writes));
	jout__put(&o, "others", jout__u64(d->others));
	jout__put(&o, "read_bytes", jout__u64(d->read_bytes));
	jout__put(&o, "written_bytes", jout__u64(d->written_bytes));
	jout__put(&o, "errors", jout__u64(d->errors));
	jout__put(&o, "merged", jout__u64(d->merged));
	jout__put(&o, "split", jout__u64(d->split));
	jout__put(&o, "in_flight", json_integer(d->in_flight));
	jout__put(&o, "depth_mean", s->duration_ns ? json_real(device__depth_mean(s, d)) : json_null());
	jout__put(&o, "depth_max", jout__u64_if(!s->interval, d->depth_max));
	jout__put(&o, "request_bytes", request_bytes__json(s, d));
	jout__put(&o, "latency_ns", lat__json(&d->lat));
	return o;
}

json_t *devices__json(const struct snapshot *s)
{
	json_t *list;
	size_t i;

	if (!snapshot__knows(s, RS_F_BLOCK))
		return json_null();
	list = json_array();
	for (i = 0; i < s->n_devices && list; i++)
		jout__add(&list, device__json(s, &s->devices[i]));
	return list;
}
