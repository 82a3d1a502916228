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

int tracepoint__signature(const struct btf *btf, const char *name, char *buf, size_t size)
{
	const struct btf_type *t;
	const struct btf_param *p;
	char type_name[128], arg[128];
	size_t used = 0;
	__s32 id;
	int i, n;

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
	p = btf_params(t);
	buf[0] = '\0';
	for (i = 1; i < btf_vlen(t); i++) {
		describe_arg(btf, p[i].type, arg, sizeof(arg));
		n = snprintf(buf + used, size - used, "%s%s", i > 1 ? "," : "", arg);
		if (n < 0 || (size_t)n >= size - used)
			return -E2BIG;
		used += (size_t)n;
	}
	return 0;
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

struct chooser {
	const struct btf *btf;
	ksym_lookup_fn ksym;
	void *arg;
};

#define SAY(st, ...) snprintf((st)->why, sizeof((st)->why), __VA_ARGS__)

static bool symbol_usable(const struct chooser *c, const char *name, struct feature_state *st)
{
	switch (c->ksym(name, c->arg)) {
	case KSYM_PRESENT:
		return true;
	case KSYM_HIDDEN:
		SAY(st, "the address of %s is hidden in /proc/kallsyms (CAP_SYSLOG or kernel.kptr_restrict)", name);
		return false;
	default:
		SAY(st, "this kernel has no symbol %s", name);
		return false;
	}
}

/* Whether variant v fits; if not, st->why says what is different. */
static bool variant_fits(const struct chooser *c, const struct variant *v, struct feature_state *st)
{
	char sig[512] = "", missing[128];
	int err;

	if (v->args) {
		err = tracepoint__signature(c->btf, v->hook, sig, sizeof(sig));
		if (err == -ENOENT) {
			/* an earlier variant's mismatch says more */
			if (!st->why[0])
				SAY(st, "this kernel has no tracepoint %s", v->hook);
			return false;
		}
		if (err || !signature__fits(sig, v->args)) {
			SAY(st, "unknown form of tracepoint %s(%.96s)", v->hook, sig);
			return false;
		}
	}
	if (!has_fields(c->btf, v->fields, missing, sizeof(missing))) {
		SAY(st, "this kernel has no field %.96s", missing);
		return false;
	}
	if (v->ksym && !symbol_usable(c, v->ksym, st))
		return false;
	if (v->args)
		snprintf(st->how, sizeof(st->how), "tp_btf/%s(%s)", v->hook, sig);
	else
		snprintf(st->how, sizeof(st->how), "%s", v->hook);
	return true;
}

void plan__select(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const char *const *refused,
	struct plan *ret)
{
	struct chooser c = {.btf = btf, .ksym = ksym, .arg = arg};
	const struct variant *v;
	struct feature_state *st;
	size_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n_variants; i++) {
		v = &variants[i];
		st = &ret->state[v->feature];
		if (ret->chosen[v->feature] || !variant_fits(&c, v, st))
			continue;
		if (refused && refused[i]) {
			SAY(st, "%s", refused[i]);
			continue;
		}
		ret->chosen[v->feature] = v;
		st->level = v->level;
		SAY(st, "%s", v->why ? v->why : "");
	}
	for (i = 0; i < RS_F_COUNT; i++)
		if (!ret->chosen[i])
			ret->state[i].how[0] = '\0';
}
