// SPDX-License-Identifier: MIT
#include "funcindex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct funcindex_entry {
	uint64_t start, end;
	const char *name;
	uint32_t parent; /* the nearest entry before it that reaches beyond start */
	unsigned char binding;
};

struct builder {
	struct funcindex ix;
	size_t capacity;
};

static int add(const struct elf_function *f, void *arg)
{
	struct builder *b = arg;
	struct funcindex_entry *grown;
	size_t capacity = b->capacity ? 2 * b->capacity : 256;

	if (f->size_bytes == 0 || f->vaddr + f->size_bytes < f->vaddr)
		return 0;
	if (b->ix.n == FUNCINDEX_MAX)
		return -EFBIG;
	if (b->ix.n == b->capacity) {
		grown = reallocarray(b->ix.entries, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		b->ix.entries = grown;
		b->capacity = capacity;
	}
	b->ix.entries[b->ix.n++] = (struct funcindex_entry){ .start = f->vaddr,
		.end = f->vaddr + f->size_bytes,
		.name = f->name,
		.binding = f->binding };
	return 0;
}

bool funcindex__better_name(const char *a, unsigned char binding_a, const char *b, unsigned char binding_b)
{
	bool local_a = binding_a == STB_LOCAL, local_b = binding_b == STB_LOCAL;
	size_t plain_a = strspn(a, "_"), plain_b = strspn(b, "_"), len_a = strlen(a), len_b = strlen(b);

	if (local_a != local_b)
		return local_b;
	if (plain_a != plain_b)
		return plain_a < plain_b;
	return len_a != len_b ? len_a < len_b : strcmp(a, b) < 0;
}

/* Outer before inner; of aliases the better name last, where the search begins. */
static int compare(const void *a, const void *b)
{
	const struct funcindex_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (funcindex__better_name(x->name, x->binding, y->name, y->binding))
		return 1;
	return funcindex__better_name(y->name, y->binding, x->name, x->binding) ? -1 : 0;
}

static void link_parents(struct funcindex *ix)
{
	uint32_t p;

	for (size_t i = 0; i < ix->n; i++) {
		p = i ? (uint32_t)(i - 1) : NONE;
		while (p != NONE && ix->entries[p].end <= ix->entries[i].start)
			p = ix->entries[p].parent;
		ix->entries[i].parent = p;
	}
}

int funcindex__build(const struct image *const images[], size_t n, struct funcindex *ret)
{
	struct builder b = { 0 };
	int err;

	for (size_t i = 0; i < n; i++) {
		err = image__functions(images[i], add, &b);
		if (err) {
			funcindex__free(&b.ix);
			return err;
		}
	}
	if (b.ix.n)
		qsort(b.ix.entries, b.ix.n, sizeof(*b.ix.entries), compare);
	link_parents(&b.ix);
	*ret = b.ix;
	return 0;
}

void funcindex__free(struct funcindex *ix)
{
	if (!ix)
		return;
	free(ix->entries);
	*ix = (struct funcindex){ 0 };
}

int funcindex__find(const struct funcindex *ix, uint64_t vaddr, const char **ret_name, uint64_t *ret_start)
{
	size_t low = 0, high = ix->n, middle;
	uint32_t at;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (ix->entries[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	at = low ? (uint32_t)(low - 1) : NONE;
	while (at != NONE && ix->entries[at].end <= vaddr)
		at = ix->entries[at].parent;
	if (at == NONE)
		return -ENOENT;
	*ret_name = ix->entries[at].name;
	*ret_start = ix->entries[at].start;
	return 0;
}
