// SPDX-License-Identifier: MIT
#include "session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/membarrier.h>
#include <unistd.h>

#include "kallsyms.h"
#include "names.h"
#include "ringside.skel.h"

#define LOG_BYTES (1u << 20)

struct session {
	struct ringside_bpf *skel;
	struct plan plan;
	struct session_maps maps;
	struct session_tables tables;
	struct bpf_link *links[RS_F_COUNT];
	struct ring_buffer *wakeups;
	bool scan;
	char *log;
	const char **refused; /* by variant */
	char (*refused_text)[192];
};

/* libbpf's print hook has no argument: where its words go while a session is being opened. */
static char *libbpf_log;

static int collect_log(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t used;

	if (level == LIBBPF_DEBUG || !libbpf_log)
		return 0;
	used = strlen(libbpf_log);
	if (used < LOG_BYTES - 1)
		vsnprintf(libbpf_log + used, LOG_BYTES - used, fmt, ap);
	return 0;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = RS_GROUP;

	while (p < n && p < 1u << 24)
		p <<= 1;
	return p;
}

/*
 * Where io_uring_submit_req exists, requests complete from the submission state's list or on
 * a worker and nowhere else (6.1 has further ways), so an overflow event finds its request.
 */
static bool exact_overflows(const struct session *s)
{
	const struct variant *submit = s->plan.chosen[RS_F_SUBMIT];

	return submit && !strcmp(submit->hook, "io_uring_submit_req");
}

static void fill_config(struct session *s, const struct session_options *o)
{
	struct rs_config *c = &s->skel->rodata->rs_config;
	unsigned int op;

	c->all = o->all;
	c->group_mask = s->tables.n_groups - 1;
	c->overflow_names_request = exact_overflows(s);
	c->wake_from = session__rings_high_water(s);
	c->by_user = o->by_user;
	c->user = o->user;
	c->by_cgroup = o->by_cgroup;
	c->cgroup_id = o->cgroup_id;
	c->by_comm = o->comm != NULL;
	if (o->comm)
		strncpy(c->comm, o->comm, sizeof(c->comm) - 1);
	for (op = 0; op < RS_OPS; op++)
		c->op_traits[op] = (__u8)op_traits(op);
}

static int size_maps(struct session *s, const struct session_options *o)
{
	struct session_tables *t = &s->tables;
	struct ringside_bpf *k = s->skel;
	int err;

	t->n_groups = power_of_two(o->max_inflight) / RS_GROUP;
	t->n_rings = o->max_rings + 1;
	t->n_series = o->max_series + RS_SERIES_FIRST;
	err = bpf_map__set_max_entries(k->maps.rs_hot, t->n_groups);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_cold, t->n_groups);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_rings, t->n_rings);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_series, t->n_series);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_rings, o->max_rings);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_series, o->max_series);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_series_index, o->max_series);
	/* addresses of rings that are gone may stay for a while */
	return err ? err : bpf_map__set_max_entries(k->maps.rs_ring_index, o->max_rings * 2);
}

static int choose_programs(struct session *s)
{
	struct bpf_program *p;
	size_t f;
	int err;

	for (f = 0; f < RS_F_COUNT; f++) {
		const struct variant *v = s->plan.chosen[f];

		if (!v)
			continue;
		p = bpf_object__find_program_by_name(s->skel->obj, v->program);
		if (!p)
			return -ENOENT;
		err = bpf_program__set_autoload(p, true);
		if (err)
			return err;
	}
	return 0;
}

/* The variant whose program the kernel refused, from libbpf's log; n_variants if none is named. */
static size_t refused_variant(const struct session *s)
{
	char needle[96];
	size_t i;

	for (i = 0; i < n_variants; i++) {
		if (s->plan.chosen[variants[i].feature] != &variants[i])
			continue;
		snprintf(needle, sizeof(needle), "prog '%s': failed to load", variants[i].program);
		if (strstr(s->log, needle))
			return i;
	}
	return n_variants;
}

/*
 * CO-RE against the kernel proper only: looking for a type in the modules' BTF too needs
 * CAP_SYS_ADMIN, and io_uring is never a module.
 */
static struct ringside_bpf *open_object(void)
{
	DECLARE_LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = "/sys/kernel/btf/vmlinux");

	return ringside_bpf__open_opts(&opts);
}

static int load_once(struct session *s, const struct session_options *o, const struct btf *btf,
	struct kallsyms *syms)
{
	int err;

