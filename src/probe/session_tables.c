// SPDX-License-Identifier: MIT
/* The tables that the programs write: their sizes, their first content, entries given back. */
#include "session_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "names.h"
#include "ringside.skel.h"

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = RS_GROUP;

	while (p < n && p < 1u << 24)
		p <<= 1;
	return p;
}

/* Whether requests in flight are known by their user_data, in rs_named, and not by their io_kiocb. */
static bool uses_named(const struct session *s)
{
	const struct variant *submit = s->plan.chosen[RS_F_SUBMIT];

	return submit && !strcmp(submit->program, "rs_submit_named");
}

/* Threads inside io_uring_enter or io_uring_register at a time. */
#define CALLS 32768u

static bool times_calls(const struct session *s)
{
	return s->plan.chosen[RS_F_ENTER] || s->plan.chosen[RS_F_REGISTER_TIME];
}

/* Bios that do not say whose they are, and requests of the block layer, at a time. */
#define BIOS 16384u

static int size_block_maps(struct session *s)
{
	bool block = session__sees_block(s);
	struct ringside_bpf *k = s->skel;
	int err;

	err = bpf_map__set_max_entries(k->maps.rs_blocks, block ? s->tables.n_groups : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_issuing, block ? RS_ISSUING : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_bios, block ? BIOS : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_rqs, block ? BIOS : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_devices, block ? RS_DEVICES : 1);
	return err ? err : bpf_map__set_max_entries(k->maps.rs_device_index, block ? RS_DEVICES : 1);
}

int session__size_maps(struct session *s, const struct session_options *o)
{
	struct session_tables *t = &s->tables;
	struct ringside_bpf *k = s->skel;
	int err;

	t->n_groups = power_of_two(o->max.inflight) / RS_GROUP;
	t->n_rings = o->max.rings + 1;
	/* one more for our own ring */
	t->n_series = o->max.series + 1 + RS_SERIES_FIRST;
	t->n_kin = o->max.kin;
	err = bpf_map__set_max_entries(k->maps.rs_hot, t->n_groups);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_cold, t->n_groups);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_rings, session__own_ring(s) + 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_reaped, session__own_ring(s) + 1);
	err = err ? err
		  : bpf_map__set_max_entries(k->maps.rs_lags,
			    session__can_watch(s, o) ? session__own_ring(s) + 1 : 1);
	err = err ? err
		  : bpf_map__set_max_entries(k->maps.rs_heads, session__can_watch(s, o) ? o->max.rings : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_series, t->n_series + t->n_kin);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_rings, o->max.rings);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_series, o->max.series + 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_kin, o->max.kin);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_series_index, o->max.series + 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_named, uses_named(s) ? o->max.inflight : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_files, session__notes_files(s) ? FILES_MAX : 1);
	if (session__takes_stacks(s))
		err = err ? err : bpf_map__set_max_entries(k->maps.rs_stacks, STACKS_BYTES);
	err = err ? err : size_block_maps(s);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_calls, times_calls(s) ? CALLS : 1);
	err = err ? err : session__size_spans(s);
	/* addresses of rings that are gone may stay for a while */
	return err ? err : bpf_map__set_max_entries(k->maps.rs_ring_index, o->max.rings * 2);
}

size_t session__files_max(void)
{
	return FILES_MAX;
}

uint32_t session__rings_high_water(const struct session *s)
{
	return s->tables.n_rings / 4;
}

