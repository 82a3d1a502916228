/* SPDX-License-Identifier: MIT */
/* One row per subcommand. */
#ifndef RINGSIDE_CMD_H
#define RINGSIDE_CMD_H

#include <stddef.h>

struct command {
	const char *name;
	const char *summary; /* for `ringside --help` */
	/* argv[0] is the command's name. Returns the exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command commands[];
extern const size_t n_commands;

/* By its name, or as an option ("--help", "-V"). NULL: there is none, which has been said. */
const struct command *command__find(const char *name);

int cmd_stat(int argc, char **argv);
int cmd_probe(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_version(int argc, char **argv);

/* Exit statuses that are ringside's own. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_FINDINGS = 3,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

#endif
