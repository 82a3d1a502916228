/* SPDX-License-Identifier: MIT */
/* One step up a stack, by what an ELF file says of the stack frames of its code (.eh_frame). x86-64 only. */
#ifndef RINGSIDE_UNWIND_H
#define RINGSIDE_UNWIND_H

#include "image.h"
#include "symbols.h"

struct cfi;

/* The image must outlive it. 0; -ENOENT: the file does not say; -ENOMEM. */
int cfi__open(const struct image *img, struct cfi **ret);
void cfi__close(struct cfi *c);

/*
 * From the code at vaddr, as the file numbers it, to its caller: registers are changed. To be called inside of
 * guard__run(). 0; -ENODATA: nobody called it; -ENOENT: nothing is said of this code; -ERANGE: the stack is not known so
 * far up; -EINVAL: what is said makes no sense.
 */
int cfi__step(struct cfi *c, uint64_t vaddr, const struct stack *st, struct stack_registers *regs);

/* The same for code that keeps a frame pointer. */
int frame_pointer__step(const struct stack *st, struct stack_registers *regs);

#endif
