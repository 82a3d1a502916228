// SPDX-License-Identifier: MIT
#include "unwind.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* DWARF's numbers of registers on x86-64. */
#define REG_BP 6
#define REG_SP 7

#define EXPRESSION_DEPTH 16
#define EXPRESSION_MAX 64

struct cfi {
	Dwarf_CFI *cfi;
};

int cfi__open(const struct image *img, struct cfi **ret)
{
	struct cfi *c;

	if (!img->elf || !image__has_section(img, ".eh_frame"))
		return -ENOENT;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->cfi = dwarf_getcfi_elf(img->elf);
	if (!c->cfi) {
		free(c);
		return -ENOENT;
	}
	*ret = c;
	return 0;
}

void cfi__close(struct cfi *c)
{
	if (!c)
		return;
	dwarf_cfi_end(c->cfi);
	free(c);
}

static int read_word(const struct stack *st, uint64_t addr, uint64_t *ret)
{
	if (addr < st->start || addr - st->start > st->size || st->size - (addr - st->start) < sizeof(*ret))
		return -ERANGE;
	memcpy(ret, st->bytes + (addr - st->start), sizeof(*ret));
	return 0;
}

static int read_register(const struct stack_registers *regs, uint64_t n, uint64_t *ret)
{
	if (n == REG_SP)
		*ret = regs->sp;
	else if (n == REG_BP && regs->bp_known)
		*ret = regs->bp;
	else
		return -EINVAL;
	return 0;
}

/* A DWARF expression under way. */
struct evaluation {
	const struct stack *st;
	const struct stack_registers *regs;
	uint64_t cfa;
	uint64_t values[EXPRESSION_DEPTH];
	size_t n;
	bool is_value; /* the result is the value itself and not where it is */
};

static int push(struct evaluation *e, uint64_t v)
{
	if (e->n == EXPRESSION_DEPTH)
		return -EINVAL;
	e->values[e->n++] = v;
	return 0;
}

static int push_register(struct evaluation *e, uint64_t n, uint64_t offset)
{
	uint64_t v;
	int err = read_register(e->regs, n, &v);

	return err ? err : push(e, v + offset);
}

/* Replaces the two topmost values. */
static int combine(struct evaluation *e, const Dwarf_Op *op)
{
	uint64_t a, b, v;

	if (e->n < 2)
		return -EINVAL;
	b = e->values[--e->n];
	a = e->values[--e->n];
	switch (op->atom) {
	case DW_OP_plus:
		v = a + b;
		break;
	case DW_OP_minus:
		v = a - b;
		break;
	case DW_OP_and:
		v = a & b;
		break;
	case DW_OP_shl:
		v = b < 64 ? a << b : 0;
		break;
	case DW_OP_ge:
		v = (int64_t)a >= (int64_t)b;
		break;
	default:
		return -EINVAL;
	}
	return push(e, v);
}

/* Changes the topmost value. */
static int change(struct evaluation *e, const Dwarf_Op *op)
{
	uint64_t *top = e->n ? &e->values[e->n - 1] : NULL;

	if (!top)
		return -EINVAL;
	if (op->atom == DW_OP_deref)
		return read_word(e->st, *top, top);
	*top += op->number;
	return 0;
}

static int evaluate_op(struct evaluation *e, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return push_register(e, op->atom - DW_OP_breg0, op->number);
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(e, op->atom - DW_OP_lit0);
	switch (op->atom) {
	case DW_OP_bregx:
		return push_register(e, op->number, op->number2);
	case DW_OP_call_frame_cfa:
		return push(e, e->cfa);
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_constu:
	case DW_OP_consts:
		return push(e, op->number);
	case DW_OP_plus_uconst:
	case DW_OP_deref:
		return change(e, op);
	case DW_OP_stack_value:
		e->is_value = true;
		return 0;
	default:
		return combine(e, op);
	}
}

static int evaluate(struct evaluation *e, const Dwarf_Op *ops, size_t n, uint64_t *ret)
{
	int err = n && n <= EXPRESSION_MAX ? 0 : -EINVAL;

	for (size_t i = 0; !err && i < n; i++)
		err = evaluate_op(e, &ops[i]);
	if (err || !e->n)
		return err ? err : -EINVAL;
	*ret = e->values[e->n - 1];
	return 0;
}

/* What a register holds in the caller. *ret_same: what it holds here. */
static int caller_register(Dwarf_Frame *frame, const struct evaluation *from, int n, uint64_t *ret,
	bool *ret_same)
{
	struct evaluation e = *from;
	Dwarf_Op memory[3], *ops;
	size_t n_ops;
	int err;

	if (dwarf_frame_register(frame, n, memory, &ops, &n_ops))
		return -EINVAL;
	*ret_same = !n_ops && !ops;
	if (!n_ops)
		return *ret_same ? 0 : -ENODATA;
	err = evaluate(&e, ops, n_ops, ret);
	return err || e.is_value ? err : read_word(e.st, *ret, ret);
}

static int step(Dwarf_Frame *frame, const struct stack *st, struct stack_registers *regs)
{
	struct evaluation e = { .st = st, .regs = regs };
	struct stack_registers up = { .bp_known = regs->bp_known, .bp = regs->bp };
	bool same, is_signal;
	int ra = dwarf_frame_info(frame, NULL, NULL, &is_signal), err;
	Dwarf_Op *ops;
	size_t n;

	if (ra < 0 || dwarf_frame_cfa(frame, &ops, &n))
		return -EINVAL;
	err = evaluate(&e, ops, n, &e.cfa);
	if (err)
		return err;
	e.n = 0;
	err = caller_register(frame, &e, ra, &up.ip, &same);
	if (err || same)
		return err ? err : -EINVAL;
	err = caller_register(frame, &e, REG_BP, &up.bp, &same);
	if (err && err != -ENODATA)
		up.bp_known = false;
	/* the caller's stack is above this one, or it is no stack */
	up.sp = e.cfa;
	if (up.sp <= regs->sp)
		return -EINVAL;
	*regs = up;
	return up.ip ? 0 : -ENODATA;
}

int cfi__step(struct cfi *c, uint64_t vaddr, const struct stack *st, struct stack_registers *regs)
{
	Dwarf_Frame *frame;
	int err;

	if (dwarf_cfi_addrframe(c->cfi, vaddr, &frame))
		return -ENOENT;
	err = step(frame, st, regs);
	free(frame);
	return err;
}

int frame_pointer__step(const struct stack *st, struct stack_registers *regs)
{
	struct stack_registers up = { .bp_known = true };
	int err;

	if (!regs->bp_known || regs->bp < regs->sp)
		return -ENOENT;
	err = read_word(st, regs->bp, &up.bp);
	err = err ? err : read_word(st, regs->bp + 8, &up.ip);
	if (err)
		return err;
	up.sp = regs->bp + 16;
	*regs = up;
	return up.ip ? 0 : -ENODATA;
}
