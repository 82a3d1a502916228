// SPDX-License-Identifier: MIT
/* `ringside explain`: wiring. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "log.h"
#include "options.h"
#include "rules_out.h"
#include "sinks.h"
#include "stream.h"
#include "thresholds.h"

struct explain_options {
	struct sinks_options to;
	const struct rule *rule; /* NULL: all */
};

#define ROW(l, n, v, k, field, text)                                                                         \
	{                                                                                                    \
		.letter = l, .name = n, .value = v, .kind = k,                                               \
		.offset = offsetof(struct explain_options, field), .help = text                              \
	}

static const struct option_row rows[] = {
	ROW('o', "output", "FILE", OPTION_STRING, to.out, "write to FILE instead of stdout"),
	ROW(0, "json", "FILE", OPTION_OPTIONAL, to.json,
		"JSON instead of text; with =FILE, JSON there and text as usual"),
};

static const size_t n_rows = sizeof(rows) / sizeof(rows[0]);

static void print_help(void)
{
	printf("usage: ringside explain [OPTIONS] [RULE]\n\n"
	       "What a finding of `ringside stat` means, why it hurts, how it is measured, how to fix it, and when\n"
	       "to ignore it. Without a RULE: the list of them.\n\n");
	options__print(rows, n_rows);
}

/* 0; 1: help was printed; -EINVAL: said why. */
static int parse(int argc, char **argv, struct explain_options *o)
{
	char errmsg[256];
	int first, err;

	err = options__parse(rows, n_rows, argc, argv, o, &first, errmsg, sizeof(errmsg));
	if (err == 1) {
		print_help();
		return 1;
	}
	if (!err && argc > first + 1) {
		snprintf(errmsg, sizeof(errmsg), "explain is for one rule at a time: '%.64s'?",
			argv[first + 1]);
		err = -EINVAL;
	}
	err = err ? err : sinks_options__check(&o->to, errmsg, sizeof(errmsg));
	if (!err && argc > first) {
		o->rule = rule__by_word(argv[first], errmsg, sizeof(errmsg));
		err = o->rule ? 0 : -EINVAL;
	}
	if (err)
		log_error("%s", errmsg);
	return err;
}

/* 0 or negative errno, after saying why. */
static int show(const struct explain_options *o, struct sinks *sinks)
{
	int err = sinks->json ? sinks__put_json(sinks, rules__json(o->rule),
					JSON_INDENT(1) | JSON_REAL_PRECISION(15))
			      : 0;

	if (!err && sinks->text)
		err = sinks__flush_text(sinks, o->rule ? rule__text(o->rule, &sinks->style, sinks->text)
						       : rules__text(&sinks->style, sinks->text));
	if (err)
		return sinks__say(err);
	return sinks__commit(sinks);
}

int cmd_explain(int argc, char **argv)
{
	struct explain_options o = { 0 };
	struct sinks sinks = { 0 };
	int status;

	status = parse(argc, argv, &o);
	if (status)
		return status == 1 ? stream__finish_stdout() : EXIT_USAGE;
	/* a reader that goes away is an error of write(), not our death */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR) {
		log_error("can't set up signals: %s", strerror(errno));
		return EXIT_FAILED;
	}
	status = sinks__open(&sinks, &o.to, false) || show(&o, &sinks) ? EXIT_FAILED : EXIT_OK;
	sinks__abort(&sinks);
	return status;
}
