// SPDX-License-Identifier: MIT
/* What the doctor has rules for: each scenario causes one finding, and just does not with another option. */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "work.h"

static void open_pair(int sv[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		die(1, "socketpair: %s", strerror(errno));
}

static void nap(uint64_t ms)
{
	struct timespec ts = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (ms && nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Rounds of --batch NOPs over a CQ of 16, eight to a submission, consumed at the end of a round. */
static void run_pile(struct work *w, struct tally *t)
{
	const unsigned int entries = 8;
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, entries, 0, w->batch, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i += w->batch) {
		for (unsigned int k = 0; k < w->batch; k++) {
			struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

			io_uring_prep_nop(sqe);
			wring__queue(&r, sqe, slot, SLOT_REQUEST);
			if (r.n_sqes == entries || k == w->batch - 1)
				wring__submit(&r, 0);
		}
		wring__drain(&r);
	}
	wring__close(&r);
}

/* Times of the thread of this process that polls an SQ: as they were accounted at the last tick. */
struct poller {
	uint64_t cpu_ns, wait_ns;
};

/* It is not told while the ring is locked. */
static int poller_tid(const struct wring *r)
{
	char path[64], line[256];
	int tid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->u.ring_fd);
	while (tid <= 0) {
		f = fopen(path, "re");
		if (!f)
			die(WORK_SKIP, "%s: %s", path, strerror(errno));
		while (fgets(line, sizeof(line), f))
			sscanf(line, "SqThread: %d", &tid);
		fclose(f);
	}
	return tid;
}

static struct poller poller_of(const struct wring *r)
{
	struct poller p = { 0 };
	int tid = poller_tid(r);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, &p.cpu_ns, &p.wait_ns) != 2)
		die(WORK_SKIP, "%s can't be read", path);
	fclose(f);
	return p;
}

#define KEEP_AWAKE_NS 20000000u

/* One NOP for every --stray us of CPU time of the poller, until that has taken --ms; and one before it falls asleep. */
static void run_polled(struct work *w, struct tally *t)
{
	uint64_t n = 0, ns = 0, since;
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, 256, 0, 256, w->setup_flags | IORING_SETUP_SQPOLL);
	while (ns < w->ms * 1000000 || n * w->stray * 1000 < ns) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_nop(sqe);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 0);
		wring__drain(&r);
		n++;
		since = now_ns();
		while (ns <= n * w->stray * 1000 && ns < w->ms * 1000000 &&
			now_ns() - since < KEEP_AWAKE_NS) {
			sched_yield();
			ns = poller_of(&r).cpu_ns;
		}
	}
	wring__close(&r);
}

static void one_nop(struct wring *r)
{
	wring__drive(r, 1, 1, prep_nop, NULL);
}

static int first_cpu(void)
{
	cpu_set_t set;
	int cpu = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die(1, "sched_getaffinity: %s", strerror(errno));
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	return cpu;
}

static void run_only_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die(WORK_SKIP, "sched_setaffinity: %s", strerror(errno));
}

/* A ring whose poller may run on that CPU only. */
static void wring__open_bound(struct wring *r, struct tally *t, int cpu)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF,
		.sq_thread_cpu = (unsigned int)cpu,
		.sq_thread_idle = 1000 };
	int ret;

	wring__begin(r, t, 8, true);
	t->enters = WORK_UNKNOWN;
	ret = io_uring_queue_init_params(8, &r->u, &p);
	if (ret)
		die(WORK_SKIP, "io_uring_setup: %s", strerror(-ret));
}

/* A child that never gives that CPU away; it ends with us. */
static pid_t hog(int cpu)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die(1, "fork: %s", strerror(errno));
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run_only_on(cpu);
	while (getppid() == parent)
		;
	_exit(0);
}

