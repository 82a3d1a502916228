// SPDX-License-Identifier: MIT
#include "cmd.h"

#include <stdio.h>
#include <string.h>

const struct command commands[] = {
	{"stat", "counts, latencies and diagnoses of io_uring, aggregated in the kernel", cmd_stat},
	{"help", "this list, or the help of a command", cmd_help},
	{"version", "the version of ringside", cmd_version},
};

const size_t n_commands = sizeof(commands) / sizeof(commands[0]);

int cmd_help(int argc, char **argv)
{
	char option[] = "--help";
	size_t i;

	for (i = 0; argc > 1 && i < n_commands; i++)
		if (!strcmp(commands[i].name, argv[1]) && commands[i].run != cmd_help) {
			char *args[] = {argv[1], option, NULL};

			return commands[i].run(2, args);
		}
	printf("usage: ringside COMMAND [OPTIONS] [-- PROGRAM [ARGS...]]\n\n"
	       "Shows what io_uring really does: every request, in the kernel.\n\n");
	for (i = 0; i < n_commands; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n`ringside COMMAND --help` lists the options of a command; `man ringside` tells more.\n");
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}

int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("ringside %s\n", RINGSIDE_VERSION);
	return fflush(stdout) ? EXIT_FAILED : EXIT_OK;
}
