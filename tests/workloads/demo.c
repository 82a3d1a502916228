// SPDX-License-Identifier: MIT
/*
 * A small storage engine at work for a few seconds: something worth a report.
 *
 *   lookup      eight keys at a time, but one SQE to a submission: needlessly many system calls
 *   wal         buffered appends, each linked to an fdatasync: every one blocks a worker
 *   compaction  large O_DIRECT reads, eight to a submission, 32 in flight: well done
 *   scan        readahead-friendly cached reads, 16 to a submission: well done
 */
#include <pthread.h>

#include "work.h"

#define DATA_BYTES (64u << 20)
#define LARGE_BYTES (64u << 10)
#define DEPTH 32u

struct engine {
	const struct work *w;
	int data_fd;
	int direct_fd;
	uint64_t end_ns;
};

struct role {
	const char *name;
	void (*round)(struct engine *e, struct wring *r, char *bufs, uint64_t i);
	unsigned int setup_flags;
};

struct player {
	const struct role *role;
	struct engine *e;
	struct tally *t;
	pthread_t thread;
};

static uint64_t scatter(uint64_t i, uint64_t unit)
{
	return i * 2654435761u % (DATA_BYTES / unit) * unit;
}

static void queue_read(struct wring *r, int fd, char *bufs, unsigned int bytes, uint64_t off)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	io_uring_prep_read(sqe, fd, bufs + (size_t)slot * LARGE_BYTES, bytes, off);
	wring__queue(r, sqe, slot, SLOT_REQUEST);
}

static void lookup_round(struct engine *e, struct wring *r, char *bufs, uint64_t i)
{
	const unsigned int keys = 8;

	for (unsigned int k = 0; k < keys; k++) {
		queue_read(r, e->data_fd, bufs, WORK_BLOCK, scatter(i * keys + k, WORK_BLOCK));
		wring__submit(r, 0);
	}
	wring__reap(r, keys);
}

static void wal_round(struct engine *e, struct wring *r, char *bufs, uint64_t i)
{
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	io_uring_prep_write(sqe, e->data_fd, bufs, WORK_BLOCK, i * WORK_BLOCK % DATA_BYTES);
	sqe->flags |= IOSQE_IO_LINK;
	wring__queue(r, sqe, slot, SLOT_REQUEST);
	sqe = wring__sqe(r, &slot);
	io_uring_prep_fsync(sqe, e->data_fd, IORING_FSYNC_DATASYNC);
	wring__queue(r, sqe, slot, SLOT_REQUEST);
	wring__submit(r, 2);
	wring__reap(r, 2);
}

static void compaction_round(struct engine *e, struct wring *r, char *bufs, uint64_t i)
{
	const unsigned int batch = 8;
	unsigned int want;

	for (unsigned int k = 0; k < batch; k++)
		queue_read(r, e->direct_fd, bufs, LARGE_BYTES, scatter(i * batch + k, LARGE_BYTES));
	want = r->n_free >= batch ? 0 : batch - r->n_free;
	wring__submit(r, want);
	wring__reap(r, want);
}

static void scan_round(struct engine *e, struct wring *r, char *bufs, uint64_t i)
{
	const unsigned int batch = 16;

	for (unsigned int k = 0; k < batch; k++)
		queue_read(r, e->data_fd, bufs, 4 * WORK_BLOCK,
			(i * batch + k) * 4 * WORK_BLOCK % DATA_BYTES);
	wring__submit(r, batch);
	wring__reap(r, batch);
}

static const struct role roles[] = {
	{ "lookup", lookup_round, 0 },
	{ "wal", wal_round, 0 },
	{ "compaction", compaction_round, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN },
	{ "scan", scan_round, IORING_SETUP_COOP_TASKRUN },
};
#define ROLES (sizeof(roles) / sizeof(roles[0]))

static void *play(void *arg)
{
	struct player *p = arg;
	char *bufs = block_alloc(DEPTH * (LARGE_BYTES / WORK_BLOCK));
	struct wring r;

	pthread_setname_np(pthread_self(), p->role->name);
	wring__open(&r, p->t, DEPTH, 0, DEPTH, p->role->setup_flags);
	for (uint64_t i = 0; now_ns() < p->e->end_ns; i++)
		p->role->round(p->e, &r, bufs, i);
	wring__drain(&r);
	wring__close(&r);
	free(bufs);
	return NULL;
}

/* A file system without O_DIRECT gets buffered reads instead. */
static int open_direct(int fd)
{
	char path[64];
	int direct;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (direct < 0)
		direct = open(path, O_RDONLY | O_CLOEXEC);
	if (direct < 0)
		die(1, "%s: %s", path, strerror(errno));
	return direct;
}

static void run_engine(struct work *w, struct tally *t)
{
	struct engine e = { .w = w, .data_fd = work__file(w, DATA_BYTES, O_RDWR) };
	struct player players[ROLES];
	uint64_t start_ns, requests = 0;

	e.direct_fd = open_direct(e.data_fd);
	start_ns = now_ns();
	e.end_ns = start_ns + w->ms * 1000000;
	for (size_t i = 0; i < ROLES; i++) {
		players[i] = (struct player){ .role = &roles[i], .e = &e, .t = tally__new(0) };
		if (pthread_create(&players[i].thread, NULL, play, &players[i]))
			die(1, "no thread");
	}
	for (size_t i = 0; i < ROLES; i++) {
		if (pthread_join(players[i].thread, NULL))
			die(1, "a thread can't be joined");
		tally__add(t, players[i].t);
	}
	for (unsigned int op = 0; op < WORK_OPS; op++)
		requests += t->op[op].completed;
	fprintf(stderr, "demo: %llu requests on %zu rings in %.1f s\n", (unsigned long long)requests, ROLES,
		(double)(now_ns() - start_ns) / 1e9);
	close(e.direct_fd);
	close(e.data_fd);
}

static const struct scenario scenarios[] = {
	{ "engine", run_engine, 1, 1, 1, "four threads with a ring each, for --ms" },
};

/* Without arguments: six seconds, and no numbers on stdout where a report will stand. */
int main(int argc, char **argv)
{
	char *quiet[] = { argv[0], "engine", "--ms", "6000", "--untimed", "--out", "/dev/null", NULL };

	if (argc == 1)
		return work_main(7, quiet, scenarios, 1);
	return work_main(argc, argv, scenarios, 1);
}
