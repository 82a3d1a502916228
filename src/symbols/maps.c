// SPDX-License-Identifier: MIT
#include "maps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define DELETED " (deleted)"

/* A newline in a path is printed as \012; nothing else is changed. */
static void restore_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static int read_path(const char *text, struct mapping *m)
{
	size_t len;

	if (!*text)
		return 0;
	m->path = strdup(text);
	if (!m->path)
		return -ENOMEM;
	restore_newlines(m->path);
	len = strlen(m->path);
	if (m->inode && len > strlen(DELETED) && !strcmp(m->path + len - strlen(DELETED), DELETED)) {
		m->path[len - strlen(DELETED)] = '\0';
		m->deleted = true;
	}
	return 0;
}

/* 1: it is executable; 0: it is not, or no mapping at all; negative errno. */
static int parse_line(char *line, struct mapping *ret)
{
	struct mapping m = { 0 };
	unsigned int major_number, minor_number;
	char permissions[5];
	int at = -1, err;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m.start, &m.end,
		    permissions, &m.file_offset, &major_number, &minor_number, &m.inode, &at) < 7)
		return 0;
	if (at < 0 || m.start >= m.end || !strchr(permissions, 'x'))
		return 0;
	m.dev = makedev(major_number, minor_number);
	err = read_path(line + at, &m);
	if (err)
		return err;
	*ret = m;
	return 1;
}

static int append(struct maps *maps, size_t *capacity, const struct mapping *m)
{
	size_t want = *capacity ? 2 * *capacity : 64;
	struct mapping *grown;

	if (maps->n == MAPS_MAX)
		return -E2BIG;
	if (maps->n == *capacity) {
		grown = reallocarray(maps->list, want, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		maps->list = grown;
		*capacity = want;
	}
	maps->list[maps->n++] = *m;
	return 0;
}

int maps__parse(FILE *f, struct maps *ret)
{
	struct maps maps = { 0 };
	struct mapping m;
	size_t capacity = 0, line_capacity = 0;
	char *line = NULL;
	int err = 0, is;

	while (!err && getline(&line, &line_capacity, f) > 0) {
		is = parse_line(line, &m);
		if (is > 0) {
			err = append(&maps, &capacity, &m);
			if (err)
				free(m.path);
		} else {
			err = is;
		}
	}
	free(line);
	if (!err && ferror(f))
		err = -EIO;
	if (err)
		maps__free(&maps);
	else
		*ret = maps;
	return err;
}

void maps__free(struct maps *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].path);
	free(m->list);
	*m = (struct maps){ 0 };
}

const struct mapping *maps__find(const struct maps *m, uint64_t addr)
{
	size_t low = 0, high = m->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->list[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->n && m->list[low].start <= addr ? &m->list[low] : NULL;
}
