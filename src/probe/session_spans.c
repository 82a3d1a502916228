// SPDX-License-Identifier: MIT
/* Spans: uprobes at the beginning of functions and at their return. */
#include "session_private.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refusal.h"
#include "ringside.skel.h"

#define UPROBE_PMU "/sys/bus/event_source/devices/uprobe/type"

/* Of the kernel's bpf.h since 6.6. */
#define UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1u

struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, link_flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, flags, pid, pad;
};

/* The kernel's own, which no system call should return. */
#define ENOTSUPP_OF_KERNEL 524

/* A pair takes 10 series, about 56 KB. */
#define PAIRS_A_SPAN 8u
#define PAIRS_LEAST 16u
#define PAIRS_MOST 512u

bool session__wants_spans(const struct session_options *o)
{
	return o->n_spans || o->partial;
}

bool session__has_spans(const struct session *s)
{
	return s->n_spans && s->plan.chosen[RS_F_SPANS];
}

void session__ask_uprobes(char *why, size_t size)
{
	int err = access(UPROBE_PMU, R_OK) ? errno : 0;

	why[0] = '\0';
	if (err == ENOENT)
		snprintf(why, size,
			"there is no " UPROBE_PMU ": needs CONFIG_UPROBE_EVENTS=y, and /sys to be mounted");
	else if (err)
		snprintf(why, size, UPROBE_PMU ": %s", strerror(err));
}

static uint32_t n_pairs(size_t spans)
{
	uint32_t n = PAIRS_LEAST + PAIRS_A_SPAN * (uint32_t)spans;

	return n < PAIRS_MOST ? n : PAIRS_MOST;
}

int session__size_spans(struct session *s)
{
	struct ringside_bpf *k = s->skel;
	uint32_t pairs = session__has_spans(s) ? n_pairs(s->n_spans) : 0;
	bool loaded = s->plan.chosen[RS_F_SPANS] || s->plan.chosen[RS_F_SPAN_WAIT];
	int err;

	s->tables.n_span_ops = pairs;
	err = bpf_map__set_max_entries(k->maps.rs_spans, pairs ? (uint32_t)s->n_spans : 1);
	err = err ? err
		  : bpf_map__set_max_entries(k->maps.rs_span_series, pairs ? pairs * RS_SPAN_SERIES : 1);
	err = err ? err : bpf_map__set_max_entries(k->maps.rs_free_span_ops, pairs ? pairs : 1);
	/* of a kind that 5.10 does not know */
	return err ? err : bpf_map__set_autocreate(k->maps.rs_span_stacks, loaded);
}

int session__fill_spans(struct session *s)
{
	static const struct rs_span empty = { .lat.min_ns = UINT64_MAX };
	int fd = bpf_map__fd(s->skel->maps.rs_spans);
	uint32_t i;

	for (i = 0; session__has_spans(s) && i < s->n_spans; i++)
		if (bpf_map_update_elem(fd, &i, &empty, BPF_ANY))
			return -errno;
	/* 0 is none */
	return session__push_free(bpf_map__fd(s->skel->maps.rs_free_span_ops), 1, s->tables.n_span_ops + 1);
}

static bool has_multi(const struct session *s)
{
	const struct variant *v = s->plan.chosen[RS_F_SPANS];

	return v && variant__is_uprobe_multi(v);
}

void session__prepare_spans(struct session *s)
{
	struct ringside_bpf *k = s->skel;

	if (!has_multi(s))
		return;
	bpf_program__set_expected_attach_type(k->progs.rs_span_begin, UPROBE_MULTI);
	bpf_program__set_expected_attach_type(k->progs.rs_span_return, UPROBE_MULTI);
}

static int keep_link(struct session *s, struct bpf_link *link)
{
	if (!link)
		return -errno;
	s->span_links[s->n_span_links++] = link;
	return 0;
}

/* At one place, in whatever process: children would lose a uprobe that is their parent's alone. */
static int attach_one(struct session *s, struct bpf_program *p, size_t i, bool retprobe)
{
	DECLARE_LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = i, .retprobe = retprobe);
	const struct span_place *place = &s->spans[i];

	return keep_link(s, bpf_program__attach_uprobe_opts(p, -1, place->path, place->file_offset, &opts));
}

/* At n places of one file, from the first-th on. The descriptor of the link; or negative errno. */
static int link_many(const struct session *s, const struct bpf_program *p, size_t first, size_t n,
	bool retprobe)
{
	uint64_t offsets[RS_SPANS_MAX], cookies[RS_SPANS_MAX];
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)bpf_program__fd(p),
		.attach_type = UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)s->spans[first].path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.cnt = (uint32_t)n,
		.flags = retprobe ? UPROBE_MULTI_RETURN : 0,
	};
	size_t i;
	int fd;

	for (i = 0; i < n; i++) {
		offsets[i] = s->spans[first + i].file_offset;
		cookies[i] = first + i;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : fd;
}

