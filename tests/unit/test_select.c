// SPDX-License-Identifier: MIT
/* The choice of programs, on BTF made here: kernels that exist, and some that don't yet. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "select.h"

/* A BTF under construction. */
struct kernel {
	struct btf *btf;
	int u8, u32, s32, u64, s64;
};

static int ptr_to(struct kernel *k, int id)
{
	int ptr = btf__add_ptr(k->btf, id);

	assert_true(ptr > 0);
	return ptr;
}

static int struct_named(struct kernel *k, const char *name)
{
	int id = btf__find_by_name_kind(k->btf, name, BTF_KIND_STRUCT);

	return id > 0 ? id : btf__add_struct(k->btf, name, 64);
}

static int type_of(struct kernel *k, const char *token)
{
	size_t len = strlen(token);
	char name[64];

	if (!strcmp(token, "*"))
		return ptr_to(k, 0);
	if (token[len - 1] == '*') {
		snprintf(name, sizeof(name), "%.*s", (int)len - 1, token);
		return ptr_to(k, struct_named(k, name));
	}
	if (!strcmp(token, "u8"))
		return k->u8;
	if (!strcmp(token, "u32"))
		return k->u32;
	if (!strcmp(token, "s32"))
		return k->s32;
	if (!strcmp(token, "s64"))
		return k->s64;
	assert_string_equal(token, "u64");
	return k->u64;
}

/* A tracepoint with these arguments, as the kernel declares it: a typedef of a function pointer. */
static void add_tracepoint(struct kernel *k, const char *name, const char *args)
{
	char copy[256], type_name[128], *save = NULL, *token;
	int types[12], n = 0, proto, i;

	types[n++] = ptr_to(k, 0); /* void *__data */
	snprintf(copy, sizeof(copy), "%s", args);
	for (token = strtok_r(copy, ",", &save); token; token = strtok_r(NULL, ",", &save))
		types[n++] = type_of(k, token);
	proto = btf__add_func_proto(k->btf, 0);
	assert_true(proto > 0);
	/* the parameters must follow their prototype: no type may be made in between */
	for (i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(k->btf, "arg", types[i]), 0);
	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	assert_true(btf__add_typedef(k->btf, type_name, ptr_to(k, proto)) > 0);
}

static struct kernel new_kernel(void)
{
	struct kernel k = {.btf = btf__new_empty()};
	int cqe, file;

	assert_non_null(k.btf);
	k.u8 = btf__add_int(k.btf, "unsigned char", 1, 0);
	k.u32 = btf__add_int(k.btf, "unsigned int", 4, 0);
	k.s32 = btf__add_int(k.btf, "int", 4, BTF_INT_SIGNED);
	k.u64 = btf__add_int(k.btf, "unsigned long", 8, 0);
	k.s64 = btf__add_int(k.btf, "long", 8, BTF_INT_SIGNED);
	cqe = btf__add_struct(k.btf, "io_cqe", 16);
	/* cqe stands inside an anonymous union, as fields of the kernel often do */
	file = btf__add_union(k.btf, NULL, 16);
	assert_int_equal(btf__add_field(k.btf, "cqe", cqe, 0, 0), 0);
	assert_true(btf__add_struct(k.btf, "io_kiocb", 248) > 0);
	assert_int_equal(btf__add_field(k.btf, NULL, file, 0, 0), 0);
	assert_true(btf__add_struct(k.btf, "io_ring_ctx", 1472) > 0);
	assert_int_equal(btf__add_field(k.btf, "exit_work", k.u64, 0, 0), 0);
	assert_true(btf__add_struct(k.btf, "io_uring_task", 320) > 0);
	assert_int_equal(btf__add_field(k.btf, "registered_rings", k.u64, 0, 0), 0);
	assert_true(btf__add_struct(k.btf, "file", 184) > 0);
	assert_int_equal(btf__add_field(k.btf, "private_data", k.u64, 0, 0), 0);
	return k;
}

