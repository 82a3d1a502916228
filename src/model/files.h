/* SPDX-License-Identifier: MIT */
/* Files that requests had trouble with: punted unasked, failed, slow. */
#ifndef RINGSIDE_FILES_H
#define RINGSIDE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_counts {
	uint64_t punted, errors, slow;
	uint64_t time_ns; /* of these requests, from submission to end, as far as they were timed */
};

/* A file, and one opcode's trouble with it. */
struct file_stats {
	char *name;	  /* for people, a path where it has one; NULL: unknown */
	const char *kind; /* static: "file", "socket" and the like */
	bool deleted;	  /* name is where it was */
	/* as the kernel has them inside; on btrfs and overlayfs stat(2) has others */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint32_t generation; /* tells it from other files that had this inode number */
	unsigned int op;
	struct file_counts c;
};

struct file_list {
	struct file_stats *list; /* the costliest first */
	size_t n;
	size_t n_others; /* those that found no room in the list */
	struct file_counts others;
};

void file_stats__free(struct file_stats *f);
void file_list__free(struct file_list *l);

void file_counts__add(struct file_counts *sum, const struct file_counts *c);
/* Adds f, which it takes, to the entry of the same file and opcode, or as another. 0 or -ENOMEM; then f is freed. */
int file_list__add(struct file_list *l, struct file_stats *f);
/* A copy that owns its own memory. 0 or -ENOMEM. */
int file_list__copy(const struct file_list *l, struct file_list *ret);

/* Puts the costliest first: by the time that their requests took, then by how many these were. */
void file_list__sort(struct file_list *l);
/* Keeps the n costliest, sorted, and adds the rest to others. */
void file_list__limit(struct file_list *l, size_t n);
/* cur - prev, sorted; what of cur has nothing new is left out. 0 or -ENOMEM. */
int file_list__delta(const struct file_list *prev, const struct file_list *cur, struct file_list *ret);

#endif