static void *map_table(const struct bpf_map *map, size_t value_size, size_t n, int prot)
{
	void *p = mmap(NULL, value_size * n, prot, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Array values are rounded up to 8 bytes; ours are multiples of 64. */
_Static_assert(sizeof(struct rs_ring) % 64 == 0, "rs_ring");
_Static_assert(sizeof(struct rs_reaped) % 64 == 0, "rs_reaped");
_Static_assert(sizeof(struct rs_lags) % 64 == 0, "rs_lags");
_Static_assert(sizeof(struct rs_series) % 64 == 0, "rs_series");
_Static_assert(sizeof(struct rs_device) % 64 == 0, "rs_device");

static int map_tables(struct session *s)
{
	struct session_tables *t = &s->tables;
	const int rw = PROT_READ | PROT_WRITE;

	t->hot = map_table(s->skel->maps.rs_hot, sizeof(*t->hot), t->n_groups, PROT_READ);
	t->rings = map_table(s->skel->maps.rs_rings, sizeof(*t->rings), session__own_ring(s) + 1, rw);
	t->series = map_table(s->skel->maps.rs_series, sizeof(*t->series), t->n_series, rw);
	if (s->skel->rodata->rs_config.watch_heads) {
		t->lags = map_table(s->skel->maps.rs_lags, sizeof(*t->lags), session__own_ring(s) + 1, rw);
		if (!t->lags)
			return -ENOMEM;
	}
	return t->hot && t->rings && t->series ? 0 : -ENOMEM;
}

void session__unmap_tables(struct session *s)
{
	struct session_tables *t = &s->tables;

	if (t->hot)
		munmap(t->hot, sizeof(*t->hot) * t->n_groups);
	if (t->rings)
		munmap(t->rings, sizeof(*t->rings) * (session__own_ring(s) + 1));
	if (t->lags)
		munmap(t->lags, sizeof(*t->lags) * (session__own_ring(s) + 1));
	if (t->series)
		munmap(t->series, sizeof(*t->series) * t->n_series);
}

static void name_maps(struct session *s)
{
	struct ringside_bpf *k = s->skel;

	s->maps = (struct session_maps){
		.ring_index = bpf_map__fd(k->maps.rs_ring_index),
		.free_rings = bpf_map__fd(k->maps.rs_free_rings),
		.free_series = bpf_map__fd(k->maps.rs_free_series),
		.free_kin = bpf_map__fd(k->maps.rs_free_kin),
		.errnos = bpf_map__fd(k->maps.rs_errnos),
		.named = uses_named(s) ? bpf_map__fd(k->maps.rs_named) : -1,
		.overflowed = bpf_map__fd(k->maps.rs_overflowed),
		.series_index = bpf_map__fd(k->maps.rs_series_index),
		.registers = bpf_map__fd(k->maps.rs_registers),
		.tags = bpf_map__fd(k->maps.rs_tags),
		.workers = bpf_map__fd(k->maps.rs_workers),
		.sq_exits = bpf_map__fd(k->maps.rs_sq_exits),
		.files = bpf_map__fd(k->maps.rs_files),
	};
}

static void reset_series(struct rs_series *se)
{
	memset(se, 0, sizeof(*se));
	se->lat.min_ns = ~0ull;
}

static void reset_ring(struct rs_ring *r, uint32_t idx, uint32_t generation)
{
	memset(r, 0, sizeof(*r));
	r->uid = generation << 16 | idx;
	r->last_sq_head = ~0ull;
	r->fd = -1;
}

int session__push_free(int fd, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = end; i > first; i--) {
		uint32_t idx = i - 1;

		if (bpf_map_update_elem(fd, NULL, &idx, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int fill_tables(struct session *s)
{
	struct session_tables *t = &s->tables;
	uint32_t i;
	int err;

	for (i = 0; i <= session__own_ring(s); i++)
		reset_ring(&t->rings[i], i, 1);
	/* entry 0 stands for all that find no room; its opcodes have fixed series; others are reset when taken */
	t->rings[0].uid = 0;
	for (i = 0; i < RS_OPS; i++) {
		t->rings[0].series[i] = (__u16)RS_SERIES_SHARED(i);
		reset_series(&t->series[RS_SERIES_SHARED(i)]);
		t->series[RS_SERIES_SHARED(i)].op = i;
		t->series[RS_SERIES_SHARED(i)].traits = op_traits(i);
	}
	err = session__push_free(s->maps.free_rings, 1, t->n_rings);
	err = err ? err : session__push_free(s->maps.free_series, RS_SERIES_FIRST, t->n_series);
	err = err ? err : session__push_free(s->maps.free_kin, t->n_series, t->n_series + t->n_kin);
	return err ? err : session__fill_spans(s);
}

int session__set_up_tables(struct session *s)
{
	int err;

	name_maps(s);
	err = map_tables(s);
	return err ? err : fill_tables(s);
}

int session__recycle_series(struct session *s, const struct rs_series_key *key, uint32_t idx)
{
	if (bpf_map_delete_elem(s->maps.series_index, key))
		return -errno;
	reset_series(&s->tables.series[idx]);
	return bpf_map_update_elem(s->maps.free_series, NULL, &idx, BPF_ANY) ? -errno : 0;
}

static int recycle_kin(struct session *s, uint32_t idx)
{
	static const struct rs_series empty;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rs_series), &idx, &empty, BPF_ANY))
		return -errno;
	return bpf_map_update_elem(s->maps.free_kin, NULL, &idx, BPF_ANY) ? -errno : 0;
}

int session__read_reaped(const struct session *s, uint32_t idx, struct rs_reaped *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_reaped), &idx, ret) ? -errno : 0;
}

int session__read_device(const struct session *s, uint32_t idx, struct rs_device *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_devices), &idx, ret) ? -errno : 0;
}

int session__read_kin(const struct session *s, uint32_t idx, struct rs_series *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_series), &idx, ret) ? -errno : 0;
}

int session__read_cold(const struct session *s, uint32_t group, struct rs_cold_group *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_cold), &group, ret) ? -errno : 0;
}

/* The main series of an opcode and those of its stages. */
static int recycle_op(struct session *s, const struct rs_ring *r, uint32_t op)
{
	struct rs_series_key key = { .ring_uid = r->uid, .op = (__u16)op };
	const struct rs_series *se = &s->tables.series[r->series[op]];
	uint32_t kind, idx;
	int err = 0;

	for (kind = RS_KIND_SLOW; !err && kind < RS_KINDS; kind++) {
		idx = se->kin[kind];
		if (!idx)
			continue;
		err = recycle_kin(s, idx);
	}
	return err ? err : session__recycle_series(s, &key, r->series[op]);
}

int session__recycle_ring(struct session *s, uint32_t idx)
{
	static const struct rs_reaped unreaped;
	struct session_tables *t = &s->tables;
	struct rs_ring *r = &t->rings[idx];
	uint32_t generation = (r->uid >> 16) + 1, op;
	int err;

	for (op = 0; op < RS_OPS; op++) {
		err = r->series[op] < RS_SERIES_FIRST ? 0 : recycle_op(s, r, op);
		if (err)
			return err;
	}
	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.rs_reaped), &idx, &unreaped, BPF_ANY))
		return -errno;
	if (t->lags)
		memset(&t->lags[idx], 0, sizeof(t->lags[idx]));
	/* generation 0 is ring 0's alone */
	reset_ring(r, idx, generation & 0xffff ? generation & 0xffff : 1);
	return bpf_map_update_elem(s->maps.free_rings, NULL, &idx, BPF_ANY) ? -errno : 0;
}
