/* SPDX-License-Identifier: MIT */
/*
 * Scenarios that do what they are told on stdin, so that an observer can come between: each says
 * on stdout, in a line of JSON, when it is ready, does its work at the next line, says so, and
 * prints the truth of that work at the last line or at the end of stdin.
 */
#ifndef RINGS_TOLD_H
#define RINGS_TOLD_H

#include <sys/wait.h>

#include "rings_drive.h"
#include "rings_setups.h"

/* --- other processes ------------------------------------------------------------------------ */
/* Forks. Each of the two has one end of a pair of sockets in *ret_line. */
static inline pid_t fork_worker(int *ret_line)
{
	int sv[2];
	pid_t pid;

	open_pair(sv);
	pid = fork();
	if (pid < 0)
		die(1, "fork: %s", strerror(errno));
	*ret_line = sv[pid ? 0 : 1];
	close(sv[pid ? 1 : 0]);
	return pid;
}

static inline void await_word(int line)
{
	char byte;

	if (read(line, &byte, 1) != 1)
		die(1, "the other process has ended");
}

/* In a worker: lets the parent act, and ends when that is done. */
__attribute__((noreturn)) static inline void end_worker(int line)
{
	char byte;

	write_bytes(line, 1);
	_exit(read(line, &byte, 1) != 0);
}

static inline void release_worker(int line, pid_t pid)
{
	int status;

	close(line);
	if (waitpid(pid, &status, 0) != pid || status)
		die(1, "a worker failed");
}

/* A descriptor of another process: sockets do not carry rings since 6.7. */
static inline int take_fd(pid_t pid, int fd)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), taken;

	taken = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (taken < 0)
		die(1, "pidfd_getfd: %s", strerror(errno));
	close(pidfd);
	return taken;
}

/* Makes r, which process pid opened and described, this one's too. */
static inline void raw__take_over(struct raw *r, struct tally *t, pid_t pid)
{
	uint64_t rings = t->rings;

	r->fd = take_fd(pid, r->fd);
	wring__begin(&r->w, t, RINGS_ENTRIES, r->p.flags & IORING_SETUP_SQPOLL);
	t->rings = rings;
	raw__map(r);
}

/* --- told -------------------------------------------------------------------------------------- */
/* Forgets what was done so far, but that there are n rings. */
static inline void start_over(struct tally *t, uint64_t n)
{
	tally__reset(t);
	t->rings = n;
}

static inline void await_line(void)
{
	int c;

	while ((c = getchar()) != EOF && c != '\n')
		;
}

static inline void say_ready(pid_t pid)
{
	printf("{\"ready\":true,\"pid\":%d}\n", (int)pid);
	fflush(stdout);
}

static inline void say_done(void)
{
	printf("{\"done\":true}\n");
	fflush(stdout);
}

/* --- adopted ------------------------------------------------------------------------------------- */
struct adopted {
	const char *name;
	struct raw r;
};

/* Registers r's descriptor and closes it: the ring has none from now on. */
static inline void raw__hide_descriptor(struct raw *r)
{
	struct io_uring_rsrc_update up = { .offset = UINT32_MAX, .data = (uint64_t)r->fd };
	int n = raw__register(r, IORING_REGISTER_RING_FDS, "REGISTER_RING_FDS", &up, 1);

	if (n != 1)
		die(WORK_SKIP, "registering a ring: %s", strerror(-n));
	close(r->fd);
	r->fd = (int)up.offset;
	r->registered = true;
}

/* A ring of each setup that this kernel has, and one that is registered and has no descriptor. */
static inline unsigned int open_each(struct adopted *a, struct tally *t)
{
	unsigned int n = 0;

	for (size_t i = 0; i < N_SETUPS; i++) {
		a[n] = (struct adopted){ setups[i].name,
			{ .p = { .flags = setups[i].flags, .sq_thread_idle = 50 } } };
		if (raw__try_open(&a[n].r, t, RINGS_ENTRIES, RINGS_ENTRIES))
			continue;
		if (setups[i].flags & IORING_SETUP_R_DISABLED)
			raw__register(&a[n].r, IORING_REGISTER_ENABLE_RINGS, "REGISTER_ENABLE_RINGS", NULL,
				0);
		n++;
	}
	a[n].name = "registered";
	raw__open(&a[n].r, t, RINGS_ENTRIES, RINGS_ENTRIES, 0);
	raw__hide_descriptor(&a[n].r);
	return n + 1;
}