static void add_common(struct kernel *k)
{
	add_tracepoint(k, "io_uring_create", "s32,*,u32,u32,u32");
	add_tracepoint(k, "workqueue_queue_work", "s32,pool_workqueue*,work_struct*");
	add_tracepoint(k, "io_uring_req_failed", "io_uring_sqe*,io_kiocb*,s32");
	add_tracepoint(k, "io_uring_cqe_overflow", "*,u64,s32,u32,*");
	add_tracepoint(k, "io_uring_queue_async_work", "io_kiocb*,s32");
	add_tracepoint(k, "io_uring_link", "io_kiocb*,io_kiocb*");
	add_tracepoint(k, "io_uring_poll_arm", "io_kiocb*,s32,s32");
	add_tracepoint(k, "io_uring_cqring_wait", "*,s32");
	add_tracepoint(k, "io_uring_short_write", "*,u64,u64,u64");
	add_tracepoint(k, "io_uring_register", "*,u32,u32,u32,s64");
	add_tracepoint(k, "sched_process_fork", "task_struct*,task_struct*");
	add_tracepoint(k, "sched_process_exit", "task_struct*,u8");
}

static enum ksym_state all_symbols(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return KSYM_PRESENT;
}

static enum ksym_state hidden_symbols(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return KSYM_HIDDEN;
}

static struct plan plan_of(const struct kernel *k)
{
	struct plan p;

	plan__select(k->btf, all_symbols, NULL, NULL, &p);
	return p;
}

static void assert_program(const struct plan *p, enum rs_feature f, const char *program)
{
	assert_non_null(p->chosen[f]);
	assert_string_equal(p->chosen[f]->program, program);
	assert_int_equal(p->state[f].level, FEATURE_FULL);
	assert_true(p->state[f].how[0]);
}

static void test_like_6_18(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;
	size_t f;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*");
	p = plan_of(&k);
	for (f = 0; f < RS_F_COUNT; f++)
		assert_int_equal(p.state[f].level, FEATURE_FULL);
	assert_program(&p, RS_F_SUBMIT, "rs_submit_req");
	assert_program(&p, RS_F_COMPLETE, "rs_complete_cqe");
	assert_string_equal(p.state[RS_F_COMPLETE].how, "tp_btf/io_uring_complete(io_ring_ctx*,*,io_uring_cqe*)");
	btf__free(k.btf);
}

static void test_like_6_12(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "*,*,u64,s32,u32,u64,u64");
	p = plan_of(&k);
	assert_program(&p, RS_F_COMPLETE, "rs_complete_args");
	btf__free(k.btf);
}

static void test_like_6_1(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_sqe", "io_kiocb*,u8");
	add_tracepoint(&k, "io_uring_complete", "*,*,u64,s32,u32,u64,u64");
	p = plan_of(&k);
	assert_program(&p, RS_F_SUBMIT, "rs_submit_sqe");
	assert_program(&p, RS_F_COMPLETE, "rs_complete_args");
	btf__free(k.btf);
}

/* 5.10 passes the parts of a request one by one: no row fits, nothing is guessed. */
static void test_like_5_10(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;

	(void)state;
	add_tracepoint(&k, "io_uring_submit_sqe", "*,*,u8,u64,u32,u8,u8");
	add_tracepoint(&k, "io_uring_complete", "*,u64,s32,u32");
	p = plan_of(&k);
	assert_null(p.chosen[RS_F_SUBMIT]);
	assert_null(p.chosen[RS_F_COMPLETE]);
	assert_int_equal(p.state[RS_F_COMPLETE].level, FEATURE_OFF);
	assert_string_equal(p.state[RS_F_COMPLETE].why, "unknown form of tracepoint io_uring_complete(*,u64,s32,u32)");
	assert_string_equal(p.state[RS_F_POLL].why, "this kernel has no tracepoint io_uring_poll_arm");
	assert_string_equal(p.state[RS_F_POLL].how, "");
	btf__free(k.btf);
}

