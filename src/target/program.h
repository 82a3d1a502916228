/* SPDX-License-Identifier: MIT */
/* Where a program is, and whether it could be executed, as far as that can be told without doing it. */
#ifndef RINGSIDE_PROGRAM_H
#define RINGSIDE_PROGRAM_H

#include <limits.h>

/* A directory of PATH, a slash, a name. */
#define PROGRAM_PATH_LEN (PATH_MAX + NAME_MAX + 2)

/*
 * What execvp(file) would execute, with the rights of this process. 0; -ENOENT: there is nothing of that
 * name; -EACCES: only what may not be executed; other negative errno.
 */
int program__find(const char *file, char ret_path[PROGRAM_PATH_LEN]);

/*
 * Why exec of a file that was found failed: the interpreter of a script, or of its interpreter, that is
 * not there or may not be executed, malloc'ed. 0; -ENOENT: no such interpreter; other negative errno.
 */
int program__bad_interpreter(const char *path, char **ret);

#endif
