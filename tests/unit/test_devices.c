// SPDX-License-Identifier: MIT
/* Disks: what happened to them, in a report and between two. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agg.h"
#include "assert_text.h"
#include "devices.h"
#include "fabricate.h"
#include "json_at.h"
#include "lat.h"
#include "sample.h"

static struct rs_device disk(const char *name, uint32_t minor)
{
	struct rs_device d = { .major = 259, .minor = minor, .lat.min_ns = UINT64_MAX };

	strncpy(d.name, name, sizeof(d.name) - 1);
	return d;
}

/* n reads of 4 KiB, each with the disk for ns. */
static void reads(struct rs_device *d, unsigned int n, uint64_t ns)
{
	d->reads += n;
	d->observed += n;
	d->read_bytes += 4096ull * n;
	d->sizes[3] += n;
	d->max_bytes = 4096;
	d->depth_max = 2;
	while (n--)
		rs_lat_add(&d->lat, ns, 0);
}

static void test_means(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct rs_device d = disk("nvme0n1", 0);

	(void)state;
	assert_true(device__mean_bytes(&d) == 0 && device__depth_mean(s, &d) == 0);
	reads(&d, 100, 5000000);
	d.writes = 100;
	d.written_bytes = 100 * 8192;
	d.others = 3;
	assert_int_equal(device__requests(&d), 203);
	assert_true(device__mean_bytes(&d) == 6144);
	/* 100 of 5 ms each, in a second */
	assert_true(device__depth_mean(s, &d) == 0.5);
	assert_int_equal(device__size_limit(0), 512);
	assert_int_equal(device__size_limit(3), 4096);
	assert_int_equal(device__size_limit(RS_SIZES - 1), 0);
	sample__free(s);
}

/* Disks are known by their number; one that did nothing in between is left out. */
static void test_difference(void **state)
{
	struct snapshot *first = sample__snapshot(), *both = sample__snapshot(), d;
	struct rs_device idle = disk("sda", 0), busy = disk("sdb", 16), fresh = disk("sdc", 32);

	(void)state;
	reads(&idle, 5, 1000);
	reads(&busy, 10, 1000);
	busy.merged = 7;
	assert_int_equal(snapshot__add_device(first, &idle), 0);
	assert_int_equal(snapshot__add_device(first, &busy), 0);
	reads(&busy, 30, 2000);
	reads(&fresh, 1, 1000);
	busy.merged = 9;
	busy.in_flight = 1;
	assert_int_equal(snapshot__add_device(both, &busy), 0);
	assert_int_equal(snapshot__add_device(both, &idle), 0);
	assert_int_equal(snapshot__add_device(both, &fresh), 0);
	assert_int_equal(snapshot__delta(first, both, &d), 0);
	assert_int_equal(d.n_devices, 2);
	assert_string_equal(d.devices[0].name, "sdb");
	assert_int_equal(d.devices[0].reads, 30);
	assert_int_equal(d.devices[0].read_bytes, 30 * 4096);
	assert_int_equal(d.devices[0].sizes[3], 30);
	assert_int_equal(d.devices[0].merged, 2);
	assert_int_equal(d.devices[0].in_flight, 1);
	assert_int_equal(lat__count(&d.devices[0].lat), 30);
	assert_int_equal(d.devices[0].lat.sum_ns, 30 * 2000);
	assert_string_equal(d.devices[1].name, "sdc");
	assert_int_equal(d.devices[1].reads, 1);
	snapshot__free(&d);
	sample__free(first);
	sample__free(both);
}

static void test_json(void **state)
{
	struct fab f = fab__new();
	struct rs_device d = disk("nvme0n1", 1);
	json_t *j;

	(void)state;
	reads(&d, 10, 100000);
	d.sizes[RS_SIZES - 1] = 1;
	d.split = 4;
	assert_int_equal(snapshot__add_device(f.s, &d), 0);
	j = render(&f);
	assert_text(j, "devices.0.name", "nvme0n1");
	assert_u64(j, "devices.0.major", 259);
	assert_u64(j, "devices.0.minor", 1);
	assert_u64(j, "devices.0.requests", 10);
	assert_u64(j, "devices.0.observed", 10);
	assert_u64(j, "devices.0.split", 4);
	assert_u64(j, "devices.0.depth_max", 2);
	assert_u64(j, "devices.0.request_bytes.max", 4096);
	assert_u64(j, "devices.0.request_bytes.buckets.0.0", 4096);
	assert_u64(j, "devices.0.request_bytes.buckets.0.1", 10);
	assert_null_at(j, "devices.0.request_bytes.buckets.1.0");
	assert_u64(j, "devices.0.latency_ns.sum", 1000000);
	json_decref(j);
	/* what an interval had at most is not known */
	f.s->interval = true;
	j = render(&f);
	assert_null_at(j, "devices.0.depth_max");
	assert_null_at(j, "devices.0.request_bytes.max");
	json_decref(j);
	f.s->features[RS_F_BLOCK].level = FEATURE_OFF;
	j = render(&f);
	assert_null_at(j, "devices");
	json_decref(j);
	fab__free(&f);
}

static void test_text(void **state)
{
	static const struct text_options plain = { .width = 80 };
	struct fab f = fab__new();
	struct rs_device d = disk("nvme0n1", 1);
	char *text;

	(void)state;
	fab__op(fab__ring(&f, 1, "db"), OP_READ, 10);
	text = render_as(&f, "x", NULL, &plain);
	assert_lacks(text, "Disks");
	free(text);
	reads(&d, 12345, 100000);
	assert_int_equal(snapshot__add_device(f.s, &d), 0);
	text = render_as(&f, "x", NULL, &plain);
	assert_has(text, "Disks");
	assert_has(text, "nvme0n1      12.3k     12.3k  48.2MiB");
	assert_lacks(text, "SPLIT");
	free(text);
	fab__free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_means),
		cmocka_unit_test(test_difference),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
