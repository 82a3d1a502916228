/* SPDX-License-Identifier: MIT */
/* From the id of a cgroup to its path, also when no process is left there. */
#ifndef RINGSIDE_CGROUP_H
#define RINGSIDE_CGROUP_H

#include <stdint.h>

/* Keeps the last answer: many rings in a row are of one cgroup. Zeroed: nothing yet. */
struct cgroup_names {
	char *mount; /* of cgroup2 */
	int mount_fd, mount_err;
	uint64_t id;
	char *path;
};

/*
 * Path in the cgroup v2 hierarchy, malloc'ed. 0; -ENODEV: not mounted; -EPERM: needs
 * CAP_DAC_READ_SEARCH; -ESTALE: it is gone; other negative errno.
 */
int cgroup_names__path(struct cgroup_names *n, uint64_t id, char **ret);
void cgroup_names__free(struct cgroup_names *n);

#endif
