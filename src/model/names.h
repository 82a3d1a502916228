/* SPDX-License-Identifier: MIT */
/* Names of the numbers that io_uring uses, from the tables in contract/. */
#ifndef RINGSIDE_NAMES_H
#define RINGSIDE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Buffer for the names that are made up ("OP_70"). */
#define NAME_LEN 24

/* Opcode name; unknown ones give "OP_<n>", written to buf. */
const char *op_name(unsigned int op, char buf[NAME_LEN]);
/* RS_OP_* traits, 0 for unknown opcodes. */
unsigned int op_traits(unsigned int op);
/* Name of an io_uring_register opcode; unknown ones give "REGISTER_<n>". */
const char *register_name(unsigned int op, char buf[NAME_LEN]);
/* "ENOENT" of 2; unknown ones give "ERRNO_<n>". */
const char *errno_name(int err, char buf[NAME_LEN]);

/* Whether a feature is one that many kernels do not give, and that nobody needs to miss. */
bool feature_is_extra(unsigned int feature);
/* An extra that is loaded only where it is asked for. */
bool feature_is_option(unsigned int feature);

/* Name of bit number `bit` of io_uring_params.flags ("SQPOLL"), NULL if unknown. */
const char *setup_flag_name(unsigned int bit);

#endif
