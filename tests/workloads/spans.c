// SPDX-License-Identifier: MIT
/*
 * Functions that ask io_uring for different things, and know what.
 *
 * spans SCENARIO [--count N] [--ms N] [--dir DIR] [--out FILE]: tells for each function how often it was called and
 * returned, what was submitted while it was the innermost one, and how long it waited at least and at most. Functions
 * whose names begin with "db_" are those to be observed. SCENARIO cost tells what that costs a call.
 */
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <sys/wait.h>

#include "work_options.h"

/* A function of its own, and with its own name. */
#ifdef __clang__
#define SPAN __attribute__((noinline))
#else
#define SPAN __attribute__((noinline, noclone, noipa))
#endif

enum { GET, PUT, BATCH, JUMP, WALK, WAIT, LEAVE, LFIND, N_SPANS, OUTSIDE = N_SPANS };
static const char *const names[N_SPANS] = { "db_get", "db_put", "db_batch", "db_jump", "db_walk", "db_wait",
	"db_leave", "lfind" };

enum { OP_NOP, OP_READ, OP_WRITE, OP_TIMEOUT, N_OPS };
static const char *const op_names[N_OPS] = { "NOP", "READ", "WRITE", "TIMEOUT" };

struct told {
	uint64_t calls, returned, least_ns, most_ns;
	struct {
		uint64_t submitted, bytes, errors, punted;
	} ops[N_OPS];
};

struct spans {
	struct work_options o;
	struct told *told; /* by span, and outside of all; of all processes */
};

/* A thread's own. */
struct user {
	const struct spans *s;
	struct io_uring ring;
	int fd;
	jmp_buf back;
	bool jumps;
	char buf[8192];
};

void db_get(struct user *u, unsigned int bytes);
void db_put(struct user *u, unsigned int bytes);
void db_batch(struct user *u, unsigned long n);
void db_jump(struct user *u, unsigned long n);
void db_walk(struct user *u, unsigned long depth);
void db_wait(struct user *u);
void db_leave(struct user *u);
void db_push(void);
void db_return(void);

static void check(int ret, const char *what)
{
	if (ret < 0)
		die(1, "%s: %s", what, strerror(ret == -1 ? errno : -ret));
}

static void add(uint64_t *to, uint64_t n)
{
	__atomic_add_fetch(to, n, __ATOMIC_RELAXED);
}

static void user__open(struct user *u, const struct spans *s)
{
	char path[4096];

	*u = (struct user){ .s = s };
	check(io_uring_queue_init(64, &u->ring, 0), "io_uring_queue_init");
	snprintf(path, sizeof(path), "%s/spans.XXXXXX", s->o.dir);
	u->fd = mkostemp(path, O_CLOEXEC);
	check(u->fd, path);
	unlink(path);
	check(ftruncate(u->fd, sizeof(u->buf)), "ftruncate");
	check((int)pread(u->fd, u->buf, sizeof(u->buf), 0), "pread");
}

static void user__close(struct user *u)
{
	io_uring_queue_exit(&u->ring);
	close(u->fd);
}

static struct io_uring_sqe *sqe_of(struct user *u)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

	if (!sqe)
		die(1, "the SQ is full");
	return sqe;
}

/* Submits what has been prepared, all of one opcode, and waits for it. */
static void run(struct user *u, int span, int op, unsigned int n)
{
	struct told *t = &u->s->told[span];
	struct io_uring_cqe *cqe;

	check(io_uring_submit(&u->ring), "io_uring_submit");
	add(&t->ops[op].submitted, n);
	while (n--) {
		check(io_uring_wait_cqe(&u->ring, &cqe), "io_uring_wait_cqe");
		if (cqe->res < 0)
			add(&t->ops[op].errors, 1);
		else
			add(&t->ops[op].bytes, (uint64_t)cqe->res);
		io_uring_cqe_seen(&u->ring, cqe);
	}
}

static void nops(struct user *u, int span, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		io_uring_prep_nop(sqe_of(u));
	run(u, span, OP_NOP, n);
}

static void reads(struct user *u, int span, int fd, unsigned int bytes)
{
	io_uring_prep_read(sqe_of(u), fd, u->buf, bytes, 0);
	run(u, span, OP_READ, 1);
}

SPAN void db_get(struct user *u, unsigned int bytes)
{
	add(&u->s->told[GET].calls, 1);
	/* every fourth fails */
	reads(u, GET, bytes % 4 ? u->fd : -1, bytes);
	add(&u->s->told[GET].returned, 1);
}

