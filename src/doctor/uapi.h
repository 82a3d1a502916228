/* SPDX-License-Identifier: MIT */
/* Opcodes, operations of io_uring_register and setup flags by name, for rules that single some out. */
#ifndef RINGSIDE_UAPI_H
#define RINGSIDE_UAPI_H

#include <stdbool.h>
#include <stdint.h>

enum rule_opcode {
#define OP(number, name, traits) OPC_##name = number,
#include "opcodes.def"
#undef OP
};

enum rule_register {
#define REGISTER(number, name) REG_##name = number,
#include "registers.def"
#undef REGISTER
};

enum rule_setup_flag {
#define SETUP_FLAG(bit, name) FLAG_##name = 1 << (bit),
#include "setup_flags.def"
#undef SETUP_FLAG
};

/* Whether requests of this opcode change something: data or names. */
bool opcode__changes(unsigned int op);

#endif
