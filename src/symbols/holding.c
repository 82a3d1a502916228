// SPDX-License-Identifier: MIT
#include "holding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The vDSO of all architectures has a few pages. */
#define VDSO_MAX_BYTES (256U << 10)

int holding__init(struct holding *h, size_t max, size_t max_awake)
{
	*h = (struct holding){ .max = max, .max_awake = max_awake };
	h->list = calloc(max ? max : 1, sizeof(struct held *));
	return h->list ? 0 : -ENOMEM;
}

void holding__free(struct holding *h)
{
	for (size_t i = 0; i < h->n; i++) {
		module__free(h->list[i]->module);
		free(h->list[i]);
	}
	free(h->list);
}

/* Makes room by giving up the module that nobody has used for the longest time. */
static bool make_room(struct holding *h)
{
	size_t oldest = h->n;

	if (h->n < h->max)
		return true;
	for (size_t i = 0; i < h->n; i++) {
		if (h->list[i]->users == 0 && (oldest == h->n || h->list[i]->used < h->list[oldest]->used))
			oldest = i;
	}
	if (oldest == h->n)
		return false;
	module__free(h->list[oldest]->module);
	free(h->list[oldest]);
	h->list[oldest] = h->list[--h->n];
	return true;
}

static int hold(struct holding *h, struct module *module, struct held **ret)
{
	struct held *held = calloc(1, sizeof(*held));

	if (!held) {
		module__free(module);
		return -ENOMEM;
	}
	held->module = module;
	h->list[h->n++] = held;
	*ret = held;
	return 0;
}

static int get_file(struct holding *h, const struct procdir *dir, int root, const struct mapping *m,
	struct held **ret)
{
	int fd = procdir__open_mapping(dir, m), err = -ENOENT;
	struct module *module;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		err = -errno;
		close(fd);
		return err;
	}
	for (size_t i = 0; i < h->n && err; i++) {
		if (module__is(h->list[i]->module, &st)) {
			*ret = h->list[i];
			err = 0;
		}
	}
	if (err && make_room(h)) {
		err = module__open(fd, &st, root, m->path, &module);
		if (!err)
			err = hold(h, module, ret);
	} else if (err) {
		h->refused++;
	}
	close(fd);
	return err;
}

static int read_memory(const struct procdir *dir, const struct mapping *m, void **ret)
{
	size_t size = m->end - m->start;
	int fd = openat(dir->fd, "mem", O_RDONLY | O_CLOEXEC), err = 0;
	void *bytes;

	if (fd < 0)
		return -errno;
	bytes = malloc(size);
	if (!bytes)
		err = -ENOMEM;
	else if (pread(fd, bytes, size, (off_t)m->start) != (ssize_t)size)
		err = -EIO;
	close(fd);
	if (err)
		free(bytes);
	else
		*ret = bytes;
	return err;
}

static int get_vdso(struct holding *h, const struct procdir *dir, const struct mapping *m, struct held **ret)
{
	struct module *module;
	void *bytes = NULL;
	int err;

	if (m->end - m->start > VDSO_MAX_BYTES)
		return -EFBIG;
	err = read_memory(dir, m, &bytes);
	if (err)
		return err;
	for (size_t i = 0; i < h->n; i++) {
		if (module__has(h->list[i]->module, bytes, m->end - m->start)) {
			*ret = h->list[i];
			free(bytes);
			return 0;
		}
	}
	if (!make_room(h)) {
		h->refused++;
		free(bytes);
		return -ENOSPC;
	}
	err = module__take(bytes, m->end - m->start, &module);
	return err ? err : hold(h, module, ret);
}

int holding__get(struct holding *h, const struct procdir *dir, int root, const struct mapping *m,
	struct held **ret)
{
	struct held *held = NULL;
	int err = 0;

	if (m->inode)
		err = get_file(h, dir, root, m, &held);
	else if (m->path && !strcmp(m->path, "[vdso]"))
		err = get_vdso(h, dir, m, &held);
	if (err == -ENOMEM)
		return err;
	if (held) {
		held->users++;
		held->used = ++h->clock;
	}
	*ret = held;
	return 0;
}

void holding__put(struct held *held)
{
	if (held)
		held->users--;
}

static void rest_one(struct holding *h)
{
	struct held *oldest = NULL;
	size_t awake = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (!module__is_awake(h->list[i]->module))
			continue;
		awake++;
		if (!oldest || h->list[i]->used < oldest->used)
			oldest = h->list[i];
	}
	if (oldest && awake >= h->max_awake)
		module__rest(oldest->module);
}

int holding__find(struct holding *h, struct held *held, uint64_t vaddr, struct module_answer *ret)
{
	if (!module__is_awake(held->module))
		rest_one(h);
	held->used = ++h->clock;
	return module__find(held->module, vaddr, ret);
}
