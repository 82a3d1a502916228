/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <inttypes.h>
#include <string.h>

#include "names.h"
#include "rules.h"

#define MAX_FINDINGS 12
#define INDENT 5

static bool has_suffix(const char *s, const char *suffix, size_t *ret_len)
{
	size_t len = strlen(s), n = strlen(suffix);

	if (len <= n || strcmp(s + len - n, suffix))
		return false;
	*ret_len = len - n;
	return true;
}

/* The unit in a key's name says how to scale its value. */
static void evidence_number(struct list *l, const char *key, double n)
{
	char buf[FMT_LEN];
	size_t len;

	if (has_suffix(key, "_ns", &len) && n >= 0 && n < 1e19)
		list__add(l, "  ", "%.*s=%s", (int)len, key, fmt_ns(buf, (uint64_t)n));
	else if (has_suffix(key, "_bytes", &len))
		list__add(l, "  ", "%.*s=%s", (int)len, key, fmt_bytes(buf, n));
	else if (has_suffix(key, "_per_s", &len))
		list__add(l, "  ", "%s=%s", key, fmt_count(buf, n));
	else if (has_suffix(key, "_pct", &len))
		list__add(l, "  ", "%.*s=%.3g%%", (int)len, key, n);
	else
		list__add(l, "  ", "%s=%.4g", key, n);
}

static void evidence_item(struct list *l, const char *key, json_t *v)
{
	size_t len;

	switch (json_typeof(v)) {
	case JSON_STRING:
		list__add(l, "  ", "%s=%s", key, json_string_value(v));
		break;
	case JSON_INTEGER:
		if (!json_integer_value(v))
			break; /* condensed: what did not happen is in the JSON report */
		if (has_suffix(key, "_ns", &len) || has_suffix(key, "_bytes", &len) ||
			has_suffix(key, "_pct", &len))
			evidence_number(l, key, (double)json_integer_value(v));
		else
			list__add(l, "  ", "%s=%" JSON_INTEGER_FORMAT, key, json_integer_value(v));
		break;
	case JSON_REAL:
		evidence_number(l, key, json_real_value(v));
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		list__add(l, "  ", "%s=%s", key, json_is_true(v) ? "yes" : "no");
		break;
	case JSON_NULL:
		list__add(l, "  ", "%s=n/a", key);
		break;
	case JSON_ARRAY:
	case JSON_OBJECT:
		/* detail for machines */
		break;
	}
}

static bool title_says(const struct finding *f, const char *what)
{
	return f->title && strstr(f->title, what);
}

static void evidence(struct text *t, const struct finding *f)
{
	char name[NAME_LEN], ring[24];
	const char *key, *op = f->op >= 0 ? op_name((unsigned int)f->op, name) : "";
	struct list l = { 0 };
	json_t *value;

	snprintf(ring, sizeof(ring), "ring %" PRIu32, f->ring);
	if (*op && !title_says(f, op))
		list__add(&l, "  ", "op=%s", op);
	if (f->ring && !title_says(f, ring))
		list__add(&l, "  ", "ring=%" PRIu32, f->ring);
	json_object_foreach(f->evidence, key, value)
		evidence_item(&l, key, value);
	if (l.s) {
		text__pad(t, 0, INDENT);
		text__wrap(t, ATTR_DIM, INDENT, INDENT, l.s);
	}
	list__end(&l, t);
}

/* Findings of one rule often come with the same advice. */
static bool advised_before(const struct diagnosis *d, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (d->findings[k].advice && !strcmp(d->findings[k].advice, d->findings[i].advice))
			return true;
	return false;
}

static void finding(struct text *t, size_t i)
{
	static const struct {
		const char *tag;
		enum attr attr;
	} severities[] = {
		[SEVERITY_INFO] = { "INFO ", ATTR_CYAN },
		[SEVERITY_WARN] = { "WARN ", ATTR_YELLOW },
		[SEVERITY_CRIT] = { "CRIT ", ATTR_RED },
	};
	const struct finding *f = &t->r->diag->findings[i];

	text__pad(t, 1, 0);
	text__put(t, severities[f->severity].attr, severities[f->severity].tag);
	text__wrapf(t, ATTR_BOLD, INDENT, INDENT, "%s  %s", f->rule, f->title ? f->title : "");
	evidence(t, f);
	if (f->advice && !advised_before(t->r->diag, i)) {
		text__pad(t, 0, INDENT);
		text__wrap(t, ATTR_PLAIN, INDENT, INDENT, f->advice);
	}
}

/* The rules that could not judge, or that could not judge everything, and why. Returns how many. */
static size_t not_checked(const struct diagnosis *d, bool in_part, struct list *l)
{
	size_t i, n = 0;

	for (i = 0; i < d->n_not_checked; i++) {
		const struct not_checked *c = &d->not_checked[i];

		if (c->in_part != in_part)
			continue;
		list__add(l, "; ", "%s%s%s%s", c->rule, c->why ? " (" : "", c->why ? c->why : "",
			c->why ? ")" : "");
		n++;
	}
	return n;
}

static void checked(struct text *t, const struct diagnosis *d)
{
	struct list none = { 0 }, part = { 0 };
	size_t left_out = not_checked(d, false, &none);
	size_t n = doctor_n_rules > left_out ? doctor_n_rules - left_out : 0;

	not_checked(d, true, &part);
	if (!d->n_findings && !text__saw_requests(t))
		text__wrap(t, ATTR_BOLD, 0, 2, "No findings, but no requests to judge either.");
	else
		text__wrapf(t, ATTR_BOLD, 0, 2, "%s%zu %s checked.", d->n_findings ? "" : "No findings. ", n,
			text__plural(n, "rule", "rules"));
	if (none.s)
		text__wrapf(t, ATTR_YELLOW, 0, 2, "Not checked: %s.", none.s);
	if (part.s)
		text__wrapf(t, ATTR_YELLOW, 0, 2, "Checked in part: %s.", part.s);
	list__end(&none, t);
	list__end(&part, t);
}

void text__findings(struct text *t)
{
	const struct diagnosis *d = t->r->diag;
	size_t i, n;

	/* "No findings" about a program that used no io_uring would read as a clean bill of health. */
	if (!d || (!text__saw_anything(t) && !d->n_findings))
		return;
	n = d->n_findings < MAX_FINDINGS ? d->n_findings : MAX_FINDINGS;
	for (i = 0; i < n; i++)
		finding(t, i);
	text__pad(t, 1, 0);
	if (n < d->n_findings)
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s and %zu more findings (--json has all of them)",
			text__ellipsis(t->o), d->n_findings - n);
	checked(t, d);
}
