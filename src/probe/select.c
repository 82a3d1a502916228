// SPDX-License-Identifier: MIT
#include "select.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct btf_type *strip(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (t && (btf_is_typedef(t) || btf_is_mod(t) || btf_is_type_tag(t)))
		t = btf__type_by_id(btf, t->type);
	return t;
}

static void describe_pointer(const struct btf *btf, const struct btf_type *ptr, char *buf, size_t size)
{
	const struct btf_type *to = strip(btf, ptr->type);

	if (to && (btf_is_composite(to) || btf_is_fwd(to)))
		snprintf(buf, size, "%s*", btf__name_by_offset(btf, to->name_off));
	else
		snprintf(buf, size, "*");
}

static void describe_arg(const struct btf *btf, __u32 type_id, char *buf, size_t size)
{
	const struct btf_type *t = strip(btf, type_id);

	if (t && btf_is_ptr(t))
		describe_pointer(btf, t, buf, size);
	else if (t && btf_is_int(t))
		snprintf(buf, size, "%c%u", btf_int_encoding(t) & BTF_INT_SIGNED ? 's' : 'u', t->size * 8);
	else if (t && btf_is_any_enum(t))
		snprintf(buf, size, "u%u", t->size * 8);
	else
		snprintf(buf, size, "?");
}

/* The arguments of a prototype from the first-th on. 0 or -E2BIG. */
static int describe_args(const struct btf *btf, const struct btf_type *proto, int first, char *buf,
	size_t size)
{
	const struct btf_param *p = btf_params(proto);
	size_t used = 0;
	char arg[128];
	int i, n;

	buf[0] = '\0';
	for (i = first; i < btf_vlen(proto); i++) {
		describe_arg(btf, p[i].type, arg, sizeof(arg));
		n = snprintf(buf + used, size - used, "%s%s", i > first ? "," : "", arg);
		if (n < 0 || (size_t)n >= size - used)
			return -E2BIG;
		used += (size_t)n;
	}
	return 0;
}

