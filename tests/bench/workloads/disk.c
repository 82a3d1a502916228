// SPDX-License-Identifier: MIT
/*
 * 4 KiB of a file at a time, through a DEFER_TASKRUN ring.
 *
 *   disk cached FOLDER   random reads of a file that is in the page cache, in batches of 16;
 *                        the latency is that of a batch
 *   disk direct FOLDER   random O_DIRECT reads, 8 in flight
 *   disk fsync FOLDER    a write and, linked to it, an fsync; the latency is that of both
 *
 * The file is made in FOLDER and has no name there.
 */
#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include "slice.h"

#define BLOCK 4096u
#define BATCH 16u
#define DEPTH 8u
#define FILE_BYTES (64u << 20)
#define FILE_BLOCKS (FILE_BYTES / BLOCK)

struct disk {
	struct io_uring ring;
	int fd;
	uint64_t random; /* state of xorshift64 */
	char *buf;	 /* BATCH blocks */
};

struct mode {
	const char *name;
	int file_flags;
	void (*run)(void *arg, struct slice *s);
};

static uint64_t random_offset(struct disk *d)
{
	d->random ^= d->random << 13;
	d->random ^= d->random >> 7;
	d->random ^= d->random << 17;
	return d->random % FILE_BLOCKS * BLOCK;
}

static struct io_uring_sqe *next_sqe(struct disk *d)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&d->ring);

	if (!sqe)
		die(1, "the submission queue is full");
	return sqe;
}

static void submit(struct disk *d, unsigned int wait)
{
	int ret = io_uring_submit_and_wait(&d->ring, wait);

	if (ret < 0 && ret != -EINTR)
		die(1, "submit: %s", strerror(-ret));
}

/* The next CQE's user_data. Dies unless its result is this one. */
static uint64_t reap(struct disk *d, int want)
{
	struct io_uring_cqe *cqe;
	uint64_t data;
	int err;

	do
		err = io_uring_wait_cqe(&d->ring, &cqe);
	while (err == -EINTR);
	if (err)
		die(1, "wait: %s", strerror(-err));
	if (cqe->res != want)
		die(1, "a request gave %d, not %d", cqe->res, want);
	data = cqe->user_data;
	io_uring_cqe_seen(&d->ring, cqe);
	return data;
}

static void count(struct slice *s, unsigned int requests, uint64_t ns)
{
	s->work += requests;
	s->submitted += requests;
	s->completed += requests;
	slice__latency(s, ns);
}

static void queue_read(struct disk *d, unsigned int slot)
{
	struct io_uring_sqe *sqe = next_sqe(d);

	io_uring_prep_read(sqe, d->fd, d->buf + slot * BLOCK, BLOCK, random_offset(d));
	sqe->user_data = slot;
}

static void run_cached(void *arg, struct slice *s)
{
	uint64_t before_ns = s->start_ns, after_ns;

	do {
		for (unsigned int i = 0; i < BATCH; i++)
			queue_read(arg, i);
		submit(arg, BATCH);
		for (unsigned int i = 0; i < BATCH; i++)
			reap(arg, (int)BLOCK);
		after_ns = now_ns();
		count(s, BATCH, after_ns - before_ns);
		before_ns = after_ns;
	} while (!slice__over(s, after_ns));
}

static void run_direct(void *arg, struct slice *s)
{
	uint64_t sent_ns[DEPTH];
	unsigned int in_flight = DEPTH;

	for (unsigned int i = 0; i < DEPTH; i++) {
		queue_read(arg, i);
		sent_ns[i] = s->start_ns;
	}
	submit(arg, 0);
	while (in_flight) {
		unsigned int slot = (unsigned int)reap(arg, (int)BLOCK);
		uint64_t at_ns = now_ns();

		count(s, 1, at_ns - sent_ns[slot]);
		if (slice__over(s, at_ns)) {
			in_flight--;
			continue;
		}
		queue_read(arg, slot);
		sent_ns[slot] = at_ns;
		submit(arg, 1);
	}
}

static void run_fsync(void *arg, struct slice *s)
{
	uint64_t before_ns = s->start_ns, after_ns;
	struct disk *d = arg;

	do {
		struct io_uring_sqe *sqe = next_sqe(d);

		io_uring_prep_write(sqe, d->fd, d->buf, BLOCK, random_offset(d));
		sqe->flags |= IOSQE_IO_LINK;
		sqe->user_data = 0;
		sqe = next_sqe(d);
		io_uring_prep_fsync(sqe, d->fd, 0);
		sqe->user_data = 1;
		submit(d, 2);
		reap(d, (int)BLOCK);
		reap(d, 0);
		after_ns = now_ns();
		count(s, 2, after_ns - before_ns);
		before_ns = after_ns;
	} while (!slice__over(s, after_ns));
}

/* Written, so that there is something to read, and on the disk, so that no writeback disturbs. */
static void fill(struct disk *d)
{
	for (uint64_t at = 0; at < FILE_BYTES; at += BATCH * BLOCK) {
		if (pwrite(d->fd, d->buf, BATCH * BLOCK, (off_t)at) != (ssize_t)(BATCH * BLOCK))
			die(1, "the file can't be written: %s", strerror(errno));
	}
	if (fsync(d->fd))
		die(1, "fsync: %s", strerror(errno));
}

static void make_file(struct disk *d, const struct mode *m, const char *folder)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/bench-XXXXXX", folder) >= (int)sizeof(path))
		die(2, "the name of the folder is too long");
	d->fd = mkostemp(path, O_CLOEXEC);
	if (d->fd < 0)
		die(1, "no file in %s: %s", folder, strerror(errno));
	unlink(path);
	if (fcntl(d->fd, F_SETFL, m->file_flags))
		die(EXIT_SKIP, "no such file in %s: %s", folder, strerror(errno));
	fill(d);
}

static void disk__open(struct disk *d, const struct mode *m, const char *folder)
{
	int err;

	d->buf = aligned_alloc(BLOCK, BATCH * BLOCK);
	if (!d->buf)
		die(1, "no memory");
	memset(d->buf, 'r', BATCH * BLOCK);
	make_file(d, m, folder);
	err = io_uring_queue_init(2 * BATCH, &d->ring,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);
	if (err)
		die(EXIT_SKIP, "this kernel gives no such ring: %s", strerror(-err));
}

static const struct mode modes[] = {
	{ "cached", 0, run_cached },
	{ "direct", O_DIRECT, run_direct },
	{ "fsync", 0, run_fsync },
};

int main(int argc, char **argv)
{
	struct disk d = { .random = 0x9e3779b97f4a7c15u };
	const struct mode *mode = NULL;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (argc == 3 && !strcmp(argv[1], modes[i].name))
			mode = &modes[i];
	}
	if (!mode)
		die(2, "usage: disk cached|direct|fsync FOLDER");
	disk__open(&d, mode, argv[2]);
	serve_slices(mode->run, &d);
	io_uring_queue_exit(&d.ring);
	close(d.fd);
	free(d.buf);
	return 0;
}