SPAN void db_put(struct user *u, unsigned int bytes)
{
	struct io_uring_sqe *sqe = sqe_of(u);

	add(&u->s->told[PUT].calls, 1);
	io_uring_prep_write(sqe, u->fd, u->buf, bytes, 0);
	sqe->flags |= IOSQE_ASYNC;
	run(u, PUT, OP_WRITE, 1);
	add(&u->s->told[PUT].ops[OP_WRITE].punted, 1);
	nops(u, PUT, 2);
	add(&u->s->told[PUT].returned, 1);
}

SPAN void db_batch(struct user *u, unsigned long n)
{
	add(&u->s->told[BATCH].calls, 1);
	nops(u, BATCH, 3);
	for (unsigned long i = 1; i <= n; i++)
		db_get(u, (unsigned int)i);
	nops(u, BATCH, 1);
	add(&u->s->told[BATCH].returned, 1);
}

/* Goes back to where it was called from, or to where its caller's caller was. */
SPAN void db_jump(struct user *u, unsigned long n)
{
	add(&u->s->told[JUMP].calls, 1);
	nops(u, JUMP, 1);
	if (n)
		db_jump(u, n - 1);
	else if (u->jumps)
		longjmp(u->back, 1);
	add(&u->s->told[JUMP].returned, 1);
}

SPAN void db_walk(struct user *u, unsigned long depth)
{
	add(&u->s->told[WALK].calls, 1);
	if (depth)
		db_walk(u, depth - 1);
	nops(u, WALK, 1);
	add(&u->s->told[WALK].returned, 1);
}

