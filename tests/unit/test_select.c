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

#include "kernel_shape.h"
#include "names.h"
#include "select.h"
#include "session_private.h"

static enum ksym_state all_symbols(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return KSYM_PRESENT;
}

static enum ksym_state as_told(const char *name, void *arg)
{
	const enum ksym_state *state = arg;

	(void)name;
	return *state;
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
	assert_string_equal(p.state[RS_F_WQ_QUEUE].how, "fentry/io_wq_submit_work(io_wq_work*)");
	assert_string_equal(p.state[RS_F_ENTER].how, "fexit/__x64_sys_io_uring_enter(pt_regs*)");
	assert_string_equal(p.state[RS_F_COMPLETE].how,
		"tp_btf/io_uring_complete(io_ring_ctx*,*,io_uring_cqe*)");
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

/* 5.10 passes the parts of a request one by one, and completions do not name theirs. */
static void test_like_5_10(void **state)
{
	struct kernel k = new_kernel_lacking("io_kiocb.cqe");
	struct plan p;

	(void)state;
	add_tracepoint(&k, "io_uring_submit_sqe", "*,*,u8,u64,u32,u8,u8");
	add_tracepoint(&k, "io_uring_complete", "*,u64,s32,u32");
	p = plan_of(&k);
	assert_program(&p, RS_F_SUBMIT, "rs_submit_named");
	assert_string_equal(p.chosen[RS_F_COMPLETE]->program, "rs_complete_named");
	assert_int_equal(p.state[RS_F_COMPLETE].level, FEATURE_DEGRADED);
	assert_true(p.state[RS_F_COMPLETE].why[0]);
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
	struct kernel k = { .btf = btf__new_empty() };
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
	static const struct {
		enum ksym_state state;
		const char *why;
	} cases[] = {
		{ KSYM_ABSENT, "no symbol io_ring_exit_work" },
		{ KSYM_HIDDEN, "io_ring_exit_work is hidden" },
		{ KSYM_AMBIGUOUS, "several symbols io_ring_exit_work" },
		{ KSYM_UNREADABLE, "can't read /proc/kallsyms" },
	};
	enum ksym_state told;
	struct kernel k = new_kernel();
	struct plan p;
	size_t i;

	(void)state;
	add_common(&k);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		told = cases[i].state;
		plan__select(k.btf, as_told, &told, NULL, &p);
		assert_null(p.chosen[RS_F_RING_EXIT]);
		assert_non_null(strstr(p.state[RS_F_RING_EXIT].why, cases[i].why));
		assert_null(p.chosen[RS_F_RING_SCAN]);
		assert_program(&p, RS_F_RING_CREATE, "rs_create");
	}
	btf__free(k.btf);
}

static bool is_program(size_t row, const char *name)
{
	return variants[row].program && !strcmp(variants[row].program, name);
}

/* The beginning of a registration is an extra's alone; its end is seen by what counts registrations. */
static void test_programs_of_extras(void **state)
{
	size_t i;

	(void)state;
	assert_true(program__is_extra("rs_enter_begin"));
	assert_true(program__is_extra("rs_enter_end"));
	assert_true(program__is_extra("rs_register_begin"));
	assert_false(program__is_extra("rs_register"));
	assert_false(program__is_extra("rs_no_such_program"));
	for (i = 0; i < n_variants; i++)
		if (variants[i].program)
			assert_int_equal(program__is_extra(variants[i].program),
				feature_is_extra(variants[i].feature));
}

/* What is told by another feature's program is off with it. */
static void test_told_by_another(void **state)
{
	const char *refused[64] = { NULL };
	struct kernel k = new_kernel();
	struct plan p;
	size_t i, f, n_told = 0;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*");
	p = plan_of(&k);
	for (f = 0; f < RS_F_COUNT; f++)
		n_told += p.told_by[f] != NULL;
	assert_true(n_told > 0);
	for (i = 0; i < n_variants; i++)
		refused[i] = variants[i].program && !strcmp(variants[i].hook, "io_uring_complete")
				     ? "too large"
				     : NULL;
	plan__select(k.btf, all_symbols, NULL, refused, &p);
	for (f = 0; f < RS_F_COUNT; f++) {
		assert_true(!p.told_by[f] || strcmp(p.told_by[f], "io_uring_complete"));
		assert_true(p.state[f].level == FEATURE_OFF ? p.state[f].why[0] != '\0'
							    : p.chosen[f] || p.told_by[f]);
	}
	/* the same when it can't be attached */
	p = plan_of(&k);
	p.state[RS_F_COMPLETE].level = FEATURE_OFF;
	plan__drop_untold(&p);
	for (f = 0; f < RS_F_COUNT; f++)
		assert_true(!p.told_by[f] || strcmp(p.told_by[f], "io_uring_complete"));
	btf__free(k.btf);
}

