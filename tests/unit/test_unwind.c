// SPDX-License-Identifier: MIT
/* Stacks of this process, as somebody else would see them, unwound; and stacks that are none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "rng.h"
#include "symbols.h"

#define COPY_BYTES 16384
#define MAX_FRAMES 32

/* A thread's stack at one moment. */
struct taken {
	struct stack_registers regs;
	struct stack stack;
	unsigned char bytes[COPY_BYTES];
};

static struct taken taken;

/* Not by memcpy(), which the sanitizer does not let read a stack. */
__attribute__((noinline)) static void take(struct taken *t)
{
	struct iovec to = { t->bytes, sizeof(t->bytes) }, from = { NULL, sizeof(t->bytes) };
	ssize_t n;

	asm volatile("lea 0(%%rip), %0\n\tmov %%rsp, %1\n\tmov %%rbp, %2"
		     : "=&r"(t->regs.ip), "=&r"(t->regs.sp), "=&r"(t->regs.bp));
	t->regs.bp_known = true;
	from.iov_base = (void *)t->regs.sp;
	n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	assert_true(n > 256);
	t->stack = (struct stack){ t->regs.sp, t->bytes, (size_t)n };
}

__attribute__((noinline)) static int inner(int n)
{
	take(&taken);
	return n + *(volatile int *)&n;
}

__attribute__((noinline)) static int outer(int n)
{
	return inner(n + 1) + 1;
}

static struct symbols *new_symbols(void)
{
	struct symbols *sy;

	assert_int_equal(symbols__new(NULL, &sy), 0);
	return sy;
}

static void assert_function(const struct frame *f, const char *name)
{
	if (!f->function || strcmp(f->function, name))
		fail_msg("%s where %s belongs", f->function ? f->function : "nothing", name);
}

static void test_own_stack(void **state)
{
	struct symbols *sy = new_symbols();
	struct frame frames[MAX_FRAMES];
	uint64_t addrs[MAX_FRAMES];
	enum unwind_end end;
	size_t n;

	(void)state;
	outer(1);
	assert_int_equal(symbols__unwind(sy, getpid(), &taken.regs, &taken.stack, addrs, MAX_FRAMES, &n,
				 &end),
		0);
	assert_true(n >= 6);
	assert_int_equal(end, UNWIND_COMPLETE);
	assert_int_equal(symbols__resolve(sy, getpid(), addrs, n, frames), 0);
	assert_function(&frames[0], "take");
	assert_function(&frames[1], "inner");
	assert_function(&frames[2], "outer");
	assert_function(&frames[3], "test_own_stack");
	assert_function(&frames[n - 1], "_start");
	frames__free(frames, n);
	symbols__free(sy);
}

/* A short copy gives what is in it, and says that there is more. */
static void test_cut(void **state)
{
	struct symbols *sy = new_symbols();
	uint64_t whole[MAX_FRAMES], addrs[MAX_FRAMES];
	enum unwind_end end;
	struct stack part;
	size_t n, all;

	(void)state;
	outer(1);
	part = taken.stack;
	assert_int_equal(symbols__unwind(sy, getpid(), &taken.regs, &part, whole, MAX_FRAMES, &all, &end), 0);
	for (part.size = 0; part.size < 1024; part.size += 8) {
		assert_int_equal(symbols__unwind(sy, getpid(), &taken.regs, &part, addrs, MAX_FRAMES, &n,
					 &end),
			0);
		assert_true(n >= 1 && n <= all);
		assert_memory_equal(addrs, whole, n * sizeof(*addrs));
		assert_int_equal(end, n < all ? UNWIND_CUT : UNWIND_COMPLETE);
	}
	part = taken.stack;
	assert_int_equal(symbols__unwind(sy, getpid(), &taken.regs, &part, addrs, 2, &n, &end), 0);
	assert_true(n == 2 && end == UNWIND_CUT);
	symbols__free(sy);
}

/* A process may have anything on its stack. */
static void test_nonsense(void **state)
{
	struct symbols *sy = new_symbols();
	struct stack_registers regs;
	uint64_t addrs[MAX_FRAMES];
	enum unwind_end end;
	struct rng rng = { 1 };
	size_t n;

	(void)state;
	outer(1);
	for (int round = 0; round < 2000; round++) {
		regs = taken.regs;
		/* words of its own stack in a wrong order, here and there anything else */
		for (int i = 0; i < 64; i++)
			((uint64_t *)taken.bytes)[rng__next(&rng) % 512] =
				i % 4 ? ((uint64_t *)taken.bytes)[rng__next(&rng) % 512] : rng__next(&rng);
		if (round % 3 == 1)
			regs.bp = rng__next(&rng);
		if (round % 3 == 2)
			regs.sp = round % 2 ? UINT64_MAX - 4 : rng__next(&rng);
		if (round % 7 == 0)
			regs.ip = rng__next(&rng);
		assert_int_equal(symbols__unwind(sy, getpid(), &regs, &taken.stack, addrs, MAX_FRAMES, &n,
					 &end),
			0);
		assert_true(n >= 1 && n <= MAX_FRAMES && addrs[0] == regs.ip);
	}
	symbols__free(sy);
}

static void test_nobody(void **state)
{
	struct symbols *sy = new_symbols();
	uint64_t addrs[2];
	enum unwind_end end;
	size_t n;

	(void)state;
	assert_int_equal(symbols__unwind(sy, 0x7fffffff, &taken.regs, &taken.stack, addrs, 2, &n, &end),
		-ESRCH);
	symbols__free(sy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
