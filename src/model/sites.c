// SPDX-License-Identifier: MIT
#include "sites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void frame__free(struct site_frame *f)
{
	free(f->module);
	free(f->function);
	free(f->inlined);
	free(f->file);
}

void site_stats__free(struct site_stats *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		frame__free(&s->frames[i]);
	free(s->frames);
	s->frames = NULL;
	s->n = 0;
}

void site_list__free(struct site_list *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->n; i++)
		site_stats__free(&l->list[i]);
	free(l->list);
	*l = (struct site_list){ 0 };
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

bool site_stats__same(const struct site_stats *a, const struct site_stats *b)
{
	if (a->op != b->op || a->n != b->n || a->end != b->end)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (a->frames[i].offset != b->frames[i].offset ||
			!same_text(a->frames[i].module, b->frames[i].module))
			return false;
	return true;
}

/* 0 or -ENOMEM. */
static int copy_text(const char *s, char **ret)
{
	*ret = s ? strdup(s) : NULL;
	return s && !*ret ? -ENOMEM : 0;
}

static int frame__copy(const struct site_frame *f, struct site_frame *ret)
{
	struct site_frame c = { .offset = f->offset, .line = f->line };

	if (copy_text(f->module, &c.module) || copy_text(f->function, &c.function) ||
		copy_text(f->inlined, &c.inlined) || copy_text(f->file, &c.file)) {
		frame__free(&c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

static int site_stats__copy(const struct site_stats *s, struct site_stats *ret)
{
	struct site_stats c = *s;

	c.n = 0;
	c.frames = calloc(s->n + 1, sizeof(*c.frames));
	if (!c.frames)
		return -ENOMEM;
	for (; c.n < s->n; c.n++) {
		if (frame__copy(&s->frames[c.n], &c.frames[c.n])) {
			site_stats__free(&c);
			return -ENOMEM;
		}
	}
	*ret = c;
	return 0;
}

int site_list__copy(const struct site_list *l, struct site_list *ret)
{
	const struct site_list none = { 0 };

	return site_list__delta(&none, l, ret);
}

static int most_first(const void *a, const void *b)
{
	const struct site_stats *x = a, *y = b;
	uint64_t fx = x->n ? x->frames[0].offset : 0, fy = y->n ? y->frames[0].offset : 0;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return fx < fy ? -1 : fx > fy;
}

void site_list__sort(struct site_list *l)
{
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), most_first);
}

void site_list__limit(struct site_list *l, size_t n)
{
	site_list__sort(l);
	while (l->n > n) {
		struct site_stats *s = &l->list[--l->n];

		l->others += s->samples;
		site_stats__free(s);
	}
}

static const struct site_stats *find(const struct site_list *l, const struct site_stats *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (site_stats__same(&l->list[i], s))
			return &l->list[i];
	return NULL;
}

int site_list__delta(const struct site_list *prev, const struct site_list *cur, struct site_list *ret)
{
	struct site_list d = { .others = cur->others > prev->others ? cur->others - prev->others : 0 };
	const struct site_stats *known;
	uint64_t before;

	d.list = calloc(cur->n + 1, sizeof(*d.list));
	if (!d.list)
		return -ENOMEM;
	for (size_t i = 0; i < cur->n; i++) {
		known = find(prev, &cur->list[i]);
		before = known ? known->samples : 0;
		if (cur->list[i].samples <= before)
			continue;
		if (site_stats__copy(&cur->list[i], &d.list[d.n])) {
			site_list__free(&d);
			return -ENOMEM;
		}
		d.list[d.n++].samples -= before;
	}
	site_list__sort(&d);
	*ret = d;
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool begins(const char *s, const char *with)
{
	return s && !strncmp(s, with, strlen(with));
}

/* Also where they are part of the program, which is then known by their names only. */
static bool makes_the_call(const struct site_frame *f)
{
	const char *module = f->module ? base_name(f->module) : NULL;

	return begins(module, "liburing") || begins(module, "libc.so") || begins(module, "libc-") ||
	       begins(f->function, "io_uring_") || begins(f->function, "__io_uring_") ||
	       begins(f->function, "__sys_io_uring_") || same_text(f->function, "syscall");
}

const struct site_frame *site_stats__caller(const struct site_stats *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!makes_the_call(&s->frames[i]))
			return &s->frames[i];
	return NULL;
}

/* Long C++ names are cut. */
#define NAME_SHOWN 100

char *site_frame__text(char buf[SITE_TEXT_LEN], const struct site_frame *f)
{
	const char *in = f->inlined ? " in " : "", *inlined = f->inlined ? f->inlined : "";

	if (f->function && f->file)
		snprintf(buf, SITE_TEXT_LEN, "%.*s%s%.*s (%s:%d)", NAME_SHOWN / 2, inlined, in, NAME_SHOWN,
			f->function, base_name(f->file), f->line);
	else if (f->function)
		snprintf(buf, SITE_TEXT_LEN, "%.*s [%s]", NAME_SHOWN, f->function,
			f->module ? base_name(f->module) : "n/a");
	else if (f->module)
		snprintf(buf, SITE_TEXT_LEN, "%s+0x%" PRIx64, base_name(f->module), f->offset);
	else
		snprintf(buf, SITE_TEXT_LEN, "0x%" PRIx64, f->offset);
	return buf;
}

const char *site_end__words(enum site_end end)
{
	static const char *const words[] = {
		[SITE_COMPLETE] = "",
		[SITE_CUT] = "the stack goes on beyond what was copied",
		[SITE_NO_FRAMES] = "the code there has neither unwind information nor a frame pointer",
	};

	return words[end];
}
