/* SPDX-License-Identifier: MIT */
/* Ways into the kernel that ringside does not need: whether they are open here. Both try it, and undo it. */
#ifndef RINGSIDE_HOOKS_H
#define RINGSIDE_HOOKS_H

#include "survey.h"

struct btf;

/* Whether fentry programs can be loaded: a "no" is the kernel's, whatever the function. 0 or negative errno. */
int hooks__may_fentry(const struct btf *btf, struct fact *ret);
/* An fentry program on a function of io_uring. */
void hooks__try_fentry(const struct btf *btf, struct fact *ret);
/* A kprobe on the same function. */
void hooks__try_kprobe(struct fact *ret);

#endif
