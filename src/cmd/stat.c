// SPDX-License-Identifier: MIT
/* `ringside stat`: wiring. */
#include "stat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"
#include "privileges.h"

static int check_privileges(void)
{
	char missing[64];
	int err = privileges__missing(missing, sizeof(missing));

	if (err) {
		log_error("can't read the capabilities of this process: %s", strerror(-err));
		return err;
	}
	if (!missing[0])
		return 0;
	log_error("missing %s: run as root, or grant them (`ringside stat` loads BPF programs)", missing);
	return -EPERM;
}

/* PROC_PID_INIT_INO of the kernel: the number of the initial pid namespace. */
#define INITIAL_PID_NS 0xEFFFFFFCu

/* Process ids mean something else to the programs in the kernel than they do in a pid namespace. */
static int check_pid_namespace(const struct stat_options *o)
{
	struct stat st;

	if ((!o->program || o->all) && !o->pids.n)
		return 0;
	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NS)
		return 0;
	log_error("in a pid namespace only the whole machine can be observed (-a): run ringside outside of it");
	return -EINVAL;
}

static int open_signals(struct stat_run *r)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	/* a reader that goes away is an error of write(), not our death */
	if (r->signal_fd < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -errno;
	return 0;
}

/* The exit status that says why the program could not be started. */
static int status_of_exec(int err)
{
	return err == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Starts the program held. 0 or the exit status. */
static int hold_program(struct stat_run *r, const struct signal_state *signals)
{
	const struct stat_options *o = r->o;
	struct run_as as = {0};
	int err, become = 0;

	if (!o->program)
		return EXIT_OK;
	if (!o->as_root)
		become = run_as__from_sudo(&as);
	if (become < 0) {
		log_error("can't tell who called sudo (SUDO_UID, SUDO_GID): %s; --as-root runs the program as root",
			strerror(-become));
		return EXIT_FAILED;
	}
	err = child__spawn(o->program, become ? &as : NULL, signals, &r->child);
	if (err == -ENOENT || err == -EACCES || err == -ENOEXEC || err == -EISDIR || err == -ENOTDIR) {
		log_error("can't run '%s': %s", o->program[0], strerror(-err));
		err = status_of_exec(err);
	} else if (err) {
		log_error("can't start '%s': %s", o->program[0], strerror(-err));
		err = EXIT_FAILED;
	} else if (become) {
		log_note("running %s as user %s (--as-root keeps root)", o->program[0], as.name ? as.name : "of sudo");
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

static void show_refusal(const char *text)
{
	log_verbose("%s", text);
}

static int open_session(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	pid_t child = r->child ? child__pid(r->child) : 0;
	struct session_options so = {
		.all = o->all,
		.scan = o->all || o->pids.n,
		.targets = r->child ? &child : r->pids.pids,
		.n_targets = r->child ? 1 : r->pids.n,
		.on_refusal = show_refusal,
	};
	char errmsg[512];
	int err;

	err = stat_options__filters(o, &so);
	if (err)
		return err;
	stat_options__sizes(o, &so);
	err = session__open(&so, &r->session, errmsg, sizeof(errmsg));
	if (err)
		log_error("%s", errmsg);
	return err;
}

static void note_features(const struct stat_run *r)
{
	const struct feature_state *f = session__features(r->session);
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		if (f[i].level == FEATURE_FULL)
			log_verbose("%s: %s", feature_name(i), f[i].how);
		else
			log_note("%s: can't see %s: %s", feature_name(i), feature_what(i), f[i].why);
	}
}

static int announce(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	struct outfile f = {0};
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

/* Everything that can fail before anything has been started. Returns 0 or the exit status. */
static int prepare(struct stat_run *r)
{
	const struct stat_options *o = r->o;
	struct signal_state signals;
	int status;

	if (signal_state__save(&signals) || open_signals(r)) {
		log_error("can't set up signals: %s", strerror(errno));
		return EXIT_FAILED;
	}
	r->target = stat_options__target(o);
	if (!r->target) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (check_privileges() || check_pid_namespace(o) || sinks__open(&r->sinks, o) || open_pids(r))
		return EXIT_FAILED;
	status = hold_program(r, &signals);
	if (status)
		return status;
	if (open_session(r))
		return EXIT_FAILED;
	note_features(r);
	return EXIT_OK;
}

static int start(struct stat_run *r)
{
	int err = live__start(r->session, &r->live);

	if (!err && r->o->interval_ns)
		err = live__snapshot(r->live, &r->last);
	if (err) {
		log_error("can't start observing: %s", strerror(-err));
		return EXIT_FAILED;
	}
	if (announce(r))
		return EXIT_FAILED;
	err = r->child ? child__go(r->child) : 0;
	if (err) {
		log_error("can't run '%s': %s", r->o->program[0], strerror(-err));
		return status_of_exec(err);
	}
	return EXIT_OK;
}

/* From the first request to the last line. Returns the exit status. */
static int observe(struct stat_run *r)
{
	bool findings = false;
	int err;

	err = stat_run__loop(r);
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
	if (r->signal_fd >= 0)
		close(r->signal_fd);
	free(r->target);
}

int cmd_stat(int argc, char **argv)
{
	struct stat_options o = {0};
	struct stat_run r = {.o = &o, .signal_fd = -1};
	int status;

	status = stat_options__parse(argc, argv, &o);
	if (status) {
		free(o.pids.pids);
		return status == 1 ? EXIT_OK : EXIT_USAGE;
	}
	status = prepare(&r);
	if (status == EXIT_OK)
		status = start(&r);
	if (status == EXIT_OK)
		status = observe(&r);
	release(&r);
	free(o.pids.pids);
	return status;
}