static inline void describe(const struct adopted *a, unsigned int n)
{
	printf("{\"ready\":true,\"pid\":%d,\"rings\":[", (int)getpid());
	for (unsigned int i = 0; i < n; i++) {
		const struct raw *r = &a[i].r;

		printf("%s{\"name\":\"%s\",\"sq_entries\":%u,\"cq_entries\":%u,\"fd\":", i ? "," : "",
			a[i].name, r->p.sq_entries, r->p.cq_entries);
		if (r->registered)
			printf("null}");
		else
			printf("%d}", r->fd);
	}
	printf("]}\n");
	fflush(stdout);
}

/* The n-th of the rings that were described gets 16 n requests. */
static inline void run_adopt(struct work *w, struct tally *t)
{
	struct adopted *a = zalloc(N_SETUPS + 1, sizeof(*a));
	unsigned int n = open_each(a, t);

	(void)w;
	for (unsigned int i = 0; i < n; i++)
		raw__drive(&a[i].r, 3);
	start_over(t, n);
	describe(a, n);
	await_line();
	for (unsigned int i = 0; i < n; i++)
		raw__drive(&a[i].r, RINGS_BATCH * (i + 1));
	/* one of them is an SQPOLL ring */
	t->batches = t->poll_armed = WORK_UNKNOWN;
	say_done();
	await_line();
	for (unsigned int i = 0; i < n; i++)
		raw__close(&a[i].r);
	free(a);
}

/* --- met by their requests ------------------------------------------------------------------------ */
/* Its thread polls for a minute and needs no system call, so no descriptor either. */
static inline void run_hidden(struct work *w, struct tally *t)
{
	struct raw r = { .p = { .flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000 } };
	int err = raw__try_open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES);

	if (err)
		die(WORK_SKIP, "io_uring_setup: %s", strerror(-err));
	raw__drive(&r, w->batch);
	close(r.fd);
	r.fd = -1;
	start_over(t, 1);
	t->batches = WORK_UNKNOWN;
	say_ready(getpid());
	await_line();
	raw__drive(&r, 10ull * w->batch);
	say_done();
	await_line();
	raw__close(&r);
}

/* The process that says it is ready has no ring until it is told; then it takes its parent's. */
static inline void run_receive(struct work *w, struct tally *t)
{
	struct raw *r = shared_alloc(sizeof(*r));
	pid_t parent = getpid(), pid;
	int line;

	pid = fork_worker(&line);
	if (pid == 0) {
		await_word(line);
		raw__take_over(r, t, parent);
		raw__drive(r, w->batch);
		end_worker(line);
	}
	raw__open(r, t, RINGS_ENTRIES, RINGS_ENTRIES, 0);
	raw__drive(r, w->batch);
	start_over(t, 1);
	say_ready(pid);
	await_line();
	write_bytes(line, 1);
	await_word(line);
	say_done();
	await_line();
	release_worker(line, pid);
}

/* --- traffic ---------------------------------------------------------------------------------------- */
#define TRAFFIC_WARM 2000u

static inline bool stdin_speaks(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static inline void short_life(struct tally *t, const struct setup *s)
{
	struct raw r = { .p = { .flags = s->flags, .sq_thread_idle = 50 } };

	if (raw__try_open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES))
		return;
	raw__drive(&r, 4 * RINGS_BATCH);
	raw__close(&r);
}

/*
 * A ring that stays, and beside it rings of all setups that live for a moment, some released
 * with reads in flight. Says so when it has been through some thousand.
 */
static inline void run_traffic(struct work *w, struct tally *t)
{
	struct orphans o;
	struct raw r, short_lived;

	(void)w;
	t->max_samples = 0;
	raw__open(&r, t, RINGS_ENTRIES, RINGS_ENTRIES, SETUP_DEFER);
	say_ready(getpid());
	for (uint64_t k = 0; !stdin_speaks(); k++) {
		const struct setup *s = &setups[k % N_SETUPS];

		if (k == TRAFFIC_WARM)
			say_done();
		raw__drive(&r, 10 * RINGS_BATCH);
		/* an SQPOLL ring takes a new thread, and its batches are not known */
		if (s->flags & (IORING_SETUP_SQPOLL | IORING_SETUP_R_DISABLED))
			continue;
		short_life(t, s);
		raw__open(&short_lived, t, RINGS_ENTRIES, RINGS_ENTRIES, 0);
		orphans__make(&o, &short_lived, RINGS_BATCH);
		raw__close(&short_lived);
		orphans__await(&o, t);
	}
	await_line();
	raw__close(&r);
}

#endif
