// SPDX-License-Identifier: MIT
#include "functions.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary.h"
#include "debugfile.h"
#include "funcindex.h"
#include "guard.h"
#include "suggest.h"

/* Matches that are looked at before aliases are told apart. */
#define MATCHES_MAX (1U << 20)
#define NAME_LEN 1024

struct match {
	const char *name; /* in an image, with its version */
	uint64_t vaddr, file_offset;
	unsigned char binding;
};

struct matches {
	struct match *list;
	size_t n, capacity;
};

struct hunt {
	const char *pattern;
	const struct binary *binary;
	size_t max;
	char *why;
	struct image images[3]; /* the binary, its debug file, its packed symbols */
	const struct image *reading;
	struct matches found, choosers; /* choosers: all indirect functions */
	size_t functions;		/* seen */
	bool has_symtab;
	char indirect[NAME_LEN]; /* one that matched, "": none */
	struct suggest suggest;
	struct function *list; /* the answer */
};

static void plain_name(const char *name, char buf[NAME_LEN])
{
	snprintf(buf, NAME_LEN, "%.*s", (int)strcspn(name, "@"), name);
}

static int add(struct matches *m, const struct elf_function *f, uint64_t file_offset)
{
	size_t capacity = m->capacity ? 2 * m->capacity : 64;
	struct match *grown;

	if (m->n == MATCHES_MAX)
		return -E2BIG;
	if (m->n == m->capacity) {
		grown = reallocarray(m->list, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		m->list = grown;
		m->capacity = capacity;
	}
	m->list[m->n++] = (struct match){ f->name, f->vaddr, file_offset, f->binding };
	return 0;
}

/* Stubs that jump to other functions, and halves of functions that are never called. */
static bool is_no_entry(const struct image *img, const struct elf_function *f, const char *name)
{
	const char *section = image__section_name(img, f->section);

	return (section && !strncmp(section, ".plt", 4)) || strstr(name, ".cold");
}

static int consider(const struct elf_function *f, void *arg)
{
	char name[NAME_LEN];
	struct hunt *h = arg;
	uint64_t file_offset;

	int err;

	h->functions++;
	err = f->indirect ? add(&h->choosers, f, 0) : 0;
	if (err)
		return err;
	plain_name(f->name, name);
	if (fnmatch(h->pattern, name, 0)) {
		suggest__offer(&h->suggest, name);
		return 0;
	}
	if (is_no_entry(h->reading, f, name))
		return 0;
	if (f->indirect) {
		if (!*h->indirect)
			snprintf(h->indirect, sizeof(h->indirect), "%s", name);
		return 0;
	}
	/* where a debug file's own headers say that code is, it has none */
	if (image__to_file_offset(&h->images[0], f->vaddr, &file_offset))
		return 0;
	return add(&h->found, f, file_offset);
}

static int compare(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	if (funcindex__better_name(x->name, x->binding, y->name, y->binding))
		return -1;
	return funcindex__better_name(y->name, y->binding, x->name, x->binding);
}

static int compare_addresses(const void *a, const void *b)
{
	const struct match *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int compare_names(const void *a, const void *b)
{
	const struct match *x = a, *y = b;
	size_t len_x = strcspn(x->name, "@"), len_y = strcspn(y->name, "@");
	int differ = strncmp(x->name, y->name, len_x < len_y ? len_x : len_y);

	return differ ? differ : (len_x > len_y) - (len_x < len_y);
}

static void drop_listed(struct matches *m, struct matches *listed, int (*same)(const void *, const void *))
{
	size_t n = 0;

	if (listed->n)
		qsort(listed->list, listed->n, sizeof(*listed->list), same);
	for (size_t i = 0; i < m->n; i++) {
		if (!bsearch(&m->list[i], listed->list, listed->n, sizeof(*listed->list), same))
			m->list[n++] = m->list[i];
	}
	m->n = n;
}

/*
 * A debug file also has the function that chooses by its own name. And a library may have a function of the same name
 * for programs linked with an older version of it (memcpy): it alone would be less than what is asked for.
 */
static void drop_choosers(struct hunt *h)
{
	if (!h->choosers.n)
		return;
	drop_listed(&h->found, &h->choosers, compare_addresses);
	drop_listed(&h->found, &h->choosers, compare_names);
}

/* One name for each address: the first. */
static void drop_aliases(struct matches *m)
{
	size_t n = 0;

	if (m->n)
		qsort(m->list, m->n, sizeof(*m->list), compare);
	for (size_t i = 0; i < m->n; i++) {
		if (n == 0 || m->list[i].vaddr != m->list[n - 1].vaddr)
			m->list[n++] = m->list[i];
	}
	m->n = n;
}

static int explain_none(struct hunt *h)
{
	const struct suggest *s = &h->suggest;
	const char *path = h->binary->path;
	int len;

	if (!h->functions) {
		snprintf(h->why, FUNCTIONS_WHY_LEN,
			"%s has no symbols: it was stripped, and there is no debug file for it", path);
		return -ENODATA;
	}
	if (*h->indirect) {
		snprintf(h->why, FUNCTIONS_WHY_LEN,
			"%.128s in %s only chooses the function to be called (IFUNC): name one of those, as __%.128s_*",
			h->indirect, path, h->indirect);
		return -ESRCH;
	}
	len = snprintf(h->why, FUNCTIONS_WHY_LEN, "no function %s in %s%s", h->pattern, path,
		h->has_symtab ? "" : ", of which only the exported ones are known, since it was stripped");
	for (size_t i = 0; i < s->n && len >= 0 && len < FUNCTIONS_WHY_LEN; i++)
		len += snprintf(h->why + len, FUNCTIONS_WHY_LEN - len, "%s %s", i ? "," : "; near are",
			s->best[i].name);
	return -ESRCH;
}

static int explain_many(struct hunt *h)
{
	snprintf(h->why, FUNCTIONS_WHY_LEN, "%s matches %s%zu functions in %s, %zu at most can be observed",
		h->pattern, h->found.n == MATCHES_MAX ? "more than " : "", h->found.n, h->binary->path,
		h->max);
	return -E2BIG;
}

static int copy_matches(struct hunt *h)
{
	char name[NAME_LEN];

	h->list = calloc(h->found.n, sizeof(*h->list));
	if (!h->list)
		return -ENOMEM;
	for (size_t i = 0; i < h->found.n; i++) {
		plain_name(h->found.list[i].name, name);
		h->list[i] = (struct function){ strdup(name), h->found.list[i].file_offset,
			h->found.list[i].vaddr };
		if (!h->list[i].name)
			return -ENOMEM;
	}
	return 0;
}

static int open_images(struct hunt *h)
{
	int err = image__map(h->binary->fd, &h->images[0]);

	if (err == -ENOEXEC)
		snprintf(h->why, FUNCTIONS_WHY_LEN, "%s is not a program or library in ELF", h->binary->path);
	if (err)
		return err;
	if (!image__has_section(&h->images[0], ".symtab")) {
		err = debugfile__find(&h->images[0], h->binary->root, h->binary->path, &h->images[1]);
		if (err == -ENOMEM)
			return err;
		err = debugfile__unpack(&h->images[0], &h->images[2]);
	}
	for (size_t i = 0; i < 3; i++)
		h->has_symtab |= image__has_section(&h->images[i], ".symtab");
	return err == -ENOMEM ? err : 0;
}

static int run(void *arg)
{
	struct hunt *h = arg;
	int err = open_images(h);

	for (size_t i = 0; i < 3 && !err; i++) {
		h->reading = &h->images[i];
		err = image__functions(h->reading, consider, h);
	}
	if (err == -E2BIG)
		return explain_many(h);
	if (err)
		return err;
	drop_choosers(h);
	drop_aliases(&h->found);
	if (h->found.n == 0)
		return explain_none(h);
	return h->found.n > h->max ? explain_many(h) : copy_matches(h);
}

static void hunt__end(struct hunt *h, int err)
{
	for (size_t i = 0; i < 3; i++) {
		if (err == -EIO)
			image__abandon(&h->images[i]);
		else
			image__close(&h->images[i]);
	}
	free(h->found.list);
	free(h->choosers.list);
	for (size_t i = 0; err && h->list && i < h->found.n; i++)
		free(h->list[i].name);
	if (err)
		free(h->list);
}

static int find(struct binary *b, const char *pattern, size_t max, struct functions *ret, char *why)
{
	struct hunt h = { .pattern = pattern, .binary = b, .max = max ? max : FUNCTIONS_MAX, .why = why };
	int err;

	*why = '\0';
	suggest__begin(&h.suggest, pattern);
	err = guard__run(run, &h);
	hunt__end(&h, err);
	if (err) {
		if (!*why)
			snprintf(why, FUNCTIONS_WHY_LEN, "%s: %s", b->path, strerror(-err));
		return err;
	}
	*ret = (struct functions){ .fd = b->fd,
		.binary = b->path,
		.list = h.list,
		.n = h.found.n,
		.some_indirect = *h.indirect != '\0' };
	snprintf(ret->path, sizeof(ret->path), "/proc/self/fd/%d", b->fd);
	b->fd = -1;
	b->path = NULL;
	return 0;
}

int functions__find(const char *pattern, pid_t pid, size_t max, struct functions *ret,
	char why[FUNCTIONS_WHY_LEN])
{
	/* a path may have colons, a function has none */
	const char *colon = strrchr(pattern, ':');
	struct binary b;
	char *name;
	int err;

	if (!colon || colon == pattern || !colon[1]) {
		snprintf(why, FUNCTIONS_WHY_LEN, "%s is not BINARY:FUNCTION", pattern);
		return -EINVAL;
	}
	name = strndup(pattern, (size_t)(colon - pattern));
	if (!name) {
		snprintf(why, FUNCTIONS_WHY_LEN, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	err = binary__find(name, pid, &b, why);
	free(name);
	if (err)
		return err;
	err = find(&b, colon + 1, max, ret, why);
	binary__close(&b);
	return err;
}

void functions__free(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		free(f->list[i].name);
	free(f->list);
	free(f->binary);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct functions){ .fd = -1 };
}
