// SPDX-License-Identifier: MIT
/* What can be observed: what the kernel's types promise, then what the kernel lets us have. */
#include "survey_run.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "facts.h"
#include "hooks.h"
#include "kallsyms.h"
#include "session.h"

/* The oldest kernel of which everything is known. */
#define FULL_SINCE_MAJOR 6
#define FULL_SINCE_MINOR 1

#define SAY(buf, ...) snprintf(buf, sizeof(buf), __VA_ARGS__)

/* Symbols as a user would see them to whom none is hidden. */
struct optimist {
	ksym_lookup_fn ksym;
	void *arg;
};

static enum ksym_state unhidden(const char *name, void *arg)
{
	const struct optimist *o = arg;
	enum ksym_state state = o->ksym(name, o->arg);

	return state == KSYM_HIDDEN ? KSYM_PRESENT : state;
}

/* Whether the kernel is older than those fully known: by its number, else by io_kiocb.cqe, which is of 5.19. */
static bool is_old(const struct btf *btf, const char *release)
{
	unsigned int major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2)
		return !kernel__has_fields(btf, "io_kiocb.cqe");
	return major < FULL_SINCE_MAJOR || (major == FULL_SINCE_MAJOR && minor < FULL_SINCE_MINOR);
}

/* What another kernel, or another user, would need to have the feature. */
static void say_needs(const struct btf *btf, const struct survey *s, enum misfit misfit,
	const struct privileges *p, struct survey_feature *f)
{
	/* what is seen in part, another kernel would let us see whole */
	switch (f->planned == FEATURE_DEGRADED ? MISFIT_FORM : misfit) {
	case MISFIT_TRACEPOINT:
	case MISFIT_FORM:
	case MISFIT_FIELD:
		if (btf__find_by_name_kind(btf, "io_ring_ctx", BTF_KIND_STRUCT) < 0)
			SAY(f->needs, "CONFIG_IO_URING=y");
		else if (is_old(btf, s->release))
			SAY(f->needs, "Linux %d.%d or newer", FULL_SINCE_MAJOR, FULL_SINCE_MINOR);
		else
			SAY(f->needs, "a ringside that knows this kernel");
		break;
	case MISFIT_HIDDEN:
		SAY(f->needs, "%s", p && !p->syslog ? "CAP_SYSLOG" : "kernel.kptr_restrict of 0 or 1");
		break;
	default:
		f->needs[0] = '\0';
	}
}

static bool can_load(const struct privileges *p)
{
	return !p || (p->bpf && p->perfmon);
}

/* `works`: whether what stat can't do without is there, or planned; else why says what is missing. */
static void conclude(struct survey *s)
{
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		const struct survey_feature *f = &s->features[i];

		if (!feature_essential(i) || f->state.level != FEATURE_OFF)
			continue;
		s->works = false;
		if (!s->why[0])
			SAY(s->why, "can't observe %s: %s", feature_what(i), f->state.why);
		return;
	}
	s->works = !s->why[0];
}

void survey__plan(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const struct privileges *p,
	struct survey *ret)
{
	struct optimist o = { ksym, arg };
	char lacking[64];
	struct plan plan, best;
	size_t i;

	plan__select(btf, ksym, arg, NULL, &plan);
	plan__select(btf, unhidden, &o, NULL, &best);
	for (i = 0; i < RS_F_COUNT; i++) {
		struct survey_feature *f = &ret->features[i];
		bool hidden = plan.misfit[i] == MISFIT_HIDDEN && best.chosen[i];

		*f = (struct survey_feature){ .planned = plan.state[i].level, .state = plan.state[i] };
		f->known = f->planned == FEATURE_OFF && !hidden;
		say_needs(btf, ret, plan.misfit[i], p, f);
		if (f->known || can_load(p))
			continue;
		/* with the capabilities that are missing there might be nothing hidden either */
		f->planned = best.state[i].level;
		f->state = best.state[i];
		privileges__list_missing(p, hidden, lacking, sizeof(lacking));
		SAY(f->needs, "%s", lacking);
		SAY(f->state.why, "not tried: needs %s", lacking);
	}
	if (!can_load(p))
		privileges__missing(p, ret->why, sizeof(ret->why));
	conclude(ret);
}

/* What a session really got. */
static void take_states(struct survey *s, const struct feature_state *states)
{
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		struct survey_feature *f = &s->features[i];

		f->known = true;
		f->state = states[i];
		if (f->state.level == FEATURE_OFF && f->planned != FEATURE_OFF &&
			!strcmp(s->system.lockdown, "confidentiality"))
			SAY(f->needs, "kernel lockdown of integrity or none");
	}
	s->why[0] = '\0';
}

/* The kernel would have nothing of it. */
static void take_failure(struct survey *s, const char *why)
{
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		struct survey_feature *f = &s->features[i];

		if (f->planned != FEATURE_OFF || !f->known) {
			SAY(f->state.why, "%.190s", why);
			f->needs[0] = '\0';
		}
		f->known = true;
		f->state.level = FEATURE_OFF;
		f->state.how[0] = '\0';
	}
	SAY(s->why, "%s", why);
}

