// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The block layer: what it does for requests, and the disks that it does it with. What may run in interrupts
 * only stamps slots (struct rs_block) and adds to disks.
 */
#include "issuing.h"
#include "rings.h"
#include "slots.h"
#include "staged.h"

#include "agg.h"

/* As many bios as the largest request of a disk has. */
#define BIOS_MAX 256
/* A bio is cut this often at most, one part after the other off the same one: the chain to it is short. */
#define CHAIN_MAX 4
/* Of a bio that names an iocb which can be no io_kiocb. */
#define NO_REQUEST (~0ull)

/* A bio, or the one that it was cut off; and whose it is. */
struct bio_about {
	u64 bio;
	u64 req; /* 0: it does not say */
	bool is_part;
};

static __noinline int bio_ask(u64 addr, struct bio_about *ret)
{
	struct bio *bio = (void *)addr;
	u64 end, iocb;
	void *dio_of;
	u32 i;

	if (!ret)
		return 0;
	end = (u64)BPF_CORE_READ(bio, bi_end_io);
	for (i = 0; i < CHAIN_MAX && end && end == rs_config.bio_chain_end; i++) {
		bio = BPF_CORE_READ(bio, bi_private);
		end = (u64)BPF_CORE_READ(bio, bi_end_io);
	}
	ret->bio = (u64)bio;
	ret->is_part = i > 0;
	ret->req = 0;
	if (!end)
		return 0;
	dio_of = BPF_CORE_READ(bio, bi_private);
	if (end == rs_config.blkdev_dio_end_async)
		dio_of = (void *)bio - bpf_core_field_offset(struct blkdev_dio, bio);
	if (end == rs_config.iomap_dio_end)
		iocb = (u64)BPF_CORE_READ((struct iomap_dio *)dio_of, iocb);
	else if (end == rs_config.blkdev_dio_end || end == rs_config.blkdev_dio_end_async)
		/* of synchronous I/O it is the task that waits */
		iocb = (u64)BPF_CORE_READ((struct blkdev_dio *)dio_of, iocb);
	else
		return 0;
	/* the iocb of an io_uring request is its first member */
	ret->req = iocb ? iocb : NO_REQUEST;
	return 0;
}

/* A request in flight, of a ring of ours. */
struct found {
	struct rs_hot *s;
	struct rs_ring *r;
	struct place p;
	u32 i;
};

/* req may be anything: io_kiocbs are known by their addresses. */
static __always_inline bool find_request(u64 req, struct found *f)
{
	if (req < 4096 || !place_of(PTR_LOW32(req), &f->p))
		return false;
	f->s = slot_find(&f->p, req, &f->i);
	if (!f->s || (f->s->flags & RS_SLOT_REJECTED))
		return false;
	f->r = ring_by_uid(f->s->ring_uid);
	return f->r && f->r->ctx == (u64)BPF_CORE_READ((struct io_kiocb *)req, ctx);
}

/* Whether a batch of this ring is being submitted: sq.head moves at its end. REWIND rings publish no head. */
static __always_inline bool is_submitting(struct rs_ring *r)
{
	struct io_ring_ctx *ctx = (void *)r->ctx;

	return !(r->flags & RS_RING_REWIND) &&
	       BPF_CORE_READ(ctx, cached_sq_head) != BPF_CORE_READ(ctx, rings, sq.head);
}

/* The request that this thread is at work on, 0: none. *ret_submitting: on its way into the kernel. */
static __noinline u64 at_work_on(void)
{
	struct rs_issuing *e = issuing_of((u32)bpf_get_current_pid_tgid());
	struct found f;

	if (e && e->tid == (u32)bpf_get_current_pid_tgid() && find_request(e->req, &f) && is_submitting(f.r))
		return e->req;
	return worked_on();
}

/* Since when a bio has waited that the kernel held back (io.max), and queues only now from a thread of its own. */
static __always_inline u64 held_back_since(struct found *f, u64 now)
{
	struct rs_cold *c = cold_at(f->p.group, f->i);
	u32 flags = BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), flags);

	if (!(flags & PF_KTHREAD))
		return now;
	if (!(f->s->flags & RS_SLOT_STAGED))
		return f->s->submit_ns;
	return c && (c->stage == RS_ST_ISSUE || c->stage == RS_ST_WQ_RUN) ? c->since_ns : now;
}

/* A request that reads bit by bit: what has been done so far is one turn. */
static __noinline int end_turn(u32 group, u32 i, u64 now)
{
	struct rs_hot_group *g = hot_group(group);
	struct rs_cold *c = cold_at(group, i);
	struct rs_block *b = block_at(group, i);
	struct rs_hot *s;

	if (!g || !c || !b)
		return 0;
	s = &g->s[in_group(i)];
	if (!(s->flags & RS_SLOT_STAGED)) {
		rs_stages_begin(c, RS_ST_ISSUE, s->submit_ns);
		s->flags |= RS_SLOT_STAGED;
	}
	rs_block_settle(c, b, c->stage, now);
	return 0;
}

