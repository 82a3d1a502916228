// SPDX-License-Identifier: MIT
#include "rules_out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"
#include "text.h"

#define COLUMN 16
#define INDENT 4

int rules__text(const struct text_options *o, FILE *f)
{
	struct text t = { .f = f, .o = o };
	char id[COLUMN + 1];

	for (size_t i = 0; i < doctor_n_rules; i++) {
		snprintf(id, sizeof(id), "%-*s", COLUMN, doctor_rules[i]->id);
		text__put(&t, ATTR_BOLD, id);
		text__wrap(&t, ATTR_PLAIN, COLUMN, COLUMN, doctor_rules[i]->what);
	}
	text__title(&t, "`ringside explain RULE` tells all about one of them.");
	return text__end(&t);
}

/* One line of Markdown; of a heading the words, bold. */
static void put_line(struct text *t, const char *line, size_t len)
{
	size_t marks = strspn(line, "#");
	char *copy;

	if (marks)
		marks += strspn(line + marks, " ");
	copy = strndup(line + marks, len - marks);
	if (!copy) {
		text__fail(t, -ENOMEM);
		return;
	}
	text__put(t, marks ? ATTR_BOLD : ATTR_PLAIN, copy);
	text__pad(t, 1, 0);
	free(copy);
}

static void put_page(struct text *t, const char *page)
{
	while (*page) {
		size_t len = strcspn(page, "\n");

		put_line(t, page, len);
		len += page[len] == '\n';
		/* no empty line behind a heading, as elsewhere */
		len += *page == '#' && page[len] == '\n';
		page += len;
	}
}

/* "name  text", the text wrapped beside the name. */
static void put_item(struct text *t, const char *name, const char *text)
{
	int used = INDENT + (int)strlen(name);

	text__pad(t, 0, INDENT);
	text__put(t, ATTR_PLAIN, name);
	if (used < 2 * COLUMN - 1)
		text__pad(t, 0, 2 * COLUMN - used);
	else
		text__pad(t, 1, 2 * COLUMN);
	text__wrap(t, ATTR_PLAIN, 2 * COLUMN, 2 * COLUMN, text);
}

static void put_thresholds(struct text *t, const struct rule *r)
{
	size_t n = rule__n_thresholds(r);
	char text[512];

	if (n)
		text__title(t, "Thresholds");
	for (size_t i = 0; i < n; i++) {
		const struct threshold *h = &r->thresholds[i];

		snprintf(text, sizeof(text), "%.15g %s: %s", h->value, h->unit, h->why);
		put_item(t, h->name, text);
	}
}

static void put_needs(struct text *t, const struct rule *r)
{
	struct list l = { 0 };

	for (unsigned int i = 0; i < RS_F_COUNT; i++)
		if (r->needs & (1u << i))
			list__add(&l, ", ", "%s", rule__feature_name(i));
	if (l.s) {
		text__title(t, "Needs");
		text__wrapf(t, ATTR_PLAIN, 0, 0, "%s (see ringside probe)", l.s);
	}
	list__end(&l, t);
}

int rule__text(const struct rule *r, const struct text_options *o, FILE *f)
{
	struct text t = { .f = f, .o = o };
	size_t n = rule__n_evidence(r);

	text__wrapf(&t, ATTR_BOLD, 0, 0, "%s: %s", r->id, r->what);
	text__pad(&t, 1, 0);
	put_page(&t, rule__page(r));
	text__title(&t, "Severity");
	text__wrap(&t, ATTR_PLAIN, 0, 0, r->severity);
	put_thresholds(&t, r);
	if (n)
		text__title(&t, "Evidence");
	for (size_t i = 0; i < n; i++)
		put_item(&t, r->evidence[i].key, r->evidence[i].what);
	put_needs(&t, r);
	return text__end(&t);
}