int tracepoint__signature(const struct btf *btf, const char *name, char *buf, size_t size)
{
	const struct btf_type *t;
	char type_name[128];
	__s32 id;

	snprintf(type_name, sizeof(type_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -ENOENT;
	t = strip(btf, (__u32)id);
	if (!t || !btf_is_ptr(t))
		return -ENOENT;
	t = strip(btf, t->type);
	if (!t || !btf_is_func_proto(t))
		return -ENOENT;
	return describe_args(btf, t, 1, buf, size);
}

int function__signature(const struct btf *btf, const char *name, char *buf, size_t size)
{
	__s32 id = btf__find_by_name_kind(btf, name, BTF_KIND_FUNC);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);

	t = t ? strip(btf, t->type) : NULL;
	if (!t || !btf_is_func_proto(t))
		return -ENOENT;
	return describe_args(btf, t, 0, buf, size);
}

bool signature__fits(const char *sig, const char *pattern)
{
	size_t a, b;

	for (;;) {
		b = strcspn(pattern, ",");
		if (b == 3 && !strncmp(pattern, "...", 3))
			return true;
		a = strcspn(sig, ",");
		if (a != b || strncmp(sig, pattern, a))
			return false;
		sig += a;
		pattern += b;
		if (!*pattern)
			return !*sig;
		pattern++;
		if (*sig)
			sig++;
		else if (strcmp(pattern, "..."))
			return false;
	}
}

/* Looks through anonymous members too. */
static bool has_member(const struct btf *btf, const struct btf_type *t, const char *field, int depth)
{
	const struct btf_member *m = btf_members(t);
	const struct btf_type *mt;
	int i;

	for (i = 0; i < btf_vlen(t); i++, m++) {
		const char *name = btf__name_by_offset(btf, m->name_off);

		if (name && !strcmp(name, field))
			return true;
		if (name && *name)
			continue;
		mt = strip(btf, m->type);
		if (mt && btf_is_composite(mt) && depth < 8 && has_member(btf, mt, field, depth + 1))
			return true;
	}
	return false;
}

/* fields is "struct.field,..."; the first that is missing goes to missing. */
static bool has_fields(const struct btf *btf, const char *fields, char *missing, size_t size)
{
	char one[128], *dot;
	const struct btf_type *t;
	size_t len;
	__s32 id;

	while (fields && *fields) {
		len = strcspn(fields, ",");
		snprintf(one, sizeof(one), "%.*s", (int)len, fields);
		fields += len + (fields[len] == ',');
		snprintf(missing, size, "%s", one);
		dot = strchr(one, '.');
		if (!dot)
			return false;
		*dot = '\0';
		id = btf__find_by_name_kind(btf, one, BTF_KIND_STRUCT);
		t = id < 0 ? NULL : btf__type_by_id(btf, (__u32)id);
		if (!t || !has_member(btf, t, dot + 1, 0))
			return false;
	}
	return true;
}

bool kernel__has_fields(const struct btf *btf, const char *fields)
{
	char missing[128];

	return has_fields(btf, fields, missing, sizeof(missing));
}

struct chooser {
	const struct btf *btf;
	ksym_lookup_fn ksym;
	void *arg;
};

#define SAY(st, ...) snprintf((st)->why, sizeof((st)->why), __VA_ARGS__)

/* Why a symbol can't be used, in words; MISFIT_NONE: it can. */
static enum misfit symbol_misfit(const struct chooser *c, const char *name, struct feature_state *st)
{
	switch (c->ksym(name, c->arg)) {
	case KSYM_PRESENT:
		return MISFIT_NONE;
	case KSYM_HIDDEN:
		SAY(st, "the address of %s is hidden in /proc/kallsyms (CAP_SYSLOG or kernel.kptr_restrict)",
			name);
		return MISFIT_HIDDEN;
	case KSYM_AMBIGUOUS:
		SAY(st, "this kernel has several symbols %s", name);
		return MISFIT_SYMBOL;
	case KSYM_UNREADABLE:
		SAY(st, "the address of %s is not known: can't read /proc/kallsyms", name);
		return MISFIT_SYMBOL;
	case KSYM_ABSENT:
		break;
	}
	SAY(st, "this kernel has no symbol %s", name);
	return MISFIT_SYMBOL;
}

/* Whether a tracepoint or function is as we know it; its arguments go to sig, what is wrong to st->why. */
static enum misfit shape_misfit(const struct chooser *c, const char *hook, const char *args, char *sig,
	size_t size, struct feature_state *st)
{
	const char *function = hook__function(hook), *what = function ? "function" : "tracepoint";
	const char *name = function ? function : hook;
	int err = function ? function__signature(c->btf, name, sig, size)
			   : tracepoint__signature(c->btf, name, sig, size);

	if (err == -ENOENT) {
		SAY(st, "this kernel has no %s %s", what, name);
		return function ? MISFIT_FUNCTION : MISFIT_TRACEPOINT;
	}
	if (err || !signature__fits(sig, args)) {
		SAY(st, "unknown form of %s %s(%.96s)", what, name, sig);
		return MISFIT_FORM;
	}
	return MISFIT_NONE;
}

static enum misfit companions_misfit(const struct chooser *c, const struct variant *v,
	struct feature_state *st)
{
	enum misfit misfit = MISFIT_NONE;
	char sig[512];
	size_t i;

	for (i = 0; !misfit && i < COMPANIONS; i++)
		if (v->also[i].program)
			misfit = shape_misfit(c, v->also[i].hook, v->also[i].args, sig, sizeof(sig), st);
	return misfit;
}

/* What v is going to use. */
static void say_how(const struct variant *v, const char *sig, struct feature_state *st)
{
	const char *function = hook__function(v->hook);

	if (function)
		snprintf(st->how, sizeof(st->how), "%.*s/%s(%s)", (int)strcspn(v->hook, ":"), v->hook,
			function, sig);
	else if (v->args)
		snprintf(st->how, sizeof(st->how), "%s/%s(%s)", v->raw ? "raw_tp" : "tp_btf", v->hook, sig);
	else
		snprintf(st->how, sizeof(st->how), "%s", v->hook);
}

/* In what way variant v does not fit, in st->why in words; else st->how says what it uses. */
static enum misfit variant_misfit(const struct chooser *c, const struct variant *v, struct feature_state *st)
{
	char sig[512] = "", missing[128];
	enum misfit misfit = v->args ? shape_misfit(c, v->hook, v->args, sig, sizeof(sig), st) : MISFIT_NONE;

	misfit = misfit ? misfit : companions_misfit(c, v, st);
	if (misfit)
		return misfit;
	if (!has_fields(c->btf, v->fields, missing, sizeof(missing))) {
		SAY(st, "this kernel has no field %.96s", missing);
		return MISFIT_FIELD;
	}
	misfit = v->ksym ? symbol_misfit(c, v->ksym, st) : MISFIT_NONE;
	if (misfit)
		return misfit;
	say_how(v, sig, st);
	return MISFIT_NONE;
}

/* Tries variants[i] for its feature, which has none yet. */
static void consider(const struct chooser *c, size_t i, const char *refused, struct plan *p)
{
	const struct variant *v = &variants[i];
	struct feature_state *st = &p->state[v->feature], tried = *st;
	enum misfit *misfit = &p->misfit[v->feature], now = variant_misfit(c, v, &tried);

	if (now) {
		/* what came closest to fitting says most */
		if (now <= *misfit)
			return;
		*st = tried;
		*misfit = now;
	} else if (refused) {
		*misfit = MISFIT_REFUSED;
		SAY(st, "%s", refused);
	} else {
		p->chosen[v->feature] = v->program ? v : NULL;
		p->told_by[v->feature] = v->program ? NULL : v->hook;
		*misfit = MISFIT_NONE;
		*st = tried;
		st->level = v->level;
		SAY(st, "%s", v->why ? v->why : "");
	}
}

void plan__drop_untold(struct plan *p)
{
	size_t f, g;

	for (f = 0; f < RS_F_COUNT; f++) {
		if (!p->told_by[f])
			continue;
		for (g = 0; g < RS_F_COUNT; g++)
			if (p->chosen[g] && p->state[g].level != FEATURE_OFF &&
				!strcmp(p->chosen[g]->hook, p->told_by[f]))
				break;
		if (g < RS_F_COUNT)
			continue;
		p->told_by[f] = NULL;
		p->misfit[f] = MISFIT_REFUSED;
		p->state[f] = (struct feature_state){ .level = FEATURE_OFF,
			.why = "the program that would tell is off" };
	}
}

void plan__select(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const char *const *refused,
	struct plan *ret)
{
	struct chooser c = { .btf = btf, .ksym = ksym, .arg = arg };
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n_variants; i++)
		if (ret->state[variants[i].feature].level == FEATURE_OFF)
			consider(&c, i, refused ? refused[i] : NULL, ret);
	plan__drop_untold(ret);
}
