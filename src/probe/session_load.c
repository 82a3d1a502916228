// SPDX-License-Identifier: MIT
/* From the kernel's BTF to loaded programs. */
#include "session_private.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "facts.h"
#include "hooks.h"
#include "kallsyms.h"
#include "names.h"
#include "privileges.h"
#include "refusal.h"
#include "ringside.skel.h"

/* BPF_LOG_STATS of the kernel, since 5.2: the verifier's complaints, without a line for every instruction. */
#define VERIFIER_COMPLAINTS 4

/* What a load needs to know, the same for every try. */
struct loading {
	struct session *s;
	const struct session_options *o;
	const struct btf *btf;
	struct kallsyms *syms;
};

/*
 * Where io_uring_submit_req exists, requests complete from the submission state's list or on
 * a worker and nowhere else (6.1 has further ways), so an overflow event finds its request.
 */
static bool exact_overflows(const struct session *s)
{
	const struct variant *submit = s->plan.chosen[RS_F_SUBMIT];

	return submit && !strcmp(submit->hook, "io_uring_submit_req");
}

static void fill_config(const struct loading *l)
{
	const struct session *s = l->s;
	const struct session_options *o = l->o;
	struct rs_config *c = &s->skel->rodata->rs_config;
	unsigned int op;

	c->all = o->all;
	c->group_mask = s->tables.n_groups - 1;
	c->own_ring = session__own_ring(s);
	c->block = session__sees_block(s);
	c->iomap_dio_end = kallsyms__address(l->syms, "iomap_dio_bio_end_io");
	c->blkdev_dio_end = kallsyms__address(l->syms, "blkdev_bio_end_io");
	c->blkdev_dio_end_async = kallsyms__address(l->syms, "blkdev_bio_end_io_async");
	c->bio_chain_end = kallsyms__address(l->syms, "bio_chain_endio");
	c->links_told = s->plan.chosen[RS_F_LINK] != NULL;
	c->wq_told = s->plan.chosen[RS_F_WQ_QUEUE] != NULL;
	c->watch_heads = session__can_watch(s, o);
	c->files = session__notes_files(s);
	c->call_sites = session__takes_stacks(s);
	c->slow_ns = o->slow_ns ? o->slow_ns : SLOW_NS;
	c->spans = session__has_spans(s) ? (__u32)s->n_spans : 0;
	c->overflow_names_request = exact_overflows(s);
	c->wake_from = session__rings_high_water(s);
	c->wake_from_series = RS_SERIES_FIRST + (s->tables.n_series - RS_SERIES_FIRST) / 4;
	c->ring_exit_work = kallsyms__address(l->syms, "io_ring_exit_work");
	c->ring_file_poll = kallsyms__address(l->syms, "io_uring_poll");
	c->by_user = o->by_user;
	c->user = o->user;
	c->by_cgroup = o->by_cgroup;
	c->cgroup_id = o->cgroup_id;
	c->by_comm = o->comm != NULL;
	if (o->comm)
		strncpy(c->comm, o->comm, sizeof(c->comm) - 1);
	c->pid_ns = o->pid_ns;
	c->pid_numbers = s->plan.chosen[RS_F_PIDS] != NULL;
	for (op = 0; op < RS_OPS; op++)
		c->op_traits[op] = (__u8)op_traits(op);
}

static bool is_chosen(const struct session *s, size_t i)
{
	return s->plan.chosen[variants[i].feature] == &variants[i];
}

/* Marks a program for loading, and what the verifier complains about for reading. 0 or negative errno. */
static int choose_program(struct session *s, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(s->skel->obj, name);
	int err;

	if (!p)
		return -ENOENT;
	err = bpf_program__set_autoload(p, true);
	err = err ? err : bpf_program__set_log_level(p, VERIFIER_COMPLAINTS);
	return err ? err : bpf_program__set_log_buf(p, s->verifier_log, VERIFIER_LOG_BYTES);
}