static void hold(unsigned long ms)
{
	struct timespec t = { .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* Waits for a timeout, then for something else. */
SPAN void db_wait(struct user *u)
{
	struct __kernel_timespec t = { .tv_nsec = (long long)u->s->o.ms * 1000000 };
	uint64_t begin = now_ns();

	add(&u->s->told[WAIT].calls, 1);
	io_uring_prep_timeout(sqe_of(u), &t, 0, 0);
	run(u, WAIT, OP_TIMEOUT, 1);
	add(&u->s->told[WAIT].least_ns, u->s->o.ms * 1000000);
	add(&u->s->told[WAIT].most_ns, now_ns() - begin);
	hold(4 * u->s->o.ms);
	add(&u->s->told[WAIT].returned, 1);
}

SPAN void db_leave(struct user *u)
{
	add(&u->s->told[LEAVE].calls, 1);
	nops(u, LEAVE, 1);
	user__close(u);
	pthread_exit(NULL);
}

static void run_api(const struct spans *s)
{
	struct user u;

	user__open(&u, s);
	for (unsigned long i = 1; i <= s->o.count; i++) {
		db_get(&u, (unsigned int)i);
		nops(&u, OUTSIDE, 1);
		if (i % 2)
			db_put(&u, (unsigned int)(2 * i));
	}
	user__close(&u);
}

static void run_nested(const struct spans *s)
{
	struct user u;

	user__open(&u, s);
	db_batch(&u, s->o.count);
	nops(&u, OUTSIDE, 1);
	user__close(&u);
}

static void run_jump(const struct spans *s)
{
	struct user u;
	volatile unsigned long i;

	user__open(&u, s);
	u.jumps = true;
	for (i = 0; i < s->o.count; i++) {
		if (!setjmp(u.back))
			db_jump(&u, i % 3);
		nops(&u, OUTSIDE, 1);
		if (i % 2)
			db_get(&u, 100 + (unsigned int)i);
	}
	user__close(&u);
}

static void run_walk(const struct spans *s)
{
	struct user u;

	user__open(&u, s);
	db_walk(&u, s->o.count);
	nops(&u, OUTSIDE, 1);
	user__close(&u);
}

static void run_wait(const struct spans *s)
{
	struct user u;

	user__open(&u, s);
	for (unsigned long i = 0; i < s->o.count; i++)
		db_wait(&u);
	user__close(&u);
}

static void *use_in_thread(void *arg)
{
	const struct spans *s = arg;
	struct user u;

	user__open(&u, s);
	for (unsigned long i = 1; i <= s->o.count; i++) {
		db_get(&u, (unsigned int)i);
		db_put(&u, (unsigned int)i);
	}
	db_leave(&u);
	return NULL;
}

static void run_threads(const struct spans *s)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		check(-pthread_create(&threads[i], NULL, use_in_thread, (void *)s), "pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

/* Before and after fork: the child calls functions of its own, and begins outside of its parent's. */
static void run_fork(const struct spans *s)
{
	int status;
	pid_t pid;

	run_api(s);
	pid = fork();
	check(pid, "fork");
	if (!pid) {
		run_nested(s);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die(1, "the child failed");
}

static struct user *comparing;

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	nops(comparing, LFIND, 1);
	return 1;
}

/* A function of the C library that calls us back. */
static void run_library(const struct spans *s)
{
	static const char list[7];
	size_t n = sizeof(list);
	struct user u;

	user__open(&u, s);
	comparing = &u;
	for (unsigned long i = 0; i < s->o.count; i++) {
		add(&s->told[LFIND].calls, 1);
		if (lfind("x", list, &n, 1, compare))
			die(1, "lfind found something");
		add(&s->told[LFIND].returned, 1);
		nops(&u, OUTSIDE, 1);
	}
	user__close(&u);
}

/* What being observed costs: a function whose first instruction is a push, and one with another. */
SPAN void db_push(void)
{
#ifdef __x86_64__
	asm volatile("" : : : "rbx");
#endif
}

SPAN void db_return(void)
{
	asm volatile("");
}

static void time_calls(const char *name, void (*function)(void), unsigned long n)
{
	uint64_t begin, least = UINT64_MAX, took;

	for (int round = 0; round < 9; round++) {
		begin = now_ns();
		for (unsigned long i = 0; i < n; i++)
			function();
		took = now_ns() - begin;
		least = took < least ? took : least;
	}
	fprintf(stderr, "%s: %.1f ns a call\n", name, (double)least / (double)n);
}

static void run_cost(const struct spans *s)
{
	time_calls("db_push", db_push, 100 * s->o.count);
	time_calls("db_return", db_return, 100 * s->o.count);
}

static const struct {
	const char *name;
	void (*run)(const struct spans *s);
} scenarios[] = {
	{ "cost", run_cost },
	{ "api", run_api },
	{ "nested", run_nested },
	{ "jump", run_jump },
	{ "walk", run_walk },
	{ "wait", run_wait },
	{ "threads", run_threads },
	{ "fork", run_fork },
	{ "library", run_library },
};

static void tell_span(const struct told *t, FILE *f)
{
	const char *sep = "";

	fprintf(f, "{\"calls\":%llu,\"returned\":%llu,\"least_ns\":%llu,\"most_ns\":%llu,\"ops\":{",
		(unsigned long long)t->calls, (unsigned long long)t->returned,
		(unsigned long long)t->least_ns, (unsigned long long)t->most_ns);
	for (int op = 0; op < N_OPS; op++) {
		if (!t->ops[op].submitted)
			continue;
		fprintf(f, "%s\"%s\":{\"submitted\":%llu,\"bytes\":%llu,\"errors\":%llu,\"punted\":%llu}",
			sep, op_names[op], (unsigned long long)t->ops[op].submitted,
			(unsigned long long)t->ops[op].bytes, (unsigned long long)t->ops[op].errors,
			(unsigned long long)t->ops[op].punted);
		sep = ",";
	}
	fprintf(f, "}}");
}

static void tell(const struct spans *s)
{
	FILE *f = s->o.out ? fopen(s->o.out, "we") : stdout;

	if (!f)
		die(1, "%s: %s", s->o.out, strerror(errno));
	for (int i = 0; i < N_SPANS; i++) {
		fprintf(f, "%s\"%s\":", i ? "," : "{", names[i]);
		tell_span(&s->told[i], f);
	}
	fputs("}\n", f);
	if (fflush(f) || (s->o.out && fclose(f)))
		die(1, "can't write: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	struct spans s = { .o = { .count = 100, .ms = 20, .dir = "." } };

	work_options__parse(argc, argv, 4000, &s.o);
	s.told = shared_alloc((N_SPANS + 1) * sizeof(*s.told));
	for (size_t i = 0; optind == argc - 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(argv[optind], scenarios[i].name))
			continue;
		scenarios[i].run(&s);
		tell(&s);
		return 0;
	}
	fprintf(stderr,
		"usage: spans cost|api|nested|jump|walk|wait|threads|fork|library [--count N] [--ms N] [--dir DIR] "
		"[--out FILE]\n");
	return 2;
}