/* NOPs until the poller has waited for --ms for its CPU, which a child takes; with --stray has had it for so long. */
static void run_contended(struct work *w, struct tally *t)
{
	int cpu = first_cpu();
	struct poller p;
	pid_t child = 0;
	struct wring r;

	wring__open_bound(&r, t, cpu);
	if (!w->stray)
		child = hog(cpu);
	do {
		one_nop(&r);
		p = poller_of(&r);
	} while ((w->stray ? p.cpu_ns : p.wait_ns) < w->ms * 1000000);
	t->poller_cpu_ns = p.cpu_ns;
	t->poller_wait_ns = p.wait_ns;
	if (child) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	wring__close(&r);
}

/* --count NOPs for each line that comes in. With --stray the thread may run on the poller's CPU only. */
static void run_bound(struct work *w, struct tally *t)
{
	int cpu = first_cpu();
	struct wring r;
	char line[16];

	if (w->stray)
		run_only_on(cpu);
	wring__open_bound(&r, t, cpu);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		wring__drive(&r, w->count, 1, prep_nop, NULL);
		puts("done");
		fflush(stdout);
	}
	wring__close(&r);
}

/* A receive that waits, and the socket that its data comes through. */
struct receive {
	struct wring r;
	char byte;
	int sv[2];
};

static void receive__open(struct receive *x, const struct work *w, struct tally *t)
{
	open_pair(x->sv);
	wring__open(&x->r, t, 8, 0, 8, w->setup_flags);
	t->poll_armed = 0;
}

static void receive__arm(struct receive *x)
{
	struct io_uring_sqe *sqe;
	unsigned int slot;

	sqe = wring__sqe(&x->r, &slot);
	io_uring_prep_recv(sqe, x->sv[0], &x->byte, 1, 0);
	wring__queue(&x->r, sqe, slot, SLOT_REQUEST);
	wring__submit(&x->r, 0);
	x->r.t->poll_armed++;
}

static void receive__close(struct receive *x)
{
	wring__close(&x->r);
	close(x->sv[0]);
	close(x->sv[1]);
}

static void send_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		die(1, "write: %s", strerror(errno));
}

/* Receives whose data comes at once, and whose thread then sleeps for --ms outside of io_uring. */
static void run_deaf(struct work *w, struct tally *t)
{
	struct receive x;

	receive__open(&x, w, t);
	for (uint64_t i = 0; i < w->count; i++) {
		receive__arm(&x);
		send_byte(x.sv[1]);
		nap(w->ms);
		wring__drain(&x.r);
	}
	receive__close(&x);
}

/* The same with a sleep from which nothing wakes: until the child is done, which also sends the data. */
static void run_vfork(struct work *w, struct tally *t)
{
	struct receive x;
	int status;

	receive__open(&x, w, t);
	for (uint64_t i = 0; i < w->count; i++) {
		pid_t pid;

		receive__arm(&x);
		pid = vfork();
		if (pid == 0) {
			/* no function that changes what the parent relies on */
			struct timespec ts = { .tv_nsec = (long)w->ms * 1000000 };

			if (write(x.sv[1], "", 1) == 1)
				nanosleep(&ts, NULL);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			die(1, "no child");
		wring__drain(&x.r);
	}
	receive__close(&x);
}

static void prep_bad_read(struct wring *r, struct io_uring_sqe *sqe, uint64_t i, unsigned int slot, void *arg)
{
	static char buf[64];
	const struct work *w = arg;

	(void)r, (void)slot;
	io_uring_prep_read(sqe, i % w->stray ? (int)w->workers : -1, buf, sizeof(buf), 0);
}

/* Reads, one in --stray of them from a descriptor that does not exist. */
static void run_badfd(struct work *w, struct tally *t)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct wring r;

	if (fd < 0)
		die(1, "/dev/zero: %s", strerror(errno));
	w->workers = (unsigned int)fd;
	wring__open(&r, t, w->batch, 0, w->batch, w->setup_flags);
	/* files that are looked up at submission make a bad one a refusal (before 5.19) */
	if (!(r.u.features & IORING_FEAT_LINKED_FILE))
		die(WORK_SKIP, "this kernel refuses SQEs with a bad descriptor");
	wring__drive(&r, w->count, w->batch, prep_bad_read, w);
	wring__close(&r);
	close(fd);
}

