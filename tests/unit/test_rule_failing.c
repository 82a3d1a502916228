// SPDX-License-Identifier: MIT
/* ERRORS, NOBUFS and EAGAIN: each errno has its rule, and what belongs to an opcode has none. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "diagnosis.h"

enum {
	OP_TIMEOUT = 11,
	OP_ASYNC_CANCEL = 14,
	OP_LINK_TIMEOUT = 15,
	OP_SEND = 26,
	OP_RECV = 27,
	OP_FUTEX_WAIT = 51
};

/* n of 1000 requests on ring `id` failed. */
static struct op_stats *failed(struct snapshot *s, uint32_t id, unsigned int op, int err, uint64_t n)
{
	struct op_stats *o = sample__op(sample__ring(s, id), op);

	o->c[RS_SC_SUBMITTED] = o->c[RS_SC_COMPLETED] = 1000;
	o->c[RS_SC_ERRORS] = n;
	assert_int_equal(op_stats__add_errno(o, err, n), 0);
	return o;
}

static void assert_one(unsigned int op, int err, uint64_t n, const char *rule)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	failed(s, 1, op, err, n);
	if (!rule) {
		assert_healthy(s);
	} else {
		f = only_finding(s, &d);
		assert_string_equal(f->rule, rule);
		assert_int_equal(f->op, op);
		assert_int_equal(f->ring, 1);
		assert_int_equal(f->weight, n);
		assert_int_equal(integer_of(f, "failed"), n);
		assert_int_equal(integer_of(f, "cqes"), 1000);
		diagnosis__free(&d);
	}
	sample__free(s);
}

static void each_errno_has_its_rule(void **state)
{
	(void)state;
	assert_one(OP_READ, EBADF, 10, "ERRORS");
	assert_one(OP_READ, EBADF, 9, NULL);
	assert_one(OP_READ, EIO, 1, "ERRORS");
	assert_one(OP_SEND, ENOBUFS, 10, "ERRORS");
	assert_one(OP_RECV, ENOBUFS, 10, "NOBUFS");
	assert_one(OP_RECV, ENOBUFS, 9, NULL);
	assert_one(OP_RECV, EAGAIN, 100, "EAGAIN");
	assert_one(OP_RECV, EAGAIN, 99, NULL);
	assert_one(OP_READ, 999, 500, "ERRORS");
}

static void what_belongs_to_an_opcode_is_no_error(void **state)
{
	(void)state;
	assert_one(OP_TIMEOUT, ETIME, 99, NULL);
	assert_one(OP_TIMEOUT, EINVAL, 1000, "ERRORS");
	assert_one(OP_TIMEOUT, ECANCELED, 1000, NULL);
	assert_one(OP_LINK_TIMEOUT, ECANCELED, 1000, NULL);
	assert_one(OP_LINK_TIMEOUT, ETIME, 99, NULL);
	assert_one(OP_ASYNC_CANCEL, ENOENT, 1000, NULL);
	assert_one(OP_ASYNC_CANCEL, EALREADY, 1000, NULL);
	assert_one(OP_ASYNC_CANCEL, EINVAL, 1000, "ERRORS");
	assert_one(OP_FUTEX_WAIT, EAGAIN, 1000, NULL);
}

static void in_words(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	failed(s, 3, OP_READ, EBADF, 250);
	f = only_finding(s, &d);
	assert_string_equal(f->title, "READ: 250 of 1000 CQEs (25.0%) are EBADF");
	assert_string_equal(string_of(f, "errno"), "EBADF");
	assert_float_equal(real_of(f, "failed_pct"), 25, 1e-9);
	assert_float_equal(real_of(f, "failed_per_s"), 250, 1e-9);
	assert_non_null(strstr(f->advice, "closed"));
	assert_int_equal(f->severity, SEVERITY_WARN);
	diagnosis__free(&d);
	sample__free(s);
}

