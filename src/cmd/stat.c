// SPDX-License-Identifier: MIT
/* `ringside stat`: wiring. */
#include "stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "facts.h"
#include "log.h"
#include "pidns.h"
#include "names.h"
#include "privileges.h"
#include "program.h"
#include "stream.h"

static int check_privileges(void)
{
	struct privileges p;
	char missing[160];
	int err = privileges__read(&p);

	if (err) {
		log_error("can't read the capabilities of this process: %s", strerror(-err));
		return err;
	}
	privileges__missing(&p, missing, sizeof(missing));
	if (!missing[0])
		return 0;
	log_error("%s", missing);
	return -EPERM;
}

/* Whether the program's name is to blame. */
static bool is_exec_error(int err)
{
	return err == -ENOENT || err == -EACCES || err == -ENOEXEC || err == -EISDIR || err == -ENOTDIR ||
	       err == -ENAMETOOLONG || err == -ELOOP;
}

/* The exit status that says why the program could not be started. */
static int status_of_exec(int err)
{
	return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Starts the program held. 0 or the exit status. */
static int hold_program(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	struct run_as as = { 0 };
	int err, become = 0;

	if (!o->program)
		return EXIT_OK;
	if (!o->as_root)
		become = run_as__from_sudo(&as);
	if (become < 0) {
		log_error(
			"can't tell who called sudo (SUDO_UID, SUDO_GID): %s; --as-root runs the program as root",
			strerror(-become));
		return EXIT_FAILED;
	}
	err = child__spawn(o->program, become ? &as : NULL, &r->signals, &r->child);
	if (is_exec_error(err)) {
		log_error("can't run '%s': %s", o->program[0], strerror(-err));
		err = status_of_exec(err);
	} else if (err) {
		log_error("can't start '%s': %s", o->program[0], strerror(-err));
		err = EXIT_FAILED;
	} else if (become) {
		log_note("running %s as user %s (--as-root keeps root)", o->program[0],
			as.name ? as.name : "of sudo");
	}
	run_as__free(&as);
	return err;
}

static int open_pids(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	pid_t bad = 0;
	int err;

	if (!o->pids.n)
		return 0;
	err = pid_set__open(o->pids.pids, o->pids.n, &r->pids, &bad);
	if (err == -ESRCH)
		log_error("no process %d", bad);
	else if (err)
		log_error("can't observe process %d: %s", bad, strerror(-err));
	return err;
}

static bool watches_heads(const struct stat_options *o)
{
	return o->reap && strcmp(o->reap, "bracketed");
}

static int check_watchpoints(const struct stat_options *o)
{
	if (!o->reap || strcmp(o->reap, "exact") || !facts__is_x86_guest())
		return 0;
	log_error(
		"--reap=exact: in a virtual machine a watchpoint can, rarely, kill the program that is observed "
		"(SIGTRAP; see ringside-stat(1)); if it may be risked, use --reap=exact-in-vm");
	return -EPERM;
}

static int open_session(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	pid_t child = r->child ? child__pid(r->child) : 0;
	struct session_options so = r->filters;
	char errmsg[512];
	int err;

	so.all = o->all;
	so.pid_ns = pidns__inode();
	so.scan = o->all || o->pids.n;
	so.targets = r->child ? &child : r->pids.pids;
	so.n_targets = r->child ? 1 : r->pids.n;
	so.no_extras = o->no_extras;
	so.block = o->block;
	so.watch_heads = watches_heads(o);
	so.slow_ns = o->slow_ns;
	so.spans = r->spans.places;
	so.n_spans = r->spans.n;
	so.on_refusal = log_verbose_lines;
	stat_options__sizes(o, &so);
	err = session__open(&so, &r->session, errmsg, sizeof(errmsg));
	if (err)
		log_error("%s", errmsg);
	if (!err && o->block && session__features(r->session)[RS_F_BLOCK].level != FEATURE_FULL)
		log_warn("--block: %s", session__features(r->session)[RS_F_BLOCK].why);
	if (!err && so.watch_heads && !session__tables(r->session)->lags)
		log_warn("--reap=%s: the kernel refuses the programs that it takes; reaping is bracketed",
			o->reap);
	return err;
}

/* Once the programs are attached and existing rings were looked for: either may have been in part. */
static void note_features(const struct stat_run *r)
{
	const struct feature_state *f = session__features(r->session);
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		if (f[i].level == FEATURE_FULL)
			log_verbose("%s: %s", feature_name(i), f[i].how);
		else if (feature_is_extra(i))
			log_verbose("%s: %s", feature_name(i), f[i].why);
		else if (f[i].level == FEATURE_DEGRADED)
			log_note("%s: sees %s only in part: %s", feature_name(i), feature_what(i), f[i].why);
		else
			log_note("%s: can't see %s: %s", feature_name(i), feature_what(i), f[i].why);
	}
}

static int announce(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	struct outfile f = { 0 };
	int err;

	if (o->pids.n && !live__n_rings(r->live))
		log_note("%s: no io_uring ring yet; waiting for one", r->target);
	if (!o->ready_file)
		return 0;
	err = outfile__open(o->ready_file, false, &f);
	err = err ? err : outfile__commit(&f);
	if (err)
		log_error("can't write '%s': %s", o->ready_file, strerror(-err));
	return err;
}

