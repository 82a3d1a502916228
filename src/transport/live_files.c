// SPDX-License-Identifier: MIT
#include "live_files.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "fdpath.h"

/* dev_t inside of the kernel: 12 bits of major, 20 of minor. */
#define KERNEL_MINOR_BITS 20

#define MEMFD "memfd:"

/* sun_path of struct sockaddr_un. */
#define UNIX_PATH_LEN 108

static const char *const kinds[] = {
	[FD_FILE] = "file",
	[FD_DIRECTORY] = "directory",
	[FD_BLOCK] = "block",
	[FD_CHARACTER] = "character",
	[FD_PIPE] = "pipe",
	[FD_SOCKET] = "socket",
	[FD_MEMFD] = "memfd",
	[FD_ANONYMOUS] = "anonymous",
};

static enum fd_kind kind_of(const struct rs_file *f)
{
	bool pseudo = f->flags & RS_FILE_PSEUDO;

	if (S_ISSOCK(f->mode))
		return FD_SOCKET;
	if (S_ISFIFO(f->mode))
		return FD_PIPE;
	if (pseudo)
		return strncmp(f->name + f->name_at, MEMFD, strlen(MEMFD)) ? FD_ANONYMOUS : FD_MEMFD;
	if (S_ISDIR(f->mode))
		return FD_DIRECTORY;
	if (S_ISBLK(f->mode))
		return FD_BLOCK;
	return S_ISCHR(f->mode) ? FD_CHARACTER : FD_FILE;
}

static void format_inet(char buf[FD_ADDRESS_LEN], int family, const void *address, unsigned int port)
{
	static const unsigned char unset[16];
	char text[INET6_ADDRSTRLEN];

	if ((!port && !memcmp(address, unset, family == AF_INET ? 4 : 16)) ||
		!inet_ntop(family, address, text, sizeof(text)))
		return;
	snprintf(buf, FD_ADDRESS_LEN, family == AF_INET ? "%s:%u" : "[%s]:%u", text, port);
}

static void describe_socket(const struct rs_file *f, struct fd_about *a)
{
	const struct rs_sock *s = &f->sock;

	for (size_t i = 0; i + 1 < sizeof(s->protocol) && s->protocol[i]; i++)
		a->protocol[i] = (char)tolower((unsigned char)s->protocol[i]);
	a->listening = s->listening;
	if (s->family == AF_INET || s->family == AF_INET6) {
		format_inet(a->local, s->family, s->local, s->local_port);
		format_inet(a->peer, s->family, s->peer, s->peer_port);
	} else if (s->family == AF_UNIX && f->name_at == 0) {
		/* an abstract name begins with a NUL */
		snprintf(a->local, sizeof(a->local), "%s%.*s", f->name[0] ? "" : "@", UNIX_PATH_LEN,
			f->name[0] ? f->name : f->name + 1);
	}
}

/* The name without what is around it: "[eventfd]", "memfd:x". A root is "". NULL: out of memory. */
static char *name_of(const struct rs_file *f, enum fd_kind kind)
{
	const char *name = f->name + f->name_at;
	size_t len = strlen(name);

	if (kind == FD_MEMFD)
		return strdup(name + strlen(MEMFD));
	if (kind == FD_ANONYMOUS && len > 2 && name[0] == '[' && name[len - 1] == ']')
		return strndup(name + 1, len - 2);
	if (kind != FD_ANONYMOUS && !len)
		return strdup("/");
	return strdup(name);
}

/* What people call it. NULL: out of memory. */
static char *text_of(const struct rs_file_key *key, const struct rs_file *f, enum fd_kind kind)
{
	struct fd_about a = { .kind = kind, .inode = key->inode };
	const char *cut = f->flags & RS_FILE_CUT ? "..." : "";
	char buf[FD_TEXT_LEN], *text;

	if (kind == FD_SOCKET) {
		describe_socket(f, &a);
	} else if (kind != FD_PIPE || f->name[f->name_at]) {
		a.name = name_of(f, kind);
		if (!a.name)
			return NULL;
	}
	if (asprintf(&text, "%s%s", cut, fd_about__text(buf, &a)) < 0)
		text = NULL;
	fd_about__free(&a);
	return text;
}

/* 0 or -ENOMEM. */
static int describe(const struct rs_file_key *key, const struct rs_file *f, struct file_stats *ret)
{
	enum fd_kind kind = kind_of(f);

	*ret = (struct file_stats){
		.name = text_of(key, f, kind),
		.kind = kinds[kind],
		/* what never was in a directory can't have been removed from it */
		.deleted = !f->nlink && !(f->flags & RS_FILE_PSEUDO) && kind != FD_SOCKET,
		.dev_major = key->dev >> KERNEL_MINOR_BITS,
		.dev_minor = key->dev & ((1u << KERNEL_MINOR_BITS) - 1),
		.inode = key->inode,
		.generation = key->generation,
		.op = key->op,
		.c = { .punted = f->punted, .errors = f->errors, .slow = f->slow, .time_ns = f->time_ns },
	};
	return ret->name ? 0 : -ENOMEM;
}

static int add(struct file_list *l, const struct rs_file_key *key, const struct rs_file *f)
{
	struct file_stats st;
	int err = describe(key, f, &st);

	return err ? err : file_list__add(l, &st);
}

int kept_files__tick(struct kept_files *k, const struct session *s)
{
	int fd = session__maps(s)->files, err = 0;
	struct rs_file_key key, *prev = NULL, *keys;
	size_t n = 0, max = session__files_max(), i;
	struct rs_file f;

	if (session__global(s)->n_files - k->taken < max / 2)
		return 0;
	keys = calloc(max + 1, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	while (n < max && !bpf_map_get_next_key(fd, prev, &key)) {
		keys[n] = key;
		prev = &keys[n++];
	}
	for (i = 0; !err && i < n; i++) {
		/* what is being described is left for the next time */
		if (bpf_map_lookup_elem(fd, &keys[i], &f) || !(f.flags & RS_FILE_READY) ||
			bpf_map_lookup_and_delete_elem(fd, &keys[i], &f))
			continue;
		k->taken++;
		err = add(&k->list, &keys[i], &f);
	}
	free(keys);
	if (!err)
		file_list__limit(&k->list, KEPT_FILES_MAX);
	return err;
}

int kept_files__read(const struct kept_files *k, const struct session *s, struct file_list *ret)
{
	int fd = session__maps(s)->files, err;
	struct rs_file_key key, *prev = NULL;
	struct file_list l = { 0 };
	struct rs_file f;

	err = file_list__copy(&k->list, &l);
	while (!err && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem(fd, &key, &f) && (f.flags & RS_FILE_READY))
			err = add(&l, &key, &f);
	}
	if (err) {
		file_list__free(&l);
		return err;
	}
	file_list__sort(&l);
	*ret = l;
	return 0;
}

void kept_files__free(struct kept_files *k)
{
	file_list__free(&k->list);
}