	plan__select(btf, kallsyms__lookup, syms, s->refused, &s->plan);
	s->skel = open_object();
	if (!s->skel)
		return -errno;
	err = size_maps(s, o);
	if (!err)
		err = choose_programs(s);
	if (err)
		return err;
	fill_config(s, o);
	return ringside_bpf__load(s->skel);
}

/* The verifier's complaint is the last line of its log but one: a line of statistics follows. */
static void describe_refusal(const char *log, const char *program, int err, char *buf, size_t size)
{
	const char *end, *start;
	char marker[96];

	snprintf(buf, size, "the kernel refused %s: %s", program, strerror(-err));
	snprintf(marker, sizeof(marker), "prog '%s': -- BEGIN PROG LOAD LOG --", program);
	start = strstr(log, marker);
	end = start ? strstr(start, "\nprocessed ") : NULL;
	if (!end)
		return;
	for (start = end; start > log && start[-1] != '\n'; start--)
		;
	snprintf(buf, size, "the kernel refused %s: %.*s", program, (int)(end - start), start);
}

/*
 * Loads what fits. A program that BTF promised and the kernel refuses is left out, with the
 * kernel's reason, and the rest is tried again.
 */
static int load(struct session *s, const struct session_options *o, const struct btf *btf,
	struct kallsyms *syms)
{
	size_t bad;
	int err;

	for (;;) {
		s->log[0] = '\0';
		err = load_once(s, o, btf, syms);
		if (!err)
			return 0;
		if (o->on_refusal)
			o->on_refusal(s->log);
		bad = refused_variant(s);
		if (bad == n_variants || s->refused[bad])
			return err;
		describe_refusal(s->log, variants[bad].program, err, s->refused_text[bad],
			sizeof(s->refused_text[bad]));
		s->refused[bad] = s->refused_text[bad];
		ringside_bpf__destroy(s->skel);
		s->skel = NULL;
	}
}

uint32_t session__rings_high_water(const struct session *s)
{
	return s->tables.n_rings / 2;
}

static int ignore_wakeup(void *ctx, void *data, size_t size)
{
	(void)ctx;
	(void)data;
	(void)size;
	return 0;
}

static int open_wakeups(struct session *s)
{
	s->wakeups = ring_buffer__new(bpf_map__fd(s->skel->maps.rs_wakeups), ignore_wakeup, NULL, NULL);
	return s->wakeups ? 0 : -errno;
}

int session__wakeup_fd(const struct session *s)
{
	return ring_buffer__epoll_fd(s->wakeups);
}

void session__drain_wakeups(struct session *s)
{
	ring_buffer__consume(s->wakeups);
}

