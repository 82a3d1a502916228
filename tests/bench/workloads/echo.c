// SPDX-License-Identifier: MIT
/*
 * A TCP echo server on a ring and its client, over the loopback device.
 *
 * The server has one multishot receive a connection and answers each message with a send. The client, in
 * another thread, uses blocking sockets: one message in flight on each connection. The latency is that
 * of a round trip.
 */
#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "slice.h"

#define CONNECTIONS 8u
#define MESSAGE_BYTES 64u
#define BUFFERS 64u
#define GROUP 0
/* First byte of a message: answer it, or tell through the eventfd when nothing is under way. */
#define ECHO 'e'
#define SETTLE 's'

enum kind { KIND_RECV, KIND_SEND };

struct server {
	struct io_uring ring;
	struct io_uring_buf_ring *bufs;
	char *mem; /* BUFFERS messages */
	int fd[CONNECTIONS];
	unsigned int sends; /* in flight */
	bool settle;
	uint64_t submitted, completed, multishot; /* read by the client once settled_fd says so */
};

struct echo {
	struct server server;
	int fd[CONNECTIONS]; /* the client's */
	int settled_fd;
};

static uint64_t tag(enum kind kind, unsigned int conn, unsigned int buf)
{
	return (uint64_t)kind << 32 | conn << 16 | buf;
}

static struct io_uring_sqe *next_sqe(struct server *s)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&s->ring);

	if (!sqe)
		die(1, "the submission queue is full");
	s->submitted++;
	return sqe;
}