/* What the kernel refused gives way to the next variant, or to its reason. */
static void test_refused(void **state)
{
	const char *refused[64] = { NULL };
	struct kernel k = new_kernel();
	struct plan p;
	size_t i;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_submit_sqe", "io_kiocb*,u8");
	assert_true(n_variants < 64);
	for (i = 0; i < n_variants; i++)
		if (is_program(i, "rs_submit_req") || is_program(i, "rs_punt"))
			refused[i] = "no such helper";
	plan__select(k.btf, all_symbols, NULL, refused, &p);
	assert_program(&p, RS_F_SUBMIT, "rs_submit_sqe");
	assert_null(p.chosen[RS_F_PUNT]);
	assert_string_equal(p.state[RS_F_PUNT].why, "no such helper");
	btf__free(k.btf);
}

/* A row that does not fit is not why its feature is off, if one that did was refused. */
static void test_refused_reason(void **state)
{
	const char *refused[64] = { NULL };
	struct kernel k = new_kernel();
	struct plan p;
	size_t i;

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*");
	for (i = 0; i < n_variants; i++)
		if (variants[i].feature == RS_F_COMPLETE)
			refused[i] = "too large";
	plan__select(k.btf, all_symbols, NULL, refused, &p);
	assert_null(p.chosen[RS_F_COMPLETE]);
	assert_string_equal(p.state[RS_F_COMPLETE].why, "too large");
	assert_string_equal(p.state[RS_F_COMPLETE].how, "");
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

/* What follows is about kernels that do not exist yet: each differs in one thing from one that has all. */

static bool is_first_of_hook(size_t row)
{
	size_t i;

	for (i = 0; i < row; i++)
		if (!strcmp(variants[i].hook, variants[row].hook))
			return false;
	return true;
}

/* A tracepoint or function with the arguments of a row, "..." being one more. */
static void add_hook(struct kernel *k, const char *hook, const char *args)
{
	size_t len = strlen(args);
	char expanded[256];

	if (len >= 3 && !strcmp(args + len - 3, "..."))
		snprintf(expanded, sizeof(expanded), "%.*ss32", (int)len - 3, args);
	else
		snprintf(expanded, sizeof(expanded), "%s", args);
	if (hook__function(hook))
		add_function(k, hook__function(hook), expanded);
	else
		add_tracepoint(k, hook, expanded);
}

/*
 * A kernel with the tracepoints and functions of all rows, that of one with these arguments (NULL: without it), and all
 * fields but one.
 */
static struct kernel kernel_with_lacking(size_t row, const char *args, const char *field)
{
	struct kernel k = new_kernel_lacking(field);
	size_t i;

	if (args)
		add_hook(&k, variants[row].hook, args);
	for (i = 0; i < n_variants; i++)
		if (variants[i].args && strcmp(variants[i].hook, variants[row].hook) && is_first_of_hook(i))
			add_hook(&k, variants[i].hook, variants[i].args);
	add_tracepoint(&k, "block_bio_queue", "bio*");
	add_tracepoint(&k, "block_rq_issue", "request*");
	return k;
}

static struct kernel kernel_with(size_t row, const char *args)
{
	return kernel_with_lacking(row, args, NULL);
}

static bool has_row_on(enum rs_feature f, const char *hook)
{
	size_t i;

	for (i = 0; i < n_variants; i++)
		if (variants[i].feature == f && !strcmp(variants[i].hook, hook))
			return true;
	return false;
}

/*
 * The row is not taken. Nobody else suffers but who has a row on the same tracepoint, and who is off says why:
 * that the tracepoint is not there, or not as it is known.
 */
static void assert_row_lost(const struct kernel *k, size_t row, const char *why)
{
	struct plan p = plan_of(k);
	size_t f;

	assert_ptr_not_equal(p.chosen[variants[row].feature], &variants[row]);
	for (f = 0; f < RS_F_COUNT; f++) {
		if (p.state[f].level != FEATURE_OFF)
			continue;
		if (!has_row_on(f, variants[row].hook))
			fail_msg("%s is off: %s", feature_name(f), p.state[f].why);
		assert_string_equal(p.state[f].how, "");
		if (!strstr(p.state[f].why, why))
			fail_msg("%s: no \"%s\" in \"%s\"", feature_name(f), why, p.state[f].why);
	}
}

static void test_tracepoint_gone(void **state)
{
	struct kernel k;
	size_t i;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		if (!variants[i].args)
			continue;
		k = kernel_with(i, NULL);
		/* a feature with rows on several tracepoints tells of the last */
		assert_row_lost(&k, i,
			variants[i].feature == RS_F_SUBMIT ? ""
			: hook__function(variants[i].hook) ? "no function"
							   : "no tracepoint");
		btf__free(k.btf);
	}
}

