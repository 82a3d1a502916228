// SPDX-License-Identifier: MIT
/* The life of a session: opened, active, frozen, closed. */
#include "session_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refusal.h"
#include "ringside.skel.h"

static int note_wakeup(void *ctx, void *data, size_t size)
{
	struct session *s = ctx;

	(void)data;
	(void)size;
	s->woken = true;
	return 0;
}

static int take_stack(void *ctx, void *data, size_t size)
{
	struct session *s = ctx;

	if (s->on_stack && size >= sizeof(struct rs_stack))
		s->on_stack(data, s->on_stack_arg);
	return 0;
}

static int open_wakeups(struct session *s)
{
	s->wakeups = ring_buffer__new(bpf_map__fd(s->skel->maps.rs_wakeups), note_wakeup, s, NULL);
	if (!s->wakeups)
		return -errno;
	return session__takes_stacks(s)
		       ? ring_buffer__add(s->wakeups, bpf_map__fd(s->skel->maps.rs_stacks), take_stack, s)
		       : 0;
}

int session__wakeup_fd(const struct session *s)
{
	return ring_buffer__epoll_fd(s->wakeups);
}

bool session__drain_wakeups(struct session *s, session_stack_fn fn, void *arg)
{
	s->woken = false;
	s->on_stack = fn;
	s->on_stack_arg = arg;
	ring_buffer__consume(s->wakeups);
	return s->woken;
}

/* libbpf's print hook has no argument: where its words go while a session is being opened. */
static char *libbpf_log;

static int collect_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used;

	if (level == LIBBPF_DEBUG || !libbpf_log)
		return 0;
	used = strlen(libbpf_log);
	if (used < LIBBPF_LOG_BYTES - 1)
		vsnprintf(libbpf_log + used, LIBBPF_LOG_BYTES - used, fmt, ap);
	return 0;
}

static int attach_program(const struct session *s, const char *name, struct bpf_link **ret)
{
	struct bpf_program *p = bpf_object__find_program_by_name(s->skel->obj, name);

	*ret = p ? bpf_program__attach(p) : NULL;
	return *ret ? 0 : p ? -errno : -ENOENT;
}

static void detach_feature(struct session *s, size_t f)
{
	size_t i;

	bpf_link__destroy(s->links[f]);
	bpf_link__destroy(s->begins[f]);
	s->links[f] = s->begins[f] = NULL;
	for (i = 0; i < COMPANIONS; i++) {
		bpf_link__destroy(s->also[f][i]);
		s->also[f][i] = NULL;
	}
}

static void detach(struct session *s)
{
	size_t f;

	session__detach_spans(s);
	for (f = 0; f < RS_F_COUNT; f++)
		detach_feature(s, f);
}

/* All programs of a variant, or none. *ret_culprit: which of them was refused. 0 or negative errno. */
static int attach_variant(struct session *s, size_t f, const char **ret_culprit)
{
	const struct variant *v = s->plan.chosen[f];
	size_t i;
	int err = 0;

	*ret_culprit = v->begin;
	if (v->begin)
		err = attach_program(s, v->begin, &s->begins[f]);
	for (i = 0; !err && i < COMPANIONS; i++) {
		if (!v->also[i].program)
			continue;
		*ret_culprit = v->also[i].program;
		err = attach_program(s, v->also[i].program, &s->also[f][i]);
	}
	if (!err) {
		*ret_culprit = v->program;
		err = attach_program(s, v->program, &s->links[f]);
	}
	if (err)
		detach_feature(s, f);
	return err;
}

/* Attaches each chosen program; what the kernel refuses is off, with its reason. 0 or negative errno. */
static int attach(struct session *s)
{
	const char *culprit;
	char reason[128];
	size_t f;
	int err;

	for (f = 0; f < RS_F_COUNT; f++) {
		struct feature_state *st = &s->plan.state[f];

		if (!s->plan.chosen[f] || variant__is_uprobe(s->plan.chosen[f]))
			continue;
		err = attach_variant(s, f, &culprit);
		if (!err)
			continue;
		if (session__out_of_resources(err))
			return err;
		st->level = FEATURE_OFF;
		refusal__meaning(err, reason, sizeof(reason));
		snprintf(st->why, sizeof(st->why), "the kernel refused to attach %s: %s", culprit, reason);
		st->how[0] = '\0';
	}
	plan__drop_untold(&s->plan);
	return 0;
}

int session__check_essential(const struct session *s, const struct session_options *o, char *errmsg,
	size_t errsize)
{
	size_t f;

	if (o->partial)
		return 0;
	for (f = 0; f < RS_F_COUNT; f++) {
		if (!feature_essential(f) || s->plan.state[f].level != FEATURE_OFF)
			continue;
		snprintf(errmsg, errsize, "can't observe %s on this kernel: %s", feature_what(f),
			s->plan.state[f].why);
		return -EOPNOTSUPP;
	}
	return 0;
}

