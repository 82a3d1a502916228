// SPDX-License-Identifier: MIT
#include <string.h>

#include "cmd.h"
#include "log.h"

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;

	if (!name) {
		log_error("no command given; `ringside --help` lists them");
		return EXIT_USAGE;
	}
	if (!strcmp(name, "-h") || !strcmp(name, "--help"))
		name = "help";
	else if (!strcmp(name, "-V") || !strcmp(name, "--version"))
		name = "version";
	for (i = 0; i < n_commands; i++)
		if (!strcmp(commands[i].name, name))
			return commands[i].run(argc - 1, argv + 1);
	log_error("unknown command '%s'; `ringside --help` lists them", name);
	return EXIT_USAGE;
}
