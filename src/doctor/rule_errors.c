// SPDX-License-Identifier: MIT
/* ERRORS: requests of an opcode that fail at rate, by errno; SQEs that are refused. */
#include <errno.h>

#include "failing.h"
#include "fmt.h"
#include "names.h"
#include "opcode.h"

enum threshold_index { ERRORS_MIN_FAILED, ERRORS_MIN_PCT, ERRORS_MIN_EIO };

static const struct {
	int err;
	enum severity severity;
	const char *advice;
} known[] = {
	{ EIO, SEVERITY_CRIT,
		"The device or the file system failed. The kernel's log says more (dmesg); check the device before "
		"anything else." },
	{ ENOSPC, SEVERITY_WARN,
		"The file system, or the quota, is full: free space, and check what writes." },
	{ EDQUOT, SEVERITY_WARN, "The quota is used up: free space, and check what writes." },
	{ EROFS, SEVERITY_WARN,
		"The file system is mounted read-only, perhaps since an error: the kernel's log says why (dmesg)." },
	{ EBADF, SEVERITY_WARN,
		"The descriptor was closed before the request was submitted, or was opened for the other "
		"direction; with IOSQE_FIXED_FILE, that index has no file. Keep a file open until the CQEs of all "
		"its requests are there." },
	{ EFAULT, SEVERITY_WARN,
		"A buffer is not mapped, or was freed before the request ended: keep it until the CQE is there." },
	{ EINVAL, SEVERITY_WARN,
		"The kernel does not take what the SQE says: O_DIRECT with an offset, a length or a buffer that is "
		"not aligned, fields left over from an earlier SQE, a flag that this opcode does not know, or an "
		"opcode that this file does not." },
	{ EOPNOTSUPP, SEVERITY_WARN,
		"This file, or this kernel, cannot do that. Ask once (io_uring_get_probe()) and go another way." },
	{ ENOMEM, SEVERITY_WARN,
		"The kernel had no memory for it: the limit of the control group (memory.max), or of locked memory." },
	{ EMFILE, SEVERITY_WARN,
		"The process has as many files open as it may: raise RLIMIT_NOFILE, or close." },
	{ ENFILE, SEVERITY_WARN, "As many files are open, or direct descriptors in use, as there may be." },
	{ ENOBUFS, SEVERITY_WARN,
		"There was no memory for the socket's data: send less at a time, or raise the socket's limits." },
	{ EACCES, SEVERITY_WARN,
		"The program may not: check the permissions of the file and of the path to it." },
	{ EPERM, SEVERITY_WARN,
		"The program may not: a capability is missing, a seal or a restriction of the ring forbids it." },
	{ ENOENT, SEVERITY_INFO, "Paths that do not exist. Nothing is wrong if the program is searching." },
	{ EEXIST, SEVERITY_INFO,
		"What was to be created exists. Nothing is wrong if the program expects that." },
	{ ENOTDIR, SEVERITY_INFO, "Paths that do not exist. Nothing is wrong if the program is searching." },
	{ ECONNRESET, SEVERITY_INFO, "Peers close connections with data on the way: look at them first." },
	{ EPIPE, SEVERITY_INFO,
		"Peers had closed the connection: stop sending once one is known to be closed." },
	{ ECONNABORTED, SEVERITY_INFO, "Peers gave up before their connection was accepted." },
	{ ECONNREFUSED, SEVERITY_INFO, "Nobody listens at the address: is the peer up?" },
	{ ETIMEDOUT, SEVERITY_INFO, "Peers did not answer: is the network, are they, up?" },
	{ EHOSTUNREACH, SEVERITY_INFO, "There is no way to the peer: check routes and firewalls." },
	{ ENETUNREACH, SEVERITY_INFO, "There is no way to the peer: check routes and firewalls." },
	{ ENOTCONN, SEVERITY_INFO, "The socket is not connected, or not any more." },
	{ EINTR, SEVERITY_INFO, "Interrupted: the thread, or its workers, were asked to end." },
	{ ETIME, SEVERITY_INFO, "A time ran out before what was waited for came." },
};

static const char refused_advice[] =
	"The kernel refused these SQEs before they became requests: an opcode or a flag that it does not know, "
	"fields that must be 0, an index that does not exist. Clear each SQE before it is filled "
	"(the io_uring_prep_*() functions do), and ask which opcodes there are with io_uring_get_probe().";

