// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "log.h"

/* A file opened as descriptor 1 would be taken for stdout. */
static int fill_std_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		return -1;
	return close(fd);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	size_t i;

	if (fill_std_fds()) {
		log_error("can't open /dev/null: %s", strerror(errno));
		return EXIT_FAILED;
	}
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
