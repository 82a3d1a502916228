// SPDX-License-Identifier: MIT
/* The options of `ringside stat`. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "cmd.h"
#include "filter.h"
#include "log.h"
#include "stat.h"
#include "thresholds.h"

#define ROW(l, n, v, k, field, text, ...)                                                                    \
	{                                                                                                    \
		.letter = l, .name = n, .value = v, .kind = k,                                               \
		.offset = offsetof(struct stat_options, field), .help = text, ##__VA_ARGS__                  \
	}

static const struct option_row rows[] = {
	ROW('p', "pid", "PID,...", OPTION_PIDS, pids, "observe these processes, and the children they make"),
	ROW('a', "all", NULL, OPTION_FLAG, all, "observe the whole machine (default without -p and PROGRAM)"),
	ROW(0, "uid", "USER", OPTION_STRING, user, "only rings made by this user (name or number)"),
	ROW(0, "comm", "NAME", OPTION_STRING, comm, "only rings of processes of this name"),
	ROW(0, "cgroup", "PATH", OPTION_STRING, cgroup,
		"only rings of processes in this cgroup (v2), or below it"),
	ROW('d', "duration", "SECONDS", OPTION_DURATION, duration_ns, "stop after this time: 10, 0.5, 200ms"),
	ROW('i', "interval", "SECONDS", OPTION_DURATION, interval_ns, "print a line every so often"),
	ROW('o', "output", "FILE", OPTION_STRING, to.out, "write the report to FILE instead of stdout"),
	ROW(0, "json", "FILE", OPTION_OPTIONAL, to.json,
		"JSON instead of text; with =FILE, JSON there and text as usual"),
	ROW(0, "rings", NULL, OPTION_FLAG, rings, "a table of opcodes for every ring"),
	ROW(0, "fail-on", "SEVERITY", OPTION_SEVERITY, fail_on,
		"exit with 3 on a finding of info, warn or crit"),
	ROW(0, "threshold", "RULE.NAME=VALUE", OPTION_THRESHOLD, thresholds,
		"judge by another value; ringside explain RULE lists them"),
	ROW(0, "no-doctor", NULL, OPTION_FLAG, no_doctor, "numbers only, no findings"),
	ROW(0, "no-extras", NULL, OPTION_FLAG, no_extras,
		"cheaper: without what only functions of the kernel tell"),
	ROW(0, "block", NULL, OPTION_FLAG, block,
		"time in the block layer and with the disk, and the disks; about 1 us a request of any disk"),
	ROW(0, "as-root", NULL, OPTION_FLAG, as_root,
		"under sudo, run PROGRAM as root and not as the caller"),
	ROW(0, "ready-file", "FILE", OPTION_STRING, ready_file,
		"create FILE once everything is being observed"),
	ROW(0, "max-inflight", "N", OPTION_COUNT, max_inflight,
		"requests in flight that can be timed (131072 or so)", .max = 1u << 24),
	ROW(0, "max-rings", "N", OPTION_COUNT, max_rings,
		"rings at a time that can be told apart (2048 or so)", .max = 32767),
	ROW(0, "max-report-rings", "N", OPTION_COUNT, max_report_rings,
		"rings listed in the report, the busiest (1024)", .max = UINT32_MAX),
	ROW(0, "sample", "N", OPTION_COUNT, sample, "time one request in N; all are counted (1)",
		.max = RS_SAMPLE_MAX),
	ROW(0, "budget", "PERCENT", OPTION_PERCENT, budget,
		"time as many requests as keep ringside's cost below this part of the busy CPU time"),
	ROW(0, "slow", "TIME", OPTION_DURATION, slow_ns, "requests are slow that take this long (10ms)"),
	ROW(0, "reap", "HOW", OPTION_STRING, reap,
		"bracketed; or exact: watchpoints tell when CQEs are consumed, about 4 us each time; exact-in-vm"),
	ROW(0, "span", "BIN:FUNCTION", OPTION_STRINGS, spans,
		"what calls of these functions (a pattern) do; costs each about 1 us, in some VMs 15 to 30"),
	ROW('q', "quiet", NULL, OPTION_FLAG, quiet, "no notes on stderr"),
	ROW('v', "verbose", NULL, OPTION_FLAG, verbose, "say what is and is not observed, and how"),
};

static const size_t n_rows = sizeof(rows) / sizeof(rows[0]);

static void print_help(void)
{
	printf("usage: ringside stat [OPTIONS] [-- PROGRAM [ARGS...]]\n"
	       "       ringside stat [OPTIONS] -p PID[,PID...]\n"
	       "       ringside stat [OPTIONS] -a\n\n"
	       "Counts, times and diagnoses what io_uring does, aggregated in the kernel.\n\n");
	options__print(rows, n_rows);
}

static const char *const reaps[] = { "bracketed", "exact", "exact-in-vm", NULL };

static bool is_one_of(const char *s, const char *const *list)
{
	while (*list && strcmp(*list, s))
		list++;
	return *list;
}

int stat_options__parse(int argc, char **argv, struct stat_options *o)
{
	char errmsg[256];
	int first, err;

	o->fail_on = -1;
	o->max_report_rings = 1024;
	err = options__parse(rows, n_rows, argc, argv, o, &first, errmsg, sizeof(errmsg));
	if (err == 1) {
		print_help();
		return 1;
	}
	if (!err && first < argc)
		o->program = argv + first;
	else if (!err && !strcmp(argv[argc - 1], "--")) {
		snprintf(errmsg, sizeof(errmsg), "no PROGRAM after --");
		err = -EINVAL;
	}
	err = err ? err : sinks_options__check(&o->to, errmsg, sizeof(errmsg));
	if (!err && o->pids.n && o->program) {
		snprintf(errmsg, sizeof(errmsg), "-p and a PROGRAM exclude each other ('%s')", o->program[0]);
		err = -EINVAL;
	}
	if (!err && o->pids.n && o->all) {
		snprintf(errmsg, sizeof(errmsg), "-p and -a exclude each other");
		err = -EINVAL;
	}
	if (!err && o->sample && o->budget > 0) {
		snprintf(errmsg, sizeof(errmsg), "--sample and --budget exclude each other");
		err = -EINVAL;
	}
	if (!err && o->reap && !is_one_of(o->reap, reaps)) {
		snprintf(errmsg, sizeof(errmsg),
			"--reap '%.64s': neither bracketed nor exact nor exact-in-vm", o->reap);
		err = -EINVAL;
	}
	if (err) {
		log_error("%s; `ringside stat --help` lists the options", errmsg);
		return err;
	}
	if (!o->pids.n && !o->program)
		o->all = true;
	log_set_level(o->verbose ? LOG_VERBOSE : o->quiet ? LOG_WARN : LOG_NOTE);
	return 0;
}

void stat_options__free(struct stat_options *o)
{
	free(o->pids.pids);
	free(o->spans.strings);
	threshold_settings__free(&o->thresholds);
}

static void describe_filters(const struct stat_options *o, FILE *f)
{
	const char *sep = " (only ";

	if (o->user)
		fprintf(f, "%suser %s", sep, o->user);
	sep = o->user ? ", " : sep;
	if (o->comm)
		fprintf(f, "%sprocesses called %s", sep, o->comm);
	sep = o->comm ? ", " : sep;
	if (o->cgroup)
		fprintf(f, "%scgroup %s", sep, o->cgroup);
	if (o->user || o->comm || o->cgroup)
		fputc(')', f);
}

char *stat_options__target(const struct stat_options *o, const struct pid_set *pids)
{
	char *text = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (pids->n) {
		fputs(pids->n > 1 ? "pids" : "pid", f);
		for (i = 0; i < pids->n; i++)
			fprintf(f, "%s%d", i ? "," : " ", pids->pids[i]);
	} else if (o->all) {
		fputs("the whole machine", f);
	}
	for (i = 0; o->program && o->program[i]; i++)
		fprintf(f, "%s%s", i ? " " : o->all ? " while running " : "", o->program[i]);
	describe_filters(o, f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Whether the value is to blame, or this machine. */
