/* SPDX-License-Identifier: MIT */
/*
 * Whom the program under observation runs as. Reads /etc/passwd and /etc/group
 * directly (fgetpwent, fgetgrent): a static binary has no NSS.
 */
#ifndef RINGSIDE_USER_H
#define RINGSIDE_USER_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct run_as {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary, gid included */
	size_t n_groups;
	char *name;  /* NULL: unknown */
	char *home;  /* NULL: the user has no entry */
	char *shell; /* NULL: likewise */
};

/*
 * The user who called sudo, from SUDO_UID and SUDO_GID, when we run as root and that user is not root.
 * 1: *ret is filled, free with run_as__free(); 0: nobody to become; -EINVAL: the variables are set and
 * not numbers; other negative errno.
 */
int run_as__from_sudo(struct run_as *ret);

/*
 * Fills *ret for uid and gid from open passwd and group files (NULL: no entries); name is who it is
 * if passwd does not know (may be NULL). 0 or negative errno; *ret is untouched on failure.
 */
int run_as__lookup(uid_t uid, gid_t gid, const char *name, FILE *passwd, FILE *group, struct run_as *ret);
void run_as__free(struct run_as *u);

#endif
