// SPDX-License-Identifier: MIT
/*
 * Reads and writes of a file or a disk that get to the block layer, or do not.
 *
 * block SCENARIO --path PATH|--make FILE [--count N] [--bytes N] [--depth N] [--flags sqpoll|defer|iopoll] [--out FILE]:
 * N requests of so many bytes, at places in disorder, a number of them at a time; FILE is made first. Tells how many
 * there were, of which opcode, and how long they took altogether, at most. Exit status 77: this kernel or file can't
 * do it.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/fs.h>

#include "work_options.h"

#define MAX_DEPTH 64u
#define STRIDE 1000003ull /* prime: visits every block */

struct block {
	const char *scenario, *path, *out;
	bool make; /* the file, first */
	unsigned long count, bytes, depth;
	unsigned int setup_flags;
	int fd;
	uint64_t blocks; /* of so many bytes, in the file */
	char *buf;
	struct io_uring ring;
	uint64_t begun_ns[MAX_DEPTH];
	unsigned int sqe_flags;
	/* the truth */
	const char *op;
	uint64_t requests, total_bytes, most_ns;
};

static void check(long ret, const char *what)
{
	if (ret < 0)
		die(1, "%s: %s", what, strerror(ret == -1 ? errno : (int)-ret));
}

static uint64_t size_of(int fd)
{
	struct stat st;
	uint64_t n;

	check(fstat(fd, &st), "fstat");
	if (!S_ISBLK(st.st_mode))
		return (uint64_t)st.st_size;
	check(ioctl(fd, BLKGETSIZE64, &n), "BLKGETSIZE64");
	return n;
}