static int status_of_value(int err)
{
	return err == -ENOENT || err == -EINVAL || err == -ENOTDIR || err == -ENAMETOOLONG || err == -ELOOP
		       ? EXIT_USAGE
		       : EXIT_FAILED;
}

static int set_user(const char *name, struct session_options *so)
{
	int err = filter__user(name, &so->user);

	so->by_user = true;
	if (!err)
		return EXIT_OK;
	log_error("--uid '%s': %s", name, err == -ENOENT ? "no such user" : strerror(-err));
	return status_of_value(err);
}

static int set_comm(const char *name, struct session_options *so)
{
	so->comm = name;
	if (*name && strlen(name) < RS_COMM_LEN)
		return EXIT_OK;
	log_error("--comm '%s': must be 1 to %d bytes long, as the kernel keeps no more", name,
		RS_COMM_LEN - 1);
	return EXIT_USAGE;
}

static int set_cgroup(const char *path, struct session_options *so)
{
	int err = *path ? filter__cgroup(path, &so->cgroup_id) : -ENOENT;

	so->by_cgroup = true;
	if (!err)
		return EXIT_OK;
	if (err == -EINVAL)
		log_error("--cgroup '%s': not a directory of a cgroup2 file system", path);
	else if (err == -ENODEV)
		log_error("--cgroup '%s': no cgroup2 file system is mounted", path);
	else
		log_error("--cgroup '%s': %s", path, err == -ENOENT ? "no such cgroup" : strerror(-err));
	return status_of_value(err);
}

int stat_options__filters(const struct stat_options *o, struct session_options *so)
{
	int status = EXIT_OK;

	if (o->user)
		status = set_user(o->user, so);
	if (!status && o->comm)
		status = set_comm(o->comm, so);
	if (!status && o->cgroup)
		status = set_cgroup(o->cgroup, so);
	return status;
}

void stat_options__sizes(const struct stat_options *o, struct session_options *so)
{
	struct machine m;

	so->sample = (uint32_t)o->sample;
	if (o->budget > 0)
		so->sample = BUDGET_FIRST_SAMPLE;
	machine__read(&m);
	so->max = (struct table_sizes){ (uint32_t)o->max_inflight, (uint32_t)o->max_rings, 0, 0 };
	table_sizes__choose(&m, &so->max);
	log_verbose("room for %u requests in flight, %u rings, %u pairs of ring and opcode", so->max.inflight,
		so->max.rings, so->max.series);
}
