// SPDX-License-Identifier: MIT
#include "suggest.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

void suggest__begin(struct suggest *s, const char *pattern)
{
	size_t n = 0;

	*s = (struct suggest){ 0 };
	for (; *pattern && n + 1 < sizeof(s->wanted); pattern++) {
		if (*pattern == '[') {
			pattern += strcspn(pattern, "]");
			if (!*pattern)
				break;
		} else if (!strchr("*?\\", *pattern)) {
			s->wanted[n++] = *pattern;
		}
	}
	s->wanted[n] = '\0';
}

/* Edits that make one string of the other; both shorter than SUGGEST_NAME_LEN. */
static size_t edits(const char *a, const char *b)
{
	size_t row[SUGGEST_NAME_LEN], len = strlen(b), corner, up, best;

	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		corner = row[0];
		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			up = row[j + 1];
			best = corner + (a[i] != b[j]);
			if (up + 1 < best)
				best = up + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
			corner = up;
		}
	}
	return row[len];
}

/* A name that contains what is wanted counts as near, most if it begins with that. Over SUGGEST_NAME_LEN: too far. */
static size_t distance(const char *wanted, const char *name)
{
	size_t want = strlen(wanted), len = strlen(name), most = want / 3 + 1, d;

	if (want < 2 || len >= SUGGEST_NAME_LEN)
		return SUGGEST_NAME_LEN + 1;
	if (strcasestr(name, wanted))
		return (len - want) / 4 + (strncasecmp(name, wanted, want) ? 2 : 0);
	if (len > want + most || want > len + most)
		return SUGGEST_NAME_LEN + 1;
	d = edits(wanted, name);
	return d <= most ? d : SUGGEST_NAME_LEN + 1;
}

void suggest__offer(struct suggest *s, const char *name)
{
	size_t d = distance(s->wanted, name), at = s->n;

	if (d > SUGGEST_NAME_LEN)
		return;
	for (size_t i = 0; i < s->n; i++) {
		if (!strcmp(s->best[i].name, name))
			return;
	}
	while (at > 0 && (d < s->best[at - 1].distance ||
				 (d == s->best[at - 1].distance && strcmp(name, s->best[at - 1].name) < 0)))
		at--;
	if (at == SUGGEST_MAX)
		return;
	if (s->n < SUGGEST_MAX)
		s->n++;
	memmove(&s->best[at + 1], &s->best[at], (s->n - 1 - at) * sizeof(s->best[0]));
	snprintf(s->best[at].name, sizeof(s->best[at].name), "%s", name);
	s->best[at].distance = d;
}
