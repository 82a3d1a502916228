/* SPDX-License-Identifier: MIT */
/*
 * What a random program knows about itself: one truth a ring, and their sum.
 *
 * Where a ring was closed with requests in flight, nobody saw how these ended: they are
 * `unreaped`, and so many may be completed (with any error) on top of what is counted.
 * What overflowed is part of what is counted: whose CQE it was, an observer may not know.
 */
#ifndef MIX_TRUTH_H
#define MIX_TRUTH_H

#include "work.h"

#define MIX_OPS 256
#define MIX_ERRNOS 160
#define MIX_REGISTERS 64
#define MIX_RINGS 24 /* of one program, one after the other */

struct mix_errno {
	uint64_t count, overflowed;
};

struct mix_op {
	uint64_t submitted, rejected, completed, silent, errors, bytes;
	uint64_t cqes_multishot, multishot_ends; /* CQEs before the last, requests with a last */
	uint64_t mixed_ends;			 /* the same, but for what stands in mix_truth.mixed */
	uint64_t notifs;
	uint64_t overflowed, overflowed_errors, overflowed_bytes;
	uint64_t unreaped, unreaped_bytes, unreaped_notifs;
	struct mix_errno errnos[MIX_ERRNOS];
};

struct mix_truth {
	struct mix_op op[MIX_OPS];
	uint64_t sq_dropped, cqes_aux, overflows;
	uint64_t mixed;	  /* CQEs before the last whose user_data is that of requests of two opcodes */
	uint64_t batches; /* WORK_UNKNOWN: the kernel made them */
	uint64_t registers[MIX_REGISTERS], register_errors[MIX_REGISTERS];
	uint32_t setup_flags, sq_entries, cq_entries;
	int fd; /* -1: only registered */
};

struct mix_key {
	const char *name;
	size_t offset;
};

#define MIX_OP_KEY(field)                                                                                    \
	{                                                                                                    \
#field, offsetof(struct mix_op, field)                                                       \
	}

static const struct mix_key mix_op_keys[] = {
	MIX_OP_KEY(submitted),
	MIX_OP_KEY(rejected),
	MIX_OP_KEY(completed),
	MIX_OP_KEY(silent),
	MIX_OP_KEY(errors),
	MIX_OP_KEY(bytes),
	MIX_OP_KEY(cqes_multishot),
	MIX_OP_KEY(multishot_ends),
	MIX_OP_KEY(notifs),
	MIX_OP_KEY(mixed_ends),
	MIX_OP_KEY(overflowed),
	MIX_OP_KEY(overflowed_errors),
	MIX_OP_KEY(overflowed_bytes),
	MIX_OP_KEY(unreaped),
	MIX_OP_KEY(unreaped_bytes),
	MIX_OP_KEY(unreaped_notifs),
};

#define MIX_N_OP_KEYS (sizeof(mix_op_keys) / sizeof(mix_op_keys[0]))

static inline uint64_t *mix_op__field(struct mix_op *o, size_t key)
{
	return (uint64_t *)((char *)o + mix_op_keys[key].offset);
}

static inline bool mix_op__used(struct mix_op *o)
{
	for (size_t k = 0; k < MIX_N_OP_KEYS; k++)
		if (*mix_op__field(o, k))
			return true;
	return false;
}

static inline void mix_op__add(struct mix_op *sum, struct mix_op *o)
{
	for (size_t k = 0; k < MIX_N_OP_KEYS; k++)
		*mix_op__field(sum, k) += *mix_op__field(o, k);
	for (unsigned int e = 0; e < MIX_ERRNOS; e++) {
		sum->errnos[e].count += o->errnos[e].count;
		sum->errnos[e].overflowed += o->errnos[e].overflowed;
	}
}

static inline void mix_truth__add(struct mix_truth *sum, struct mix_truth *t)
{
	for (unsigned int i = 0; i < MIX_OPS; i++)
		mix_op__add(&sum->op[i], &t->op[i]);
	sum->sq_dropped += t->sq_dropped;
	sum->cqes_aux += t->cqes_aux;
	sum->overflows += t->overflows;
	sum->mixed += t->mixed;
	if (sum->batches == WORK_UNKNOWN || t->batches == WORK_UNKNOWN)
		sum->batches = WORK_UNKNOWN;
	else
		sum->batches += t->batches;
	for (unsigned int i = 0; i < MIX_REGISTERS; i++) {
		sum->registers[i] += t->registers[i];
		sum->register_errors[i] += t->register_errors[i];
	}
}

/* A request ended with this CQE. */
static inline void mix_op__end(struct mix_op *o, int32_t res, bool bytes, bool overflowed)
{
	o->completed++;
	o->overflowed += overflowed;
	if (res > 0 && bytes) {
		o->bytes += (uint32_t)res;
		o->overflowed_bytes += overflowed ? (uint32_t)res : 0;
	}
	if (res >= 0)
		return;
	if (res <= -MIX_ERRNOS)
		die(1, "a result of %d", res);
	o->errors++;
	o->overflowed_errors += overflowed;
	o->errnos[-res].count++;
	o->errnos[-res].overflowed += overflowed;
}

