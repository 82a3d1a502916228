/* SPDX-License-Identifier: MIT */
/* Opcodes by name, for rules that treat some of them differently. */
#ifndef RINGSIDE_OPCODE_H
#define RINGSIDE_OPCODE_H

enum opcode {
#define OP(number, name, traits) OPCODE_##name = number,
#include "opcodes.def"
#undef OP
};

#endif
