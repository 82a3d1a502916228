// SPDX-License-Identifier: MIT
#include "module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "debugfile.h"
#include "funcindex.h"
#include "guard.h"

struct module {
	dev_t dev;
	ino_t inode;
	off_t size;
	struct timespec changed;
	struct image own, debug, shared, packed;
	struct funcindex functions;
	struct lines *lines;
	struct cfi *cfi;
	bool cfi_tried;
	bool awake;  /* functions and lines were read, as far as there are any */
	bool broken; /* cut short while it was read: never touched again */
};

struct opening {
	struct module *m;
	int fd, root;
	const char *path;
};

static int open_images(void *arg)
{
	struct opening *o = arg;
	struct module *m = o->m;
	int err = image__map(o->fd, &m->own);

	if (err)
		return err;
	if (!image__has_section(&m->own, ".debug_info"))
		err = debugfile__find(&m->own, o->root, o->path, &m->debug);
	if (err == -ENOMEM)
		return err;
	err = debugfile__find_shared(m->debug.elf ? &m->debug : &m->own, o->root, &m->shared);
	if (err == -ENOMEM)
		return err;
	err = debugfile__unpack(&m->own, &m->packed);
	return err == -ENOMEM ? err : 0;
}

/* What libelf and libdw hold may be half changed, so they keep it. */
static void give_up(struct module *m)
{
	m->broken = true;
	m->awake = false;
	m->lines = NULL;
	m->cfi = NULL;
	funcindex__free(&m->functions);
	image__abandon(&m->own);
	image__abandon(&m->debug);
	image__abandon(&m->shared);
	image__abandon(&m->packed);
}

/* Only this may touch the contents of m's images. */
static int guarded(struct module *m, int (*fn)(void *arg), void *arg)
{
	int err;

	if (m->broken)
		return -EIO;
	err = guard__run(fn, arg);
	if (err == -EIO)
		give_up(m);
	return err;
}

int module__open(int fd, const struct stat *st, int root, const char *path, struct module **ret)
{
	struct module *m = calloc(1, sizeof(*m));
	struct opening o = { m, fd, root, path };
	int err;

	if (!m)
		return -ENOMEM;
	m->dev = st->st_dev;
	m->inode = st->st_ino;
	m->size = st->st_size;
	m->changed = st->st_mtim;
	err = guarded(m, open_images, &o);
	if (err)
		module__free(m);
	else
		*ret = m;
	return err;
}

int module__take(void *bytes, size_t size, struct module **ret)
{
	struct module *m = calloc(1, sizeof(*m));
	int err;

	if (!m) {
		free(bytes);
		return -ENOMEM;
	}
	err = image__take(bytes, size, &m->own);
	if (err)
		module__free(m);
	else
		*ret = m;
	return err;
}

void module__free(struct module *m)
{
	if (!m)
		return;
	module__rest(m);
	image__close(&m->own);
	image__close(&m->debug);
	image__close(&m->shared);
	image__close(&m->packed);
	free(m);
}

bool module__is(const struct module *m, const struct stat *st)
{
	return m->inode == st->st_ino && m->dev == st->st_dev && m->size == st->st_size &&
	       m->changed.tv_sec == st->st_mtim.tv_sec && m->changed.tv_nsec == st->st_mtim.tv_nsec;
}

bool module__has(const struct module *m, const void *bytes, size_t size)
{
	return m->own.elf && !m->own.mapped && m->own.size == size && !memcmp(m->own.bytes, bytes, size);
}

struct conversion {
	const struct module *m;
	uint64_t file_offset, *vaddr;
};

static int convert(void *arg)
{
	struct conversion *c = arg;

	return image__to_vaddr(&c->m->own, c->file_offset, c->vaddr);
}

int module__to_vaddr(struct module *m, uint64_t file_offset, uint64_t *ret_vaddr)
{
	struct conversion c = { m, file_offset, ret_vaddr };

	return guarded(m, convert, &c);
}

static int wake(struct module *m)
{
	const struct image *images[] = { &m->own, &m->debug, &m->packed };
	int err = funcindex__build(images, sizeof(images) / sizeof(images[0]), &m->functions);

	if (err == -ENOMEM)
		return err;
	err = lines__open(m->debug.elf ? &m->debug : &m->own, &m->shared, &m->lines);
	if (err == -ENOMEM) {
		funcindex__free(&m->functions);
		return err;
	}
	m->awake = true;
	return 0;
}

struct question {
	struct module *m;
	uint64_t vaddr;
	struct module_answer *answer;
};

static int copy_part(const char *s, size_t len, char **ret)
{
	*ret = strndup(s, len);
	return *ret ? 0 : -ENOMEM;
}

static int copy(const char *s, char **ret)
{
	return s ? copy_part(s, strlen(s), ret) : 0;
}

/* Without the version that the linker puts behind it. */
static int copy_function(const char *s, char **ret)
{
	return s ? copy_part(s, strcspn(s, "@"), ret) : 0;
}

static int find(void *arg)
{
	struct question *q = arg;
	struct module_answer *a = q->answer;
	struct line_info info = { 0 };
	const char *function = NULL;
	int err = q->m->awake ? 0 : wake(q->m);

	if (err)
		return err;
	if (q->m->lines)
		lines__find(q->m->lines, q->vaddr, &info);
	if (funcindex__find(&q->m->functions, q->vaddr, &function, &a->function_start) && info.start) {
		function = info.function;
		a->function_start = info.start;
	}
	a->line = info.line;
	/* the names are in the file: they too may be gone */
	if (copy_function(function, &a->function) || copy(info.inlined, &a->inlined) ||
		copy(info.file, &a->file))
		return -ENOMEM;
	return 0;
}

int module__find(struct module *m, uint64_t vaddr, struct module_answer *ret)
{
	struct module_answer answer = { 0 };
	struct question q = { m, vaddr, &answer };
	int err = guarded(m, find, &q);

	if (!err) {
		*ret = answer;
		return 0;
	}
	free(answer.function);
	free(answer.inlined);
	free(answer.file);
	return err;
}

struct stepping {
	struct module *m;
	uint64_t vaddr;
	const struct stack *st;
	struct stack_registers *regs;
};

static int take_step(void *arg)
{
	struct stepping *s = arg;
	struct module *m = s->m;
	int err;

	if (!m->cfi && !m->cfi_tried) {
		err = cfi__open(&m->own, &m->cfi);
		if (err == -ENOMEM)
			return err;
		m->cfi_tried = true;
	}
	return m->cfi ? cfi__step(m->cfi, s->vaddr, s->st, s->regs) : -ENOENT;
}

int module__step(struct module *m, uint64_t vaddr, const struct stack *st, struct stack_registers *regs)
{
	struct stepping s = { m, vaddr, st, regs };
	int err = guarded(m, take_step, &s);

	return err == -EIO ? -ENOENT : err;
}

void module__rest(struct module *m)
{
	lines__close(m->lines);
	m->lines = NULL;
	cfi__close(m->cfi);
	m->cfi = NULL;
	m->cfi_tried = false;
	funcindex__free(&m->functions);
	m->awake = false;
}

bool module__is_awake(const struct module *m)
{
	return m->awake;
}
