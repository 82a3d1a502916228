/* SPDX-License-Identifier: MIT */
/* Where functions begin that are named as 'BIN:FUNCTION', for uprobes. */
#ifndef RINGSIDE_FUNCTIONS_H
#define RINGSIDE_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct function {
	char *name;	      /* without a version; of several names the one for people */
	uint64_t file_offset; /* what a uprobe wants */
	uint64_t vaddr;	      /* as in the file */
};

struct functions {
	int fd;	       /* the binary, open for reading */
	char path[32]; /* opens the same file, whatever becomes of its name: good until functions__free() */
	char *binary;  /* its path for people, as the process or we have it */
	struct function *list; /* by address, each address once */
	size_t n;
	bool some_indirect; /* names that match were left out: the loader asks them which function to use (IFUNC) */
};

#define FUNCTIONS_MAX 256
#define FUNCTIONS_WHY_LEN 512

/*
 * The functions of BIN whose names FUNCTION matches, a pattern as of fnmatch(3). BIN is a path, or a name without
 * slash: a program, or a library with or without ".so" and its version. With pid (0: none), a number in our pid
 * namespace, names and paths are those of what the process has mapped, then those in its mount namespace.
 * At most max functions, 0: FUNCTIONS_MAX.
 *
 * 0; -EINVAL: not BIN:FUNCTION; -ENOENT: no such binary, or the name fits several; -ENOEXEC: not ELF; -ENODATA: it has
 * no symbols; -ESRCH: no function matches, or there is no such process; -E2BIG: more than max do; other negative
 * errno. Then why is a sentence without a full stop, and *ret untouched.
 */
int functions__find(const char *pattern, pid_t pid, size_t max, struct functions *ret,
	char why[FUNCTIONS_WHY_LEN]);
void functions__free(struct functions *f);

#endif
