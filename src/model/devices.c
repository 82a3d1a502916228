// SPDX-License-Identifier: MIT
#include "devices.h"

#include <errno.h>
#include <stdlib.h>

#include "lat.h"

double device__mean_bytes(const struct rs_device *d)
{
	uint64_t n = d->reads + d->writes;

	return n ? ((double)d->read_bytes + (double)d->written_bytes) / (double)n : 0;
}

/* Little's law: the times that requests were there sum to the integral of their number. */
double device__depth_mean(const struct snapshot *s, const struct rs_device *d)
{
	return s->duration_ns ? (double)d->lat.sum_ns / (double)s->duration_ns : 0;
}

uint64_t device__size_limit(unsigned int i)
{
	return i + 1 < RS_SIZES ? 512ull << i : 0;
}

int snapshot__add_device(struct snapshot *s, const struct rs_device *d)
{
	struct rs_device *more = reallocarray(NULL, s->n_devices + 1, sizeof(*more));
	size_t i;

	if (!more)
		return -ENOMEM;
	for (i = 0; i < s->n_devices; i++)
		more[i] = s->devices[i];
	more[s->n_devices] = *d;
	free(s->devices);
	s->devices = more;
	s->n_devices++;
	return 0;
}

static uint64_t minus(uint64_t cur, uint64_t prev)
{
	return cur > prev ? cur - prev : 0;
}

static void device_delta(const struct rs_device *p, const struct rs_device *c, struct rs_device *d)
{
	unsigned int i;

	*d = *c;
	d->reads = minus(c->reads, p->reads);
	d->writes = minus(c->writes, p->writes);
	d->others = minus(c->others, p->others);
	d->read_bytes = minus(c->read_bytes, p->read_bytes);
	d->written_bytes = minus(c->written_bytes, p->written_bytes);
	d->observed = minus(c->observed, p->observed);
	d->errors = minus(c->errors, p->errors);
	d->merged = minus(c->merged, p->merged);
	d->split = minus(c->split, p->split);
	for (i = 0; i < RS_SIZES; i++)
		d->sizes[i] = minus(c->sizes[i], p->sizes[i]);
	lat__delta(&p->lat, &c->lat, &d->lat);
}

static const struct rs_device *find(const struct snapshot *s, const struct rs_device *d)
{
	size_t i;

	for (i = 0; i < s->n_devices; i++)
		if (s->devices[i].major == d->major && s->devices[i].minor == d->minor)
			return &s->devices[i];
	return NULL;
}

int devices__delta(const struct snapshot *prev, const struct snapshot *cur, struct snapshot *ret)
{
	const struct rs_device *p;
	struct rs_device d;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < cur->n_devices; i++) {
		d = cur->devices[i];
		p = find(prev, &d);
		if (p)
			device_delta(p, &cur->devices[i], &d);
		if (device__requests(&d) || d.in_flight)
			err = snapshot__add_device(ret, &d);
	}
	return err;
}