/* A prototype nobody has seen turns its feature off and nothing else. */
static void test_unknown_form(void **state)
{
	static const char *const forms[] = {
		"io_ring_ctx*,*,io_uring_cqe*,u32",
		"io_ring_ctx*,*",
		"io_ring_ctx*,io_uring_cqe*,*",
		"io_ring_ctx*,*,io_uring_cqe32*",
		"*,*,u64,s64,u32,u64,u64",
	};
	struct kernel k;
	struct plan p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		k = new_kernel();
		add_common(&k);
		add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
		add_tracepoint(&k, "io_uring_complete", forms[i]);
		p = plan_of(&k);
		assert_null(p.chosen[RS_F_COMPLETE]);
		assert_non_null(strstr(p.state[RS_F_COMPLETE].why, "unknown form"));
		assert_program(&p, RS_F_SUBMIT, "rs_submit_req");
		assert_program(&p, RS_F_PUNT, "rs_punt");
		btf__free(k.btf);
	}
}

static void test_missing_field(void **state)
{
	struct kernel k = {.btf = btf__new_empty()};
	struct plan p;

	(void)state;
	assert_true(btf__add_struct(k.btf, "io_kiocb", 8) > 0);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	p = plan_of(&k);
	assert_null(p.chosen[RS_F_SUBMIT]);
	assert_string_equal(p.state[RS_F_SUBMIT].why, "this kernel has no field io_kiocb.cqe");
	btf__free(k.btf);
}

static void test_symbols(void **state)
{
	struct kernel k = new_kernel();
	struct plan p;

	(void)state;
	add_common(&k);
	plan__select(k.btf, hidden_symbols, NULL, NULL, &p);
	assert_null(p.chosen[RS_F_RING_EXIT]);
	assert_non_null(strstr(p.state[RS_F_RING_EXIT].why, "io_ring_exit_work is hidden"));
	assert_null(p.chosen[RS_F_RING_SCAN]);
	assert_program(&p, RS_F_RING_CREATE, "rs_create");
	btf__free(k.btf);
}

/* What the kernel refused gives way to the next variant, or to its reason. */
static void test_refused(void **state)
{
	const char *refused[64] = {NULL};
	struct kernel k = new_kernel();
	struct plan p;
	size_t i;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_submit_sqe", "io_kiocb*,u8");
	assert_true(n_variants < 64);
	for (i = 0; i < n_variants; i++)
		if (!strcmp(variants[i].program, "rs_submit_req") || !strcmp(variants[i].program, "rs_punt"))
			refused[i] = "no such helper";
	plan__select(k.btf, all_symbols, NULL, refused, &p);
	assert_program(&p, RS_F_SUBMIT, "rs_submit_sqe");
	assert_null(p.chosen[RS_F_PUNT]);
	assert_string_equal(p.state[RS_F_PUNT].why, "no such helper");
	btf__free(k.btf);
}

static void test_patterns(void **state)
{
	(void)state;
	assert_true(signature__fits("", ""));
	assert_true(signature__fits("*,u32", "*,u32"));
	assert_true(signature__fits("*,u32", "*,..."));
	assert_true(signature__fits("*", "*,..."));
	assert_false(signature__fits("*,u32", "*"));
	assert_false(signature__fits("*", "*,u32"));
	assert_false(signature__fits("u32", "*,..."));
	assert_false(signature__fits("io_kiocb*", "*"));
	assert_false(signature__fits("io_kiocb*", "io_kiocb2*"));
	assert_false(signature__fits("", "*"));
}

/* Every feature has a row, and every row a program and a hook. */
static void test_table(void **state)
{
	bool seen[RS_F_COUNT] = {false};
	size_t i;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		assert_non_null(variants[i].program);
		assert_non_null(variants[i].hook);
		assert_true(variants[i].level == FEATURE_FULL || variants[i].why);
		seen[variants[i].feature] = true;
	}
	for (i = 0; i < RS_F_COUNT; i++)
		assert_true(seen[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_6_18),
		cmocka_unit_test(test_like_6_12),
		cmocka_unit_test(test_like_6_1),
		cmocka_unit_test(test_like_5_10),
		cmocka_unit_test(test_unknown_form),
		cmocka_unit_test(test_missing_field),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
