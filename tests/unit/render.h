/* SPDX-License-Identifier: MIT */
/* Reports rendered to strings, and what can be asked of them. */
#ifndef RINGSIDE_TEST_RENDER_H
#define RINGSIDE_TEST_RENDER_H

#include "assert_text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const struct text_options plain = { .width = 80 };

static inline char *render(const struct fab *f)
{
	return render_as(f, "the whole machine", NULL, &plain);
}

static inline void assert_begins(const char *text, const char *part)
{
	if (strncmp(text, part, strlen(part)))
		fail_msg("not \"%s\" at the beginning of:\n%s", part, text);
}

static inline size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		n++;
	return n;
}

/* The line that begins with `part`; the caller frees it. */
static inline char *line_of(const char *text, const char *part)
{
	const char *p = text;

	while (p && strncmp(p, part, strlen(part))) {
		p = strchr(p, '\n');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		fail_msg("no line beginning with \"%s\" in:\n%s", part, text);
	return strndup(p, strcspn(p, "\n"));
}

static inline char *render_interval(const struct fab *f, const struct text_options *o, bool header)
{
	struct report r = { .snap = f->s, .diag = &f->d, .target = "x" };
	char *s = NULL;
	size_t len;
	FILE *m = open_memstream(&s, &len);

	assert_non_null(m);
	assert_int_equal(report__interval_text(&r, o, header, m), 0);
	assert_int_equal(fclose(m), 0);
	return s;
}

#endif
