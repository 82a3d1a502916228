// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "image.h"
#include "pidns.h"
#include "procdir.h"

/* Field 22 of stat; the name before it may have spaces and parentheses. */
static int read_start(const struct procdir *d, uint64_t *ret)
{
	char *line = NULL, *at;
	size_t capacity = 0;
	int err = -ESRCH;
	FILE *f;

	if (procdir__stream(d, "stat", &f))
		return -ESRCH;
	if (getdelim(&line, &capacity, '\0', f) > 0 && (at = strrchr(line, ')'))) {
		for (int field = 2; at && field < 22; field++)
			at = strchr(at + 1, ' ');
		if (at && sscanf(at, "%" SCNu64, ret) == 1)
			err = 0;
	}
	free(line);
	fclose(f);
	return err;
}

int procdir__open(pid_t pid, struct procdir *ret)
{
	struct procdir d;
	char path[32];
	int err;

	if (pid <= 0 || !pidns__owns_proc())
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	d.fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (d.fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = read_start(&d, &d.start_ticks);
	if (err)
		procdir__close(&d);
	else
		*ret = d;
	return err;
}

void procdir__close(struct procdir *d)
{
	if (d && d->fd >= 0)
		close(d->fd);
}

int procdir__stream(const struct procdir *d, const char *name, FILE **ret)
{
	int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC), err;
	FILE *f;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	f = fdopen(fd, "r");
	if (!f) {
		err = -errno;
		close(fd);
		return err;
	}
	*ret = f;
	return 0;
}

int procdir__maps(const struct procdir *d, struct maps *ret)
{
	FILE *f;
	int err = procdir__stream(d, "maps", &f);

	if (err)
		return err;
	err = maps__parse(f, ret);
	fclose(f);
	return err;
}

int procdir__root(const struct procdir *d)
{
	int fd = openat(d->fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Filesystems without a device of their own (btrfs, overlayfs) show one number in maps and another in stat(2):
 * there the inode has to do.
 */
static bool is_mapped_file(int fd, const struct mapping *m)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == m->inode &&
	       (st.st_dev == m->dev || major(st.st_dev) == 0 || major(m->dev) == 0);
}

static int if_mapped(int fd, const struct mapping *m)
{
	if (fd < 0 || is_mapped_file(fd, m))
		return fd;
	close(fd);
	return -ENOENT;
}

int procdir__open_mapping(const struct procdir *d, const struct mapping *m)
{
	char name[64];
	int fd, root;

	if (!m->path || !m->inode)
		return -ENOENT;
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, m->start, m->end);
	fd = image__open_file(d->fd, name, false);
	if (fd >= 0)
		return fd;
	fd = if_mapped(image__open_file(d->fd, "exe", false), m);
	if (fd >= 0 || m->deleted || m->path[0] != '/')
		return fd;
	root = procdir__root(d);
	if (root < 0)
		return root;
	fd = if_mapped(image__open_file(root, m->path, true), m);
	close(root);
	return fd;
}
