// SPDX-License-Identifier: MIT
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "holding.h"

struct process {
	pid_t pid;
	uint64_t start_ticks;
	struct maps maps;
	struct held **modules; /* of each mapping, NULL: none */
	uint64_t used;
};

struct symbols {
	struct holding holding;
	struct process *processes;
	size_t n, max;
	uint64_t clock;
};

int symbols__new(const struct symbols_limits *limits, struct symbols **ret)
{
	struct symbols_limits l = limits ? *limits : SYMBOLS_LIMITS_DEFAULT;
	struct symbols *s;

	if (!l.processes || !l.modules || !l.awake)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->max = l.processes;
	s->processes = calloc(s->max, sizeof(*s->processes));
	if (!s->processes || holding__init(&s->holding, l.modules, l.awake)) {
		free(s->processes);
		free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static void process__free(struct process *p)
{
	for (size_t i = 0; p->modules && i < p->maps.n; i++)
		holding__put(p->modules[i]);
	free(p->modules);
	maps__free(&p->maps);
}

void symbols__free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		process__free(&s->processes[i]);
	free(s->processes);
	holding__free(&s->holding);
	free(s);
}

static int read_maps(const struct procdir *dir, pid_t pid, struct process *ret)
{
	struct process p = { .pid = pid, .start_ticks = dir->start_ticks };
	int err = procdir__maps(dir, &p.maps);

	if (err)
		return err;
	/* a process that is ending has no mappings any more, nor has a kernel thread */
	if (p.maps.n == 0)
		return -ESRCH;
	*ret = p;
	return 0;
}

static int get_modules(struct holding *h, const struct procdir *dir, struct process *p)
{
	const struct mapping *list = p->maps.list;
	int root, err = 0;

	p->modules = calloc(p->maps.n, sizeof(*p->modules));
	if (!p->modules)
		return -ENOMEM;
	root = procdir__root(dir);
	for (size_t i = 0; i < p->maps.n && !err; i++) {
		/* code that was changed in part has several mappings of one file */
		if (i && list[i].inode && list[i].inode == list[i - 1].inode &&
			list[i].dev == list[i - 1].dev) {
			p->modules[i] = p->modules[i - 1];
			if (p->modules[i])
				p->modules[i]->users++;
			continue;
		}
		err = holding__get(h, dir, root, &list[i], &p->modules[i]);
	}
	if (root >= 0)
		close(root);
	return err;
}

static struct process *find_process(struct symbols *s, pid_t pid)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->processes[i].pid == pid) {
			s->processes[i].used = ++s->clock;
			return &s->processes[i];
		}
	}
	return NULL;
}

static struct process *new_process(struct symbols *s)
{
	struct process *oldest = s->processes;

	if (s->n < s->max)
		return &s->processes[s->n++];
	for (size_t i = 1; i < s->n; i++) {
		if (s->processes[i].used < oldest->used)
			oldest = &s->processes[i];
	}
	process__free(oldest);
	return oldest;
}

static int remember(struct symbols *s, const struct procdir *dir, pid_t pid)
{
	struct process fresh, *p;
	int err = read_maps(dir, pid, &fresh);

	if (err)
		return err;
	err = get_modules(&s->holding, dir, &fresh);
	if (err) {
		process__free(&fresh);
		return err;
	}
	p = find_process(s, pid);
	if (p)
		process__free(p);
	else
		p = new_process(s);
	fresh.used = ++s->clock;
	*p = fresh;
	return 0;
}

int symbols__remember(struct symbols *s, pid_t pid)
{
	struct procdir dir;
	int err = procdir__open(pid, &dir);

	if (err)
		return err;
	err = remember(s, &dir, pid);
	procdir__close(&dir);
	return err;
}

void symbols__forget(struct symbols *s, pid_t pid)
{
	struct process *p = find_process(s, pid);

	if (!p)
		return;
	process__free(p);
	*p = s->processes[--s->n];
}

size_t symbols__modules(const struct symbols *s)
{
	return s->holding.n;
}

size_t symbols__modules_refused(const struct symbols *s)
{
	return s->holding.refused;
}

/* back: how far before addr the instruction is that is looked up, 0 or 1. */
static int name_frame(struct symbols *s, struct held *held, const struct mapping *m, unsigned int back,
	struct frame *f)
{
	uint64_t position = f->addr - back - m->start + m->file_offset, vaddr;
	struct module_answer answer = { 0 };
	int err;

