/* SPDX-License-Identifier: MIT */
/* What is known of one ELF file: its functions, its source lines. Shared by the processes that map it. */
#ifndef RINGSIDE_MODULE_H
#define RINGSIDE_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "image.h"
#include "lines.h"
#include "unwind.h"

struct module;

/* The strings are the caller's, NULL: unknown. */
struct module_answer {
	char *function;
	uint64_t function_start;
	char *inlined, *file;
	int line;
};

/*
 * From an open file, which stays the caller's, and the files with its debug information, looked for below root (-1:
 * ours alone) beside path. All are held open from now on, none is read yet. 0; -ENOEXEC; other negative errno.
 */
int module__open(int fd, const struct stat *st, int root, const char *path, struct module **ret);
/* From a copy of what is in memory, malloc'ed, taken also on failure. */
int module__take(void *bytes, size_t size, struct module **ret);
void module__free(struct module *m);

/* Whether it is this file, unchanged. */
bool module__is(const struct module *m, const struct stat *st);
/* Whether it was made of these bytes by module__take(). */
bool module__has(const struct module *m, const void *bytes, size_t size);

/* 0; -ENOENT: not in the code of the file; -EIO: the file was cut short, now or before. */
int module__to_vaddr(struct module *m, uint64_t file_offset, uint64_t *ret_vaddr);
/* Reads what it needs. 0, also if nothing is known; negative errno. */
int module__find(struct module *m, uint64_t vaddr, struct module_answer *ret);
/* As cfi__step(); -ENOENT also if the file was cut short. */
int module__step(struct module *m, uint64_t vaddr, const struct stack *st, struct stack_registers *regs);
/* Frees what module__find() has read; it would be read again. */
void module__rest(struct module *m);
bool module__is_awake(const struct module *m);

#endif
