// SPDX-License-Identifier: MIT
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "log.h"
#include "stream.h"

const struct command commands[] = {
	{ "stat", "counts, latencies and diagnoses of io_uring, aggregated in the kernel", cmd_stat },
	{ "probe", "what this kernel lets you observe, and why not the rest", cmd_probe },
	{ "explain", "what a finding means, why it hurts, how to fix it", cmd_explain },
	{ "help", "this list, or the help of a command", cmd_help },
	{ "version", "the version of ringside", cmd_version },
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

const struct command *command__find(const char *name)
{
	size_t i;

	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		name = "help";
	else if (!strcmp(name, "-V") || !strcmp(name, "--version"))
		name = "version";
	for (i = 0; i < n_commands; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	log_error("unknown command '%s'; `ringside --help` lists them", name);
	return NULL;
}

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "-h") || !strcmp(word, "--help");
}

static int help_of(const char *name)
{
	const struct command *c = command__find(name);
	char option[] = "--help";
	char *args[] = { (char *)name, option, NULL };

	return c ? c->run(2, args) : EXIT_USAGE;
}

int cmd_help(int argc, char **argv)
{
	size_t i;

	if (argc > 2) {
		log_error("help is for one command at a time: '%s'?", argv[2]);
		return EXIT_USAGE;
	}
	if (argc > 1 && !asks_for_help(argv[1]))
		return help_of(argv[1]);
	printf("usage: ringside COMMAND [OPTIONS] [-- PROGRAM [ARGS...]]\n\n"
	       "Shows what io_uring really does: every request, in the kernel.\n\n");
	for (i = 0; i < n_commands; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n`ringside COMMAND --help` lists the options of a command; `man ringside` tells more.\n");
	return stream__finish_stdout();
}

int cmd_version(int argc, char **argv)
{
	if (argc == 2 && asks_for_help(argv[1])) {
		printf("usage: ringside version\n");
	} else if (argc > 1) {
		log_error("version takes no argument ('%s')", argv[1]);
		return EXIT_USAGE;
	} else {
		printf("ringside %s\n", RINGSIDE_VERSION);
	}
	return stream__finish_stdout();
}