static void severity_is_the_errnos(void **state)
{
	static const struct {
		int err;
		enum severity severity;
	} rows[] = { { EIO, SEVERITY_CRIT }, { EINVAL, SEVERITY_WARN }, { ENOENT, SEVERITY_INFO },
		{ ECONNRESET, SEVERITY_INFO }, { 999, SEVERITY_WARN } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct snapshot *s = sample__snapshot();

		failed(s, 1, OP_READ, rows[i].err, 100);
		assert_severity(s, rows[i].severity);
		sample__free(s);
	}
}

static void rare_errors_are_no_state(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = failed(s, 1, OP_READ, EINVAL, 100);

	(void)state;
	o->c[RS_SC_COMPLETED] = 10000;
	assert_severity(s, SEVERITY_WARN);
	o->c[RS_SC_COMPLETED] = 10001;
	assert_healthy(s);
	sample__free(s);
}

static void refused_sqes(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = sample__op(sample__ring(s, 2), OP_NOP);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	o->c[RS_SC_REJECTED] = 10;
	o->c[RS_SC_SUBMITTED] = 990;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "ERRORS");
	assert_string_equal(f->title, "NOP: 10 of 1000 SQEs (1.00%) were refused");
	assert_int_equal(integer_of(f, "sqes"), 1000);
	assert_absent(f, "errno");
	diagnosis__free(&d);
	o->c[RS_SC_SUBMITTED] = 991;
	assert_healthy(s);
	s->features[RS_F_REJECT].level = FEATURE_OFF;
	d = diagnose(s);
	assert_true(diagnosis__gap(&d, "ERRORS")->in_part);
	diagnosis__free(&d);
	sample__free(s);
}

/* CQEs of multishot requests count, and that many requests are submitted again says what it costs. */
static void buffers_that_run_out(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct op_stats *o = failed(s, 1, OP_RECV, ENOBUFS, 100);
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	o->c[RS_SC_MULTISHOT] = 9000;
	f = only_finding(s, &d);
	assert_string_equal(f->rule, "NOBUFS");
	assert_string_equal(f->title, "RECV: the provided buffers ran out 100 times (1.00% of its CQEs)");
	assert_int_equal(integer_of(f, "cqes"), 10000);
	assert_int_equal(integer_of(f, "submitted"), 1000);
	assert_int_equal(integer_of(f, "cqes_multishot"), 9000);
	diagnosis__free(&d);
	o->c[RS_SC_MULTISHOT] = 9001;
	assert_healthy(s);
	sample__free(s);
}

static void which_ring(void **state)
{
	struct snapshot *s = sample__snapshot();
	const struct finding *f;
	struct diagnosis d;

	(void)state;
	failed(s, 1, OP_READ, EINVAL, 90);
	failed(s, 2, OP_READ, EINVAL, 10);
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 1);
	assert_int_equal(f->weight, 100);
	diagnosis__free(&d);
	assert_int_equal(op_stats__add_errno(&s->rings[1].ops[0], EINVAL, 1), 0);
	f = only_finding(s, &d);
	assert_int_equal(f->ring, 0);
	diagnosis__free(&d);
	sample__free(s);
}

static void without_results_nothing_is_judged(void **state)
{
	struct snapshot *s = sample__snapshot();
	struct diagnosis d;

	(void)state;
	failed(s, 1, OP_READ, EIO, 100);
	s->features[RS_F_COMPLETE].level = FEATURE_OFF;
	d = diagnose(s);
	assert_int_equal(d.n_findings, 0);
	assert_non_null(diagnosis__gap(&d, "ERRORS"));
	assert_non_null(diagnosis__gap(&d, "NOBUFS"));
	assert_non_null(diagnosis__gap(&d, "EAGAIN"));
	diagnosis__free(&d);
	sample__free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_errno_has_its_rule),
		cmocka_unit_test(what_belongs_to_an_opcode_is_no_error),
		cmocka_unit_test(in_words),
		cmocka_unit_test(severity_is_the_errnos),
		cmocka_unit_test(rare_errors_are_no_state),
		cmocka_unit_test(refused_sqes),
		cmocka_unit_test(buffers_that_run_out),
		cmocka_unit_test(which_ring),
		cmocka_unit_test(without_results_nothing_is_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
