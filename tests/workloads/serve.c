// SPDX-License-Identifier: MIT
/*
 * A program that does what it is told, so that an observer can come and go at known moments.
 *
 * Reads commands on stdin, one a line, and answers each with one JSON object on stdout when
 * it has been carried out. Prints the truth of its whole life at "quit" or end of file.
 *
 *   ring       open a ring
 *   run N      N NOPs on the last ring, to their end
 *   hold N     N reads that stay in flight
 *   release    let the held reads end
 *   stuck N    N reads that hang in a worker
 *   pass MS    let that much time pass
 *   unstick    let them end
 *   load       from now on, a thread keeps a ring of its own busy
 *   turns N    wait until it has gone round N more times
 *   unload     stop it; its requests end first
 *   quit
 */
#include <pthread.h>
#include <sys/socket.h>

#include "serve_stuck.h"
#include "work.h"

#define RINGS 8
#define ENTRIES 64u
#define SLOTS 1024u
#define LOAD_BATCH 16u

struct serve {
	struct tally *t;
	struct wring rings[RINGS];
	unsigned int n_rings;
	int sv[2];
	uint64_t held;
	struct stuck stuck;
	struct tally *load_tally; /* NULL: no load */
	pthread_t load_thread;
	pthread_mutex_t lock;
	pthread_cond_t turned;
	uint64_t turns; /* under lock */
	bool stop;	/* under lock */
};

static void send_bytes(int fd, uint64_t n)
{
	static const char zeros[256];

	while (n) {
		size_t len = n < sizeof(zeros) ? n : sizeof(zeros);
		ssize_t ret = write(fd, zeros, len);

		if (ret <= 0)
			die(1, "write: %s", strerror(errno));
		n -= (uint64_t)ret;
	}
}

