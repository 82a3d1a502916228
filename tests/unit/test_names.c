// SPDX-License-Identifier: MIT
/* The tables against the uapi header of the build machine, and the made-up names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>

#include "abi.h"
#include "names.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct known {
	unsigned int number;
	const char *name;
};

/* What the oldest header that we build against (Linux 6.1) has. */
static const struct known header_opcodes[] = {
#define OPCODE(name)                                                                                         \
	{                                                                                                    \
		IORING_OP_##name, #name                                                                      \
	}
	OPCODE(NOP),
	OPCODE(READV),
	OPCODE(WRITEV),
	OPCODE(FSYNC),
	OPCODE(READ_FIXED),
	OPCODE(WRITE_FIXED),
	OPCODE(POLL_ADD),
	OPCODE(POLL_REMOVE),
	OPCODE(SYNC_FILE_RANGE),
	OPCODE(SENDMSG),
	OPCODE(RECVMSG),
	OPCODE(TIMEOUT),
	OPCODE(TIMEOUT_REMOVE),
	OPCODE(ACCEPT),
	OPCODE(ASYNC_CANCEL),
	OPCODE(LINK_TIMEOUT),
	OPCODE(CONNECT),
	OPCODE(FALLOCATE),
	OPCODE(OPENAT),
	OPCODE(CLOSE),
	OPCODE(FILES_UPDATE),
	OPCODE(STATX),
	OPCODE(READ),
	OPCODE(WRITE),
	OPCODE(FADVISE),
	OPCODE(MADVISE),
	OPCODE(SEND),
	OPCODE(RECV),
	OPCODE(OPENAT2),
	OPCODE(EPOLL_CTL),
	OPCODE(SPLICE),
	OPCODE(PROVIDE_BUFFERS),
	OPCODE(REMOVE_BUFFERS),
	OPCODE(TEE),
	OPCODE(SHUTDOWN),
	OPCODE(RENAMEAT),
	OPCODE(UNLINKAT),
	OPCODE(MKDIRAT),
	OPCODE(SYMLINKAT),
	OPCODE(LINKAT),
	OPCODE(MSG_RING),
	OPCODE(FSETXATTR),
	OPCODE(SETXATTR),
	OPCODE(FGETXATTR),
	OPCODE(GETXATTR),
	OPCODE(SOCKET),
	OPCODE(URING_CMD),
	OPCODE(SEND_ZC),
	OPCODE(SENDMSG_ZC),
};
static const struct known header_registers[] = {
#define CALL(name)                                                                                           \
	{                                                                                                    \
		IORING_##name, #name                                                                         \
	}
	CALL(REGISTER_BUFFERS),
	CALL(UNREGISTER_BUFFERS),
	CALL(REGISTER_FILES),
	CALL(UNREGISTER_FILES),
	CALL(REGISTER_EVENTFD),
	CALL(UNREGISTER_EVENTFD),
	CALL(REGISTER_FILES_UPDATE),
	CALL(REGISTER_EVENTFD_ASYNC),
	CALL(REGISTER_PROBE),
	CALL(REGISTER_PERSONALITY),
	CALL(UNREGISTER_PERSONALITY),
	CALL(REGISTER_RESTRICTIONS),
	CALL(REGISTER_ENABLE_RINGS),
	CALL(REGISTER_FILES2),
	CALL(REGISTER_FILES_UPDATE2),
	CALL(REGISTER_BUFFERS2),
	CALL(REGISTER_BUFFERS_UPDATE),
	CALL(REGISTER_IOWQ_AFF),
	CALL(UNREGISTER_IOWQ_AFF),
	CALL(REGISTER_IOWQ_MAX_WORKERS),
	CALL(REGISTER_RING_FDS),
	CALL(UNREGISTER_RING_FDS),
	CALL(REGISTER_PBUF_RING),
	CALL(UNREGISTER_PBUF_RING),
	CALL(REGISTER_SYNC_CANCEL),
	CALL(REGISTER_FILE_ALLOC_RANGE),
};
static const struct known header_flags[] = {
#define FLAG(name)                                                                                           \
	{                                                                                                    \
		IORING_SETUP_##name, #name                                                                   \
	}
	FLAG(IOPOLL),
	FLAG(SQPOLL),
	FLAG(SQ_AFF),
	FLAG(CQSIZE),
	FLAG(CLAMP),
	FLAG(ATTACH_WQ),
	FLAG(R_DISABLED),
	FLAG(SUBMIT_ALL),
	FLAG(COOP_TASKRUN),
	FLAG(TASKRUN_FLAG),
	FLAG(SQE128),
	FLAG(CQE32),
	FLAG(SINGLE_ISSUER),
	FLAG(DEFER_TASKRUN),
};

