/* SPDX-License-Identifier: MIT */
/* Requests that end by themselves: one function each, which fills a blank SQE. */
#ifndef MIX_OPS_H
#define MIX_OPS_H

#include <linux/openat2.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include "mix_wait.h"

#define MIX_OP_FIXED_FD_INSTALL 54
#define MIX_OP_FTRUNCATE 55
#define MIX_OP_BIND 56
#define MIX_OP_LISTEN 57
#define MIX_OP_READV_FIXED 60
#define MIX_OP_WRITEV_FIXED 61
#define MIX_OP_PIPE 62
#define MIX_NOP_INJECT_RESULT 1u
#define MIX_BAD_FD 1000000
#define MIX_FILE_SLOTS 8 /* the first is the file, the second is empty */
#define MIX_BUFFER_GROUP 7

typedef void (*fill_fn)(struct program *p, struct mring *r, struct req *q);

static struct __kernel_timespec *short_time(struct program *p)
{
	struct __kernel_timespec *ts = arena__take(p, sizeof(*ts));

	ts->tv_nsec = 1000 + below(p, 1500000);
	return ts;
}

/* --- without a file ---------------------------------------------------------- */
static void op_nop(struct program *p, struct mring *r, struct req *q)
{
	static const int results[] = { 0, 1, 4711, -EIO, -ENOSPC, -EINTR, -ENOENT };

	(void)r;
	io_uring_prep_nop(q->sqe);
	if (p->last_op < MIX_OP_BIND || !chance(p, 30))
		return;
	q->sqe->rw_flags = (int)MIX_NOP_INJECT_RESULT;
	q->sqe->len = (uint32_t)results[below(p, sizeof(results) / sizeof(results[0]))];
}

static void op_timeout(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	/* or when that many CQEs came */
	io_uring_prep_timeout(q->sqe, short_time(p), chance(p, 40) ? 1 + below(p, 3) : 0, 0);
}

/* Looks for what is not there. */
static void op_search(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	switch (below(p, 4)) {
	case 0:
		io_uring_prep_cancel64(q->sqe, 0xdead0000u, 0);
		break;
	case 1:
		io_uring_prep_cancel_fd(q->sqe, MIX_BAD_FD, 0);
		break;
	case 2:
		io_uring_prep_timeout_remove(q->sqe, 0xdead0000u, 0);
		break;
	default:
		io_uring_prep_poll_remove(q->sqe, 0xdead0000u);
	}
}

static void op_futex_wake(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	io_uring_prep_rw(MIX_OP_FUTEX_WAKE, q->sqe, MIX_FUTEX_FLAGS, arena__take(p, 4), 0, 1);
	q->sqe->addr3 = FUTEX_BITSET_MATCH_ANY;
}

static void op_madvise(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	io_uring_prep_madvise(q->sqe, p->file_buf, 4096, chance(p, 70) ? MADV_WILLNEED : 4711);
}

static void op_provide_buffers(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	if (chance(p, 60))
		io_uring_prep_provide_buffers(q->sqe, arena__take(p, 256), 64, 4, MIX_BUFFER_GROUP, 0);
	else
		io_uring_prep_remove_buffers(q->sqe, 1 + (int)below(p, 4), MIX_BUFFER_GROUP);
}

/* --- transfers ----------------------------------------------------------------- */
/* Fills in where to: inside of the file, across its end, or beyond it. */
static void choose_range(struct program *p, struct req *q, uint64_t *ret_offset, char **ret_buf)
{
	static const uint64_t offsets[] = { MIX_FILE_BYTES - 100, MIX_FILE_BYTES - 1, MIX_FILE_BYTES,
		2 * MIX_FILE_BYTES };

	q->len = q->want = chance(p, 50) ? 4096 : 1 + below(p, 8192);
	*ret_offset = below(p, (MIX_FILE_BYTES - q->len) / 512) * 512;
	if (chance(p, 20))
		*ret_offset = offsets[below(p, 4)];
	*ret_buf = p->file_buf + below(p, (MIX_BUF_BYTES - q->len) / 512) * 512;
}

static struct iovec *iovec_of(struct program *p, char *buf, uint32_t len)
{
	struct iovec *iov = arena__take(p, 2 * sizeof(*iov));

	iov[0] = (struct iovec){ buf, len / 2 };
	iov[1] = (struct iovec){ buf + len / 2, len - len / 2 };
	return iov;
}

static void use_file(struct program *p, struct mring *r, struct req *q)
{
	if (!r->has_files || chance(p, 50))
		return;
	/* the second slot is empty */
	q->sqe->fd = chance(p, 90) ? 0 : 1;
	q->sqe->flags |= IOSQE_FIXED_FILE;
}

