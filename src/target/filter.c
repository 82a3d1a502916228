// SPDX-License-Identifier: MIT
#include "filter.h"

#include <errno.h>
#include <linux/magic.h>
#include <mntent.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "parse.h"

int filter__user(const char *name, uint32_t *ret_uid)
{
	struct passwd *p;
	uint64_t n;
	FILE *f;
	int err;

	if (!parse_u64(name, 0, UINT32_MAX - 1, &n)) {
		*ret_uid = (uint32_t)n;
		return 0;
	}
	f = fopen("/etc/passwd", "re");
	if (!f)
		return -errno;
	err = -ENOENT;
	while (err && (p = fgetpwent(f))) {
		if (strcmp(p->pw_name, name))
			continue;
		*ret_uid = p->pw_uid;
		err = 0;
	}
	fclose(f);
	return err;
}

/* The number of a cgroup's directory is its id. */
static int directory_id(const char *path, uint64_t *ret_id)
{
	struct statfs fs;
	struct stat st;

	if (stat(path, &st) || statfs(path, &fs))
		return -errno;
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return -EINVAL;
	*ret_id = st.st_ino;
	return 0;
}

/* Where cgroup2 is mounted, malloc'ed. */
static int find_mount(char **ret)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int err = -ENODEV;

	if (!f)
		return -errno;
	while (err == -ENODEV && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "cgroup2"))
			continue;
		*ret = strdup(m->mnt_dir);
		err = *ret ? 0 : -ENOMEM;
	}
	endmntent(f);
	return err;
}

int filter__cgroup(const char *path, uint64_t *ret_id)
{
	char *mount = NULL, *full = NULL;
	int err;

	err = directory_id(path, ret_id);
	if (err != -ENOENT && err != -EINVAL)
		return err;
	/* "/" is a directory elsewhere and the root of the hierarchy too */
	if (err == -EINVAL && strcmp(path, "/"))
		return err;
	err = find_mount(&mount);
	if (err)
		return err;
	if (asprintf(&full, "%s/%s", mount, path) < 0)
		full = NULL;
	err = full ? directory_id(full, ret_id) : -ENOMEM;
	free(full);
	free(mount);
	return err;
}