/* Ends that belong to what the opcode does. */
static bool is_normal(unsigned int op, int err)
{
	switch (op) {
	case OPCODE_TIMEOUT:
	case OPCODE_LINK_TIMEOUT:
		return err == ETIME || err == EALREADY || err == ENOENT;
	case OPCODE_TIMEOUT_REMOVE:
	case OPCODE_ASYNC_CANCEL:
	case OPCODE_POLL_REMOVE:
		return err == ENOENT || err == EALREADY;
	case OPCODE_FUTEX_WAIT:
	case OPCODE_FUTEX_WAITV:
	case OPCODE_EPOLL_WAIT:
		return err == EAGAIN;
	default:
		return false;
	}
}

/* Rules of their own speak of these. */
static bool is_others(unsigned int op, int err)
{
	if (err == ENOBUFS)
		return op != OPCODE_SEND && op != OPCODE_SENDMSG && op != OPCODE_SEND_ZC &&
		       op != OPCODE_SENDMSG_ZC;
	return err == ECANCELED || err == EAGAIN;
}

static bool fires(const struct rule *r, const struct failing *f)
{
	if (f->err == EIO && (double)f->n >= rule__limit(r, ERRORS_MIN_EIO))
		return true;
	return !is_normal(f->op->op, f->err) && !is_others(f->op->op, f->err) &&
	       (double)f->n >= rule__limit(r, ERRORS_MIN_FAILED) &&
	       rule__pct(f->n, f->of) >= rule__limit(r, ERRORS_MIN_PCT);
}

static int judge(const struct rule *r, const struct failing *f, struct diagnosis *d)
{
	char op[NAME_LEN], err[NAME_LEN], n[FMT_LEN], of[FMT_LEN], pct[FMT_LEN];
	struct finding finding;
	json_t *e;

	if (!fires(r, f))
		return 0;
	finding = failing__finding(r, f);
	e = failing__evidence(f);
	op_name(f->op->op, op);
	fmt_count(n, (double)f->n);
	fmt_count(of, (double)f->of);
	fmt_pct(pct, (double)f->n, (double)f->of);
	if (!f->err) {
		finding.advice = refused_advice;
		return diagnosis__add(d, &finding, e, "%s: %s of %s SQEs (%s) were refused",
			op_name(f->op->op, op), n, of, pct);
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].err == f->err) {
			finding.severity = known[i].severity;
			finding.advice = known[i].advice;
		}
	}
	evidence__string(&e, "errno", errno_name(f->err, err));
	return diagnosis__add(d, &finding, e, "%s: %s of %s CQEs (%s) are %s", op_name(f->op->op, op), n, of,
		pct, errno_name(f->err, err));
}

static int eval(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	int err = failing__each(r, s, judge, d);

	if (!err && !snapshot__knows(s, RS_F_REJECT))
		err = diagnosis__not_checked(d, r->id, true, "refused SQEs: cannot observe %s",
			rule__feature_name(RS_F_REJECT));
	return err;
}

const struct rule rule_errors = {
	.id = "ERRORS",
	.what = "requests of an opcode fail, or their SQEs are refused",
	.severity = "by errno: crit for EIO; info for what a program may well expect, such as ENOENT or ECONNRESET; "
		    "warn for all others, and for refused SQEs",
	.advice = "The manual page of the system call that does the same says what the error means.",
	.needs = RULE_NEEDS(COMPLETE),
	.thresholds = {
		[ERRORS_MIN_FAILED] = { "min_failed", "requests", 10, "fewer are an incident, not a state" },
		[ERRORS_MIN_PCT] = { "min_pct", "% of the CQEs of this opcode", 1,
			"rare errors are what error handling is for" },
		[ERRORS_MIN_EIO] = { "min_eio", "requests", 1, "EIO means lost data, or soon" },
	},
	.evidence = {
		{ "failed", "requests of this opcode that ended with this errno; or SQEs that were refused" },
		{ "cqes", "CQEs of this opcode" },
		{ "sqes", "SQEs of this opcode, refused ones included, where that is what failed" },
		{ "failed_pct", "failed as a share of these" },
		{ "failed_per_s", "failed by second of the window" },
		{ "errno", "the error, where there is one" },
	},
	.eval = eval,
};