static int choose_variant(struct session *s, const struct variant *v)
{
	int err = v->begin ? choose_program(s, v->begin) : 0;
	size_t i;

	for (i = 0; !err && i < COMPANIONS; i++)
		err = v->also[i].program ? choose_program(s, v->also[i].program) : 0;
	return err ? err : choose_program(s, v->program);
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

/*
 * libbpf asks the kernel for its abilities while it creates the maps, and takes a want of descriptors for that of
 * an ability, ever after. 0 if there are enough for all of it; or negative errno.
 */
static int enough_descriptors(const struct session *s)
{
	int fds[64], wanted = 4, n = 0, err = 0;
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->skel->obj) wanted++;
	while (n < wanted && n < (int)(sizeof(fds) / sizeof(fds[0]))) {
		fds[n] = eventfd(0, EFD_CLOEXEC);
		if (fds[n] < 0) {
			err = -errno;
			break;
		}
		n++;
	}
	while (n)
		close(fds[--n]);
	return err;
}

/* Loads the maps and, of the variants from `first` to before `end`, those chosen. 0 or negative errno. */
static int load_range(const struct loading *l, size_t first, size_t end)
{
	struct session *s = l->s;
	size_t i;
	int err;

	s->log[0] = s->verifier_log[0] = '\0';
	s->skel = open_object();
	if (!s->skel)
		return -errno;
	err = enough_descriptors(s);
	session__prepare_spans(s);
	err = err ? err : session__size_maps(s, l->o);
	for (i = first; !err && i < end; i++)
		if (is_chosen(s, i))
			err = choose_variant(s, &variants[i]);
	if (!err && end == n_variants && session__can_watch(s, l->o)) {
		err = choose_program(s, "rs_find_heads");
		err = err ? err : choose_program(s, "rs_head_moved");
	}
	if (err)
		return err;
	fill_config(l);
	return ringside_bpf__load(s->skel);
}

