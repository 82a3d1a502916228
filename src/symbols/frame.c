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

char *frame__text(char buf[FRAME_TEXT_LEN], const struct frame *f)
{
	FILE *out = fmemopen(buf, FRAME_TEXT_LEN, "w");

	if (!out) {
		snprintf(buf, FRAME_TEXT_LEN, "0x%" PRIx64, f->addr);
		return buf;
	}
	if (f->function) {
		if (f->inlined)
			fprintf(out, "%s in ", f->inlined);
		fprintf(out, "%s+0x%" PRIx64, f->function, f->function_offset);
		if (f->file)
			fprintf(out, " (%s:%d)", base_name(f->file), f->line);
		else if (f->module)
			fprintf(out, " [%s]", base_name(f->module));
	} else if (f->kind == FRAME_ELF || f->kind == FRAME_FILE) {
		fprintf(out, "%s+0x%" PRIx64, base_name(f->module), f->offset);
	} else {
		fprintf(out, "%s%s0x%" PRIx64, f->module ? f->module : "", f->module ? " " : "", f->addr);
	}
	fclose(out);
	buf[FRAME_TEXT_LEN - 1] = '\0';
	return buf;
}
