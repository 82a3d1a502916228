/* SPDX-License-Identifier: MIT */
/* BTF of kernels that exist, and of some that don't yet, made here. */
#ifndef RINGSIDE_TEST_KERNEL_SHAPE_H
#define RINGSIDE_TEST_KERNEL_SHAPE_H

#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "variants.h"

/* A BTF under construction. */
struct kernel {
	struct btf *btf;
	int u8, u32, s32, u64, s64;
};

static inline int ptr_to(struct kernel *k, int id)
{
	int ptr = btf__add_ptr(k->btf, id);

	assert_true(ptr > 0);
	return ptr;
}

static inline int struct_named(struct kernel *k, const char *name)
{
	int id = btf__find_by_name_kind(k->btf, name, BTF_KIND_STRUCT);

	return id > 0 ? id : btf__add_struct(k->btf, name, 64);
}

static inline int type_of(struct kernel *k, const char *token)
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

/* A prototype with these arguments, after `first` if it is not 0. */
static inline int proto_of(struct kernel *k, int first, const char *args)
{
	char copy[256], *save = NULL, *token;
	int types[12], n = 0, proto, i;

	if (first)
		types[n++] = first;
	snprintf(copy, sizeof(copy), "%s", args);
	for (token = strtok_r(copy, ",", &save); token; token = strtok_r(NULL, ",", &save))
		types[n++] = type_of(k, token);
	proto = btf__add_func_proto(k->btf, 0);
	assert_true(proto > 0);
	/* the parameters must follow their prototype: no type may be made in between */
	for (i = 0; i < n; i++)
		assert_int_equal(btf__add_func_param(k->btf, "arg", types[i]), 0);
	return proto;
}

/* A tracepoint with these arguments, as the kernel declares it: a typedef of a function pointer. */
static inline void add_tracepoint(struct kernel *k, const char *name, const char *args)
{
	int proto = proto_of(k, ptr_to(k, 0), args); /* the first is void *__data */
	char type_name[128];

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	assert_true(btf__add_typedef(k->btf, type_name, ptr_to(k, proto)) > 0);
}

static inline void add_function(struct kernel *k, const char *name, const char *args)
{
	assert_true(btf__add_func(k->btf, name, BTF_FUNC_STATIC, proto_of(k, 0, args)) > 0);
}

/* The n-th of all the "struct.field" that the variant table names; false: there are fewer. */
static inline bool nth_field(size_t n, char *buf, size_t size)
{
	const char *p;
	size_t i;

	for (i = 0; i < n_variants; i++) {
		for (p = variants[i].fields; p && *p; p += strcspn(p, ","), p += *p == ',') {
			if (n--)
				continue;
			snprintf(buf, size, "%.*s", (int)strcspn(p, ","), p);
			return true;
		}
	}
	return false;
}

/* A structure with its fields, the first in an anonymous union, as it is common in the kernel. */
static inline void add_struct(struct kernel *k, const char *name, const char *lacking)
{
	size_t len = strlen(name), i, n = 0;
	int inner = btf__add_union(k->btf, NULL, 8);
	char field[128];

	assert_true(inner > 0);
	for (i = 0; nth_field(i, field, sizeof(field)); i++) {
		if (strncmp(field, name, len) || field[len] != '.')
			continue;
		if (!lacking || strcmp(field, lacking))
			assert_int_equal(btf__add_field(k->btf, field + len + 1, k->u64, 0, 0), 0);
		if (n++)
			continue;
		assert_true(btf__add_struct(k->btf, name, 64) > 0);
		assert_int_equal(btf__add_field(k->btf, NULL, inner, 0, 0), 0);
	}
}

/* All that the variant table asks for besides tracepoints, but for one field. */
static inline struct kernel new_kernel_lacking(const char *lacking)
{
	struct kernel k = { .btf = btf__new_empty() };
	char field[128];
	size_t i;

	assert_non_null(k.btf);
	k.u8 = btf__add_int(k.btf, "unsigned char", 1, 0);
	k.u32 = btf__add_int(k.btf, "unsigned int", 4, 0);
	k.s32 = btf__add_int(k.btf, "int", 4, BTF_INT_SIGNED);
	k.u64 = btf__add_int(k.btf, "unsigned long", 8, 0);
	k.s64 = btf__add_int(k.btf, "long", 8, BTF_INT_SIGNED);
	for (i = 0; nth_field(i, field, sizeof(field)); i++) {
		*strchr(field, '.') = '\0';
		if (btf__find_by_name_kind(k.btf, field, BTF_KIND_STRUCT) < 0)
			add_struct(&k, field, lacking);
	}
	return k;
}

static inline struct kernel new_kernel(void)
{
	return new_kernel_lacking(NULL);
}

static inline void add_common(struct kernel *k)
{
	add_tracepoint(k, "io_uring_create", "s32,*,u32,u32,u32");
	add_tracepoint(k, "workqueue_queue_work", "s32,pool_workqueue*,work_struct*");
	add_tracepoint(k, "workqueue_execute_end", "work_struct*,*");
	add_tracepoint(k, "io_uring_req_failed", "io_uring_sqe*,io_kiocb*,s32");
	add_tracepoint(k, "io_uring_cqe_overflow", "*,u64,s32,u32,*");
	add_tracepoint(k, "io_uring_queue_async_work", "io_kiocb*,s32");
	add_tracepoint(k, "io_uring_link", "io_kiocb*,io_kiocb*");
	add_tracepoint(k, "io_uring_poll_arm", "io_kiocb*,s32,s32");
	add_tracepoint(k, "io_uring_task_add", "io_kiocb*,s32");
	add_tracepoint(k, "io_uring_defer", "io_kiocb*");
	add_tracepoint(k, "io_uring_cqring_wait", "*,s32");
	add_tracepoint(k, "io_uring_short_write", "*,u64,u64,u64");
	add_tracepoint(k, "io_uring_register", "*,u32,u32,u32,s64");
	add_tracepoint(k, "sched_process_fork", "task_struct*,task_struct*");
	add_tracepoint(k, "sched_process_exit", "task_struct*,u8");
	add_tracepoint(k, "sched_switch", "u8,task_struct*,task_struct*,u32");
	add_tracepoint(k, "block_bio_queue", "bio*");
	add_tracepoint(k, "block_rq_issue", "request*");
	add_tracepoint(k, "block_rq_complete", "request*,u8,u32");
	add_function(k, "__x64_sys_io_uring_enter", "pt_regs*");
	add_function(k, "__x64_sys_io_uring_register", "pt_regs*");
	add_function(k, "io_wq_submit_work", "io_wq_work*");
	add_function(k, "io_import_reg_buf", "io_kiocb*,*,u64,u64,s32,u32");
}

#endif