static __noinline int on_queued(u64 req, u32 flags, u64 bio)
{
	struct rs_block *b;
	struct rs_bio known = { .req = req };
	struct found f;
	u64 now, since;

	if (!find_request(req, &f))
		return 0;
	known.submit_ns = f.s->submit_ns;
	if (!(flags & RS_BLOCK_DIRECT))
		bpf_map_update_elem(&rs_bios, &bio, &known, BPF_ANY);
	b = block_at(f.p.group, f.i);
	if (!b || !slot_is_staged(f.s))
		return 0;
	now = bpf_ktime_get_ns();
	if (b->of_ns != f.s->submit_ns) {
		b->of_ns = 0;
		b->queued_ns = b->issued_ns = b->done_ns = b->blk_queue_ns = b->device_ns = 0;
		b->flags = 0;
		b->of_ns = f.s->submit_ns;
	} else if (rs_block_is_done(b) && b->done_ns >= b->last_queued_ns &&
		   !((b->flags | flags) & RS_BLOCK_DIRECT)) {
		end_turn(f.p.group, f.i, now);
	}
	since = flags & RS_BLOCK_DIRECT ? held_back_since(&f, now) : now;
	b->flags |= flags;
	b->last_queued_ns = now;
	if (!b->queued_ns)
		b->queued_ns = since;
	return 0;
}

SEC("?tp_btf/block_bio_queue")
int BPF_PROG(rs_bio_queue, struct bio *bio)
{
	struct bio_about about = {};
	u64 req;

	if (!rs.active)
		return 0;
	bio_ask((u64)bio, &about);
	if (about.req)
		return on_queued(about.req, RS_BLOCK_DIRECT, 0);
	req = at_work_on();
	return req ? on_queued(req, 0, (u64)bio) : 0;
}

/* The bios of a request of the block layer, one after the other. */
struct bio_walk {
	u64 bio;
	u64 now;
	bool done;
	u32 bios, parts, observed;
};

/* A part of req went to a device, or is done. of_ns: its submit_ns, ~0: whichever. Whether it is one of ours. */
static __noinline u32 stamp(u64 req, u64 of_ns, bool done, u64 now)
{
	struct rs_block *b;
	struct found f;

	if (!find_request(req, &f) || (of_ns != ~0ull && of_ns != f.s->submit_ns))
		return 0;
	b = block_at(f.p.group, f.i);
	if (!b || !f.s->submit_ns || b->of_ns != f.s->submit_ns || !b->queued_ns)
		return 1;
	/* a flush has no request of its own that goes to the disk */
	if (!b->issued_ns)
		b->issued_ns = done ? b->last_queued_ns : now;
	if (done && now > b->done_ns)
		b->done_ns = now;
	return 1;
}

static int walk_bio(u32 i, void *arg)
{
	struct bio_about about = {};
	struct bio_walk *w = arg;
	struct bio *bio = (void *)w->bio;
	u64 req, of_ns = ~0ull;
	struct rs_bio *known;

	if (!bio)
		return 1;
	bio_ask((u64)bio, &about);
	req = about.req;
	if (!req) {
		known = bpf_map_lookup_elem(&rs_bios, &about.bio);
		if (known) {
			req = known->req;
			of_ns = known->submit_ns;
		}
	}
	if (req)
		w->observed |= stamp(req, of_ns, w->done, w->now);
	if (req && w->done && !about.req && !about.is_part)
		bpf_map_delete_elem(&rs_bios, &about.bio);
	w->bios++;
	w->parts += about.is_part;
	w->bio = (u64)BPF_CORE_READ(bio, bi_next);
	return !w->bio;
}

static __always_inline struct rs_device *device_at(u32 idx)
{
	return bpf_map_lookup_elem(&rs_devices, &idx);
}

static __noinline int device_describe(struct rs_device *d, struct gendisk *disk)
{
	if (!d || !disk)
		return 0;
	d->major = BPF_CORE_READ(disk, major);
	d->minor = BPF_CORE_READ(disk, first_minor);
	d->lat.min_ns = ~0ull;
	BPF_CORE_READ_STR_INTO(&d->name, disk, disk_name);
	return 0;
}