static void header_agrees(void **state)
{
	char buf[NAME_LEN];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(header_opcodes); i++)
		assert_string_equal(op_name(header_opcodes[i].number, buf), header_opcodes[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(header_registers); i++)
		assert_string_equal(register_name(header_registers[i].number, buf), header_registers[i].name);
	for (unsigned int i = 0; i < ARRAY_SIZE(header_flags); i++) {
		assert_int_equal(header_flags[i].number, 1u << i);
		assert_string_equal(setup_flag_name(i), header_flags[i].name);
	}
	/* these lists have no hole themselves */
	assert_int_equal(header_opcodes[ARRAY_SIZE(header_opcodes) - 1].number,
		ARRAY_SIZE(header_opcodes) - 1);
	assert_int_equal(header_registers[ARRAY_SIZE(header_registers) - 1].number,
		ARRAY_SIZE(header_registers) - 1);
}

static void opcodes(void **state)
{
	char buf[NAME_LEN];
	unsigned int n = 0;

	(void)state;
	assert_string_equal(op_name(IORING_OP_NOP, buf), "NOP");
	assert_string_equal(op_name(IORING_OP_READV, buf), "READV");
	assert_string_equal(op_name(IORING_OP_SENDMSG_ZC, buf), "SENDMSG_ZC");
	assert_string_equal(op_name(64, buf), "URING_CMD128");
	assert_string_equal(op_name(65, buf), "OP_65");
	assert_string_equal(op_name(RS_OPS - 1, buf), "OP_255");
	assert_string_equal(op_name(UINT32_MAX, buf), "OP_4294967295");
	/* no hole, no name twice */
	for (; strncmp(op_name(n, buf), "OP_", 3) != 0; n++)
		for (unsigned int k = 0; k < n; k++)
			assert_string_not_equal(op_name(n, buf), op_name(k, buf));
	assert_int_equal(n, 65);
}

static void traits(void **state)
{
	(void)state;
	assert_int_equal(op_traits(IORING_OP_READ), RS_OP_BYTES);
	assert_int_equal(op_traits(IORING_OP_SPLICE), RS_OP_BYTES | RS_OP_ASYNC);
	assert_int_equal(op_traits(IORING_OP_FSYNC), RS_OP_ASYNC);
	assert_int_equal(op_traits(IORING_OP_NOP), 0);
	/* results of these are no bytes: an fd, an event mask, a count */
	assert_int_equal(op_traits(IORING_OP_OPENAT) & RS_OP_BYTES, 0);
	assert_int_equal(op_traits(IORING_OP_POLL_ADD) & RS_OP_BYTES, 0);
	assert_int_equal(op_traits(IORING_OP_FILES_UPDATE) & RS_OP_BYTES, 0);
	assert_int_equal(op_traits(65), 0);
	assert_int_equal(op_traits(UINT32_MAX), 0);
}

static void registers(void **state)
{
	char buf[NAME_LEN];
	unsigned int n = 0;

	(void)state;
	assert_string_equal(register_name(IORING_REGISTER_BUFFERS, buf), "REGISTER_BUFFERS");
	assert_string_equal(register_name(IORING_UNREGISTER_PBUF_RING, buf), "UNREGISTER_PBUF_RING");
	assert_string_equal(register_name(37, buf), "REGISTER_BPF_FILTER");
	assert_string_equal(register_name(38, buf), "REGISTER_38");
	assert_string_equal(register_name(UINT32_MAX, buf), "REGISTER_4294967295");
	while (register_name(n, buf) != buf)
		n++;
	assert_int_equal(n, 38);
}

static void errnos(void **state)
{
	static const struct {
		int err;
		const char *want;
	} rows[] = {
		{ ENOENT, "ENOENT" },
		{ EAGAIN, "EAGAIN" },
		{ ETIME, "ETIME" },
		{ ECANCELED, "ECANCELED" },
		{ ENOBUFS, "ENOBUFS" },
		{ EOPNOTSUPP, "EOPNOTSUPP" },
		{ EDEADLK, "EDEADLK" },
		{ EBADFD, "EBADFD" },
		{ EHWPOISON, "EHWPOISON" },
		{ 512, "ERESTARTSYS" },
		{ 524, "ENOTSUPP" },
		{ 0, "ERRNO_0" },
		{ -2, "ERRNO_-2" },
		{ 41, "ERRNO_41" },
		{ 134, "ERRNO_134" },
		{ 4095, "ERRNO_4095" },
		{ INT32_MAX, "ERRNO_2147483647" },
		{ INT32_MIN, "ERRNO_-2147483648" },
	};
	char buf[NAME_LEN];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(errno_name(rows[i].err, buf), rows[i].want);
}

static void flags(void **state)
{
	unsigned int n = 0;

	(void)state;
	assert_string_equal(setup_flag_name(0), "IOPOLL");
	assert_string_equal(setup_flag_name(1), "SQPOLL");
	assert_string_equal(setup_flag_name(13), "DEFER_TASKRUN");
	assert_string_equal(setup_flag_name(20), "SQ_REWIND");
	while (setup_flag_name(n))
		n++;
	assert_int_equal(n, 21);
	for (unsigned int bit = n; bit < 40; bit++)
		assert_null(setup_flag_name(bit));
	assert_null(setup_flag_name(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_agrees),
		cmocka_unit_test(opcodes),
		cmocka_unit_test(traits),
		cmocka_unit_test(registers),
		cmocka_unit_test(errnos),
		cmocka_unit_test(flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
