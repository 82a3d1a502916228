/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parse.h"
#include "user.h"

static int dup_string(const char *s, char **ret)
{
	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

static int add_group(struct run_as *u, gid_t gid)
{
	gid_t *groups;

	for (size_t i = 0; i < u->n_groups; i++) {
		if (u->groups[i] == gid)
			return 0;
	}
	groups = reallocarray(u->groups, u->n_groups + 1, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	groups[u->n_groups++] = gid;
	u->groups = groups;
	return 0;
}

/* The readers of passwd and group end with NULL for the end of the file and for failures alike. */
static int end_of_file(FILE *f)
{
	if (errno == ENOMEM)
		return -ENOMEM;
	return ferror(f) ? -EIO : 0;
}

static int read_passwd(struct run_as *u, FILE *f)
{
	struct passwd *pw;
	int err;

	do {
		errno = 0;
		pw = fgetpwent(f);
	} while (pw && pw->pw_uid != u->uid);
	if (!pw)
		return end_of_file(f);
	err = dup_string(pw->pw_name, &u->name);
	if (!err)
		err = dup_string(pw->pw_dir, &u->home);
	if (!err)
		err = dup_string(pw->pw_shell, &u->shell);
	if (!err)
		err = add_group(u, pw->pw_gid);
	return err;
}

static bool is_member(const struct group *gr, const char *name)
{
	for (char **m = gr->gr_mem; *m; m++) {
		if (strcmp(*m, name) == 0)
			return true;
	}
	return false;
}

static int read_groups(struct run_as *u, FILE *f)
{
	struct group *gr;
	int err;

	for (;;) {
		errno = 0;
		gr = fgetgrent(f);
		if (!gr)
			return end_of_file(f);
		if (!is_member(gr, u->name))
			continue;
		err = add_group(u, gr->gr_gid);
		if (err)
			return err;
	}
}

int run_as__lookup(uid_t uid, gid_t gid, const char *name, FILE *passwd, FILE *group, struct run_as *ret)
{
	struct run_as u = { .uid = uid, .gid = gid };
	int err;

	err = add_group(&u, gid);
	if (!err && passwd)
		err = read_passwd(&u, passwd);
	if (!err && !u.name)
		err = dup_string(name, &u.name);
	if (!err && group && u.name)
		err = read_groups(&u, group);
	if (err) {
		run_as__free(&u);
		return err;
	}
	*ret = u;
	return 0;
}

/* A file that is not there has no entries. */
static int open_if_exists(const char *path, FILE **ret)
{
	*ret = fopen(path, "re");
	return *ret || errno == ENOENT ? 0 : -errno;
}

static int read_user(uid_t uid, gid_t gid, struct run_as *ret)
{
	FILE *passwd = NULL, *group = NULL;
	int err;

	err = open_if_exists("/etc/passwd", &passwd);
	if (!err)
		err = open_if_exists("/etc/group", &group);
	/* Users of a directory service are in neither file, but sudo knew the name. */
	if (!err)
		err = run_as__lookup(uid, gid, getenv("SUDO_USER"), passwd, group, ret);
	if (passwd)
		fclose(passwd);
	if (group)
		fclose(group);
	return err;
}

/* -1 is no id: setresuid() takes it for "leave as it is". */
static int parse_id(const char *s, uint32_t *ret)
{
	uint64_t id;

	if (!s || parse_u64(s, 0, UINT32_MAX - 1, &id))
		return -EINVAL;
	*ret = (uint32_t)id;
	return 0;
}

int run_as__from_sudo(struct run_as *ret)
{
	const char *uid_s = getenv("SUDO_UID"), *gid_s = getenv("SUDO_GID");
	uint32_t uid, gid;
	int err;

	if (geteuid() != 0 || (!uid_s && !gid_s))
		return 0;
	if (parse_id(uid_s, &uid) || parse_id(gid_s, &gid))
		return -EINVAL;
	if (uid == 0)
		return 0;
	err = read_user(uid, gid, ret);
	return err ? err : 1;
}

void run_as__free(struct run_as *u)
{
	if (!u)
		return;
	free(u->groups);
	free(u->name);
	free(u->home);
	free(u->shell);
	*u = (struct run_as){ 0 };
}
