// SPDX-License-Identifier: MIT
#include "fdpath.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "procdir.h"

#define DELETED " (deleted)"
#define MEMFD "/memfd:"
#define ANON "anon_inode:"

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void cut_end(char *s, const char *end)
{
	size_t len = strlen(s), n = strlen(end);

	if (len > n && !strcmp(s + len - n, end))
		s[len - n] = '\0';
}

/* "anon_inode:[eventfd]", "anon_inode:inotify", "pidfd:[123]", "net:[4026531840]" */
static char *anonymous_name(char *link)
{
	char *name = link;

	if (begins(link, ANON)) {
		name += strlen(ANON);
		if (*name == '[') {
			name++;
			cut_end(name, "]");
		}
	} else {
		name[strcspn(name, ":")] = '\0';
	}
	return strdup(name);
}

static enum fd_kind kind_of(mode_t mode, const char *link, bool deleted)
{
	if (S_ISSOCK(mode) && link[0] != '/')
		return FD_SOCKET;
	if (S_ISFIFO(mode))
		return FD_PIPE;
	if (link[0] != '/')
		return FD_ANONYMOUS;
	/* a memfd never had a name in a directory */
	if (deleted && begins(link, MEMFD))
		return FD_MEMFD;
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return FD_DIRECTORY;
	case S_IFBLK:
		return FD_BLOCK;
	case S_IFCHR:
		return FD_CHARACTER;
	default:
		return FD_FILE;
	}
}

static void read_protocol(const struct procdir *d, int fd, struct fd_about *a)
{
	char path[64], protocol[32];
	ssize_t n;

	/* the directory is O_PATH, so there is no fgetxattr */
	snprintf(path, sizeof(path), "/proc/self/fd/%d/fd/%d", d->fd, fd);
	n = getxattr(path, "system.sockprotoname", protocol, sizeof(protocol) - 1);
	if (n <= 0)
		return;
	protocol[n] = '\0';
	for (size_t i = 0; protocol[i] && i + 1 < sizeof(a->protocol); i++)
		a->protocol[i] = (char)tolower((unsigned char)protocol[i]);
}

/* What is said of the name, once kind is known. link is changed. */
static int name_it(struct fd_about *a, char *link)
{
	if (a->kind == FD_SOCKET || (a->kind == FD_PIPE && link[0] != '/'))
		return 0;
	if (a->deleted)
		cut_end(link, DELETED);
	if (a->kind == FD_ANONYMOUS)
		a->name = anonymous_name(link);
	else
		a->name = strdup(a->kind == FD_MEMFD ? link + strlen(MEMFD) : link);
	return a->name ? 0 : -ENOMEM;
}

static int stat_fd(const struct procdir *d, const char *name, struct statx *ret)
{
	/* no question to a server that may not answer */
	if (statx(d->fd, name, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_NLINK | STATX_INO, ret))
		return errno == ENOENT ? -EBADF : -errno;
	return 0;
}

static int read_fd(const struct procdir *d, int fd, struct fd_about *ret)
{
	struct fd_about a = { 0 };
	char name[32], link[PATH_MAX + 1];
	struct statx st;
	ssize_t n;
	int err;

	snprintf(name, sizeof(name), "fd/%d", fd);
	n = readlinkat(d->fd, name, link, sizeof(link) - 1);
	if (n < 0)
		return errno == ENOENT ? -EBADF : -errno;
	link[n] = '\0';
	err = stat_fd(d, name, &st);
	if (err)
		return err;
	a.dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	a.inode = st.stx_ino;
	a.deleted = st.stx_nlink == 0 && link[0] == '/';
	a.kind = kind_of(st.stx_mode, link, a.deleted);
	if (a.kind == FD_MEMFD)
		a.deleted = false;
	if (a.kind == FD_SOCKET)
		read_protocol(d, fd, &a);
	if (a.kind == FD_MEMFD)
		cut_end(link, DELETED);
	err = name_it(&a, link);
	if (!err)
		*ret = a;
	return err;
}