static inline const char *mix_op_name(unsigned int op, char buf[16])
{
	static const char *const names[] = { "NOP", "READV", "WRITEV", "FSYNC", "READ_FIXED", "WRITE_FIXED",
		"POLL_ADD", "POLL_REMOVE", "SYNC_FILE_RANGE", "SENDMSG", "RECVMSG", "TIMEOUT",
		"TIMEOUT_REMOVE", "ACCEPT", "ASYNC_CANCEL", "LINK_TIMEOUT", "CONNECT", "FALLOCATE", "OPENAT",
		"CLOSE", "FILES_UPDATE", "STATX", "READ", "WRITE", "FADVISE", "MADVISE", "SEND", "RECV",
		"OPENAT2", "EPOLL_CTL", "SPLICE", "PROVIDE_BUFFERS", "REMOVE_BUFFERS", "TEE", "SHUTDOWN",
		"RENAMEAT", "UNLINKAT", "MKDIRAT", "SYMLINKAT", "LINKAT", "MSG_RING", "FSETXATTR", "SETXATTR",
		"FGETXATTR", "GETXATTR", "SOCKET", "URING_CMD", "SEND_ZC", "SENDMSG_ZC", "READ_MULTISHOT",
		"WAITID", "FUTEX_WAIT", "FUTEX_WAKE", "FUTEX_WAITV", "FIXED_FD_INSTALL", "FTRUNCATE", "BIND",
		"LISTEN", "RECV_ZC", "EPOLL_WAIT", "READV_FIXED", "WRITEV_FIXED", "PIPE" };

	if (op < sizeof(names) / sizeof(names[0]))
		return names[op];
	snprintf(buf, 16, "OP_%u", op);
	return buf;
}

/* Whether a result of this opcode is a number of bytes. */
static inline bool mix_op_moves_bytes(unsigned int op)
{
	switch (op) {
	case 1 ... 2:	/* READV, WRITEV */
	case 4 ... 5:	/* READ_FIXED, WRITE_FIXED */
	case 9 ... 10:	/* SENDMSG, RECVMSG */
	case 22 ... 23: /* READ, WRITE */
	case 26 ... 27: /* SEND, RECV */
	case 30:	/* SPLICE */
	case 33:	/* TEE */
	case 47 ... 49: /* SEND_ZC, SENDMSG_ZC, READ_MULTISHOT */
	case 60 ... 61: /* READV_FIXED, WRITEV_FIXED */
		return true;
	}
	return false;
}

static inline void mix_put(FILE *f, const char *sep, const char *key, uint64_t v)
{
	if (v == WORK_UNKNOWN)
		fprintf(f, "%s\"%s\":null", sep, key);
	else
		fprintf(f, "%s\"%s\":%llu", sep, key, (unsigned long long)v);
}

/* What is left out is 0. */
static inline void mix_op__print(struct mix_op *o, FILE *f)
{
	const char *sep = "";

	for (size_t k = 0; k < MIX_N_OP_KEYS; k++)
		if (*mix_op__field(o, k))
			mix_put(f, "", mix_op_keys[k].name, *mix_op__field(o, k)), fputc(',', f);
	fputs("\"errnos\":{", f);
	for (int e = 1; e < MIX_ERRNOS; e++) {
		if (!o->errnos[e].count)
			continue;
		fprintf(f, "%s\"%s\":{\"count\":%llu,\"overflowed\":%llu}", sep, strerrorname_np(e),
			(unsigned long long)o->errnos[e].count, (unsigned long long)o->errnos[e].overflowed);
		sep = ",";
	}
	fputs("}", f);
}

/* What the ring is. */
static inline void mix_truth__print_ring(const struct mix_truth *t, FILE *f)
{
	static const char *const names[] = { "IOPOLL", "SQPOLL", "SQ_AFF", "CQSIZE", "CLAMP", "ATTACH_WQ",
		"R_DISABLED", "SUBMIT_ALL", "COOP_TASKRUN", "TASKRUN_FLAG", "SQE128", "CQE32",
		"SINGLE_ISSUER", "DEFER_TASKRUN", "NO_MMAP", "REGISTERED_FD_ONLY", "NO_SQARRAY" };
	const char *sep = "";

	mix_put(f, "", "fd", t->fd < 0 ? WORK_UNKNOWN : (uint64_t)t->fd);
	mix_put(f, ",", "sq_entries", t->sq_entries);
	mix_put(f, ",", "cq_entries", t->cq_entries);
	fputs(",\"flags\":[", f);
	for (unsigned int i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(t->setup_flags >> i & 1))
			continue;
		fprintf(f, "%s\"%s\"", sep, names[i]);
		sep = ",";
	}
	fputs("],", f);
}

static inline void mix_truth__print(struct mix_truth *t, FILE *f)
{
	struct mix_op *all = zalloc(1, sizeof(*all));
	const char *sep = "";
	char buf[16];

	for (unsigned int i = 0; i < MIX_OPS; i++)
		mix_op__add(all, &t->op[i]);
	all->cqes_multishot += t->mixed;
	mix_op__print(all, f);
	free(all);
	mix_put(f, ",", "sq_dropped", t->sq_dropped);
	mix_put(f, ",", "cqes_aux", t->cqes_aux);
	mix_put(f, ",", "overflows", t->overflows);
	mix_put(f, ",", "mixed", t->mixed);
	mix_put(f, ",", "batches", t->batches);
	fputs(",\"ops\":{", f);
	for (unsigned int i = 0; i < MIX_OPS; i++) {
		if (!mix_op__used(&t->op[i]))
			continue;
		fprintf(f, "%s\"%s\":{", sep, mix_op_name(i, buf));
		mix_op__print(&t->op[i], f);
		fputs("}", f);
		sep = ",";
	}
	fputs("},\"registers\":{", f);
	sep = "";
	for (unsigned int i = 0; i < MIX_REGISTERS; i++) {
		if (!t->registers[i])
			continue;
		fprintf(f, "%s\"%u\":{\"count\":%llu,\"errors\":%llu}", sep, i,
			(unsigned long long)t->registers[i], (unsigned long long)t->register_errors[i]);
		sep = ",";
	}
	fputs("}", f);
}

#endif
