// SPDX-License-Identifier: MIT
/* Files: reads and writes, requests that workers run, requests that fail, registrations. */
#include <linux/magic.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>

#include "work.h"

#define FILE_BYTES (4u << 20)
#define FILE_BLOCKS (FILE_BYTES / WORK_BLOCK)

struct io {
	int fd;
	int stray_fd;
	char *buf; /* a block for every slot */
	uint64_t stray;
};

static struct io io__open(const struct work *w, int flags, unsigned int slots)
{
	struct io io = { .fd = work__file(w, FILE_BYTES, O_RDWR | flags), .stray_fd = -1 };

	io.buf = block_alloc(slots);
	io.stray = w->stray;
	return io;
}

static void io__close(struct io *io)
{
	close(io->fd);
	if (io->stray_fd >= 0)
		close(io->stray_fd);
	free(io->buf);
}

/*
 * A file whose reads can neither be tried without blocking nor be waited for with poll: the
 * kernel has to give each of them to a worker.
 */
static int open_unpollable(void)
{
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die(1, "/proc/self/stat: %s", strerror(errno));
	return fd;
}

static uint64_t block_offset(uint64_t i)
{
	return (i * 2654435761u) % FILE_BLOCKS * WORK_BLOCK;
}

static void prep_read(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg)
{
	struct io *io = arg;
	char *buf = io->buf + (size_t)slot * WORK_BLOCK;

	if (io->stray && i % io->stray == 0) {
		io_uring_prep_read(sqe, io->stray_fd, buf, 16, 0);
		if (r->t->op[IORING_OP_READ].punted[PUNT_UNWANTED] != WORK_UNKNOWN)
			tally__punted(r->t, IORING_OP_READ, PUNT_UNWANTED, 1);
		return;
	}
	io_uring_prep_read(sqe, io->fd, buf, WORK_BLOCK, block_offset(i));
}

static void read_file(struct work *w, struct tally *t, int flags)
{
	unsigned int slots = w->batch * 4;
	struct io io = io__open(w, flags, slots);
	struct wring r;

	if (io.stray)
		io.stray_fd = open_unpollable();
	wring__open(&r, t, slots, 0, slots, w->setup_flags);
	wring__drive(&r, w->count, w->batch, prep_read, &io);
	wring__close(&r);
	io__close(&io);
}

/* Whether reads of cached blocks never need a worker there: tmpfs on newer kernels does. */
static bool reads_cache_inline(const char *dir)
{
	struct statfs fs;

	if (statfs(dir, &fs))
		die(1, "%s: %s", dir, strerror(errno));
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC ||
	       fs.f_type == BTRFS_SUPER_MAGIC;
}

/* The file was just written, so every block of it is in the page cache. */
static void run_read(struct work *w, struct tally *t)
{
	if (reads_cache_inline(w->dir))
		tally__never_punted(t, IORING_OP_READ);
	t->poll_armed = 0;
	read_file(w, t, 0);
}

static void run_direct(struct work *w, struct tally *t)
{
	read_file(w, t, O_DIRECT);
}

/* Pairs of a write and the fsync linked to it; the worker that ran the write runs the fsync too. */
static void run_write(struct work *w, struct tally *t)
{
	struct io io = io__open(w, 0, 1);
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_write(sqe, io.fd, io.buf, WORK_BLOCK, i % FILE_BLOCKS * WORK_BLOCK);
		sqe->flags |= IOSQE_IO_LINK;
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		sqe = wring__sqe(&r, &slot);
		io_uring_prep_fsync(sqe, io.fd, 0);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		tally__punted(t, IORING_OP_FSYNC, PUNT_OPCODE, 1);
		wring__submit(&r, 2);
		wring__drain(&r);
	}
	wring__close(&r);
	io__close(&io);
}

static void prep_async(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg)
{
	if (i % 2) {
		prep_read(r, sqe, i, slot, arg);
		sqe->flags |= IOSQE_ASYNC;
	} else {
		io_uring_prep_nop(sqe);
		if (i % 4)
			sqe->flags |= IOSQE_ASYNC;
	}
}

/* Half of all requests read and ask for a worker; of the other half, NOPs, every second asks. */
static void run_async(struct work *w, struct tally *t)
{
	unsigned int slots = w->batch * 2;
	struct io io = io__open(w, 0, slots);
	struct wring r;

	io.stray = 0;
	wring__open(&r, t, slots, 0, slots, w->setup_flags);
	tally__punted(t, IORING_OP_NOP, PUNT_UNWANTED, 0);
	tally__punted(t, IORING_OP_READ, PUNT_UNWANTED, 0);
	wring__drive(&r, w->count, w->batch, prep_async, &io);
	wring__close(&r);
	io__close(&io);
}

/* Chains of three whose head asks for a worker: it runs the whole chain. */
static void run_chain(struct work *w, struct tally *t)
{
	struct wring r;
	unsigned int slot;

	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i + 3 <= w->count; i += 3) {
		for (unsigned int k = 0; k < 3; k++) {
			struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

			io_uring_prep_nop(sqe);
			sqe->flags |= k < 2 ? IOSQE_IO_LINK : 0;
			sqe->flags |= k == 0 ? IOSQE_ASYNC : 0;
			wring__queue(&r, sqe, slot, SLOT_REQUEST);
		}
		tally__punted(t, IORING_OP_NOP, PUNT_ASKED, 2);
		wring__submit(&r, 3);
		wring__drain(&r);
	}
	wring__close(&r);
}

