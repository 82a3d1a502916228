// SPDX-License-Identifier: MIT
/* `ringside probe`: wiring. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "options.h"
#include "sinks.h"
#include "stream.h"
#include "survey_out.h"
#include "survey_run.h"

struct probe_options {
	const char *btf;
	struct sinks_options to;
	bool verbose;
};

#define ROW(l, n, v, k, field, text)                                                                         \
	{                                                                                                    \
		.letter = l, .name = n, .value = v, .kind = k,                                               \
		.offset = offsetof(struct probe_options, field), .help = text                                \
	}

static const struct option_row rows[] = {
	ROW(0, "btf", "FILE", OPTION_STRING, btf,
		"plan for the kernel with these types (BTF or vmlinux), load nothing"),
	ROW('o', "output", "FILE", OPTION_STRING, to.out, "write to FILE instead of stdout"),
	ROW(0, "json", "FILE", OPTION_OPTIONAL, to.json,
		"JSON instead of text; with =FILE, JSON there and text as usual"),
	ROW('v', "verbose", NULL, OPTION_FLAG, verbose,
		"everything there is to say; the verifier's own words on stderr"),
};

static const size_t n_rows = sizeof(rows) / sizeof(rows[0]);

static void print_help(void)
{
	printf("usage: ringside probe [OPTIONS]\n\n"
	       "Tells what this kernel lets this user observe, how, and why not the rest. Loads and attaches\n"
	       "everything once if it may; without privileges it tells what the kernel's types promise.\n\n");
	options__print(rows, n_rows);
}

/* 0; 1: help was printed; -EINVAL: said why. */
static int parse(int argc, char **argv, struct probe_options *o)
{
	char errmsg[256];
	int first, err;

	err = options__parse(rows, n_rows, argc, argv, o, &first, errmsg, sizeof(errmsg));
	if (err == 1) {
		print_help();
		return 1;
	}
	if (!err && first < argc) {
		snprintf(errmsg, sizeof(errmsg), "probe takes no argument ('%s')", argv[first]);
		err = -EINVAL;
	}
	err = err ? err : sinks_options__check(&o->to, errmsg, sizeof(errmsg));
	if (err)
		log_error("%s; `ringside probe --help` lists the options", errmsg);
	return err;
}

/* 0 or negative errno, after saying why. */
static int show(struct sinks *sinks, const struct survey *s, bool verbose)
{
	int err = sinks->json ? sinks__put_json(sinks, survey__json(s), JSON_INDENT(1)) : 0;

	if (!err && sinks->text)
		err = sinks__flush_text(sinks, survey__text(s, &sinks->style, verbose, sinks->text));
	if (err)
		return sinks__say(err);
	return sinks__commit(sinks);
}

static int run(const struct probe_options *o, struct sinks *sinks)
{
	const struct survey_request request = { .btf_file = o->btf, .on_refusal = log_verbose_lines };
	struct survey s;
	char errmsg[512];

	/* a reader that goes away is an error of write(), not our death */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
		log_error("can't set up signals: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (sinks__open(sinks, &o->to, false))
		return EXIT_FAILED;
	if (survey__run(&request, &s, errmsg, sizeof(errmsg))) {
		log_error("%s", errmsg);
		return EXIT_FAILED;
	}
	if (show(sinks, &s, o->verbose))
		return EXIT_FAILED;
	return s.works ? EXIT_OK : EXIT_FAILED;
}

int cmd_probe(int argc, char **argv)
{
	struct probe_options o = { 0 };
	struct sinks sinks = { 0 };
	int status;

	status = parse(argc, argv, &o);
	if (status)
		return status == 1 ? stream__finish_stdout() : EXIT_USAGE;
	if (o.verbose)
		log_set_level(LOG_VERBOSE);
	status = run(&o, &sinks);
	sinks__abort(&sinks);
	return status;
}