static void op_read(struct program *p, struct mring *r, struct req *q)
{
	uint64_t offset;
	char *buf;

	choose_range(p, q, &offset, &buf);
	switch (below(p, r->has_buffers ? 4 : 2)) {
	case 0:
		io_uring_prep_read(q->sqe, p->file, buf, q->len, offset);
		break;
	case 1:
		io_uring_prep_readv(q->sqe, p->file, iovec_of(p, buf, q->len), 2, offset);
		break;
	case 2:
		io_uring_prep_read_fixed(q->sqe, p->file, buf, q->len, offset, 0);
		break;
	default:
		io_uring_prep_rw(p->last_op >= MIX_OP_READV_FIXED ? MIX_OP_READV_FIXED : IORING_OP_READV,
			q->sqe, p->file, iovec_of(p, buf, q->len), 2, offset);
	}
	use_file(p, r, q);
}

/* Direct reads end in an interrupt. */
static void op_read_direct(struct program *p, struct mring *r, struct req *q)
{
	uint32_t block = below(p, MIX_FILE_BYTES / 4096);

	if (p->direct < 0) {
		op_read(p, r, q);
		return;
	}
	q->len = q->want = 4096;
	io_uring_prep_read(q->sqe, p->direct, p->file_buf + below(p, 8) * 4096, 4096, block * 4096ull);
}

static void op_write(struct program *p, struct mring *r, struct req *q)
{
	uint64_t offset;
	char *buf;

	choose_range(p, q, &offset, &buf);
	switch (below(p, r->has_buffers ? 4 : 2)) {
	case 0:
		io_uring_prep_write(q->sqe, p->scratch, buf, q->len, offset);
		break;
	case 1:
		io_uring_prep_writev(q->sqe, p->scratch, iovec_of(p, buf, q->len), 2, offset);
		break;
	case 2:
		io_uring_prep_write_fixed(q->sqe, p->scratch, buf, q->len, offset, 0);
		break;
	default:
		io_uring_prep_rw(p->last_op >= MIX_OP_WRITEV_FIXED ? MIX_OP_WRITEV_FIXED : IORING_OP_WRITEV,
			q->sqe, p->scratch, iovec_of(p, buf, q->len), 2, offset);
	}
}

/* A read that finds its data there. */
static void op_read_ready(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	q->len = q->want = 1 + below(p, 200);
	req__pair(q, 0);
	write_bytes(q->fds[1], q->len);
	if (chance(p, 50))
		io_uring_prep_read(q->sqe, q->fds[0], arena__take(p, q->len), q->len, (uint64_t)-1);
	else
		io_uring_prep_recv(q->sqe, q->fds[0], arena__take(p, q->len), q->len, 0);
}

static void op_send(struct program *p, struct mring *r, struct req *q)
{
	char *buf = p->file_buf;

	(void)r;
	q->len = q->want = 1 + below(p, 2000);
	req__pair(q, 0);
	switch (below(p, 3)) {
	case 0:
		io_uring_prep_send(q->sqe, q->fds[1], buf, q->len, 0);
		break;
	case 1:
		io_uring_prep_write(q->sqe, q->fds[1], buf, q->len, (uint64_t)-1);
		break;
	default: {
		struct msghdr *m = arena__take(p, sizeof(*m));

		m->msg_iov = iovec_of(p, buf, q->len);
		m->msg_iovlen = 2;
		io_uring_prep_sendmsg(q->sqe, q->fds[1], m, 0);
	}
	}
}

static void op_splice(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	q->len = q->want = 1 + below(p, 200);
	req__pipe(q, 0);
	req__pipe(q, 2);
	write_bytes(q->fds[1], q->len);
	if (chance(p, 50))
		io_uring_prep_splice(q->sqe, q->fds[0], -1, q->fds[3], -1, q->len, 0);
	else
		io_uring_prep_tee(q->sqe, q->fds[0], q->fds[3], q->len, 0);
}

/* --- the rest of a file's life ------------------------------------------------- */
static void op_sync(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	if (chance(p, 50))
		io_uring_prep_fsync(q->sqe, chance(p, 80) ? p->scratch : p->dir, IORING_FSYNC_DATASYNC);
	else
		io_uring_prep_sync_file_range(q->sqe, p->scratch, 4096, 0, 0);
}