/* Reads that no flag sends to a worker and that all end there. */
static void run_unwanted(struct work *w, struct tally *t)
{
	w->stray = 1;
	tally__never_punted(t, IORING_OP_READ);
	read_file(w, t, 0);
}

enum fault { BAD_FD, NO_ENTRY, NOT_SYNCABLE, BROKEN_LINK, REFUSED, FAULTS };

/* Returns how the kernel will take it. */
static enum slot_kind prep_fault(struct io_uring_sqe *sqe, enum fault fault, int event_fd, char *buf)
{
	switch (fault) {
	case BAD_FD:
	case BROKEN_LINK:
		io_uring_prep_read(sqe, 1000000, buf, WORK_BLOCK, 0);
		sqe->flags |= fault == BROKEN_LINK ? IOSQE_IO_LINK : 0;
		return SLOT_REQUEST;
	case NO_ENTRY:
		io_uring_prep_openat(sqe, AT_FDCWD, "/nonexistent/file", O_RDONLY, 0);
		return SLOT_REQUEST;
	case NOT_SYNCABLE:
		io_uring_prep_fsync(sqe, event_fd, 0);
		return SLOT_REQUEST;
	default:
		io_uring_prep_nop(sqe);
		sqe->opcode = 250;
		return SLOT_REJECTED;
	}
}

/* EBADF, ENOENT, EINVAL, ECANCELED and SQEs that the kernel refuses, `count` rounds of them. */
static void run_errors(struct work *w, struct tally *t)
{
	int event_fd = eventfd(0, EFD_CLOEXEC);
	char *buf = block_alloc(1);
	unsigned int slot;
	struct wring r;

	if (event_fd < 0)
		die(1, "eventfd: %s", strerror(errno));
	wring__open(&r, t, 16, 0, 16, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		/* files that are looked up at submission make a bad one a refusal (before 5.19) */
		for (enum fault f = r.u.features & IORING_FEAT_LINKED_FILE ? BAD_FD : BAD_FD + 1; f < FAULTS;
			f++) {
			struct io_uring_sqe *sqe = wring__sqe(&r, &slot);
			enum slot_kind kind = prep_fault(sqe, f, event_fd, buf);

			wring__queue(&r, sqe, slot, kind);
			if (f != BROKEN_LINK)
				continue;
			sqe = wring__sqe(&r, &slot);
			io_uring_prep_nop(sqe);
			wring__queue(&r, sqe, slot, SLOT_REQUEST);
		}
		wring__submit(&r, 0);
		wring__drain(&r);
	}
	wring__close(&r);
	close(event_fd);
	free(buf);
}

static void prep_fixed(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg)
{
	struct io *io = arg;

	r->t->imports++;
	io_uring_prep_read_fixed(sqe, 0, io->buf + (size_t)slot * WORK_BLOCK, WORK_BLOCK, block_offset(i), 0);
	sqe->flags |= IOSQE_FIXED_FILE;
}

/* Registered buffers and files in use; the second registration of buffers fails. */
static void run_fixed(struct work *w, struct tally *t)
{
	unsigned int slots = w->batch * 2;
	struct io io = io__open(w, 0, slots);
	struct iovec iov = { .iov_base = io.buf, .iov_len = (size_t)slots * WORK_BLOCK };
	struct wring r;
	int ret;

	wring__open(&r, t, slots, 0, slots, w->setup_flags);
	ret = io_uring_register_buffers(&r.u, &iov, 1);
	if (ret)
		die(ret == -ENOMEM ? WORK_SKIP : 1, "register_buffers: %s", strerror(-ret));
	tally__register(t, "REGISTER_BUFFERS", ret);
	ret = io_uring_register_buffers(&r.u, &iov, 1);
	if (ret != -EBUSY)
		die(1, "buffers were registered twice: %d", ret);
	tally__register(t, "REGISTER_BUFFERS", ret);
	ret = io_uring_register_files(&r.u, &io.fd, 1);
	if (ret)
		die(1, "register_files: %s", strerror(-ret));
	tally__register(t, "REGISTER_FILES", ret);
	wring__drive(&r, w->count, w->batch, prep_fixed, &io);
	tally__register(t, "UNREGISTER_FILES", io_uring_unregister_files(&r.u));
	tally__register(t, "UNREGISTER_BUFFERS", io_uring_unregister_buffers(&r.u));
	wring__close(&r);
	io__close(&io);
}

static const struct scenario scenarios[] = {
	{ "read", run_read, 100000, 16, 1,
		"buffered reads of a cached file; every --stray'th needs a worker" },
	{ "direct", run_direct, 5000, 8, 1, "O_DIRECT reads" },
	{ "write", run_write, 300, 2, 1, "buffered writes, each linked to an fsync" },
	{ "async", run_async, 20000, 16, 1, "requests with IOSQE_ASYNC among others" },
	{ "chain", run_chain, 3000, 3, 1, "link chains whose head has IOSQE_ASYNC" },
	{ "unwanted", run_unwanted, 5000, 8, 1, "reads that only a worker can do" },
	{ "errors", run_errors, 500, 7, 1, "requests that fail and SQEs that are refused" },
	{ "fixed", run_fixed, 20000, 16, 1, "registered buffers and files" },
};

int main(int argc, char **argv)
{
	return work_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
