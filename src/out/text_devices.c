// SPDX-License-Identifier: MIT
/* The disks that requests used. */
#include <inttypes.h>
#include <string.h>

#include "devices.h"
#include "lat.h"
#include "table.h"

#define MAX_DEVICES 16

static const struct table_column columns[] = {
	{ .head = "DEVICE", .list = true, .min = 8 },
	{ .head = "REQUESTS", .right = true },
	{ .head = "OBSERVED", .right = true, .drop = 7 },
	{ .head = "READ", .right = true, .optional = true, .drop = 4 },
	{ .head = "WRITTEN", .right = true, .optional = true, .drop = 5 },
	{ .head = "SIZE", .right = true, .optional = true, .drop = 6 },
	{ .head = "MERGED", .right = true, .optional = true, .drop = 9 },
	{ .head = "SPLIT", .right = true, .optional = true, .drop = 8 },
	{ .head = "ERRORS", .right = true, .optional = true, .drop = 3 },
	{ .head = "DEPTH", .right = true },
	{ .head = "MAX", .right = true, .drop = 2 },
	{ .head = "P50", .right = true },
	{ .head = "P99", .right = true },
	{ .head = "LONGEST", .right = true, .drop = 1 },
};

static void count_cell(struct table *tab, uint64_t n)
{
	char buf[FMT_LEN];

	table__cell(tab, ATTR_PLAIN, "%s", n ? fmt_count(buf, (double)n) : "-");
}

static void bytes_cell(struct table *tab, double n)
{
	char buf[FMT_LEN];

	table__cell(tab, ATTR_PLAIN, "%s", n > 0 ? fmt_bytes(buf, n) : "-");
}

static void row(struct table *tab, const struct snapshot *s, const struct rs_device *d)
{
	char name[RS_DISK_NAME_LEN + 1] = "", buf[FMT_LEN];
	uint64_t n = lat__count(&d->lat);

	memcpy(name, d->name, RS_DISK_NAME_LEN);
	table__row(tab);
	table__cell(tab, ATTR_BOLD, "%s", name);
	count_cell(tab, device__requests(d));
	count_cell(tab, d->observed);
	bytes_cell(tab, (double)d->read_bytes);
	bytes_cell(tab, (double)d->written_bytes);
	bytes_cell(tab, device__mean_bytes(d));
	count_cell(tab, d->merged);
	count_cell(tab, d->split);
	count_cell(tab, d->errors);
	table__cell(tab, ATTR_PLAIN, "%.1f", device__depth_mean(s, d));
	table__cell(tab, ATTR_PLAIN, "%" PRIu32, d->depth_max);
	table__cell(tab, ATTR_PLAIN, "%s", n ? fmt_ns(buf, lat__quantile_ns(&d->lat, 0.5)) : "-");
	table__cell(tab, ATTR_PLAIN, "%s", n ? fmt_ns(buf, lat__quantile_ns(&d->lat, 0.99)) : "-");
	table__cell(tab, ATTR_PLAIN, "%s", n ? fmt_ns(buf, d->lat.max_ns) : "-");
}

void text__devices(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	size_t i, n = s->n_devices < MAX_DEVICES ? s->n_devices : MAX_DEVICES;
	struct table *tab;

	if (!n)
		return;
	text__title(t, "Disks (requests of the block layer; DEPTH: with the disk, on average)");
	tab = table__new(columns, sizeof(columns) / sizeof(columns[0]));
	for (i = 0; i < n; i++)
		row(tab, s, &s->devices[i]);
	table__print(tab, t, true, false);
	if (n < s->n_devices)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more %s", text__ellipsis(t->o), s->n_devices - n,
			text__plural(s->n_devices - n, "disk", "disks"));
}