static int session__alloc(const struct session_options *o, struct session **ret)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->scan = o->scan;
	s->spans = o->spans;
	s->n_spans = o->n_spans;
	s->pid_ns = o->pid_ns;
	s->scan_in_part = o->scan && o->all && o->pid_ns;
	s->log = calloc(1, LIBBPF_LOG_BYTES);
	s->verifier_log = calloc(1, VERIFIER_LOG_BYTES);
	s->refused = calloc(n_variants, sizeof(*s->refused));
	s->refused_text = calloc(n_variants, sizeof(*s->refused_text));
	if (!s->log || !s->verifier_log || !s->refused || !s->refused_text) {
		session__close(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static int open_in_kernel(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
{
	int err;

	err = session__load(s, o, errmsg, errsize);
	if (err)
		return err;
	err = session__set_up_tables(s);
	err = err ? err : open_wakeups(s);
	if (err) {
		snprintf(errmsg, errsize, "can't set up the BPF maps: %s", strerror(-err));
		return err;
	}
	session__set_sample(s, o->sample ? o->sample : 1);
	session__measure_unwatched(s);
	err = attach(s);
	if (err) {
		snprintf(errmsg, errsize, "can't attach the BPF programs: %s", strerror(-err));
		return err;
	}
	err = session__check_essential(s, o, errmsg, errsize);
	err = err ? err : session__add_targets(s, o, errmsg, errsize);
	return err ? err : session__attach_spans(s, errmsg, errsize);
}

int session__open(const struct session_options *o, struct session **ret, char *errmsg, size_t errsize)
{
	libbpf_print_fn_t before;
	struct session *s;
	int err;

	*ret = NULL;
	err = session__alloc(o, &s);
	if (err) {
		snprintf(errmsg, errsize, "out of memory");
		return err;
	}
	libbpf_log = s->log;
	before = libbpf_set_print(collect_log);
	err = open_in_kernel(s, o, errmsg, errsize);
	libbpf_log = NULL;
	libbpf_set_print(before);
	if (err) {
		session__close(s);
		return err;
	}
	*ret = s;
	return 0;
}

/* Reading an iterator to its end makes it meet every open file, or task, once. */
static int run_iterator(const struct bpf_link *link)
{
	char buf[64];
	ssize_t n;
	int fd;

	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	do {
		n = read(fd, buf, sizeof(buf));
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

static void scan(struct session *s, enum rs_feature f)
{
	struct feature_state *st = &s->plan.state[f];
	int err;

	if (!s->links[f])
		return;
	err = run_iterator(s->links[f]);
	if (!err && !s->scan_in_part)
		return;
	st->level = FEATURE_DEGRADED;
	if (err)
		snprintf(st->why, sizeof(st->why), "reading the iterator: %s", strerror(-err));
	else
		snprintf(st->why, sizeof(st->why),
			"rings outside of this pid namespace are found when they are used");
}

int session__activate(struct session *s)
{
	/* files first: they know the descriptor */
	if (s->scan) {
		scan(s, RS_F_RING_SCAN);
		scan(s, RS_F_RING_SCAN_REG);
	}
	__atomic_store_n(&s->skel->bss->rs.active, 1, __ATOMIC_RELEASE);
	session__measure_watched(s);
	return 0;
}

/* Rings that nobody is about to close: what the programs last saw of them may be old. */
static bool has_open_rings(const struct session *s)
{
	const struct session_tables *t = &s->tables;
	uint32_t i;

	for (i = 1; i < t->n_rings; i++)
		if (t->rings[i].state == RS_RING_LISTED)
			return true;
	return false;
}

static void refresh(struct session *s)
{
	if (!has_open_rings(s))
		return;
	s->skel->bss->rs.refresh = 1;
	scan(s, RS_F_RING_SCAN);
	scan(s, RS_F_RING_SCAN_REG);
}

void session__freeze(struct session *s)
{
	__atomic_store_n(&s->skel->bss->rs.active, 0, __ATOMIC_SEQ_CST);
	/* Programs run with preemption or migration disabled inside an RCU read section: this waits for them. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(10000);
	refresh(s);
	detach(s);
}

void session__unload(struct session *s)
{
	detach(s);
	ring_buffer__free(s->wakeups);
	s->wakeups = NULL;
	session__unmap_tables(s);
	if (s->skel)
		ringside_bpf__destroy(s->skel);
	s->skel = NULL;
}

void session__close(struct session *s)
{
	if (!s)
		return;
	session__unload(s);
	free(s->log);
	free(s->verifier_log);
	free(s->refused);
	free(s->refused_text);
	free(s);
}

const struct feature_state *session__features(const struct session *s)
{
	return s->plan.state;
}

uint32_t session__setup_flags(const struct session *s)
{
	return s->setup_flags;
}

const struct session_maps *session__maps(const struct session *s)
{
	return &s->maps;
}

const struct session_tables *session__tables(const struct session *s)
{
	return &s->tables;
}

const struct rs_global *session__global(const struct session *s)
{
	return &s->skel->bss->rs;
}

bool session__missed(const struct session *s, uint64_t *ret, uint64_t *ret_extras)
{
	struct bpf_program *p;
	uint64_t sum = 0, extras = 0;
	bool known = false;

	bpf_object__for_each_program(p, s->skel->obj)
	{
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (bpf_program__fd(p) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		/* the kernel says how much of the structure it filled */
		if (len < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(info.recursion_misses))
			return false;
		known = true;
		if (program__is_extra(bpf_program__name(p)))
			extras += info.recursion_misses;
		else
			sum += info.recursion_misses;
	}
	*ret = sum;
	*ret_extras = extras;
	return known;
}