static void *map_table(const struct bpf_map *map, size_t value_size, size_t n, int prot)
{
	void *p = mmap(NULL, value_size * n, prot, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Array values are rounded up to 8 bytes; ours are multiples of 64. */
_Static_assert(sizeof(struct rs_ring) % 64 == 0, "rs_ring");
_Static_assert(sizeof(struct rs_series) % 64 == 0, "rs_series");

static int map_tables(struct session *s)
{
	struct session_tables *t = &s->tables;
	const int rw = PROT_READ | PROT_WRITE;

	t->hot = map_table(s->skel->maps.rs_hot, sizeof(*t->hot), t->n_groups, PROT_READ);
	t->rings = map_table(s->skel->maps.rs_rings, sizeof(*t->rings), t->n_rings, rw);
	t->series = map_table(s->skel->maps.rs_series, sizeof(*t->series), t->n_series, rw);
	return t->hot && t->rings && t->series ? 0 : -ENOMEM;
}

static void unmap_tables(struct session *s)
{
	struct session_tables *t = &s->tables;

	if (t->hot)
		munmap(t->hot, sizeof(*t->hot) * t->n_groups);
	if (t->rings)
		munmap(t->rings, sizeof(*t->rings) * t->n_rings);
	if (t->series)
		munmap(t->series, sizeof(*t->series) * t->n_series);
}

static void name_maps(struct session *s)
{
	struct ringside_bpf *k = s->skel;

	s->maps = (struct session_maps){
		.ring_index = bpf_map__fd(k->maps.rs_ring_index),
		.free_rings = bpf_map__fd(k->maps.rs_free_rings),
		.free_series = bpf_map__fd(k->maps.rs_free_series),
		.errnos = bpf_map__fd(k->maps.rs_errnos),
		.overflowed = bpf_map__fd(k->maps.rs_overflowed),
		.series_index = bpf_map__fd(k->maps.rs_series_index),
		.registers = bpf_map__fd(k->maps.rs_registers),
		.workers = bpf_map__fd(k->maps.rs_workers),
		.sq_exits = bpf_map__fd(k->maps.rs_sq_exits),
	};
}

static void reset_series(struct rs_series *se)
{
	memset(se, 0, sizeof(*se));
	se->lat.min_ns = ~0ull;
}

static void reset_ring(struct rs_ring *r, uint32_t idx, uint32_t generation)
{
	memset(r, 0, sizeof(*r));
	r->uid = generation << 16 | idx;
	r->last_sq_head = ~0ull;
	r->fd = -1;
}

/* Index 0 is taken last-in first-out, so push the highest first: small numbers are used first. */
static int push_free(int fd, uint32_t first, uint32_t end)
{
	uint32_t i;

	for (i = end; i > first; i--) {
		uint32_t idx = i - 1;

		if (bpf_map_update_elem(fd, NULL, &idx, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int fill_tables(struct session *s)
{
	struct session_tables *t = &s->tables;
	uint32_t i;
	int err;

	for (i = 0; i < t->n_series; i++)
		reset_series(&t->series[i]);
	for (i = 0; i < t->n_rings; i++)
		reset_ring(&t->rings[i], i, 1);
	/* entry 0 stands for all that find no room; its opcodes have fixed series */
	t->rings[0].uid = 0;
	t->rings[0].flags = RS_RING_WATCHED;
	for (i = 0; i < RS_OPS; i++) {
		t->rings[0].series[i] = (__u16)RS_SERIES_SHARED(i);
		t->series[RS_SERIES_SHARED(i)].op = i;
		t->series[RS_SERIES_SHARED(i)].traits = op_traits(i);
	}
	err = push_free(s->maps.free_rings, 1, t->n_rings);
	return err ? err : push_free(s->maps.free_series, RS_SERIES_FIRST, t->n_series);
}

static int add_targets(struct session *s, const struct session_options *o)
{
	int fd = bpf_map__fd(s->skel->maps.rs_targets);
	uint8_t one = 1;
	size_t i;

	for (i = 0; i < o->n_targets; i++) {
		uint32_t pid = (uint32_t)o->targets[i];

		if (bpf_map_update_elem(fd, &pid, &one, BPF_ANY))
			return -errno;
	}
	return 0;
}

/* Attaches each chosen program; what the kernel refuses is off, with its reason. */
static void attach(struct session *s)
{
	struct bpf_program *p;
	size_t f;

	for (f = 0; f < RS_F_COUNT; f++) {
		struct feature_state *st = &s->plan.state[f];

		if (!s->plan.chosen[f])
			continue;
		p = bpf_object__find_program_by_name(s->skel->obj, s->plan.chosen[f]->program);
		s->links[f] = p ? bpf_program__attach(p) : NULL;
		if (s->links[f])
			continue;
		st->level = FEATURE_OFF;
		snprintf(st->why, sizeof(st->why), "attaching %s: %s", s->plan.chosen[f]->program, strerror(errno));
		st->how[0] = '\0';
	}
}

/* 0 if what stat can't do without is there. */
static int check_essential(const struct session *s, char *errmsg, size_t errsize)
{
	size_t f;

	for (f = 0; f < RS_F_COUNT; f++) {
		if (!feature_essential(f) || s->plan.state[f].level != FEATURE_OFF)
			continue;
		snprintf(errmsg, errsize, "can't observe %s on this kernel: %s", feature_what(f), s->plan.state[f].why);
		return -EOPNOTSUPP;
	}
	return 0;
}

static void load_error(const struct session *s, int err, char *errmsg, size_t errsize)
{
	const char *p = s->log, *line = NULL;

	/* libbpf's first complaint is the cause, the later ones its consequences */
	while ((p = strstr(p, "libbpf: "))) {
		line = p + strlen("libbpf: ");
		break;
	}
	snprintf(errmsg, errsize, "the kernel refused the BPF programs: %s%s%.*s", strerror(-err), line ? ": " : "",
		line ? (int)strcspn(line, "\n") : 0, line ? line : "");
}

static int session__alloc(const struct session_options *o, struct session **ret)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->scan = o->scan;
	s->log = calloc(1, LOG_BYTES);
	s->refused = calloc(n_variants, sizeof(*s->refused));
	s->refused_text = calloc(n_variants, sizeof(*s->refused_text));
	if (!s->log || !s->refused || !s->refused_text) {
		session__close(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static int open_in_kernel(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
{
	struct kallsyms *syms = NULL;
	struct btf *btf;
	int err;

	btf = btf__load_vmlinux_btf();
	if (!btf) {
		err = -errno;
		snprintf(errmsg, errsize,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): needs CONFIG_DEBUG_INFO_BTF=y");
		return err;
	}
	err = kallsyms__read(&syms);
	if (!err)
		err = load(s, o, btf, syms);
	kallsyms__free(syms);
	btf__free(btf);
	if (err) {
		load_error(s, err, errmsg, errsize);
		return err;
	}
	err = check_essential(s, errmsg, errsize);
	if (err)
		return err;
	name_maps(s);
	err = map_tables(s);
	err = err ? err : fill_tables(s);
	err = err ? err : open_wakeups(s);
	err = err ? err : add_targets(s, o);
	if (err) {
		snprintf(errmsg, errsize, "can't set up the BPF maps: %s", strerror(-err));
		return err;
	}
	attach(s);
	return check_essential(s, errmsg, errsize);
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
	if (!err)
		return;
	st->level = FEATURE_DEGRADED;
	snprintf(st->why, sizeof(st->why), "reading the iterator: %s", strerror(-err));
}

int session__activate(struct session *s)
{
	/* files first: they know the descriptor */
	if (s->scan) {
		scan(s, RS_F_RING_SCAN);
		scan(s, RS_F_RING_SCAN_REG);
	}
	__atomic_store_n(&s->skel->bss->rs.active, 1, __ATOMIC_RELEASE);
	return 0;
}

void session__freeze(struct session *s)
{
	size_t f;

	__atomic_store_n(&s->skel->bss->rs.active, 0, __ATOMIC_SEQ_CST);
	/* Programs run with preemption or migration disabled inside an RCU read section: this waits for them. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(10000);
	for (f = 0; f < RS_F_COUNT; f++) {
		bpf_link__destroy(s->links[f]);
		s->links[f] = NULL;
	}
}

void session__close(struct session *s)
{
	size_t f;

	if (!s)
		return;
	for (f = 0; f < RS_F_COUNT; f++)
		bpf_link__destroy(s->links[f]);
	ring_buffer__free(s->wakeups);
	unmap_tables(s);
	if (s->skel)
		ringside_bpf__destroy(s->skel);
	free(s->log);
	free(s->refused);
	free(s->refused_text);
	free(s);
}

const struct feature_state *session__features(const struct session *s)
{
	return s->plan.state;
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

bool session__missed(const struct session *s, uint64_t *ret)
{
	struct bpf_program *p;
	uint64_t sum = 0;
	bool known = false;

	bpf_object__for_each_program(p, s->skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_program__fd(p) < 0 || bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		/* the kernel says how much of the structure it filled */
		if (len < offsetof(struct bpf_prog_info, recursion_misses) + sizeof(info.recursion_misses))
			return false;
		known = true;
		sum += info.recursion_misses;
	}
	*ret = sum;
	return known;
}

int session__recycle_series(struct session *s, const struct rs_series_key *key, uint32_t idx)
{
	if (bpf_map_delete_elem(s->maps.series_index, key))
		return -errno;
	reset_series(&s->tables.series[idx]);
	return bpf_map_update_elem(s->maps.free_series, NULL, &idx, BPF_ANY) ? -errno : 0;
}

int session__recycle_ring(struct session *s, uint32_t idx)
{
	struct session_tables *t = &s->tables;
	struct rs_ring *r = &t->rings[idx];
	struct rs_series_key key = {.ring_uid = r->uid, .kind = RS_SERIES_MAIN};
	uint32_t generation = (r->uid >> 16) + 1, op;
	int err;

	for (op = 0; op < RS_OPS; op++) {
		key.op = (__u16)op;
		err = r->series[op] < RS_SERIES_FIRST ? 0 : session__recycle_series(s, &key, r->series[op]);
		if (err)
			return err;
	}
	/* generation 0 is ring 0's alone */
	reset_ring(r, idx, generation & 0xffff ? generation & 0xffff : 1);
	return bpf_map_update_elem(s->maps.free_rings, NULL, &idx, BPF_ANY) ? -errno : 0;
}
