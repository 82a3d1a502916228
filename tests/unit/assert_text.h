/* SPDX-License-Identifier: MIT */
/* The text report, and what a text has to say and what not. */
#ifndef RINGSIDE_TEST_ASSERT_TEXT_H
#define RINGSIDE_TEST_ASSERT_TEXT_H

#include <string.h>

#include "fabricate.h"
#include "out.h"

static inline char *render_as(const struct fab *f, const char *target, const char *ended,
	const struct text_options *o)
{
	struct report r = { .snap = f->s, .diag = &f->d, .target = target, .ended = ended };
	char *s = NULL;
	size_t len;
	FILE *m = open_memstream(&s, &len);

	assert_non_null(m);
	assert_int_equal(report__text(&r, o, m), 0);
	assert_int_equal(fclose(m), 0);
	return s;
}

static inline void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

#endif