/* The first of them that the kernel refuses: without it, and what follows, it takes the others. */
static size_t find_culprit(const struct session *s, const struct bpf_program *p, size_t first, size_t n)
{
	size_t taken = 0, refused = n, half;
	int fd;

	while (refused - taken > 1) {
		half = taken + (refused - taken) / 2;
		fd = link_many(s, p, first, half, false);
		if (fd < 0) {
			refused = half;
		} else {
			taken = half;
			close(fd);
		}
	}
	return first + refused - 1;
}

/* Places of the same file stand together. */
static size_t count_of_file(const struct session *s, size_t first)
{
	size_t i = first + 1;

	while (i < s->n_spans && s->spans[i].path == s->spans[first].path)
		i++;
	return i - first;
}

static int attach_many(struct session *s, struct bpf_program *p, size_t first, size_t n, bool retprobe)
{
	int fd = link_many(s, p, first, n, retprobe);

	if (fd < 0)
		return fd;
	s->span_fds[s->n_span_fds++] = fd;
	return 0;
}

/* From the first-th place on; *ret_n gets how many. Returns come first: else a call would seem to be jumped out of. */
static int attach_from(struct session *s, size_t first, size_t *ret_n)
{
	struct bpf_program *begin = s->skel->progs.rs_span_begin, *end = s->skel->progs.rs_span_return;
	int err;

	if (!has_multi(s)) {
		*ret_n = 1;
		err = attach_one(s, end, first, true);
		return err ? err : attach_one(s, begin, first, false);
	}
	*ret_n = count_of_file(s, first);
	err = attach_many(s, end, first, *ret_n, true);
	return err ? err : attach_many(s, begin, first, *ret_n, false);
}

static void explain(const struct session *s, size_t i, int err, char *errmsg, size_t errsize)
{
	const struct span_place *place = &s->spans[i];
	char reason[128];

	refusal__meaning(err, reason, sizeof(reason));
	if (err == -EMFILE)
		snprintf(errmsg, errsize,
			"--span: %zu functions take %zu file descriptors: allow more of them (ulimit -n)",
			s->n_spans, s->n_spans * 4);
	else if (err == -EOPNOTSUPP || err == -ENOTSUPP_OF_KERNEL)
		snprintf(errmsg, errsize,
			"--span: %s in %s begins with an instruction that can't be observed: leave it out",
			place->function, place->binary);
	else
		snprintf(errmsg, errsize, "--span: can't observe %s in %s: %s", place->function,
			place->binary, reason);
}

int session__attach_spans(struct session *s, char *errmsg, size_t errsize)
{
	size_t i, n;
	int err = 0;

	if (!session__has_spans(s))
		return 0;
	s->span_links = calloc(s->n_spans, 2 * sizeof(*s->span_links));
	s->span_fds = calloc(s->n_spans, 2 * sizeof(*s->span_fds));
	if (!s->span_links || !s->span_fds) {
		snprintf(errmsg, errsize, "out of memory");
		return -ENOMEM;
	}
	/* without it our own calls count, if they are of what is observed */
	session__own_pid(s, &s->skel->bss->rs.self);
	for (i = 0; i < s->n_spans; i += n) {
		err = attach_from(s, i, &n);
		if (!err)
			continue;
		if (n > 1)
			i = find_culprit(s, s->skel->progs.rs_span_begin, i, n);
		explain(s, i, err, errmsg, errsize);
		break;
	}
	return err;
}

void session__detach_spans(struct session *s)
{
	while (s->n_span_links)
		bpf_link__destroy(s->span_links[--s->n_span_links]);
	while (s->n_span_fds)
		close(s->span_fds[--s->n_span_fds]);
	free(s->span_links);
	free(s->span_fds);
	s->span_links = NULL;
	s->span_fds = NULL;
}

const struct span_place *session__spans(const struct session *s, size_t *ret_n)
{
	*ret_n = session__has_spans(s) ? s->n_spans : 0;
	return s->spans;
}

int session__read_span(const struct session *s, uint32_t idx, struct rs_span *ret)
{
	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_spans), &idx, ret) ? -errno : 0;
}

int session__read_span_series(const struct session *s, uint32_t pair, uint32_t kind, struct rs_series *ret)
{
	uint32_t idx = rs_span_series_index(pair, kind);

	return bpf_map_lookup_elem(bpf_map__fd(s->skel->maps.rs_span_series), &idx, ret) ? -errno : 0;
}
