/* SPDX-License-Identifier: MIT */
/* What --uid, --cgroup and --comm name. */
#ifndef RINGSIDE_FILTER_H
#define RINGSIDE_FILTER_H

#include <stdint.h>

/* The uid of a user's name or number. 0; -ENOENT: no such user; other negative errno. */
int filter__user(const char *name, uint32_t *ret_uid);

/*
 * The id of a cgroup of the v2 hierarchy: a directory of a mounted cgroup2, or a path inside the
 * hierarchy as /proc/PID/cgroup shows it ("/system.slice/x.service").
 * 0; -ENOENT: no such cgroup; -ENODEV: no cgroup2 is mounted; -EINVAL: a directory, but not of cgroup2;
 * other negative errno.
 */
int filter__cgroup(const char *path, uint64_t *ret_id);

#endif
