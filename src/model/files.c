// SPDX-License-Identifier: MIT
#include "files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void file_stats__free(struct file_stats *f)
{
	if (!f)
		return;
	free(f->name);
	f->name = NULL;
}

void file_list__free(struct file_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		file_stats__free(&l->list[i]);
	free(l->list);
	*l = (struct file_list){ 0 };
}

void file_counts__add(struct file_counts *sum, const struct file_counts *c)
{
	sum->punted += c->punted;
	sum->errors += c->errors;
	sum->slow += c->slow;
	sum->time_ns += c->time_ns;
}

static bool same_file(const struct file_stats *a, const struct file_stats *b)
{
	return a->inode == b->inode && a->op == b->op && a->generation == b->generation &&
	       a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

static struct file_stats *find(const struct file_list *l, const struct file_stats *f)
{
	for (size_t i = 0; i < l->n; i++)
		if (same_file(&l->list[i], f))
			return &l->list[i];
	return NULL;
}

int file_list__add(struct file_list *l, struct file_stats *f)
{
	struct file_stats *known = find(l, f), *more;

	if (known) {
		file_counts__add(&known->c, &f->c);
		file_stats__free(f);
		return 0;
	}
	more = reallocarray(l->list, l->n + 1, sizeof(*more));
	if (!more) {
		file_stats__free(f);
		return -ENOMEM;
	}
	l->list = more;
	more[l->n++] = *f;
	return 0;
}

static int copy_file(const struct file_stats *f, struct file_stats *ret)
{
	char *name = f->name ? strdup(f->name) : NULL;

	if (f->name && !name)
		return -ENOMEM;
	*ret = *f;
	ret->name = name;
	return 0;
}

int file_list__copy(const struct file_list *l, struct file_list *ret)
{
	struct file_list copy = { .n_others = l->n_others, .others = l->others };

	copy.list = calloc(l->n + 1, sizeof(*copy.list));
	if (!copy.list)
		return -ENOMEM;
	for (; copy.n < l->n; copy.n++) {
		if (copy_file(&l->list[copy.n], &copy.list[copy.n])) {
			file_list__free(&copy);
			return -ENOMEM;
		}
	}
	*ret = copy;
	return 0;
}

static uint64_t requests(const struct file_counts *c)
{
	return c->punted + c->errors + c->slow;
}

static int costliest_first(const void *a, const void *b)
{
	const struct file_stats *x = a, *y = b;
	uint64_t nx = requests(&x->c), ny = requests(&y->c);

	if (x->c.time_ns != y->c.time_ns)
		return x->c.time_ns > y->c.time_ns ? -1 : 1;
	if (nx != ny)
		return nx > ny ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

void file_list__sort(struct file_list *l)
{
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), costliest_first);
}

void file_list__limit(struct file_list *l, size_t n)
{
	file_list__sort(l);
	while (l->n > n) {
		struct file_stats *f = &l->list[--l->n];

		file_counts__add(&l->others, &f->c);
		l->n_others++;
		file_stats__free(f);
	}
}

/* Counters are read while they run. */
static uint64_t minus(uint64_t cur, uint64_t prev)
{
	return cur > prev ? cur - prev : 0;
}

static struct file_counts counts_delta(const struct file_counts *prev, const struct file_counts *cur)
{
	return (struct file_counts){
		.punted = minus(cur->punted, prev->punted),
		.errors = minus(cur->errors, prev->errors),
		.slow = minus(cur->slow, prev->slow),
		.time_ns = minus(cur->time_ns, prev->time_ns),
	};
}

/* What the others had before: a file that prev lists and cur does not is one of them by now. */
static struct file_counts others_before(const struct file_list *prev, const struct file_list *cur)
{
	struct file_counts sum = prev->others;

	for (size_t i = 0; i < prev->n; i++)
		if (!find(cur, &prev->list[i]))
			file_counts__add(&sum, &prev->list[i].c);
	return sum;
}

int file_list__delta(const struct file_list *prev, const struct file_list *cur, struct file_list *ret)
{
	struct file_counts before = others_before(prev, cur), c;
	struct file_list d = { .n_others = cur->n_others, .others = counts_delta(&before, &cur->others) };
	const struct file_stats *known;

	if (!requests(&d.others) && !d.others.time_ns)
		d.n_others = 0;
	d.list = calloc(cur->n + 1, sizeof(*d.list));
	if (!d.list)
		return -ENOMEM;
	for (size_t i = 0; i < cur->n; i++) {
		known = find(prev, &cur->list[i]);
		c = known ? counts_delta(&known->c, &cur->list[i].c) : cur->list[i].c;
		if (!requests(&c) && !c.time_ns)
			continue;
		if (copy_file(&cur->list[i], &d.list[d.n])) {
			file_list__free(&d);
			return -ENOMEM;
		}
		d.list[d.n++].c = c;
	}
	file_list__sort(&d);
	*ret = d;
	return 0;
}
