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
	const struct command *c;

	if (fill_std_fds()) {
		log_error("can't open /dev/null: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (argc < 2) {
		log_error("no command given; `ringside --help` lists them");
		return EXIT_USAGE;
	}
	c = command__find(argv[1]);
	return c ? c->run(argc - 1, argv + 1) : EXIT_USAGE;
}