static void open_pair(int sv[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die(1, "socketpair: %s", strerror(errno));
}

static struct wring *last_ring(struct serve *s)
{
	if (!s->n_rings)
		die(2, "no ring yet");
	return &s->rings[s->n_rings - 1];
}

static void queue_read(struct wring *r, int fd)
{
	static char byte;
	unsigned int slot;
	struct io_uring_sqe *sqe = wring__sqe(r, &slot);

	io_uring_prep_recv(sqe, fd, &byte, 1, 0);
	wring__queue(r, sqe, slot, SLOT_REQUEST);
}

static void do_ring(struct serve *s, uint64_t n)
{
	(void)n;
	if (s->n_rings == RINGS)
		die(2, "no more rings");
	wring__open(&s->rings[s->n_rings++], s->t, ENTRIES, 2 * SLOTS, SLOTS, 0);
}

static void do_run(struct serve *s, uint64_t n)
{
	struct wring *r = last_ring(s);
	unsigned int slot;

	while (n) {
		unsigned int k = n < 32 ? (unsigned int)n : 32;

		for (unsigned int i = 0; i < k; i++) {
			struct io_uring_sqe *sqe = wring__sqe(r, &slot);

			io_uring_prep_nop(sqe);
			wring__queue(r, sqe, slot, SLOT_REQUEST);
		}
		wring__submit(r, k);
		wring__reap(r, k);
		n -= k;
	}
}

static void do_hold(struct serve *s, uint64_t n)
{
	struct wring *r = last_ring(s);

	for (uint64_t i = 0; i < n; i++) {
		queue_read(r, s->sv[0]);
		if (r->n_sqes == ENTRIES || i == n - 1)
			wring__submit(r, 0);
	}
	s->held += n;
}

static void do_release(struct serve *s, uint64_t n)
{
	(void)n;
	send_bytes(s->sv[1], s->held);
	s->held = 0;
	for (unsigned int i = 0; i < s->n_rings; i++)
		wring__drain(&s->rings[i]);
}

static void do_stuck(struct serve *s, uint64_t n)
{
	stuck__add(&s->stuck, last_ring(s), n);
}

static void do_pass(struct serve *s, uint64_t ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)s;
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void do_unstick(struct serve *s, uint64_t n)
{
	(void)n;
	stuck__end(&s->stuck);
	wring__drain(last_ring(s));
}

/* NOPs, NOPs on workers and parked reads, never waiting for all of them. */
static void load_round(struct wring *r, const int sv[2])
{
	unsigned int slot, reads = 0;

	for (unsigned int i = 0; i < LOAD_BATCH; i++) {
		struct io_uring_sqe *sqe;

		if (i % 4 == 1) {
			queue_read(r, sv[0]);
			reads++;
			continue;
		}
		sqe = wring__sqe(r, &slot);
		io_uring_prep_nop(sqe);
		sqe->flags |= i % 4 == 2 ? IOSQE_ASYNC : 0;
		wring__queue(r, sqe, slot, SLOT_REQUEST);
	}
	wring__submit(r, 0);
	send_bytes(sv[1], reads);
	wring__reap(r, 0);
	while (r->n_free < LOAD_BATCH)
		wring__reap(r, 1);
}

/* Counts a turn. False: it was the last. */
static bool turn(struct serve *s)
{
	bool go_on;

	pthread_mutex_lock(&s->lock);
	s->turns++;
	go_on = !s->stop;
	pthread_cond_signal(&s->turned);
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *load(void *arg)
{
	struct serve *s = arg;
	struct wring r;
	int sv[2];

	open_pair(sv);
	wring__open(&r, s->load_tally, ENTRIES, 0, ENTRIES, 0);
	do
		load_round(&r, sv);
	while (turn(s));
	wring__drain(&r);
	wring__close(&r);
	close(sv[0]);
	close(sv[1]);
	return NULL;
}

static void do_turns(struct serve *s, uint64_t n)
{
	uint64_t until;

	pthread_mutex_lock(&s->lock);
	until = s->turns + n;
	while (s->load_tally && s->turns < until)
		pthread_cond_wait(&s->turned, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void do_load(struct serve *s, uint64_t n)
{
	(void)n;
	if (s->load_tally)
		die(2, "loaded already");
	s->load_tally = tally__new(0);
	s->stop = false;
	if (pthread_create(&s->load_thread, NULL, load, s))
		die(1, "no thread");
	do_turns(s, 1);
}

static void do_unload(struct serve *s, uint64_t n)
{
	(void)n;
	if (!s->load_tally)
		die(2, "not loaded");
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	if (pthread_join(s->load_thread, NULL))
		die(1, "the thread can't be joined");
	tally__add(s->t, s->load_tally);
	s->load_tally = NULL;
}

static const struct command {
	const char *name;
	void (*run)(struct serve *s, uint64_t n);
} commands[] = {
	{ "ring", do_ring },
	{ "run", do_run },
	{ "hold", do_hold },
	{ "release", do_release },
	{ "stuck", do_stuck },
	{ "pass", do_pass },
	{ "unstick", do_unstick },
	{ "load", do_load },
	{ "turns", do_turns },
	{ "unload", do_unload },
};

/* False: it was the last. */
static bool serve__command(struct serve *s, char *line)
{
	char *save = NULL, *name = strtok_r(line, " \n", &save), *arg = strtok_r(NULL, " \n", &save);
	uint64_t n = arg ? work_number(name, arg, 1000000000) : 0;

	if (!name || !strcmp(name, "quit"))
		return false;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(commands[i].name, name))
			continue;
		commands[i].run(s, n);
		printf("{\"done\":\"%s\",\"n\":%llu}\n", name, (unsigned long long)n);
		fflush(stdout);
		return true;
	}
	die(2, "no command %s", name);
}

int main(void)
{
	struct serve s = { .t = tally__new(0),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turned = PTHREAD_COND_INITIALIZER };
	char line[128];

	open_pair(s.sv);
	printf("{\"ready\":true,\"pid\":%d}\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && serve__command(&s, line))
		;
	if (s.held)
		do_release(&s, 0);
	if (s.stuck.n)
		do_unstick(&s, 0);
	if (s.load_tally)
		do_unload(&s, 0);
	for (unsigned int i = 0; i < s.n_rings; i++)
		wring__close(&s.rings[i]);
	tally__print(s.t, "serve", stdout);
	return fflush(stdout) || ferror(stdout);
}
