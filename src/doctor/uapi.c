// SPDX-License-Identifier: MIT
#include "uapi.h"

bool opcode__changes(unsigned int op)
{
	switch (op) {
	case OPC_WRITEV:
	case OPC_FSYNC:
	case OPC_WRITE_FIXED:
	case OPC_SYNC_FILE_RANGE:
	case OPC_SENDMSG:
	case OPC_FALLOCATE:
	case OPC_WRITE:
	case OPC_SEND:
	case OPC_SPLICE:
	case OPC_TEE:
	case OPC_RENAMEAT:
	case OPC_UNLINKAT:
	case OPC_MKDIRAT:
	case OPC_SYMLINKAT:
	case OPC_LINKAT:
	case OPC_FSETXATTR:
	case OPC_SETXATTR:
	case OPC_SEND_ZC:
	case OPC_SENDMSG_ZC:
	case OPC_FTRUNCATE:
	case OPC_WRITEV_FIXED:
		return true;
	default:
		return false;
	}
}