static void op_space(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	switch (below(p, p->last_op >= MIX_OP_FTRUNCATE ? 3 : 2)) {
	case 0:
		io_uring_prep_fallocate(q->sqe, p->scratch, 0, 0, chance(p, 80) ? 4096 : 0);
		break;
	case 1:
		io_uring_prep_fadvise(q->sqe, p->file, 0, 4096, chance(p, 80) ? POSIX_FADV_WILLNEED : 4711);
		break;
	default:
		io_uring_prep_rw(MIX_OP_FTRUNCATE, q->sqe, p->scratch, NULL, 0, 4096);
	}
}

/* A name of our own, or one that does not exist. */
static char *choose_name(struct program *p, bool fresh)
{
	uint32_t n = fresh ? p->n_names++ : below(p, p->n_names + 2);
	char *name = arena__take(p, 32);

	snprintf(name, 32, "mix-%d-%u", getpid(), n);
	return name;
}

static void op_open(struct program *p, struct mring *r, struct req *q)
{
	char *name = choose_name(p, chance(p, 50));
	int flags = O_RDWR | O_CLOEXEC | (chance(p, 60) ? O_CREAT : 0);

	(void)r;
	q->gives_fd = true;
	if (chance(p, 60)) {
		io_uring_prep_openat(q->sqe, p->dir, name, flags, 0600);
	} else {
		struct open_how *how = arena__take(p, sizeof(*how));

		how->flags = (uint64_t)flags;
		how->mode = flags & O_CREAT ? 0600 : 0;
		io_uring_prep_openat2(q->sqe, p->dir, name, how);
	}
}

static void op_close(struct program *p, struct mring *r, struct req *q)
{
	int fd = MIX_BAD_FD;

	(void)r;
	if (chance(p, 70))
		fd = fcntl(p->file, F_DUPFD_CLOEXEC, 0);
	io_uring_prep_close(q->sqe, fd);
}

static void op_path(struct program *p, struct mring *r, struct req *q)
{
	char *name = choose_name(p, chance(p, 30));

	(void)r;
	switch (below(p, 7)) {
	case 0:
		io_uring_prep_statx(q->sqe, p->dir, name, 0, STATX_SIZE,
			arena__take(p, sizeof(struct statx)));
		break;
	case 1:
		io_uring_prep_mkdirat(q->sqe, p->dir, name, 0700);
		break;
	case 2:
		io_uring_prep_renameat(q->sqe, p->dir, name, p->dir, choose_name(p, true), 0);
		break;
	case 3:
		io_uring_prep_symlinkat(q->sqe, "nowhere", p->dir, name);
		break;
	case 4:
		io_uring_prep_linkat(q->sqe, p->dir, name, p->dir, choose_name(p, true), 0);
		break;
	case 5:
		io_uring_prep_fgetxattr(q->sqe, p->file, "user.mix", arena__take(p, 16), 16);
		break;
	default:
		io_uring_prep_unlinkat(q->sqe, p->dir, name, chance(p, 20) ? AT_REMOVEDIR : 0);
	}
}

/* --- sockets and descriptors ------------------------------------------------------ */
static void op_socket(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	io_uring_prep_socket(q->sqe, chance(p, 80) ? AF_UNIX : 4711, SOCK_STREAM | SOCK_CLOEXEC, 0, 0);
	q->gives_fd = true;
}

