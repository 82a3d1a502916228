/* SPDX-License-Identifier: MIT */
/* What a file descriptor of a process is, for people. */
#ifndef RINGSIDE_FDPATH_H
#define RINGSIDE_FDPATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fd_kind { FD_FILE, FD_DIRECTORY, FD_BLOCK, FD_CHARACTER, FD_PIPE, FD_SOCKET, FD_MEMFD, FD_ANONYMOUS };

/* The path of a unix socket is the longest. */
#define FD_ADDRESS_LEN 112

struct fd_about {
	enum fd_kind kind;
	bool deleted; /* of a file or directory: no name leads to it any more, name is what did */
	dev_t dev;    /* as of stat(2) */
	uint64_t inode;
	char *name; /* path, in the process's mount namespace; of a memfd its name; of FD_ANONYMOUS "eventfd" and the
		       like; of a pipe NULL unless it is a FIFO with a path; of a socket NULL */
	/* of a socket; "": unknown, or it has none */
	char protocol[16]; /* as the kernel calls it, in small letters: "tcp", "udpv6", "unix-stream" */
	char local[FD_ADDRESS_LEN], peer[FD_ADDRESS_LEN];
	bool listening;
};

/*
 * pid is a number in our pid namespace. The addresses of a socket are left to fd_about__add_addresses().
 * 0, to be freed with fd_about__free(); -ESRCH: no such process; -EBADF: no such descriptor; other negative errno.
 */
int fd_about__read(pid_t pid, int fd, struct fd_about *ret);

/*
 * The same for the first descriptor of the process whose file has this inode, among the first FD_SCAN_MAX. Filesystems
 * without a device of their own (btrfs, overlayfs) have one number inside of the kernel and another in stat(2): there
 * the inode has to do, if it is that of one file only. -ENOENT: none; it may be registered with a ring and closed.
 */
int fd_about__find(pid_t pid, dev_t dev, uint64_t inode, struct fd_about *ret, int *ret_fd);

/*
 * Fills in the addresses of all sockets among list[0..n): a pass over each table of sockets in the network namespace
 * of the process, so better once for many. A socket of another namespace stays unknown. 0; -ESRCH; other
 * negative errno.
 */
int fd_about__add_addresses(pid_t pid, struct fd_about *list, size_t n);

void fd_about__free(struct fd_about *a);

#define FD_SCAN_MAX 65536
#define FD_TEXT_LEN 512

/*
 * For people, cut at the front if it is a path that is too long; returns buf:
 *   /var/lib/db/wal.log, /tmp/x (deleted), tcp 10.0.0.1:80 > 10.0.0.2:3456, tcp 0.0.0.0:80 listening,
 *   unix-stream /run/x.sock, socket:[1234], pipe:[1234], memfd:x, eventfd
 */
char *fd_about__text(char buf[FD_TEXT_LEN], const struct fd_about *a);

#endif