/* Written to the disk, every block of it. */
static void make_file(const char *path)
{
	static char block[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	check(fd, path);
	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 8; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die(1, "%s: %s", path, strerror(errno));
	check(fsync(fd), path);
	close(fd);
}

static void open_all(struct block *b, int flags)
{
	int err = io_uring_queue_init(MAX_DEPTH, &b->ring, b->setup_flags);

	if (err == -EINVAL && b->setup_flags)
		die(WORK_SKIP, "this kernel opens no ring with flags %#x", b->setup_flags);
	check(err, "io_uring_queue_init");
	b->fd = open(b->path, flags | O_CLOEXEC);
	if (b->fd < 0 && errno == EINVAL)
		die(WORK_SKIP, "%s: no direct I/O", b->path);
	check(b->fd, b->path);
	b->blocks = size_of(b->fd) / b->bytes;
	if (!b->blocks)
		die(2, "%s is smaller than a request", b->path);
	if (posix_memalign((void **)&b->buf, 4096, b->bytes * MAX_DEPTH))
		die(1, "out of memory");
	memset(b->buf, 'x', b->bytes * MAX_DEPTH);
}

static struct io_uring_sqe *sqe_of(struct block *b, unsigned int slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	if (!sqe)
		die(1, "the SQ is full");
	b->begun_ns[slot] = now_ns();
	return sqe;
}

static void submit_io(struct block *b, unsigned int slot, bool writes)
{
	uint64_t at = b->requests * STRIDE % b->blocks * b->bytes;
	struct io_uring_sqe *sqe = sqe_of(b, slot);
	char *buf = b->buf + slot * b->bytes;

	if (writes)
		io_uring_prep_write(sqe, b->fd, buf, (unsigned int)b->bytes, at);
	else
		io_uring_prep_read(sqe, b->fd, buf, (unsigned int)b->bytes, at);
	sqe->flags |= b->sqe_flags;
	sqe->user_data = slot;
	b->requests++;
	check(io_uring_submit(&b->ring), "io_uring_submit");
}

static unsigned int reap(struct block *b, long want)
{
	struct io_uring_cqe *cqe;
	unsigned int slot;

	check(io_uring_wait_cqe(&b->ring, &cqe), "io_uring_wait_cqe");
	if (cqe->res == -EOPNOTSUPP)
		die(WORK_SKIP, "%s: not supported", b->path);
	if (cqe->res != want)
		die(1, "a request ended with %d, not %ld", cqe->res, want);
	slot = (unsigned int)cqe->user_data;
	b->most_ns += now_ns() - b->begun_ns[slot];
	b->total_bytes += (uint64_t)want;
	io_uring_cqe_seen(&b->ring, cqe);
	return slot;
}

static void drive(struct block *b, bool writes)
{
	unsigned long left = b->count, n;

	b->op = writes ? "WRITE" : "READ";
	for (n = 0; n < b->depth && left; n++, left--)
		submit_io(b, (unsigned int)n, writes);
	while (n) {
		unsigned int slot = reap(b, (long)b->bytes);

		if (left) {
			submit_io(b, slot, writes);
			left--;
		} else {
			n--;
		}
	}
}

static void run_direct(struct block *b)
{
	open_all(b, O_RDONLY | O_DIRECT);
	drive(b, false);
}

static void run_write(struct block *b)
{
	open_all(b, O_RDWR | O_DIRECT);
	drive(b, true);
}

static void run_async(struct block *b)
{
	b->sqe_flags = IOSQE_ASYNC;
	run_direct(b);
}

/* Nothing of the file is in the page cache, and nothing is read ahead. */
static void run_cold(struct block *b)
{
	open_all(b, O_RDONLY);
	check(fsync(b->fd), "fsync");
	if (posix_fadvise(b->fd, 0, 0, POSIX_FADV_DONTNEED) || posix_fadvise(b->fd, 0, 0, POSIX_FADV_RANDOM))
		die(1, "posix_fadvise");
	if (b->blocks < b->count)
		b->count = b->blocks;
	drive(b, false);
}

static void run_cold_async(struct block *b)
{
	b->sqe_flags = IOSQE_ASYNC;
	run_cold(b);
}

/* All that is going to be read is in the page cache. */
static void run_cached(struct block *b)
{
	open_all(b, O_RDONLY);
	for (uint64_t i = 0; i < b->blocks; i++)
		if (pread(b->fd, b->buf, b->bytes, (off_t)(i * b->bytes)) != (ssize_t)b->bytes)
			die(1, "pread: %s", strerror(errno));
	drive(b, false);
}

/* Written into the page cache by other means, and to the disk by an FSYNC. */
static void run_fsync(struct block *b)
{
	open_all(b, O_RDWR);
	b->op = "FSYNC";
	while (b->requests < b->count) {
		uint64_t at = b->requests++ * STRIDE % b->blocks * b->bytes;
		struct io_uring_sqe *sqe;

		if (pwrite(b->fd, b->buf, b->bytes, (off_t)at) != (ssize_t)b->bytes)
			die(1, "pwrite: %s", strerror(errno));
		sqe = sqe_of(b, 0);
		io_uring_prep_fsync(sqe, b->fd, IORING_FSYNC_DATASYNC);
		sqe->user_data = 0;
		check(io_uring_submit(&b->ring), "io_uring_submit");
		reap(b, 0);
	}
}

static const struct {
	const char *name;
	void (*run)(struct block *b);
} scenarios[] = {
	{ "direct", run_direct },
	{ "write", run_write },
	{ "async", run_async },
	{ "cold", run_cold },
	{ "cold-async", run_cold_async },
	{ "cached", run_cached },
	{ "fsync", run_fsync },
};

static void tell(const struct block *b)
{
	FILE *f = b->out ? fopen(b->out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", b->out, strerror(errno));
	fprintf(f, "{\"block\":\"%s\",\"op\":\"%s\",\"requests\":%llu,\"bytes\":%llu,\"most_ns\":%llu}\n",
		b->scenario, b->op, (unsigned long long)b->requests, (unsigned long long)b->total_bytes,
		(unsigned long long)b->most_ns);
	if (fflush(f) || (b->out && fclose(f)))
		die(1, "can't write: %s", strerror(errno));
}

static unsigned int ring_flags(const char *name)
{
	if (!strcmp(name, "sqpoll"))
		return IORING_SETUP_SQPOLL;
	if (!strcmp(name, "iopoll"))
		return IORING_SETUP_IOPOLL;
	if (!strcmp(name, "defer"))
		return IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	die(2, "no such flag: %s", name);
}

static void parse(int argc, char **argv, struct block *b)
{
	static const struct option options[] = { { "count", required_argument, NULL, 'n' },
		{ "bytes", required_argument, NULL, 'b' }, { "depth", required_argument, NULL, 'q' },
		{ "path", required_argument, NULL, 'p' }, { "make", required_argument, NULL, 'm' },
		{ "flags", required_argument, NULL, 'f' }, { "dir", required_argument, NULL, 'd' },
		{ "out", required_argument, NULL, 'o' }, { 0 } };
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'n')
			b->count = work_natural(optarg, 1000000);
		else if (c == 'b')
			b->bytes = work_natural(optarg, 16 << 20) / 4096 * 4096;
		else if (c == 'q')
			b->depth = work_natural(optarg, MAX_DEPTH);
		else if (c == 'p')
			b->path = optarg;
		else if (c == 'm')
			b->make = (b->path = optarg) != NULL;
		else if (c == 'f')
			b->setup_flags = ring_flags(optarg);
		else if (c == 'o')
			b->out = optarg;
		else if (c != 'd')
			exit(2);
	}
}

int main(int argc, char **argv)
{
	struct block b = { .count = 1000, .bytes = 4096, .depth = 1 };

	parse(argc, argv, &b);
	for (size_t i = 0; b.path && optind == argc - 1 && i < sizeof(scenarios) / sizeof(scenarios[0]);
		i++) {
		if (strcmp(argv[optind], scenarios[i].name))
			continue;
		b.scenario = scenarios[i].name;
		if (b.make)
			make_file(b.path);
		scenarios[i].run(&b);
		io_uring_queue_exit(&b.ring);
		tell(&b);
		return 0;
	}
	fprintf(stderr,
		"usage: block direct|write|async|cold|cold-async|cached|fsync --path PATH|--make FILE [--count N] "
		"[--bytes N] [--depth N] [--flags sqpoll|defer|iopoll] [--out FILE]\n");
	return 2;
}
