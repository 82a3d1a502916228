// SPDX-License-Identifier: MIT
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where execvp looks when PATH is unset. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* As much of a file as the kernel reads to see how to execute it, and how often it does for one exec. */
#define FIRST_LINE_LEN 256
#define MAX_INTERPRETERS 5

/* Whether this process may execute path. */
static int check_executable(const char *path)
{
	struct stat st;

	if (access(path, X_OK) || stat(path, &st))
		return -errno;
	return S_ISREG(st.st_mode) ? 0 : -EACCES;
}

/* The errors after which execvp tries the next directory of PATH. */
static bool search_goes_on(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EACCES || err == -ESTALE || err == -ENODEV ||
	       err == -ETIMEDOUT;
}

/* An empty element of PATH is the current directory. */
static int check_in(const char *dir, size_t dir_len, const char *file, char path[PROGRAM_PATH_LEN])
{
	if (dir_len > PATH_MAX)
		return -ENOENT;
	snprintf(path, PROGRAM_PATH_LEN, "%.*s%s%s", (int)dir_len, dir, dir_len ? "/" : "", file);
	return check_executable(path);
}

int program__find(const char *file, char ret_path[PROGRAM_PATH_LEN])
{
	const char *dir = getenv("PATH"), *end;
	char path[PROGRAM_PATH_LEN];
	int err, found = -ENOENT;
	bool plain = !strchr(file, '/');

	if (!*file)
		return -ENOENT;
	if (strlen(file) > (plain ? NAME_MAX : PATH_MAX))
		return -ENAMETOOLONG;
	if (!plain)
		dir = "";
	else if (!dir)
		dir = DEFAULT_PATH;
	for (;; dir = end + 1) {
		end = strchrnul(dir, ':');
		err = check_in(dir, (size_t)(end - dir), file, path);
		if (!err)
			memcpy(ret_path, path, strlen(path) + 1);
		if (!plain || !err || !search_goes_on(err))
			return err;
		if (err == -EACCES)
			found = -EACCES;
		if (!*end)
			return found;
	}
}

/* What stands behind "#!". 0; -ENOENT: the file is no script; other negative errno. */
static int read_interpreter(const char *path, char ret[FIRST_LINE_LEN])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char line[FIRST_LINE_LEN], *start;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, line, sizeof(line) - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n < 0)
		return (int)n;
	line[n] = '\0';
	if (strncmp(line, "#!", 2))
		return -ENOENT;
	start = line + 2 + strspn(line + 2, " \t");
	/* a carriage return is part of the name, and a frequent reason why there is no such file */
	n = (ssize_t)strcspn(start, " \t\n");
	if (!n)
		return -ENOENT;
	memcpy(ret, start, (size_t)n);
	ret[n] = '\0';
	return 0;
}

int program__bad_interpreter(const char *path, char **ret)
{
	char names[2][FIRST_LINE_LEN];
	int err, i;

	for (i = 0; i < MAX_INTERPRETERS; i++) {
		err = read_interpreter(path, names[i % 2]);
		if (err)
			return err;
		path = names[i % 2];
		if (check_executable(path)) {
			*ret = strdup(path);
			return *ret ? 0 : -ENOMEM;
		}
	}
	return -ENOENT;
}