/* Loads, attaches and reads everything once. 0, also when the kernel refuses; or negative errno. */
static int try_session(const struct survey_request *r, struct survey *s, char *errmsg, size_t errsize)
{
	/* no target: nothing that happens meanwhile is recorded */
	const struct session_options o = {
		.scan = true,
		.partial = true,
		.block = true,
		.max = { 1, 1, 1, 1 },
		.on_refusal = r->on_refusal,
	};
	struct session *session;
	int err;

	s->depth = SURVEY_TRIED;
	err = session__open(&o, &session, errmsg, errsize);
	if (session__out_of_resources(err))
		return err;
	if (err) {
		take_failure(s, errmsg);
		return 0;
	}
	err = session__activate(session);
	session__freeze(session);
	if (!err)
		take_states(s, session__features(session));
	else
		snprintf(errmsg, errsize, "can't start observing: %s", strerror(-err));
	session__close(session);
	return err;
}

static void describe_user(const struct privileges *p, struct survey_user *u)
{
	*u = (struct survey_user){
		.uid = geteuid(),
		.cap_bpf = p->bpf,
		.cap_perfmon = p->perfmon,
		.cap_syslog = p->syslog,
		.foreign_user_ns = p->foreign_user_ns,
		.foreign_pid_ns = p->foreign_pid_ns,
		.seccomp = p->seccomp,
	};
}

static void try_hooks(const struct btf *btf, const struct privileges *p, struct survey_system *s)
{
	struct fact *f[] = { &s->fentry, &s->kprobes };
	char lacking[64];
	size_t i;

	privileges__list_missing(p, false, lacking, sizeof(lacking));
	for (i = 0; lacking[0] && i < sizeof(f) / sizeof(f[0]); i++)
		SAY(f[i]->why, "not tried: needs %s", lacking);
	if (lacking[0])
		return;
	hooks__try_fentry(btf, &s->fentry);
	hooks__try_kprobe(&s->kprobes);
}

static int survey_running(const struct survey_request *r, const struct btf *btf, struct survey *s,
	char *errmsg, size_t errsize)
{
	struct kallsyms *syms;
	struct privileges p;
	int err;

	err = privileges__read(&p);
	if (err) {
		snprintf(errmsg, errsize, "can't read the capabilities of this process: %s", strerror(-err));
		return err;
	}
	err = kallsyms__read(true, &syms);
	if (err) {
		snprintf(errmsg, errsize, "can't read /proc/kallsyms: %s", strerror(-err));
		return err;
	}
	s->depth = SURVEY_UNTRIED;
	describe_user(&p, &s->user);
	facts__read(s->release, &s->system);
	survey__plan(btf, kallsyms__lookup, syms, &p, s);
	kallsyms__free(syms);
	if (can_load(&p))
		err = try_session(r, s, errmsg, errsize);
	try_hooks(btf, &p, &s->system);
	conclude(s);
	return err;
}

static enum ksym_state any_symbol(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return KSYM_PRESENT;
}

/* 0, or negative errno and why in words. */
static int parse_types(const char *path, struct btf **ret, const char **ret_why)
{
	int err;

	/* libbpf's errors tell little of what is wrong with a file */
	if (access(path, R_OK)) {
		err = -errno;
		*ret_why = strerror(-err);
		return err;
	}
	*ret = btf__parse(path, NULL);
	if (*ret)
		return 0;
	err = -errno;
	*ret_why = session__out_of_resources(err) || err == -EIO ? strerror(-err)
								 : "it is neither BTF nor ELF with BTF";
	return err;
}

static int survey_file(const struct survey_request *r, struct survey *s, char *errmsg, size_t errsize)
{
	const char *why;
	struct btf *btf;
	int err = parse_types(r->btf_file, &btf, &why);

	if (err) {
		snprintf(errmsg, errsize, "can't read kernel types from '%s': %s", r->btf_file, why);
		return err;
	}
	s->depth = SURVEY_PLANNED;
	s->file = r->btf_file;
	survey__plan(btf, any_symbol, NULL, NULL, s);
	btf__free(btf);
	return 0;
}

/* Without types nothing can be chosen. */
static int survey_without_types(struct survey *s)
{
	struct privileges p;
	size_t i;

	s->depth = SURVEY_TRIED;
	take_failure(s, "this kernel has no BTF (/sys/kernel/btf/vmlinux): needs CONFIG_DEBUG_INFO_BTF=y");
	for (i = 0; i < RS_F_COUNT; i++)
		SAY(s->features[i].needs, "CONFIG_DEBUG_INFO_BTF=y");
	facts__read(s->release, &s->system);
	if (!privileges__read(&p))
		describe_user(&p, &s->user);
	return 0;
}

static int say_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int survey(const struct survey_request *r, struct survey *s, char *errmsg, size_t errsize)
{
	struct utsname u;
	struct btf *btf;
	int err;

	if (r->btf_file)
		return survey_file(r, s, errmsg, errsize);
	if (!uname(&u))
		snprintf(s->release, sizeof(s->release), "%s", u.release);
	btf = btf__load_vmlinux_btf();
	err = btf ? 0 : -errno;
	if (session__out_of_resources(err))
		snprintf(errmsg, errsize, "can't read the kernel's types: %s", strerror(-err));
	else
		err = btf ? survey_running(r, btf, s, errmsg, errsize) : survey_without_types(s);
	btf__free(btf);
	return err;
}

int survey__run(const struct survey_request *r, struct survey *ret, char *errmsg, size_t errsize)
{
	struct survey *s = calloc(1, sizeof(*s));
	libbpf_print_fn_t before;
	int err;

	if (!s) {
		snprintf(errmsg, errsize, "out of memory");
		return -ENOMEM;
	}
	before = libbpf_set_print(say_nothing);
	err = survey(r, s, errmsg, errsize);
	libbpf_set_print(before);
	if (!err)
		*ret = *s;
	free(s);
	return err;
}
