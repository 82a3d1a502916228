// SPDX-License-Identifier: MIT
#include "coding.h"

#include <errno.h>
#include <string.h>

int bytes__reserve(struct bytes *b, size_t more)
{
	size_t room = b->room;
	uint8_t *p;

	if (more <= room - b->n)
		return 0;
	while (room - b->n < more)
		room = room ? 2 * room : 4096;
	p = realloc(b->p, room);
	if (!p)
		return -ENOMEM;
	b->p = p;
	b->room = room;
	return 0;
}

int bytes__add(struct bytes *b, const void *data, size_t n)
{
	if (bytes__reserve(b, n))
		return -ENOMEM;
	if (n)
		memcpy(b->p + b->n, data, n);
	b->n += n;
	return 0;
}

void bytes__free(struct bytes *b)
{
	free(b->p);
	*b = (struct bytes){ 0 };
}

int varint__get(struct span *s, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; s->p < s->end && shift < 64; shift += 7) {
		uint8_t byte = *s->p++;

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return 0;
		}
	}
	return -EBADMSG;
}
