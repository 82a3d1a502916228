/* SPDX-License-Identifier: MIT */
/* The files of requests in trouble, read out; private to live.c. */
#ifndef RINGSIDE_LIVE_FILES_H
#define RINGSIDE_LIVE_FILES_H

#include "files.h"
#include "session.h"

/* Files that had to make room for others in the kernel's table. */
struct kept_files {
	struct file_list list; /* at most KEPT_FILES_MAX of them, the costliest */
	uint64_t taken;	       /* entries taken out of the table, ever */
};

#define KEPT_FILES_MAX 2048

/* Makes room if entries run short. 0 or -ENOMEM. */
int kept_files__tick(struct kept_files *k, const struct session *s);
/* All files so far, the costliest first. 0 or -ENOMEM. */
int kept_files__read(const struct kept_files *k, const struct session *s, struct file_list *ret);
void kept_files__free(struct kept_files *k);

#endif