bool session__out_of_resources(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

/* The same, unloaded at once. */
static int try_range(const struct loading *l, size_t first, size_t end)
{
	int err = load_range(l, first, end);

	session__unload(l->s);
	return err;
}

/* What libbpf and the verifier had to say. */
static void say_refusal(const struct loading *l)
{
	if (!l->o->on_refusal)
		return;
	if (l->s->log[0])
		l->o->on_refusal(l->s->log);
	if (l->s->verifier_log[0])
		l->o->on_refusal(l->s->verifier_log);
}

static void note_refusal(const struct loading *l, size_t i, int err)
{
	struct session *s = l->s;
	char reason[128], lockdown[24];

	refusal__reason(s->verifier_log, err, reason, sizeof(reason));
	/* then it has no helper that reads its memory, and says so as if there never had been one */
	facts__read_lockdown(lockdown, sizeof(lockdown));
	snprintf(s->refused_text[i], sizeof(s->refused_text[i]), "the kernel%s refused %s: %s",
		strcmp(lockdown, "confidentiality") ? "" : ", locked down for confidentiality,",
		variants[i].program, reason);
	s->refused[i] = s->refused_text[i];
	say_refusal(l);
}

/* Whether the program with index i is only refused for what it notes; if so that is said, and left out. */
static bool is_without_notes(const struct loading *l, size_t i)
{
	struct session *s = l->s;
	char reason[128];
	size_t v;

	if (!session__notes_files(s) && !session__takes_stacks(s))
		return false;
	refusal__reason(s->verifier_log, -EINVAL, reason, sizeof(reason));
	say_refusal(l);
	s->no_notes = true;
	if (try_range(l, i, i + 1)) {
		s->no_notes = false;
		return false;
	}
	for (v = 0; v < n_variants; v++) {
		if (variants[v].feature != RS_F_FILES && variants[v].feature != RS_F_CALL_SITES)
			continue;
		snprintf(s->refused_text[v], sizeof(s->refused_text[v]), "the kernel refused %s with it: %s",
			variants[i].program, reason);
		s->refused[v] = s->refused_text[v];
	}
	return true;
}

/* Tries one program by itself. 1: the kernel refuses it, and that has been noted; 0; negative errno. */
static int try_alone(const struct loading *l, size_t i)
{
	/* the size of the maps is no matter to a verdict on a program */
	struct session_options small = *l->o;
	struct loading alone = *l;
	int err;

	small.max = (struct table_sizes){ 1, 1, 1, 1 };
	alone.o = &small;
	err = try_range(&alone, i, i + 1);
	if (!err || session__out_of_resources(err))
		return err;
	if (!is_without_notes(&alone, i))
		note_refusal(l, i, err);
	return 1;
}

/* The first chosen program that libbpf's words are about; n_variants: none. It is a hint, and no more. */
static size_t suspect(const struct session *s)
{
	char needle[64];
	size_t i;

	for (i = 0; i < n_variants; i++) {
		if (!is_chosen(s, i))
			continue;
		snprintf(needle, sizeof(needle), "prog '%s': ", variants[i].program);
		if (strstr(s->log, needle))
			break;
	}
	return i;
}

/*
 * After a load that failed: which programs does the kernel refuse, and why? Only a program that fails by itself
 * is: the one that libbpf names, or whichever. Returns how many; negative errno if it was not about a program.
 */
static int find_refused(const struct loading *l)
{
	size_t i = suspect(l->s);
	int n, n_refused = 0;

	if (session__can_watch(l->s, l->o)) {
		n = try_range(l, n_variants, n_variants);
		if (session__out_of_resources(n))
			return n;
		l->s->no_watch = n != 0;
		if (n)
			return 1;
	}

	n = i < n_variants ? try_alone(l, i) : 0;
	if (n)
		return n;
	n = try_range(l, 0, 0);
	if (n)
		return n;
	for (i = 0; i < n_variants; i++) {
		n = is_chosen(l->s, i) ? try_alone(l, i) : 0;
		if (n < 0)
			return n;
		n_refused += n;
	}
	return n_refused;
}

/*
 * This kernel charges maps and programs to RLIMIT_MEMLOCK (before 5.11), and not to the memory cgroup. libbpf
 * raises the limit if it may; wherever BPF is refused it takes the kernel for such a one and blames the limit.
 */
static bool charges_memlock(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, "bpf_map_memory", BTF_KIND_STRUCT) >= 0;
}

static void load_error(const struct loading *l, int err, char *errmsg, size_t errsize)
{
	const char *line = l->s->log;
	struct privileges p;

	if (l->o->on_refusal && l->s->log[0])
		l->o->on_refusal(l->s->log);
	if (session__out_of_resources(err)) {
		snprintf(errmsg, errsize, "can't load the BPF programs: %s", strerror(-err));
	} else if (err == -EPERM && !privileges__read(&p)) {
		privileges__why_refused(&p, err, charges_memlock(l->btf), errmsg, errsize);
	} else {
		/* libbpf's first complaint is the cause, the later ones its consequences */
		line += strncmp(line, "libbpf: ", 8) ? 0 : 8;
		snprintf(errmsg, errsize, "the kernel refused the BPF programs: %s%s%.*s", strerror(-err),
			*line ? ": " : "", (int)strcspn(line, "\n"), line);
	}
}

static bool is_for_spans(const struct variant *v)
{
	return v->feature == RS_F_SPANS || v->feature == RS_F_SPAN_WAIT;
}

static void leave_out_unasked(struct session *s, const struct session_options *o)
{
	size_t i;

	for (i = 0; i < n_variants; i++) {
		if (variants[i].feature == RS_F_BLOCK && !o->block)
			s->refused[i] = "not asked for (--block)";
		else if (feature_is_extra(variants[i].feature) && !feature_is_option(variants[i].feature) &&
			 o->no_extras)
			s->refused[i] = "not asked for";
	}
}

