// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fdpath.h"
#include "procdir.h"

/* include/net/tcp_states.h; linux/net.h */
#define TCP_STATE_LISTEN 10
#define UNIX_ACCEPTS 0x10000

struct address_row {
	uint64_t inode;
	char local[FD_ADDRESS_LEN], peer[FD_ADDRESS_LEN];
	bool listening;
};

/* An address as the kernel prints it: words of 32 bits in the byte order of this machine. */
static void format_address(char buf[FD_ADDRESS_LEN], const char *hex, unsigned int port)
{
	char word[9], text[INET6_ADDRSTRLEN];
	size_t n = strlen(hex) / 8;
	uint32_t words[4];

	*buf = '\0';
	if (n != 1 && n != 4)
		return;
	for (size_t i = 0; i < n; i++) {
		snprintf(word, sizeof(word), "%s", hex + 8 * i);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (inet_ntop(n == 1 ? AF_INET : AF_INET6, words, text, sizeof(text)))
		snprintf(buf, FD_ADDRESS_LEN, n == 1 ? "%s:%u" : "[%s]:%u", text, port);
}

static bool is_unset(const char *hex, unsigned int port)
{
	return port == 0 && hex[strspn(hex, "0")] == '\0';
}

static bool parse_inet(const char *line, bool tcp, struct address_row *ret)
{
	unsigned int local_port, peer_port, state;
	char local[33], peer[33];

	if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %32[0-9A-Fa-f]:%x %x %*x:%*x %*x:%*x %*x %*u %*u %" SCNu64,
		    local, &local_port, peer, &peer_port, &state, &ret->inode) != 6)
		return false;
	ret->listening = tcp && state == TCP_STATE_LISTEN;
	ret->local[0] = ret->peer[0] = '\0';
	if (!is_unset(local, local_port))
		format_address(ret->local, local, local_port);
	if (!is_unset(peer, peer_port))
		format_address(ret->peer, peer, peer_port);
	return true;
}

/* What ends a line is the end of the path, which may be missing; '@' in front: an abstract name. */
static bool parse_unix(const char *line, struct address_row *ret)
{
	unsigned int flags;
	int at = 0;

	if (sscanf(line, "%*x: %*x %*x %x %*x %*x %" SCNu64 "%n", &flags, &ret->inode, &at) != 2)
		return false;
	ret->listening = flags & UNIX_ACCEPTS;
	ret->peer[0] = '\0';
	snprintf(ret->local, sizeof(ret->local), "%.*s", (int)strcspn(line + at, "\n"),
		line + at + (line[at] == ' '));
	ret->local[strcspn(ret->local, "\n")] = '\0';
	return true;
}

enum table_format { TABLE_TCP, TABLE_UDP, TABLE_UNIX };

static bool parse(enum table_format format, const char *line, struct address_row *ret)
{
	return format == TABLE_UNIX ? parse_unix(line, ret) : parse_inet(line, format == TABLE_TCP, ret);
}

static const struct table {
	const char *file;
	enum table_format format;
	const char *protocol; /* where the kernel says none, and how those begin that are in it */
} tables[] = {
	{ "net/tcp", TABLE_TCP, "tcp" },
	{ "net/tcp6", TABLE_TCP, "tcp" },
	{ "net/udp", TABLE_UDP, "udp" },
	{ "net/udp6", TABLE_UDP, "udp" },
	{ "net/unix", TABLE_UNIX, "unix" },
};

static bool may_be_in(const struct fd_about *a, const struct table *t)
{
	return a->kind == FD_SOCKET && !a->local[0] && !a->peer[0] &&
	       (!a->protocol[0] || !strncmp(a->protocol, t->protocol, strlen(t->protocol)));
}

static size_t count_wanted(const struct fd_about *list, size_t n, const struct table *t)
{
	size_t wanted = 0;

	for (size_t i = 0; i < n; i++)
		wanted += may_be_in(&list[i], t);
	return wanted;
}

/* How many it fits: descriptors may share a socket. */
static size_t apply(struct fd_about *list, size_t n, const struct table *t, const struct address_row *row)
{
	size_t fits = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].inode != row->inode || !may_be_in(&list[i], t))
			continue;
		memcpy(list[i].local, row->local, sizeof(row->local));
		memcpy(list[i].peer, row->peer, sizeof(row->peer));
		list[i].listening = row->listening;
		if (!list[i].protocol[0])
			snprintf(list[i].protocol, sizeof(list[i].protocol), "%s", t->protocol);
		fits++;
	}
	return fits;
}

static int read_table(const struct procdir *d, const struct table *t, struct fd_about *list, size_t n)
{
	size_t wanted = count_wanted(list, n, t), capacity = 0, fits;
	struct address_row row;
	char *line = NULL;
	FILE *f;
	int err;

	if (!wanted)
		return 0;
	err = procdir__stream(d, t->file, &f);
	if (err)
		return err;
	while (wanted && getline(&line, &capacity, f) > 0) {
		fits = parse(t->format, line, &row) && row.inode ? apply(list, n, t, &row) : 0;
		wanted -= fits < wanted ? fits : wanted;
	}
	free(line);
	fclose(f);
	return 0;
}

int fd_about__add_addresses(pid_t pid, struct fd_about *list, size_t n)
{
	struct procdir d;
	int err = procdir__open(pid, &d), got;

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		got = read_table(&d, &tables[i], list, n);
		/* a kernel without IPv6 has no table of it */
		if (got && got != -ESRCH && !err)
			err = got;
	}
	procdir__close(&d);
	return err;
}
