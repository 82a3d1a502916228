/* SPDX-License-Identifier: MIT */
/* What a text has to say and what not. */
#ifndef RINGSIDE_TEST_ASSERT_TEXT_H
#define RINGSIDE_TEST_ASSERT_TEXT_H

#include <string.h>

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
