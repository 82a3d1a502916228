// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD under valgrind 3.19, which does not know pidfd_open(2): syscall() asks the test
 * for the descriptor instead, through the socket that PIDFD_SOCKET names. It sends the pid as an
 * int and gets an int, 0 or an errno, and with 0 the descriptor.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>

static long ask(int pid)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	const char *name = getenv("PIDFD_SOCKET");
	int fd = name ? (int)strtol(name, NULL, 10) : -1, error = ENOSYS;
	struct iovec iov = { &error, sizeof(error) };
	struct msghdr m = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };

	if (send(fd, &pid, sizeof(pid), 0) != sizeof(pid))
		return -1;
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != sizeof(error))
		return -1;
	errno = error;
	if (error || !CMSG_FIRSTHDR(&m))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

long syscall(long number, ...)
{
	long (*real)(long, ...), a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_pidfd_open)
		return ask((int)a[0]);
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
