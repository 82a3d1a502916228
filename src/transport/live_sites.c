// SPDX-License-Identifier: MIT
#include "live_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* The addresses of a stack in a process, and the site that it turned out to be. */
struct seen_stack {
	uint64_t hash; /* of the addresses and how they end */
	uint32_t pid, op;
	size_t site;
};

int kept_sites__begin(struct kept_sites *k)
{
	k->seen = calloc(SEEN_STACKS_MAX, sizeof(*k->seen));
	return k->seen ? symbols__new(NULL, &k->symbols) : -ENOMEM;
}

void kept_sites__end(struct kept_sites *k)
{
	symbols__free(k->symbols);
	site_list__free(&k->list);
	free(k->seen);
}

/* FNV-1a */
static uint64_t hash_of(const uint64_t *addrs, size_t n, enum unwind_end end)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ end;

	for (size_t i = 0; i < n * sizeof(*addrs); i++)
		hash = (hash ^ ((const unsigned char *)addrs)[i]) * 0x100000001b3ull;
	return hash;
}

static enum site_end end_of(enum unwind_end end)
{
	return end == UNWIND_COMPLETE ? SITE_COMPLETE : end == UNWIND_CUT ? SITE_CUT : SITE_NO_FRAMES;
}

/* Takes the strings of f. */
static struct site_frame take_frame(struct frame *f)
{
	struct site_frame s = {
		.module = f->module,
		.offset = f->module && f->kind != FRAME_ANONYMOUS ? f->offset : f->addr,
		.function = f->function,
		.inlined = f->inlined,
		.file = f->file,
		.line = f->line,
	};

	f->module = f->function = f->inlined = f->file = NULL;
	return s;
}

static int name_site(struct kept_sites *k, uint32_t pid, const uint64_t *addrs, size_t n,
	struct site_stats *ret)
{
	struct frame frames[SITE_FRAMES];
	int err;

	ret->frames = calloc(n + 1, sizeof(*ret->frames));
	if (!ret->frames)
		return -ENOMEM;
	err = symbols__resolve(k->symbols, (pid_t)pid, addrs, n, frames);
	if (err) {
		free(ret->frames);
		return err;
	}
	for (ret->n = 0; ret->n < n; ret->n++)
		ret->frames[ret->n] = take_frame(&frames[ret->n]);
	return 0;
}

/* The index of this site, which is taken; a new one if there is room. 0, -ENOSPC or -ENOMEM. */
static int add_site(struct kept_sites *k, struct site_stats *s, size_t *ret)
{
	struct site_list *l = &k->list;
	struct site_stats *more;
	size_t i = 0;
	int err = 0;

	while (i < l->n && !site_stats__same(&l->list[i], s))
		i++;
	if (i < l->n) {
		site_stats__free(s);
		*ret = i;
		return 0;
	}
	more = l->n < KEPT_SITES_MAX ? reallocarray(l->list, l->n + 1, sizeof(*more)) : NULL;
	if (!more) {
		err = l->n < KEPT_SITES_MAX ? -ENOMEM : -ENOSPC;
		site_stats__free(s);
		return err;
	}
	l->list = more;
	more[l->n] = *s;
	*ret = l->n++;
	return 0;
}

/* The site of these addresses. 0 or negative errno. */
static int find_site(struct kept_sites *k, const struct rs_stack *st, const uint64_t *addrs, size_t n,
	enum unwind_end end, size_t *ret)
{
	struct seen_stack seen = { hash_of(addrs, n, end), st->pid, st->op, 0 };
	struct site_stats s = { .op = st->op, .end = end_of(end) };
	int err;

	for (size_t i = 0; i < k->n_seen; i++) {
		if (k->seen[i].hash == seen.hash && k->seen[i].pid == seen.pid && k->seen[i].op == seen.op) {
			*ret = k->seen[i].site;
			return 0;
		}
	}
	err = name_site(k, st->pid, addrs, n, &s);
	err = err ? err : add_site(k, &s, &seen.site);
	if (err)
		return err;
	/* without a place it is named again the next time */
	if (k->n_seen < SEEN_STACKS_MAX)
		k->seen[k->n_seen++] = seen;
	*ret = seen.site;
	return 0;
}

void kept_sites__add(const struct rs_stack *st, void *kept_sites)
{
	struct stack_registers regs = { .ip = st->ip, .sp = st->sp, .bp = st->bp, .bp_known = true };
	struct stack stack = { st->sp, st->bytes, st->size < RS_STACK_BYTES ? st->size : RS_STACK_BYTES };
	struct kept_sites *k = kept_sites;
	uint64_t addrs[SITE_FRAMES];
	enum unwind_end end;
	size_t n, site;
	int err = st->pid ? 0 : -ESRCH;

	err = err ? err
		  : symbols__unwind(k->symbols, (pid_t)st->pid, &regs, &stack, addrs, SITE_FRAMES, &n, &end);
	err = err ? err : find_site(k, st, addrs, n, end, &site);
	if (!err)
		k->list.list[site].samples++;
	else if (err == -ENOSPC)
		k->list.others++;
	else
		k->lost++;
}