static void test_one_more_argument(void **state)
{
	char args[256];
	struct kernel k;
	struct plan p;
	size_t i;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		if (!variants[i].args)
			continue;
		snprintf(args, sizeof(args), "%s,u64", variants[i].args);
		if (strstr(args, "...")) {
			/* a row that says so does not mind */
			snprintf(strstr(args, "..."), 16, "s32,u8,u64");
			k = kernel_with(i, args);
			p = plan_of(&k);
			assert_true(p.chosen[variants[i].feature] || p.told_by[variants[i].feature] ||
				    variants[i].level == FEATURE_OFF);
		} else {
			k = kernel_with(i, args);
			assert_row_lost(&k, i, "unknown form");
		}
		btf__free(k.btf);
	}
}

/* One argument of the list replaced by another type; false: it has no such argument. */
static bool change_argument(const char *args, size_t which, char *buf, size_t size)
{
	const char *end;
	size_t len;

	for (end = args; which && *end; end++)
		which -= *end == ',';
	len = strcspn(end, ",");
	if (which || !len || !strncmp(end, "...", 3))
		return false;
	snprintf(buf, size, "%.*s%s%s", (int)(end - args), args, end[len - 1] == '*' ? "u64" : "io_kiocb*",
		end + len);
	return true;
}

static void test_argument_of_another_type(void **state)
{
	char args[256];
	struct kernel k;
	size_t i, arg, n_changed = 0;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		for (arg = 0; variants[i].args && change_argument(variants[i].args, arg, args, sizeof(args));
			arg++) {
			k = kernel_with(i, args);
			assert_row_lost(&k, i, "unknown form");
			btf__free(k.btf);
			n_changed++;
		}
	}
	assert_true(n_changed > n_variants);
}

static void test_field_gone(void **state)
{
	char fields[256], *field, *save;
	size_t i, n_fields = 0;
	struct kernel k;
	struct plan p;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		snprintf(fields, sizeof(fields), "%s", variants[i].fields ? variants[i].fields : "");
		for (field = strtok_r(fields, ",", &save); field; field = strtok_r(NULL, ",", &save)) {
			k = kernel_with_lacking(i, variants[i].args, field);
			p = plan_of(&k);
			assert_ptr_not_equal(p.chosen[variants[i].feature], &variants[i]);
			if (p.state[variants[i].feature].level == FEATURE_OFF)
				assert_non_null(strstr(p.state[variants[i].feature].why, field));
			btf__free(k.btf);
			n_fields++;
		}
	}
	assert_true(n_fields > 0);
}

/* A kernel whose completions nobody knows: counting goes on without them, unless `stat` is asked to. */
static void test_unknown_completion(void **state)
{
	const struct session_options strict = { 0 }, partial = { .partial = true };
	struct session s = { 0 };
	struct kernel k = new_kernel();
	char errmsg[512] = "untouched";

	(void)state;
	add_common(&k);
	add_tracepoint(&k, "io_uring_submit_req", "io_kiocb*");
	add_tracepoint(&k, "io_uring_complete", "io_ring_ctx*,io_kiocb*,io_uring_cqe*,u32");
	s.plan = plan_of(&k);
	assert_int_equal(session__check_essential(&s, &partial, errmsg, sizeof(errmsg)), 0);
	assert_string_equal(errmsg, "untouched");
	assert_int_equal(session__check_essential(&s, &strict, errmsg, sizeof(errmsg)), -EOPNOTSUPP);
	assert_non_null(strstr(errmsg,
		"unknown form of tracepoint io_uring_complete(io_ring_ctx*,io_kiocb*,io_uring_cqe*,u32)"));
	assert_null(strchr(errmsg, '\n'));
	btf__free(k.btf);
}

static size_t n_programs_on(const char *hook)
{
	size_t i, n = 0;

	for (i = 0; i < n_variants; i++)
		n += variants[i].program && !strcmp(variants[i].hook, hook);
	return n;
}

/* Every feature has a row, and every row a program and a hook. */
static void test_table(void **state)
{
	bool seen[RS_F_COUNT] = { false };
	size_t i;

	(void)state;
	for (i = 0; i < n_variants; i++) {
		/* a row without a program is told by one on the same hook */
		assert_true(variants[i].program || n_programs_on(variants[i].hook));
		assert_non_null(variants[i].hook);
		assert_true(variants[i].level == FEATURE_FULL || variants[i].why);
		/* the end of a function has a beginning, and so has a wait */
		assert_true(!variants[i].begin == (strncmp(variants[i].hook, "fexit:", 6) != 0 &&
							  !variant__is_uprobe(&variants[i]) &&
							  variants[i].feature != RS_F_SPAN_WAIT));
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
		cmocka_unit_test(test_programs_of_extras),
		cmocka_unit_test(test_told_by_another),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_reason),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_tracepoint_gone),
		cmocka_unit_test(test_one_more_argument),
		cmocka_unit_test(test_argument_of_another_type),
		cmocka_unit_test(test_field_gone),
		cmocka_unit_test(test_unknown_completion),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