static void op_connect(struct program *p, struct mring *r, struct req *q)
{
	struct sockaddr_un *addr = arena__take(p, sizeof(*addr));
	socklen_t len;

	(void)r;
	req__listener(q);
	len = listener_address(q->fds[0], addr);
	if (chance(p, 20))
		addr->sun_path[1] ^= 1;
	q->fds[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	io_uring_prep_connect(q->sqe, q->fds[1], (struct sockaddr *)addr, len);
}

static void op_accept_ready(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	req__listener(q);
	connect_to(q->fds[0]);
	io_uring_prep_accept(q->sqe, q->fds[0], NULL, NULL, chance(p, 50) ? SOCK_CLOEXEC : 0);
	q->gives_fd = true;
}

static void op_listen(struct program *p, struct mring *r, struct req *q)
{
	struct sockaddr_un *addr = arena__take(p, sizeof(*addr));

	(void)r;
	addr->sun_family = AF_UNIX;
	q->fds[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (chance(p, 50))
		io_uring_prep_rw(MIX_OP_BIND, q->sqe, q->fds[0], addr, 0, sizeof(sa_family_t));
	else
		/* not bound: that fails */
		io_uring_prep_rw(MIX_OP_LISTEN, q->sqe, q->fds[0], NULL, 5, 0);
}

static void op_shutdown(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	req__pair(q, 0);
	io_uring_prep_shutdown(q->sqe, chance(p, 80) ? q->fds[0] : p->file, SHUT_WR);
}

static void op_epoll_ctl(struct program *p, struct mring *r, struct req *q)
{
	struct epoll_event *e = arena__take(p, sizeof(*e));

	(void)r;
	e->events = EPOLLIN;
	q->fds[0] = epoll_create1(EPOLL_CLOEXEC);
	req__pair(q, 1);
	io_uring_prep_epoll_ctl(q->sqe, q->fds[0], q->fds[1], chance(p, 70) ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
		e);
}

static void op_pipe(struct program *p, struct mring *r, struct req *q)
{
	(void)r;
	(void)p;
	io_uring_prep_rw(MIX_OP_PIPE, q->sqe, 0, q->fds, 0, 0);
}

static void op_files_update(struct program *p, struct mring *r, struct req *q)
{
	int *fds = arena__take(p, sizeof(*fds));

	(void)r;
	*fds = p->file;
	io_uring_prep_files_update(q->sqe, fds, 1, chance(p, 80) ? 3 : 4711);
}

static void op_install(struct program *p, struct mring *r, struct req *q)
{
	if (p->last_op < MIX_OP_FIXED_FD_INSTALL || !r->has_files) {
		op_files_update(p, r, q);
		return;
	}
	io_uring_prep_rw(MIX_OP_FIXED_FD_INSTALL, q->sqe, chance(p, 80) ? 0 : 1, NULL, 0, 0);
	q->sqe->flags |= IOSQE_FIXED_FILE;
	q->gives_fd = true;
}

/* Anything with a file, without the file. */
static void op_bad_fd(struct program *p, struct mring *r, struct req *q)
{
	static const fill_fn ops[] = { op_read, op_write, op_sync, op_send, op_shutdown };

	ops[below(p, sizeof(ops) / sizeof(ops[0]))](p, r, q);
	q->sqe->fd = MIX_BAD_FD;
	q->sqe->flags &= (uint8_t)~IOSQE_FIXED_FILE;
}

/* --- the table -------------------------------------------------------------------- */
#define OP_PLAIN 1u /* a negative or short result, and nothing else, breaks a chain */

static const struct mix_instant {
	fill_fn prep;
	unsigned int traits, weight, needs_op;
} mix_instants[] = {
	{ op_nop, OP_PLAIN, 10, 0 },
	{ op_timeout, OP_PLAIN, 3, 0 },
	{ op_search, OP_PLAIN, 2, 0 },
	{ op_futex_wake, 0, 1, MIX_OP_FUTEX_WAKE },
	{ op_madvise, 0, 1, 0 },
	{ op_provide_buffers, 0, 1, 0 },
	{ op_read, OP_PLAIN, 8, 0 },
	{ op_read_direct, OP_PLAIN, 2, 0 },
	{ op_write, OP_PLAIN, 5, 0 },
	{ op_read_ready, OP_PLAIN, 4, 0 },
	{ op_send, OP_PLAIN, 4, 0 },
	{ op_splice, OP_PLAIN, 1, 0 },
	{ op_sync, 0, 2, 0 },
	{ op_space, 0, 1, 0 },
	{ op_open, OP_PLAIN, 3, 0 },
	{ op_close, OP_PLAIN, 2, 0 },
	{ op_path, 0, 4, 0 },
	{ op_socket, OP_PLAIN, 1, 0 },
	{ op_connect, OP_PLAIN, 1, 0 },
	{ op_accept_ready, OP_PLAIN, 1, 0 },
	{ op_listen, OP_PLAIN, 1, MIX_OP_LISTEN },
	{ op_shutdown, 0, 1, 0 },
	{ op_epoll_ctl, 0, 1, 0 },
	{ op_pipe, 0, 1, MIX_OP_PIPE },
	{ op_files_update, 0, 1, 0 },
	{ op_install, 0, 1, 0 },
	{ op_bad_fd, 0, 3, 0 },
};

static void prep_instant(struct program *p, struct mring *r, struct req *q, unsigned int traits)
{
	const struct mix_instant *end = mix_instants + sizeof(mix_instants) / sizeof(mix_instants[0]);
	uint32_t total = 0, at;

	for (const struct mix_instant *i = mix_instants; i < end; i++)
		if ((i->traits & traits) == traits && i->needs_op <= p->last_op)
			total += i->weight;
	at = below(p, total);
	for (const struct mix_instant *i = mix_instants; i < end; i++) {
		if ((i->traits & traits) != traits || i->needs_op > p->last_op)
			continue;
		if (at < i->weight) {
			i->prep(p, r, q);
			return;
		}
		at -= i->weight;
	}
}

#endif