/* Index of the entry of a disk, RS_DEVICES: none. It gets one with the first request that is observed. */
static __noinline u32 device_of(u64 rq, u32 observed)
{
	struct gendisk *disk = BPF_CORE_READ((struct request *)rq, q, disk);
	u32 *known, idx;
	u64 key;

	if (!disk)
		return RS_DEVICES;
	key = (u64)BPF_CORE_READ(disk, major) << 32 | (u32)BPF_CORE_READ(disk, first_minor);
	known = bpf_map_lookup_elem(&rs_device_index, &key);
	if (known)
		return *known;
	if (!observed)
		return RS_DEVICES;
	if (rs.devices >= RS_DEVICES)
		goto full;
	idx = __sync_fetch_and_add(&rs.devices, 1);
	if (idx >= RS_DEVICES)
		goto full;
	device_describe(device_at(idx), disk);
	/* another CPU may have been quicker: then this entry stays empty */
	if (!bpf_map_update_elem(&rs_device_index, &key, &idx, BPF_NOEXIST))
		return idx;
	known = bpf_map_lookup_elem(&rs_device_index, &key);
	return known ? *known : RS_DEVICES;
full:
	ATOMIC_ADD(&rs.devices_full, 1);
	return RS_DEVICES;
}

/* Again issued after it was given back: the first time counts. */
static __noinline int device_issued(u64 addr, struct bio_walk *w)
{
	struct request *rq = (void *)addr;
	struct rs_rq fresh = {};
	struct rs_device *d;
	u32 n;

	if (!w || bpf_map_lookup_elem(&rs_rqs, &addr))
		return 0;
	fresh.device = device_of(addr, w->observed);
	d = device_at(fresh.device);
	if (!d)
		return 0;
	fresh.issued_ns = w->now;
	fresh.bytes = BPF_CORE_READ(rq, __data_len);
	fresh.op = BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;
	fresh.observed = w->observed != 0;
	if (bpf_map_update_elem(&rs_rqs, &addr, &fresh, BPF_NOEXIST))
		return 0;
	n = __sync_fetch_and_add(&d->in_flight, 1) + 1;
	/* one of two at the same time may be lost */
	if (n > d->depth_max)
		d->depth_max = n;
	if (w->bios > 1)
		ATOMIC_ADD(&d->merged, w->bios - 1);
	if (w->parts)
		ATOMIC_ADD(&d->split, w->parts);
	return 0;
}

static __always_inline void count_size(struct rs_device *d, u32 bytes)
{
	u32 octave = bytes > 512 ? rs_log2(bytes - 1) - 8 : 0;

	if (octave >= RS_SIZES)
		octave = RS_SIZES - 1;
	ATOMIC_ADD(&d->sizes[octave & (RS_SIZES - 1)], 1);
	if (bytes > d->max_bytes)
		d->max_bytes = bytes;
}

static __noinline int device_done(u64 addr, u32 error, u32 done_bytes, u64 now)
{
	struct rs_rq *known = bpf_map_lookup_elem(&rs_rqs, &addr), q;
	struct rs_device *d;

	/* in part: it comes again for the rest */
	if (!known || done_bytes < BPF_CORE_READ((struct request *)addr, __data_len))
		return 0;
	q = *known;
	if (bpf_map_delete_elem(&rs_rqs, &addr))
		return 0;
	d = device_at(q.device);
	if (!d)
		return 0;
	ATOMIC_ADD(&d->in_flight, -1);
	if (q.op == REQ_OP_READ) {
		ATOMIC_ADD(&d->reads, 1);
		ATOMIC_ADD(&d->read_bytes, q.bytes);
	} else if (q.op == REQ_OP_WRITE || q.op == REQ_OP_ZONE_APPEND) {
		ATOMIC_ADD(&d->writes, 1);
		ATOMIC_ADD(&d->written_bytes, q.bytes);
	} else {
		ATOMIC_ADD(&d->others, 1);
	}
	if (q.op == REQ_OP_READ || q.op == REQ_OP_WRITE || q.op == REQ_OP_ZONE_APPEND)
		count_size(d, q.bytes);
	if (q.observed)
		ATOMIC_ADD(&d->observed, 1);
	if (error)
		ATOMIC_ADD(&d->errors, 1);
	rs_lat_add(&d->lat, now > q.issued_ns ? now - q.issued_ns : 0, 1);
	return 0;
}

SEC("?tp_btf/block_rq_issue")
int BPF_PROG(rs_rq_issue, struct request *rq)
{
	struct bio_walk w = {};

	if (!rs.active)
		return 0;
	w.now = bpf_ktime_get_ns();
	w.bio = (u64)rq->bio;
	/* since 5.17; the features that need it are younger */
	bpf_loop(BIOS_MAX, walk_bio, &w, 0);
	return device_issued((u64)rq, &w);
}

/* blk_status_t is a byte; an int before 5.16, and no older kernel is meant. */
SEC("?tp_btf/block_rq_complete")
int BPF_PROG(rs_rq_complete, struct request *rq, u8 error, unsigned int nr_bytes)
{
	struct bio_walk w = {};

	if (!rs.active)
		return 0;
	w.now = bpf_ktime_get_ns();
	w.done = true;
	w.bio = (u64)rq->bio;
	bpf_loop(BIOS_MAX, walk_bio, &w, 0);
	return device_done((u64)rq, error, nr_bytes, w.now);
}
