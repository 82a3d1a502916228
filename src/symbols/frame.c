// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

void frames__free(struct frame *frames, size_t n)
{
	for (size_t i = 0; frames && i < n; i++) {
		free(frames[i].module);
		free(frames[i].function);
		free(frames[i].inlined);
		free(frames[i].file);
		frames[i] = (struct frame){ 0 };
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Of a C++ name as much as leaves room for the rest. */
#define NAME_SHOWN 180

char *frame__text(char buf[FRAME_TEXT_LEN], const struct frame *f)
{
	char where[FRAME_TEXT_LEN / 4] = "";

	if (f->function && f->file)
		snprintf(where, sizeof(where), " (%s:%d)", base_name(f->file), f->line);
	else if (f->function && f->module)
		snprintf(where, sizeof(where), " [%s]", base_name(f->module));
	if (f->function)
		snprintf(buf, FRAME_TEXT_LEN, "%.*s%s%.*s+0x%" PRIx64 "%s", NAME_SHOWN,
			f->inlined ? f->inlined : "", f->inlined ? " in " : "", NAME_SHOWN, f->function,
			f->function_offset, where);
	else if (f->kind == FRAME_ELF || f->kind == FRAME_FILE)
		snprintf(buf, FRAME_TEXT_LEN, "%s+0x%" PRIx64, base_name(f->module), f->offset);
	else
		snprintf(buf, FRAME_TEXT_LEN, "%s%s0x%" PRIx64, f->module ? f->module : "",
			f->module ? " " : "", f->addr);
	return buf;
}