int fd_about__read(pid_t pid, int fd, struct fd_about *ret)
{
	struct procdir d;
	int err = procdir__open(pid, &d);

	if (err)
		return err;
	err = read_fd(&d, fd, ret);
	procdir__close(&d);
	return err;
}

/* The descriptors that may be the one. */
struct search {
	dev_t dev;
	uint64_t inode;
	int exact, similar; /* -1: none */
	dev_t similar_dev;
	bool ambiguous;
};

static void consider(struct search *s, int fd, const struct statx *st)
{
	dev_t dev = makedev(st->stx_dev_major, st->stx_dev_minor);

	if (st->stx_ino != s->inode)
		return;
	if (dev == s->dev) {
		if (s->exact < 0)
			s->exact = fd;
	} else if (st->stx_dev_major == 0 && major(s->dev) == 0) {
		if (s->similar < 0) {
			s->similar = fd;
			s->similar_dev = dev;
		} else if (dev != s->similar_dev) {
			s->ambiguous = true;
		}
	}
}

static int scan(const struct procdir *d, struct search *s)
{
	int list = openat(d->fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct dirent *e;
	char name[NAME_MAX + 4];
	struct statx st;
	size_t left = FD_SCAN_MAX;
	DIR *dir;
	int err;

	if (list < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	dir = fdopendir(list);
	if (!dir) {
		err = -errno;
		close(list);
		return err;
	}
	while (s->exact < 0 && left-- && (e = readdir(dir))) {
		snprintf(name, sizeof(name), "fd/%s", e->d_name);
		if (isdigit((unsigned char)e->d_name[0]) && !stat_fd(d, name, &st))
			consider(s, (int)strtol(e->d_name, NULL, 10), &st);
	}
	closedir(dir);
	return 0;
}

int fd_about__find(pid_t pid, dev_t dev, uint64_t inode, struct fd_about *ret, int *ret_fd)
{
	struct search s = { .dev = dev, .inode = inode, .exact = -1, .similar = -1 };
	struct procdir d;
	int err = procdir__open(pid, &d), fd;

	if (err)
		return err;
	err = scan(&d, &s);
	fd = s.exact >= 0 ? s.exact : s.ambiguous ? -1 : s.similar;
	if (!err)
		err = fd < 0 ? -ENOENT : read_fd(&d, fd, ret);
	procdir__close(&d);
	if (!err)
		*ret_fd = fd;
	return err == -EBADF ? -ENOENT : err;
}

void fd_about__free(struct fd_about *a)
{
	if (!a)
		return;
	free(a->name);
	*a = (struct fd_about){ 0 };
}

static void socket_text(char buf[FD_TEXT_LEN], const struct fd_about *a)
{
	if (!a->local[0] && !a->peer[0])
		snprintf(buf, FD_TEXT_LEN, "%s%ssocket:[%" PRIu64 "]", a->protocol, a->protocol[0] ? " " : "",
			a->inode);
	else
		snprintf(buf, FD_TEXT_LEN, "%s %s%s%s%s", a->protocol, a->local, a->peer[0] ? " > " : "",
			a->peer, a->listening ? " listening" : "");
}

char *fd_about__text(char buf[FD_TEXT_LEN], const struct fd_about *a)
{
	const char *after = a->deleted ? DELETED : "";
	size_t len = a->name ? strlen(a->name) : 0, room = FD_TEXT_LEN - 1 - strlen(after);

	if (a->kind == FD_SOCKET)
		socket_text(buf, a);
	else if (!a->name)
		snprintf(buf, FD_TEXT_LEN, "pipe:[%" PRIu64 "]", a->inode);
	else if (a->kind == FD_MEMFD)
		snprintf(buf, FD_TEXT_LEN, "memfd:%s", a->name);
	else if (len > room)
		snprintf(buf, FD_TEXT_LEN, "...%s%s", a->name + len - (room - 3), after);
	else
		snprintf(buf, FD_TEXT_LEN, "%s%s", a->name, after);
	return buf;
}
