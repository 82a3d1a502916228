// SPDX-License-Identifier: MIT
/* Which kernels let functions of programs be observed, and how. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel_shape.h"
#include "select.h"

static enum ksym_state no_symbols(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return KSYM_ABSENT;
}

static struct plan plan_of(const struct kernel *k)
{
	struct plan p;

	plan__select(k->btf, no_symbols, NULL, NULL, &p);
	return p;
}

static void assert_spans(const struct plan *p, const char *how)
{
	assert_non_null(p->chosen[RS_F_SPANS]);
	assert_string_equal(p->chosen[RS_F_SPANS]->program, "rs_span_return");
	assert_string_equal(p->state[RS_F_SPANS].how, how);
	assert_true(variant__is_uprobe(p->chosen[RS_F_SPANS]));
	assert_int_equal(variant__is_uprobe_multi(p->chosen[RS_F_SPANS]), !strcmp(how, "uprobe_multi"));
}

/* All functions together since 6.6, before that one by one. */
static void test_how(void **state)
{
	struct kernel k = new_kernel();
	struct plan p = plan_of(&k);

	(void)state;
	assert_spans(&p, "uprobe_multi");
	btf__free(k.btf);
	k = new_kernel_lacking("bpf_uprobe_multi_link.path");
	p = plan_of(&k);
	assert_spans(&p, "uprobe");
	btf__free(k.btf);
	k = new_kernel_lacking("xol_area.vaddr");
	p = plan_of(&k);
	assert_null(p.chosen[RS_F_SPANS]);
	assert_string_equal(p.state[RS_F_SPANS].why, "this kernel has no field xol_area.vaddr");
	btf__free(k.btf);
}

/* How long they wait may stay unknown. */
static void test_waits(void **state)
{
	static const struct {
		const char *args;
		bool fits;
	} forms[] = {
		{ "u8,task_struct*,task_struct*", true },
		{ "u8,task_struct*,task_struct*,u32", true },
		/* a release candidate of 5.18 */
		{ "u8,u32,task_struct*,task_struct*", false },
	};
	struct kernel k;
	struct plan p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		k = new_kernel();
		add_tracepoint(&k, "sched_switch", forms[i].args);
		p = plan_of(&k);
		assert_spans(&p, "uprobe_multi");
		assert_int_equal(p.chosen[RS_F_SPAN_WAIT] != NULL, forms[i].fits);
		btf__free(k.btf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how),
		cmocka_unit_test(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
