// SPDX-License-Identifier: MIT
/* Names of the numbers that io_uring uses. */
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "names.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
	const char *name;
	unsigned int traits;
} opcodes[] = {
#define OP(number, name, traits) [number] = { #name, traits },
#include "opcodes.def"
#undef OP
};
_Static_assert(ARRAY_SIZE(opcodes) <= RS_OPS, "every named opcode has an index of its own");

static const char *const registers[] = {
#define REGISTER(number, name) [number] = #name,
#include "registers.def"
#undef REGISTER
};

static const char *const setup_flags[] = {
#define SETUP_FLAG(bit, name) [bit] = #name,
#include "setup_flags.def"
#undef SETUP_FLAG
};
_Static_assert(ARRAY_SIZE(setup_flags) <= 32, "io_uring_params.flags has 32 bits");

/* Errors that are the kernel's own (include/linux/errno.h) and that slip out to user space now and then. */
static const struct {
	int err;
	const char *name;
} kernel_errnos[] = {
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 515, "ENOIOCTLCMD" },
	{ 516, "ERESTART_RESTARTBLOCK" },
	{ 524, "ENOTSUPP" },
	{ 529, "EIOCBQUEUED" },
};

const char *op_name(unsigned int op, char buf[NAME_LEN])
{
	if (op < ARRAY_SIZE(opcodes) && opcodes[op].name)
		return opcodes[op].name;
	snprintf(buf, NAME_LEN, "OP_%u", op);
	return buf;
}

unsigned int op_traits(unsigned int op)
{
	return op < ARRAY_SIZE(opcodes) ? opcodes[op].traits : 0;
}

const char *register_name(unsigned int op, char buf[NAME_LEN])
{
	if (op < ARRAY_SIZE(registers) && registers[op])
		return registers[op];
	snprintf(buf, NAME_LEN, "REGISTER_%u", op);
	return buf;
}

const char *errno_name(int err, char buf[NAME_LEN])
{
	/* strerrorname_np calls 0 "0" */
	const char *name = err > 0 ? strerrorname_np(err) : NULL;

	for (size_t i = 0; !name && i < ARRAY_SIZE(kernel_errnos); i++)
		if (kernel_errnos[i].err == err)
			name = kernel_errnos[i].name;
	if (name)
		return name;
	snprintf(buf, NAME_LEN, "ERRNO_%d", err);
	return buf;
}

const char *setup_flag_name(unsigned int bit)
{
	return bit < ARRAY_SIZE(setup_flags) ? setup_flags[bit] : NULL;
}

bool feature_is_extra(unsigned int feature)
{
	switch (feature) {
#define FEATURE(id, name, essential, what)
#define EXTRA(id, name, what) case RS_F_##id:
#include "features.def"
#undef FEATURE
		return true;
	}
	return false;
}

bool feature_is_option(unsigned int feature)
{
	switch (feature) {
#define FEATURE(id, name, essential, what)
#define EXTRA(id, name, what)
#define OPTION(id, name, what) case RS_F_##id:
#include "features.def"
#undef FEATURE
		return true;
	}
	return false;
}