static void leave_out_spans(struct session *s, const struct session_options *o)
{
	char why[160] = "";
	size_t i;

	if (session__wants_spans(o))
		session__ask_uprobes(why, sizeof(why));
	for (i = 0; i < n_variants; i++) {
		if (!is_for_spans(&variants[i]) || (session__wants_spans(o) && !why[0]))
			continue;
		snprintf(s->refused_text[i], sizeof(s->refused_text[i]), "%s",
			why[0] ? why : "not asked for (--span)");
		s->refused[i] = s->refused_text[i];
	}
}

/* Without what spans were asked of, they have to be refused; waits may stay unknown. */
static int check_spans(const struct session *s, char *errmsg, size_t errsize)
{
	if (!s->n_spans || s->plan.chosen[RS_F_SPANS])
		return 0;
	snprintf(errmsg, errsize, "--span: can't observe functions on this kernel: %s",
		s->plan.state[RS_F_SPANS].why);
	return -EOPNOTSUPP;
}

/*
 * A kernel that lets no function be observed refuses every program for one: asked once, and not by
 * loading all that fits again for each of them.
 */
static void ask_functions(const struct loading *l)
{
	struct session *s = l->s;
	struct fact may;
	size_t i;

	if (session__out_of_resources(hooks__may_fentry(l->btf, &may)) || may.answer != ANSWER_NO)
		return;
	for (i = 0; i < n_variants; i++) {
		if (!hook__function(variants[i].hook))
			continue;
		snprintf(s->refused_text[i], sizeof(s->refused_text[i]),
			"the kernel refused a program for its functions: %.120s", may.why);
		s->refused[i] = s->refused_text[i];
	}
}

/*
 * Loads what fits. A program that BTF promised and the kernel refuses is left out, with the
 * kernel's reason, and the rest is loaded.
 */
static int load(const struct loading *l, char *errmsg, size_t errsize)
{
	struct session *s = l->s;
	int err, n;

	leave_out_unasked(s, l->o);
	if (!l->o->no_extras)
		ask_functions(l);
	leave_out_spans(s, l->o);
	for (;;) {
		plan__select(l->btf, kallsyms__lookup, l->syms, s->refused, &s->plan);
		err = session__check_essential(s, l->o, errmsg, errsize);
		err = err ? err : check_spans(s, errmsg, errsize);
		if (err)
			return err;
		err = load_range(l, 0, n_variants);
		if (!err)
			return 0;
		session__unload(s);
		n = session__out_of_resources(err) ? err : find_refused(l);
		if (n <= 0) {
			err = n ? n : err;
			load_error(l, err, errmsg, errsize);
			return err;
		}
	}
}

/* A flag is known by what came into the kernel along with it. */
static uint32_t setup_flags_of(const struct btf *btf)
{
	static const struct {
		const char *field;
		uint32_t flag;
	} rows[] = {
		{ "io_ring_ctx.notify_method", 1u << 8 },   /* COOP_TASKRUN */
		{ "io_ring_ctx.submitter_task", 1u << 12 }, /* SINGLE_ISSUER */
		{ "io_ring_ctx.work_llist", 1u << 13 },	    /* DEFER_TASKRUN */
	};
	uint32_t flags = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (kernel__has_fields(btf, rows[i].field))
			flags |= rows[i].flag;
	return flags;
}

int session__load(struct session *s, const struct session_options *o, char *errmsg, size_t errsize)
{
	struct loading l = { .s = s, .o = o };
	struct btf *btf;
	int err;

	btf = btf__load_vmlinux_btf();
	if (!btf) {
		err = -errno;
		snprintf(errmsg, errsize,
			"this kernel has no BTF (/sys/kernel/btf/vmlinux): needs CONFIG_DEBUG_INFO_BTF=y");
		return err;
	}
	l.btf = btf;
	s->setup_flags = setup_flags_of(btf);
	err = kallsyms__read(o->block, &l.syms);
	if (err)
		snprintf(errmsg, errsize, "can't read /proc/kallsyms: %s", strerror(-err));
	else
		err = load(&l, errmsg, errsize);
	kallsyms__free(l.syms);
	btf__free(btf);
	return err;
}