	f->kind = m->inode || held ? FRAME_FILE : FRAME_ANONYMOUS;
	f->module_deleted = m->deleted;
	f->offset = position + back;
	f->module = strdup(m->path ? m->path : "[anon]");
	if (!f->module)
		return -ENOMEM;
	if (!held || module__to_vaddr(held->module, position, &vaddr))
		return 0;
	f->kind = FRAME_ELF;
	f->offset = vaddr + back;
	err = holding__find(&s->holding, held, vaddr, &answer);
	if (err)
		return err == -ENOMEM ? err : 0;
	f->function = answer.function;
	f->function_offset = answer.function ? vaddr + back - answer.function_start : 0;
	f->inlined = answer.inlined;
	f->file = answer.file;
	f->line = answer.line;
	return 0;
}

static int name_frames(struct symbols *s, const struct process *p, const uint64_t *addrs, size_t n,
	struct frame *ret)
{
	const struct mapping *m;
	unsigned int back;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		ret[i] = (struct frame){ .addr = addrs[i] };
	for (size_t i = 0; i < n && !err; i++) {
		back = i && addrs[i];
		m = maps__find(&p->maps, addrs[i] - back);
		if (m)
			err = name_frame(s, p->modules[m - p->maps.list], m, back, &ret[i]);
	}
	if (err)
		frames__free(ret, n);
	return err;
}

static size_t count_mapped(const struct maps *maps, const uint64_t *addrs, size_t n)
{
	size_t mapped = 0;

	for (size_t i = 0; i < n; i++)
		mapped += maps__find(maps, addrs[i] - (i && addrs[i])) != NULL;
	return mapped;
}

/* Has the process mapped something since? Stacks of code without frame pointers have addresses of nothing, too. */
static int look_again(struct symbols *s, const struct process *p, const uint64_t *addrs, size_t n)
{
	struct procdir dir;
	struct maps maps;
	int err = 0;

	if (procdir__open(p->pid, &dir))
		return 0;
	if (dir.start_ticks == p->start_ticks && !procdir__maps(&dir, &maps)) {
		if (count_mapped(&maps, addrs, n) > count_mapped(&p->maps, addrs, n))
			err = remember(s, &dir, p->pid);
		maps__free(&maps);
	}
	procdir__close(&dir);
	return err == -ENOMEM ? err : 0;
}

int symbols__resolve(struct symbols *s, pid_t pid, const uint64_t *addrs, size_t n, struct frame *ret)
{
	struct process *p = find_process(s, pid);
	struct frame *frames;
	int err = 0;

	if (!p) {
		err = symbols__remember(s, pid);
		p = find_process(s, pid);
	} else if (count_mapped(&p->maps, addrs, n) < n) {
		err = look_again(s, p, addrs, n);
	}
	if (err)
		return err;
	frames = calloc(n ? n : 1, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	err = name_frames(s, p, addrs, n, frames);
	if (!err)
		memcpy(ret, frames, n * sizeof(*frames));
	free(frames);
	return err;
}

/* back: as for name_frame(). */
static int step_up(const struct process *p, unsigned int back, const struct stack *st,
	struct stack_registers *regs)
{
	uint64_t addr = regs->ip - back, vaddr;
	const struct mapping *m = maps__find(&p->maps, addr);
	struct held *held = m ? p->modules[m - p->maps.list] : NULL;
	int err;

	/* an address of nothing: what led here was no frame */
	if (!m)
		return -EINVAL;
	if (!held || module__to_vaddr(held->module, addr - m->start + m->file_offset, &vaddr))
		return frame_pointer__step(st, regs);
	err = module__step(held->module, vaddr, st, regs);
	return err == -ENOENT ? frame_pointer__step(st, regs) : err;
}

/* The process, remembered now if it was not. NULL: *ret_err says why. */
static struct process *get_process(struct symbols *s, pid_t pid, int *ret_err)
{
	struct process *p = find_process(s, pid);

	*ret_err = p ? 0 : symbols__remember(s, pid);
	return p || *ret_err ? p : find_process(s, pid);
}

int symbols__unwind(struct symbols *s, pid_t pid, const struct stack_registers *regs, const struct stack *st,
	uint64_t *ret, size_t max, size_t *ret_n, enum unwind_end *ret_end)
{
	struct stack_registers r = *regs;
	struct process *p;
	size_t n = 0;
	int err;

	p = get_process(s, pid, &err);
	if (p && !maps__find(&p->maps, r.ip)) {
		if (look_again(s, p, &r.ip, 1))
			return -ENOMEM;
		p = get_process(s, pid, &err);
	}
	if (!p)
		return err;
	err = 0;
	while (n < max && !err) {
		ret[n] = r.ip;
		err = step_up(p, n++ > 0, st, &r);
	}
	if (err == -ENOMEM)
		return err;
	/* what can't be code is no caller */
	if (err == -EINVAL && n > 1 && !maps__find(&p->maps, ret[n - 1] - 1))
		n--;
	*ret_n = n;
	*ret_end = err == -ENODATA ? UNWIND_COMPLETE : !err || err == -ERANGE ? UNWIND_CUT : UNWIND_NO_FRAMES;
	return 0;
}