static void arm(struct server *s, unsigned int conn)
{
	struct io_uring_sqe *sqe = next_sqe(s);

	io_uring_prep_recv_multishot(sqe, s->fd[conn], NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = GROUP;
	sqe->user_data = tag(KIND_RECV, conn, 0);
}

static void give_buffer(struct server *s, unsigned int buf)
{
	io_uring_buf_ring_add(s->bufs, s->mem + buf * MESSAGE_BYTES, MESSAGE_BYTES, (unsigned short)buf,
		io_uring_buf_ring_mask(BUFFERS), 0);
	io_uring_buf_ring_advance(s->bufs, 1);
}

static void answer(struct server *s, unsigned int conn, unsigned int buf)
{
	struct io_uring_sqe *sqe = next_sqe(s);

	io_uring_prep_send(sqe, s->fd[conn], s->mem + buf * MESSAGE_BYTES, MESSAGE_BYTES, MSG_WAITALL);
	sqe->user_data = tag(KIND_SEND, conn, buf);
	s->sends++;
}

static void received(struct server *s, const struct io_uring_cqe *cqe, unsigned int conn)
{
	unsigned int buf = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

	if (cqe->flags & IORING_CQE_F_MORE) {
		s->multishot++;
	} else {
		s->completed++;
		arm(s, conn);
	}
	if (cqe->res == -ENOBUFS)
		return;
	if (cqe->res != (int)MESSAGE_BYTES || !(cqe->flags & IORING_CQE_F_BUFFER))
		die(cqe->res == -EINVAL ? EXIT_SKIP : 1, "a receive gave %d", cqe->res);
	if (s->mem[buf * MESSAGE_BYTES] == SETTLE) {
		s->settle = true;
		give_buffer(s, buf);
		return;
	}
	answer(s, conn, buf);
}

static void handle(struct server *s, const struct io_uring_cqe *cqe)
{
	if (cqe->user_data >> 32 == KIND_RECV) {
		received(s, cqe, (unsigned int)(cqe->user_data >> 16 & 0xffff));
		return;
	}
	if (cqe->res != (int)MESSAGE_BYTES)
		die(1, "a send gave %d", cqe->res);
	s->sends--;
	s->completed++;
	give_buffer(s, (unsigned int)(cqe->user_data & 0xffff));
}

static void server__open(struct server *s)
{
	struct io_uring_buf_reg reg = { .ring_entries = BUFFERS, .bgid = GROUP };
	int err = io_uring_queue_init(BUFFERS, &s->ring,
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN);

	if (err)
		die(EXIT_SKIP, "this kernel gives no such ring: %s", strerror(-err));
	s->bufs = aligned_alloc(4096, 4096);
	s->mem = malloc((size_t)BUFFERS * MESSAGE_BYTES);
	if (!s->bufs || !s->mem)
		die(1, "no memory");
	reg.ring_addr = (uint64_t)(uintptr_t)s->bufs;
	err = io_uring_register_buf_ring(&s->ring, &reg, 0);
	if (err)
		die(EXIT_SKIP, "this kernel has no rings of buffers: %s", strerror(-err));
	io_uring_buf_ring_init(s->bufs);
	for (unsigned int i = 0; i < BUFFERS; i++)
		give_buffer(s, i);
	for (unsigned int i = 0; i < CONNECTIONS; i++)
		arm(s, i);
}

static void write_counter(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		die(1, "eventfd: %s", strerror(errno));
}

static void *serve(void *arg)
{
	struct echo *e = arg;
	struct server *s = &e->server;

	server__open(s);
	for (;;) {
		struct io_uring_cqe *cqe;
		unsigned int head, n = 0;
		int ret = io_uring_submit_and_wait(&s->ring, 1);

		if (ret < 0 && ret != -EINTR)
			die(1, "submit: %s", strerror(-ret));
		io_uring_for_each_cqe(&s->ring, head, cqe)
		{
			handle(s, cqe);
			n++;
		}
		io_uring_cq_advance(&s->ring, n);
		if (s->settle && !s->sends) {
			s->settle = false;
			write_counter(e->settled_fd);
		}
	}
	return NULL;
}

/* Returns once the server has seen the end of all that it submitted but the receives. */
static void settle(struct echo *e)
{
	char message[MESSAGE_BYTES] = { SETTLE };
	uint64_t count;

	if (send(e->fd[0], message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		die(1, "send: %s", strerror(errno));
	if (read(e->settled_fd, &count, sizeof(count)) != sizeof(count))
		die(1, "eventfd: %s", strerror(errno));
}

static void run_echo(void *arg, struct slice *slice)
{
	char message[MESSAGE_BYTES] = { ECHO };
	uint64_t sent_ns[CONNECTIONS], at_ns;
	struct echo *e = arg;
	struct server *s = &e->server;
	uint64_t submitted = s->submitted, completed = s->completed, multishot = s->multishot;

	do {
		for (unsigned int i = 0; i < CONNECTIONS; i++) {
			sent_ns[i] = now_ns();
			if (send(e->fd[i], message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
				die(1, "send: %s", strerror(errno));
		}
		for (unsigned int i = 0; i < CONNECTIONS; i++) {
			if (recv(e->fd[i], message, sizeof(message), MSG_WAITALL) != sizeof(message))
				die(1, "receive: %s", strerror(errno));
			at_ns = now_ns();
			slice__latency(slice, at_ns - sent_ns[i]);
		}
		slice->work += CONNECTIONS;
	} while (!slice__over(slice, at_ns));
	settle(e);
	slice->submitted = s->submitted - submitted;
	slice->completed = s->completed - completed;
	slice->multishot = s->multishot - multishot;
}

static void connect_all(struct echo *e)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, sizeof(addr)) ||
		listen(listener, (int)CONNECTIONS) || getsockname(listener, (struct sockaddr *)&addr, &len))
		die(EXIT_SKIP, "no TCP over the loopback device: %s", strerror(errno));
	for (unsigned int i = 0; i < CONNECTIONS; i++) {
		e->fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (e->fd[i] < 0 || connect(e->fd[i], (struct sockaddr *)&addr, sizeof(addr)))
			die(EXIT_SKIP, "connect: %s", strerror(errno));
		e->server.fd[i] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (e->server.fd[i] < 0)
			die(1, "accept: %s", strerror(errno));
		if (setsockopt(e->fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) ||
			setsockopt(e->server.fd[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
			die(1, "TCP_NODELAY: %s", strerror(errno));
	}
	close(listener);
}

int main(int argc, char **argv)
{
	static struct echo e;
	pthread_t thread;

	(void)argv;
	if (argc != 1)
		die(2, "usage: echo");
	connect_all(&e);
	e.settled_fd = eventfd(0, EFD_CLOEXEC);
	if (e.settled_fd < 0)
		die(1, "eventfd: %s", strerror(errno));
	if (pthread_create(&thread, NULL, serve, &e))
		die(1, "no thread");
	settle(&e); /* the receives are armed */
	serve_slices(run_echo, &e);
	return 0;
}
