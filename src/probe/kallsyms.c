// SPDX-License-Identifier: MIT
#include "kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

/* The kernel hands out a page at a time, whatever is asked for. */
#define BUFFER_BYTES 65536

struct symbol {
	const char *name;
	size_t len;
	enum ksym_state state;
	uint64_t address;
};

struct kallsyms {
	struct symbol *symbols; /* that the variant table names, each once */
	size_t n;
};

static void note_symbol(struct symbol *s, uint64_t address)
{
	if (s->state == KSYM_ABSENT)
		s->state = address ? KSYM_PRESENT : KSYM_HIDDEN;
	else if (s->state == KSYM_PRESENT && s->address != address)
		s->state = KSYM_AMBIGUOUS;
	s->address = address;
}

static bool out_of_resources(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static uint64_t parse_hex(const char *p, const char *end)
{
	uint64_t n = 0;

	for (; p < end && hex_digit(*p) >= 0; p++)
		n = n << 4 | (uint64_t)hex_digit(*p);
	return n;
}

/*
 * One line: "ffffffff81000000 T name", in a module "... name\t[module]". Whether the next one may still be
 * of the kernel proper: modules come last.
 */
static bool read_line(struct kallsyms *k, const char *line, const char *end)
{
	const char *name = memchr(line, ' ', (size_t)(end - line));
	size_t i, len;

	if (!name || end - name <= 3)
		return true;
	name += 3;
	len = (size_t)(end - name);
	for (i = 0; i < k->n; i++)
		if (k->symbols[i].len == len && !memcmp(k->symbols[i].name, name, len))
			note_symbol(&k->symbols[i], parse_hex(line, end));
	return end[-1] != ']' || !memchr(name, '\t', len);
}

/* Reads the whole lines in buf. Returns how many bytes they are; *more is false after the kernel proper. */
static size_t read_lines(struct kallsyms *k, const char *buf, size_t len, bool *more)
{
	const char *line = buf, *end = buf + len, *nl;

	while (*more && (nl = memchr(line, '\n', (size_t)(end - line)))) {
		*more = read_line(k, line, nl);
		line = nl + 1;
	}
	return (size_t)(line - buf);
}

/* 0 or negative errno. */
static int read_all(struct kallsyms *k, int fd, char *buf)
{
	size_t len = 0, used;
	bool more = true;
	ssize_t n;

	while (more) {
		n = read(fd, buf + len, BUFFER_BYTES - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		used = read_lines(k, buf, len, &more);
		len -= used;
		memmove(buf, buf + used, len);
		if (len == BUFFER_BYTES)
			return -EINVAL;
	}
	return 0;
}

static void set_all(struct kallsyms *k, enum ksym_state state)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		k->symbols[i].state = state;
}

static struct symbol *find(const struct kallsyms *k, const char *name)
{
	size_t i;

	for (i = 0; i < k->n; i++)
		if (!strcmp(k->symbols[i].name, name))
			return &k->symbols[i];
	return NULL;
}

static void add_symbol(struct kallsyms *k, const char *name)
{
	if (name && !find(k, name))
		k->symbols[k->n++] = (struct symbol){ name, strlen(name), KSYM_ABSENT, 0 };
}

static int kallsyms__new(bool options, struct kallsyms **ret)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	size_t i;

	if (!k)
		return -ENOMEM;
	k->symbols = calloc(n_variants + n_optional_ksyms, sizeof(*k->symbols));
	if (!k->symbols) {
		free(k);
		return -ENOMEM;
	}
	for (i = 0; i < n_variants; i++)
		if (options || !feature_is_option(variants[i].feature))
			add_symbol(k, variants[i].ksym);
	for (i = 0; options && i < n_optional_ksyms; i++)
		add_symbol(k, optional_ksyms[i]);
	*ret = k;
	return 0;
}

int kallsyms__read_file(const char *path, bool options, struct kallsyms **ret)
{
	struct kallsyms *k;
	char *buf;
	int err, fd;

	err = kallsyms__new(options, &k);
	if (err)
		return err;
	buf = malloc(BUFFER_BYTES);
	if (!buf) {
		kallsyms__free(k);
		return -ENOMEM;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : read_all(k, fd, buf);
	if (fd >= 0)
		close(fd);
	free(buf);
	if (out_of_resources(err)) {
		kallsyms__free(k);
		return err;
	}
	if (err)
		set_all(k, KSYM_UNREADABLE);
	*ret = k;
	return 0;
}

int kallsyms__read(bool options, struct kallsyms **ret)
{
	return kallsyms__read_file("/proc/kallsyms", options, ret);
}

void kallsyms__free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->symbols);
	free(k);
}

enum ksym_state kallsyms__lookup(const char *name, void *arg)
{
	const struct symbol *s = find(arg, name);

	return s ? s->state : KSYM_ABSENT;
}

uint64_t kallsyms__address(const struct kallsyms *k, const char *name)
{
	const struct symbol *s = find(k, name);

	return s && s->state == KSYM_PRESENT ? s->address : 0;
}