/* Returns 0 or the exit status. */
static int find_spans(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	size_t i;
	int err;

	for (i = 0; i < o->spans.n; i++) {
		err = spans__add(&r->spans, o->spans.strings[i], &r->pids, o->program);
		if (err)
			return err == -ENOMEM || err == -EMFILE || err == -ENFILE ? EXIT_FAILED : EXIT_USAGE;
	}
	for (i = 0; i < r->spans.n; i++)
		log_verbose("--span: %s in %s", r->spans.places[i].function, r->spans.places[i].binary);
	return EXIT_OK;
}

/* Everything that can fail before anything has been started. Returns 0 or the exit status. */
static int prepare(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	int err, status;

	status = stat_options__filters(o, &r->filters);
	if (status)
		return status;
	err = stat_run__open_signals(r);
	if (err) {
		log_error("can't set up signals: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (check_watchpoints(o) || check_privileges() || sinks__open(&r->sinks, &o->to, o->interval_ns) ||
		open_pids(r))
		return EXIT_FAILED;
	r->sinks.style.rings = o->rings;
	r->target = stat_options__target(o, &r->pids);
	if (!r->target) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = find_spans(r);
	status = status ? status : hold_program(r);
	if (status)
		return status;
	if (open_session(r))
		return EXIT_FAILED;
	return EXIT_OK;
}

/* Says why a program that was found could not be executed. */
static void explain_exec(const char *program, int err)
{
	char path[PROGRAM_PATH_LEN], *interpreter = NULL;
	int found = program__find(program, path);
	int bad = found ? found : program__bad_interpreter(path, &interpreter);

	if (!bad)
		log_error("can't run '%s': its interpreter '%s': %s", program, interpreter, strerror(-err));
	else if (!found && bad == -ENOENT && err == -ENOENT)
		log_error("can't run '%s': the dynamic loader that it names does not exist", program);
	else
		log_error("can't run '%s': %s", program, strerror(-err));
	free(interpreter);
}

static int set_budget(struct stat_run *r)
{
	int err = r->o->budget > 0 ? live__set_budget(r->live, r->o->budget / 100) : 0;

	if (err == -EOPNOTSUPP)
		log_error(
			"can't hold a budget: what a request costs can't be measured here, as ringside itself may "
			"not use io_uring (see io_uring_disabled in sysctl)");
	else if (err)
		log_error("can't hold a budget: /proc/stat: %s", strerror(-err));
	return err;
}

static int start(struct stat_run *r)
{
	int err = live__start(r->session, r->o->max_report_rings, &r->live);

	if (!err && r->o->interval_ns)
		err = live__snapshot(r->live, &r->last);
	if (err) {
		log_error("can't start observing: %s", strerror(-err));
		return EXIT_FAILED;
	}
	note_features(r);
	if (set_budget(r) || announce(r))
		return EXIT_FAILED;
	err = r->child ? child__go(r->child) : 0;
	if (err) {
		explain_exec(r->o->program[0], err);
		return status_of_exec(err);
	}
	return EXIT_OK;
}

/* How long the kernel may take to tear down the rings of targets that have ended. */
#define SETTLE_MS 200

/* From the first request to the last line. Returns the exit status. */
static int observe(struct stat_run *r)
{
	bool findings = false;
	int err;

	err = stat_run__loop(r);
	if (r->targets_ended)
		live__settle(r->live, SETTLE_MS);
	live__stop(r->live);
	if (!err && r->o->interval_ns)
		err = stat_run__interval(r);
	if (!err)
		err = stat_run__report(r, &findings);
	if (!err)
		err = sinks__commit(&r->sinks);
	/* from here on nothing of ours is in the kernel */
	live__free(r->live);
	session__close(r->session);
	r->live = NULL;
	r->session = NULL;
	if (r->child && stat_run__wait_child(r))
		err = err ? err : -ECHILD;
	if (err)
		return EXIT_FAILED;
	if (r->child && child__shell_status(r->child_status))
		return child__shell_status(r->child_status);
	return findings ? EXIT_FINDINGS : EXIT_OK;
}

static void release(struct stat_run *r)
{
	sinks__abort(&r->sinks);
	snapshot__free(&r->last);
	live__free(r->live);
	session__close(r->session);
	child__free(r->child);
	pid_set__free(&r->pids);
	spans__free(&r->spans);
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	free(r->target);
}

int cmd_stat(int argc, char **argv)
{
	struct stat_options o = { 0 };
	struct stat_run r = { .o = &o, .signal_fd = -1 };
	int status;

	status = stat_options__parse(argc, argv, &o);
	if (status) {
		stat_options__free(&o);
		return status == 1 ? stream__finish_stdout() : EXIT_USAGE;
	}
	status = prepare(&r);
	if (status == EXIT_OK)
		status = start(&r);
	if (status == EXIT_OK)
		status = observe(&r);
	release(&r);
	stat_options__free(&o);
	return status;
}
