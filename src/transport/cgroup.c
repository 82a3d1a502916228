// SPDX-License-Identifier: MIT
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* include/linux/exportfs.h: the handle of a kernfs file is its id. */
#define FILEID_KERNFS 0xfe

static int open_mount(struct cgroup_names *n)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int err = -ENODEV;

	if (!f)
		return -errno;
	while ((m = getmntent(f)) && strcmp(m->mnt_type, "cgroup2"))
		;
	if (m) {
		n->mount = strdup(m->mnt_dir);
		n->mount_fd = n->mount ? open(n->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
		err = n->mount_fd < 0 ? -errno : 0;
	}
	endmntent(f);
	if (err) {
		free(n->mount);
		n->mount = NULL;
	}
	return err;
}

/* The path of an open directory, without that of the mount that it is below. */
static int path_below(const char *mount, int fd, char **ret)
{
	char link[64], path[PATH_MAX];
	size_t skip = strcmp(mount, "/") ? strlen(mount) : 0;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return -errno;
	path[len] = '\0';
	if (strncmp(path, mount, skip) || (path[skip] && path[skip] != '/'))
		return -ESTALE;
	*ret = strdup(path[skip] ? path + skip : "/");
	return *ret ? 0 : -ENOMEM;
}

static int look_up(const struct cgroup_names *n, uint64_t id, char **ret)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} u = { .h = { .handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS } };
	int fd, err;

	memcpy(u.h.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(n->mount_fd, &u.h, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = path_below(n->mount, fd, ret);
	close(fd);
	return err;
}

int cgroup_names__path(struct cgroup_names *n, uint64_t id, char **ret)
{
	char *copy;
	int err;

	if (!n->mount && !n->mount_err)
		n->mount_err = open_mount(n);
	if (n->mount_err)
		return n->mount_err;
	if (!n->path || n->id != id) {
		char *path;

		err = look_up(n, id, &path);
		if (err)
			return err;
		free(n->path);
		n->path = path;
		n->id = id;
	}
	copy = strdup(n->path);
	if (!copy)
		return -ENOMEM;
	*ret = copy;
	return 0;
}

void cgroup_names__free(struct cgroup_names *n)
{
	if (n->mount)
		close(n->mount_fd);
	free(n->mount);
	free(n->path);
	*n = (struct cgroup_names){ 0 };
}
