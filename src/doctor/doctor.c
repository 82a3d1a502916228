// SPDX-License-Identifier: MIT
/* The engine: runs the table over a snapshot and puts the findings in order. Knows no rule by name. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "rules.h"

_Static_assert(RS_F_COUNT <= 32, "rule.needs has a bit for each feature");

static const char *const severities[] = {
	[SEVERITY_INFO] = "info",
	[SEVERITY_WARN] = "warn",
	[SEVERITY_CRIT] = "crit",
};

const char *severity_name(enum severity s)
{
	return severities[s];
}

int severity__parse(const char *name, enum severity *ret)
{
	for (size_t i = 0; name && i < sizeof(severities) / sizeof(severities[0]); i++) {
		if (strcmp(name, severities[i]) == 0) {
			*ret = (enum severity)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void finding__free(struct finding *f)
{
	free(f->title);
	free((char *)f->file);
	json_decref(f->evidence);
	json_decref(f->stack);
}

void diagnosis__free(struct diagnosis *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_findings; i++)
		finding__free(&d->findings[i]);
	for (size_t i = 0; i < d->n_not_checked; i++)
		free(d->not_checked[i].why);
	free(d->findings);
	free(d->not_checked);
	memset(d, 0, sizeof(*d));
}

int diagnosis__add(struct diagnosis *d, const struct finding *proto, json_t *evidence, const char *title_fmt,
	...)
{
	struct finding f = *proto, *list;
	va_list ap;
	int len;

	f.evidence = evidence;
	f.file = proto->file ? strdup(proto->file) : NULL;
	va_start(ap, title_fmt);
	len = vasprintf(&f.title, title_fmt, ap);
	va_end(ap);
	if (len < 0)
		f.title = NULL;
	if (!f.evidence || !f.title || (proto->file && !f.file))
		goto no_memory;
	list = reallocarray(d->findings, d->n_findings + 1, sizeof(*list));
	if (!list)
		goto no_memory;
	d->findings = list;
	d->findings[d->n_findings++] = f;
	return 0;
no_memory:
	finding__free(&f);
	return -ENOMEM;
}

int diagnosis__not_checked(struct diagnosis *d, const char *rule, bool in_part, const char *why_fmt, ...)
{
	struct not_checked *list, n = { .rule = rule, .in_part = in_part };
	va_list ap;
	int len;

	va_start(ap, why_fmt);
	len = vasprintf(&n.why, why_fmt, ap);
	va_end(ap);
	if (len < 0)
		return -ENOMEM;
	list = reallocarray(d->not_checked, d->n_not_checked + 1, sizeof(*list));
	if (!list) {
		free(n.why);
		return -ENOMEM;
	}
	d->not_checked = list;
	d->not_checked[d->n_not_checked++] = n;
	return 0;
}

/* The rule as the settings make it. */
static struct rule set_up(const struct rule *r, const struct threshold_settings *settings)
{
	struct rule own = *r;

	for (size_t i = 0; settings && i < settings->n; i++)
		if (settings->list[i].rule == r)
			own.thresholds[settings->list[i].at].value = settings->list[i].value;
	return own;
}

static int check(const struct rule *r, const struct snapshot *s, struct diagnosis *d)
{
	size_t n = d->n_findings;
	int err;

	for (unsigned int f = 0; f < RS_F_COUNT; f++)
		if ((r->needs & (1u << f)) && !snapshot__knows(s, (enum rs_feature)f))
			return diagnosis__not_checked(d, r->id, false, "cannot observe %s: %s",
				rule__feature_name(f), s->features[f].why[0] ? s->features[f].why : "off");
	err = r->eval(r, s, d);
	for (; n < d->n_findings; n++)
		d->findings[n].never_gates = r->never_gates;
	return err;
}

/*
 * What a finding costs. Of requests that took longer by an unknown time each is taken to have lost a
 * microsecond: about what a system call or a task switch takes.
 */
static double cost_ns(const struct finding *f)
{
	return f->time_ns ? (double)f->time_ns : (double)f->weight * 1000;
}

/* Worst first, what is about ringside itself last; the tail of the comparison makes the order the same each time. */
static int worst_first(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	int cmp;

	if (x->never_gates != y->never_gates)
		return x->never_gates ? 1 : -1;
	if (x->severity != y->severity)
		return x->severity > y->severity ? -1 : 1;
	if (cost_ns(x) != cost_ns(y))
		return cost_ns(x) > cost_ns(y) ? -1 : 1;
	cmp = strcmp(x->rule, y->rule);
	if (cmp)
		return cmp;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->ring < y->ring ? -1 : x->ring > y->ring;
}

void diagnosis__sort(struct diagnosis *d)
{
	if (d->n_findings)
		qsort(d->findings, d->n_findings, sizeof(*d->findings), worst_first);
}

int doctor__run(const struct snapshot *s, const struct threshold_settings *settings, struct diagnosis *ret)
{
	struct diagnosis d = { 0 };
	int err = 0;

	for (size_t i = 0; i < doctor_n_rules && !err; i++) {
		struct rule r = set_up(doctor_rules[i], settings);

		err = check(&r, s, &d);
	}
	if (err)
		diagnosis__free(&d);
	diagnosis__sort(&d);
	*ret = d;
	return err;
}