/* SQEs, one in --stray of them with an opcode that does not exist. */
static void run_refused(struct work *w, struct tally *t)
{
	unsigned int slot;
	struct wring r;

	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_nop(sqe);
		if (i % w->stray == 0)
			sqe->ioprio = 1;
		wring__queue(&r, sqe, slot, i % w->stray ? SLOT_REQUEST : SLOT_REJECTED);
		wring__submit(&r, 1);
		wring__drain(&r);
	}
	wring__close(&r);
}

/* Receives that must not wait, one in --stray of them with nothing there. */
static void run_eagain(struct work *w, struct tally *t)
{
	struct receive x;
	unsigned int slot;

	receive__open(&x, w, t);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&x.r, &slot);

		if (i % w->stray)
			send_byte(x.sv[1]);
		io_uring_prep_recv(sqe, x.sv[0], &x.byte, 1, MSG_DONTWAIT);
		wring__queue(&x.r, sqe, slot, SLOT_REQUEST);
		wring__submit(&x.r, 1);
		wring__drain(&x.r);
	}
	receive__close(&x);
}

#define BUFFER_GROUP 7

/* Receives into a provided buffer, which for one in --stray of them has not been given back in time. */
static void run_nobufs(struct work *w, struct tally *t)
{
	struct io_uring_sqe *sqe;
	struct receive x;
	unsigned int slot;

	receive__open(&x, w, t);
	for (uint64_t i = 0; i < w->count; i++) {
		send_byte(x.sv[1]);
		if (i % w->stray) {
			sqe = wring__sqe(&x.r, &slot);
			io_uring_prep_provide_buffers(sqe, &x.byte, 1, 1, BUFFER_GROUP, 0);
			wring__queue(&x.r, sqe, slot, SLOT_REQUEST);
			wring__submit(&x.r, 1);
			wring__drain(&x.r);
		}
		sqe = wring__sqe(&x.r, &slot);
		io_uring_prep_recv(sqe, x.sv[0], NULL, 1, 0);
		sqe->flags |= IOSQE_BUFFER_SELECT;
		sqe->buf_group = BUFFER_GROUP;
		wring__queue(&x.r, sqe, slot, SLOT_REQUEST);
		wring__submit(&x.r, 1);
		wring__drain(&x.r);
		if (i % w->stray == 0 && read(x.sv[0], &x.byte, 1) != 1)
			die(1, "read: %s", strerror(errno));
	}
	receive__close(&x);
}

/* Chains of two, the first of which fails in one of --stray. */
static void run_chains(struct work *w, struct tally *t)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	static char buf[64];
	unsigned int slot;
	struct wring r;

	if (fd < 0)
		die(1, "/dev/zero: %s", strerror(errno));
	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	if (!(r.u.features & IORING_FEAT_LINKED_FILE))
		die(WORK_SKIP, "this kernel refuses SQEs with a bad descriptor");
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_read(sqe, i % w->stray ? fd : -1, buf, sizeof(buf), 0);
		sqe->flags |= IOSQE_IO_LINK;
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		sqe = wring__sqe(&r, &slot);
		io_uring_prep_nop(sqe);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 2);
		wring__drain(&r);
	}
	wring__close(&r);
	close(fd);
}

/* What is in the CQ is consumed, without a look at whether more waits in the kernel. */
static void take_what_is_there(struct wring *r)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n = 0;

	io_uring_for_each_cqe(&r->u, head, cqe)
	{
		wring__on_cqe(r, cqe, now_ns());
		n++;
	}
	io_uring_cq_advance(&r->u, n);
}

