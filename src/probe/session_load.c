// SPDX-License-Identifier: MIT
/* From the kernel's BTF to loaded programs. */
#include "session_private.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kallsyms.h"
#include "names.h"
#include "ringside.skel.h"

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
	c->wake_from_series = RS_SERIES_FIRST + (s->tables.n_series - RS_SERIES_FIRST) / 2;
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
	err = session__size_maps(s, o);
	if (!err)
		err = choose_programs(s);
	if (err)
		return err;
	fill_config(s, o);
	return ringside_bpf__load(s->skel);
}

bool session__out_of_resources(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
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
	/* the verifier had nothing to say */
	if (!strncmp(start, "libbpf: ", strlen("libbpf: ")))
		return;
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
		bad = session__out_of_resources(err) ? n_variants : refused_variant(s);
		if (bad == n_variants || s->refused[bad])
			return err;
		describe_refusal(s->log, variants[bad].program, err, s->refused_text[bad],
			sizeof(s->refused_text[bad]));
		s->refused[bad] = s->refused_text[bad];
		ringside_bpf__destroy(s->skel);
		s->skel = NULL;
	}
}

static void load_error(const struct session *s, int err, char *errmsg, size_t errsize)
{
	const char *p = s->log, *line = NULL;

	if (session__out_of_resources(err)) {
		snprintf(errmsg, errsize, "can't load the BPF programs: %s", strerror(-err));
		return;
	}
	/* libbpf's first complaint is the cause, the later ones its consequences */
	while ((p = strstr(p, "libbpf: "))) {
		line = p + strlen("libbpf: ");
		break;
	}
	snprintf(errmsg, errsize, "the kernel refused the BPF programs: %s%s%.*s", strerror(-err), line ? ": " : "",
		line ? (int)strcspn(line, "\n") : 0, line ? line : "");
}

static int load_for(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
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
	if (err)
		load_error(s, err, errmsg, errsize);
	return err;
}

int session__load(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
{
	libbpf_print_fn_t before;
	int err;

	libbpf_log = s->log;
	before = libbpf_set_print(collect_log);
	err = load_for(s, o, errmsg, errsize);
	libbpf_log = NULL;
	libbpf_set_print(before);
	return err;
}
