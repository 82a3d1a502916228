// SPDX-License-Identifier: MIT
#include "thresholds.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"
#include "rules.h"
#include "suggest.h"

#define WORD_LEN 48

const struct rule *rule__by_word(const char *word, char *errmsg, size_t errsize)
{
	const struct rule *r = rule__find(word);
	char upper[WORD_LEN];
	struct suggest s;
	size_t n;

	if (r)
		return r;
	for (n = 0; word[n] && n + 1 < sizeof(upper); n++)
		upper[n] = (char)toupper((unsigned char)word[n]);
	upper[n] = '\0';
	suggest__begin(&s, upper);
	for (size_t i = 0; i < doctor_n_rules; i++)
		suggest__offer(&s, doctor_rules[i]->id);
	snprintf(errmsg, errsize, "unknown rule '%.40s'%s%s%s", word, s.n ? "; did you mean " : "",
		s.n ? s.best[0].name : "", s.n ? "?" : "; `ringside explain` lists them");
	return NULL;
}

static int find_threshold(const struct rule *r, const char *name, size_t len, char *errmsg, size_t errsize)
{
	size_t n = rule__n_thresholds(r);
	char word[WORD_LEN];
	struct suggest s;

	for (size_t i = 0; i < n; i++)
		if (strlen(r->thresholds[i].name) == len && !strncmp(r->thresholds[i].name, name, len))
			return (int)i;
	snprintf(word, sizeof(word), "%.*s", (int)(len < 40 ? len : 40), name);
	suggest__begin(&s, word);
	for (size_t i = 0; i < n; i++)
		suggest__offer(&s, r->thresholds[i].name);
	if (s.n)
		snprintf(errmsg, errsize, "--threshold: %s has no threshold '%s'; did you mean %s?", r->id,
			word, s.best[0].name);
	else
		snprintf(errmsg, errsize,
			"--threshold: %s has no threshold '%s'; `ringside explain %s` lists them", r->id,
			word, r->id);
	return -EINVAL;
}

static int append(struct threshold_settings *s, const struct threshold_setting *new)
{
	struct threshold_setting *list = reallocarray(s->list, s->n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	s->list = list;
	list[s->n++] = *new;
	return 0;
}

int threshold_settings__parse(struct threshold_settings *s, const char *arg, char *errmsg, size_t errsize)
{
	const char *dot = strchr(arg, '.'), *eq = dot ? strchr(dot, '=') : NULL;
	struct threshold_setting new;
	char id[WORD_LEN], why[128];
	int at, err;

	if (!eq || dot == arg || eq == dot + 1 || dot - arg >= WORD_LEN) {
		snprintf(errmsg, errsize,
			"--threshold '%.60s': must be RULE.NAME=VALUE, such as PUNT.min_pct=10", arg);
		return -EINVAL;
	}
	snprintf(id, sizeof(id), "%.*s", (int)(dot - arg), arg);
	new.rule = rule__by_word(id, why, sizeof(why));
	if (!new.rule) {
		snprintf(errmsg, errsize, "--threshold: %s", why);
		return -EINVAL;
	}
	at = find_threshold(new.rule, dot + 1, (size_t)(eq - dot - 1), errmsg, errsize);
	if (at < 0)
		return at;
	new.at = (size_t)at;
	if (parse_number(eq + 1, &new.value)) {
		snprintf(errmsg, errsize, "--threshold %s.%s: '%.40s' is not a number of 0 or more",
			new.rule->id, new.rule->thresholds[at].name, eq + 1);
		return -EINVAL;
	}
	err = append(s, &new);
	if (err)
		snprintf(errmsg, errsize, "--threshold: out of memory");
	return err;
}

void threshold_settings__free(struct threshold_settings *s)
{
	free(s->list);
	*s = (struct threshold_settings){ 0 };
}