/* --batch NOPs over a CQ of 8; what overflows is never fetched. With --stray it is, before --ms pass. */
static void run_stuck(struct work *w, struct tally *t)
{
	const unsigned int entries = 8;
	unsigned int slot, left;
	struct wring r;

	wring__open(&r, t, entries, entries, w->batch, w->setup_flags);
	for (unsigned int i = 0; i < w->batch; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_nop(sqe);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		if (r.n_sqes == entries || i == w->batch - 1)
			wring__submit(&r, 0);
	}
	t->overflows += w->batch > entries ? w->batch - entries : 0;
	take_what_is_there(&r);
	left = wring__in_flight(&r);
	if (w->stray)
		wring__drain(&r);
	else
		t->op[IORING_OP_NOP].completed += left;
	nap(w->ms);
	wring__close(&r);
}

/* Writes of two blocks, one in --stray of them across the size that a file may have. */
static void run_short(struct work *w, struct tally *t)
{
	const uint64_t limit = 64 * WORK_BLOCK;
	struct rlimit l = { .rlim_cur = limit, .rlim_max = limit };
	int fd = work__file(w, limit, O_RDWR);
	char *buf = block_alloc(2);
	unsigned int slot;
	struct wring r;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &l))
		die(1, "RLIMIT_FSIZE: %s", strerror(errno));
	wring__open(&r, t, 8, 0, 8, w->setup_flags);
	for (uint64_t i = 0; i < w->count; i++) {
		struct io_uring_sqe *sqe = wring__sqe(&r, &slot);

		io_uring_prep_write(sqe, fd, buf, 2 * WORK_BLOCK, i % w->stray ? 0 : limit - WORK_BLOCK);
		wring__queue(&r, sqe, slot, SLOT_REQUEST);
		wring__submit(&r, 1);
		wring__drain(&r);
	}
	wring__close(&r);
	free(buf);
	close(fd);
}

/* Two rings for --ms; on the first --batch NOPs, on the second --count. */
static void run_idle(struct work *w, struct tally *t)
{
	struct wring used, unused;

	wring__open(&used, t, 8, 0, 8, w->setup_flags);
	wring__open(&unused, t, 8, 0, 8, w->setup_flags);
	wring__drive(&used, w->batch, 1, prep_nop, NULL);
	wring__drive(&unused, w->count, 1, prep_nop, NULL);
	nap(w->ms);
	wring__close(&used);
	wring__close(&unused);
}

static const struct scenario scenarios[] = {
	{ "pile", run_pile, 3000, 15, 1, "rounds of --batch NOPs over a CQ of 16" },
	{ "polled", run_polled, 20000, 1, 1, "an SQE for every --stray us of the poller" },
	{ "contended", run_contended, 100000, 1, 1, "a poller whose CPU another thread takes, for --ms" },
	{ "bound", run_bound, 2000, 1, 1, "--count NOPs for each line; --stray: on the poller's CPU" },
	{ "stuck", run_stuck, 16, 16, 1, "overflowed CQEs that nobody fetches for --ms" },
	{ "chains", run_chains, 10000, 1, 1, "chains, the head of one in --stray fails" },
	{ "deaf", run_deaf, 100, 1, 1, "receives that are ready while the thread sleeps for --ms" },
	{ "vfork", run_vfork, 100, 1, 1, "the same with a sleep from which nothing wakes" },
	{ "badfd", run_badfd, 10000, 10, 1, "reads, one in --stray of a bad descriptor" },
	{ "refused", run_refused, 10000, 1, 1, "SQEs, one in --stray of which is refused" },
	{ "eagain", run_eagain, 5000, 1, 1, "receives that must not wait, one in --stray in vain" },
	{ "nobufs", run_nobufs, 5000, 1, 1, "receives, one in --stray without a buffer" },
	{ "short", run_short, 20000, 1, 1, "writes, one in --stray across the limit of the file" },
	{ "idle", run_idle, 0, 1, 1, "two rings for --ms, the second with --count NOPs" },
};

int main(int argc, char **argv)
{
	return work_main(argc, argv, scenarios, sizeof(scenarios) / sizeof(scenarios[0]));
}
