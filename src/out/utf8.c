/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static size_t sequence_len(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

size_t utf8__next(const char *s, uint32_t *ret)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)s;
	size_t len = sequence_len(*p), i;
	uint32_t cp;

	if (!*p)
		return 0;
	*ret = UTF8_REPLACEMENT;
	if (len == 0)
		return 1;
	if (len == 1) {
		*ret = *p;
		return 1;
	}
	cp = *p & (0x7fu >> len);
	for (i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		cp = cp << 6 | (p[i] & 0x3fu);
	}
	if (cp < smallest[len] || cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff))
		return 1;
	*ret = cp;
	return len;
}

/* Columns of a character that every terminal draws alike, 0 for all others. */
static size_t char_width(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
		size_t width;
	} ranges[] = {
		{ 0x20, 0x7e, 1 },
		{ 0xa1, 0xac, 1 },
		{ 0xae, 0x2ff, 1 },
		{ 0x391, 0x3a1, 1 },
		{ 0x3a3, 0x3ce, 1 },
		{ 0x400, 0x482, 1 },
		{ 0x48a, 0x52f, 1 },
		{ 0x2010, 0x2027, 1 },
		{ 0x2030, 0x205e, 1 },
		{ 0x2190, 0x2193, 1 },
		{ 0x2260, 0x2265, 1 },
		{ 0x2500, 0x259f, 1 },
		{ 0x3041, 0x3096, 2 },
		{ 0x30a1, 0x30fa, 2 },
		{ 0x4e00, 0x9fa5, 2 },
		{ 0xac00, 0xd7a3, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return ranges[i].width;
	}
	return 0;
}

size_t utf8__width(const char *s)
{
	size_t len, width = 0;
	uint32_t cp;

	for (; (len = utf8__next(s, &cp)) != 0; s += len)
		width += char_width(cp);
	return width;
}

size_t utf8__fit(const char *s, size_t columns)
{
	size_t len, used = 0, width = 0;
	uint32_t cp;

	while ((len = utf8__next(s + used, &cp)) != 0) {
		width += char_width(cp);
		if (width > columns)
			break;
		used += len;
	}
	return used;
}

char *utf8__printable(const char *s, bool unicode)
{
	char *copy = malloc(strlen(s) + 1), *p = copy;
	uint32_t cp;
	size_t len;

	if (!copy)
		return NULL;
	for (; (len = utf8__next(s, &cp)) != 0; s += len) {
		if (char_width(cp) == 0 || (!unicode && cp >= 0x80)) {
			*p++ = '?';
			continue;
		}
		memcpy(p, s, len);
		p += len;
	}
	*p = '\0';
	return copy;
}

char *utf8__valid(const char *s)
{
	static const char replacement[] = "\xef\xbf\xbd";
	size_t max = (sizeof(replacement) - 1) * strlen(s) + 1, len;
	char *copy = malloc(max), *p = copy;
	uint32_t cp;

	if (!copy)
		return NULL;
	for (; (len = utf8__next(s, &cp)) != 0; s += len) {
		if (cp == UTF8_REPLACEMENT) {
			memcpy(p, replacement, sizeof(replacement) - 1);
			p += sizeof(replacement) - 1;
		} else {
			memcpy(p, s, len);
			p += len;
		}
	}
	*p = '\0';
	return copy;
}
