// SPDX-License-Identifier: MIT
#include "spans.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "log.h"
#include "program.h"

struct file_id {
	dev_t device;
	ino_t inode;
};

static struct file_id id_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? (struct file_id){ 0 } : (struct file_id){ st.st_dev, st.st_ino };
}

/* Whether it has been named before: by another pattern, or in another process. */
static bool has_place(const struct spans *s, const char *path, uint64_t file_offset)
{
	struct file_id id = id_of(path), other;
	size_t i;

	for (i = 0; i < s->n; i++) {
		other = id_of(s->places[i].path);
		if (s->places[i].file_offset == file_offset && other.device == id.device &&
			other.inode == id.inode)
			return true;
	}
	return false;
}

static int add_places(struct spans *s, const struct functions *f)
{
	struct span_place *more = reallocarray(s->places, s->n + f->n, sizeof(*more));
	size_t i;

	if (!more)
		return -ENOMEM;
	s->places = more;
	for (i = 0; i < f->n; i++) {
		if (has_place(s, f->path, f->list[i].file_offset))
			continue;
		if (s->n == RS_SPANS_MAX)
			return -E2BIG;
		more[s->n++] = (struct span_place){
			.path = f->path,
			.file_offset = f->list[i].file_offset,
			.binary = f->binary,
			.function = f->list[i].name,
		};
	}
	return 0;
}

/* Takes what *f has. The places point to it, so each stands in memory of its own. */
static int keep(struct spans *s, struct functions *f)
{
	struct functions **more = reallocarray(s->found, s->n_found + 1, sizeof(*more)), *own;

	if (!more)
		return -ENOMEM;
	s->found = more;
	own = malloc(sizeof(*own));
	if (!own)
		return -ENOMEM;
	*own = *f;
	more[s->n_found++] = own;
	return add_places(s, own);
}

/* In one process, or (pid 0) in files. 0 or negative errno; then why says it. */
static int add_from(struct spans *s, const char *pattern, pid_t pid, char why[FUNCTIONS_WHY_LEN])
{
	size_t before = s->n_found;
	struct functions f;
	int err = functions__find(pattern, pid, RS_SPANS_MAX, &f, why);

	if (err)
		return err;
	if (f.some_indirect)
		log_note("--span '%s': leaves out functions that only choose another one (IFUNC)", pattern);
	err = keep(s, &f);
	if (s->n_found == before)
		functions__free(&f);
	if (err == -E2BIG)
		snprintf(why, FUNCTIONS_WHY_LEN, "more than %u functions in all", RS_SPANS_MAX);
	else if (err)
		snprintf(why, FUNCTIONS_WHY_LEN, "%s", strerror(-err));
	return err;
}

/* "db:FUNCTION" of the program that is to be run as "./db": its path instead of its name. 0, 1: it is not that; -ENOMEM. */
static int name_program(const char *pattern, char *const *program, char **ret)
{
	const char *colon = strrchr(pattern, ':'), *slash = program ? strrchr(program[0], '/') : NULL;
	char path[PROGRAM_PATH_LEN];

	if (!slash || !colon || strlen(slash + 1) != (size_t)(colon - pattern) ||
		strncmp(slash + 1, pattern, (size_t)(colon - pattern)) != 0 ||
		program__find(program[0], path))
		return 1;
	return asprintf(ret, "%s%s", path, colon) < 0 ? -ENOMEM : 0;
}

int spans__add(struct spans *s, const char *pattern, const struct pid_set *pids, char *const *program)
{
	char why[FUNCTIONS_WHY_LEN] = "", *named = NULL;
	int err = name_program(pattern, program, &named), first = 0;
	bool found = false;
	size_t i;

	if (err < 0)
		snprintf(why, sizeof(why), "%s", strerror(-err));
	else if (!pids->n)
		err = add_from(s, named ? named : pattern, 0, why);
	for (i = 0; err >= 0 && i < pids->n; i++) {
		err = add_from(s, pattern, pids->pids[i], why);
		found |= !err;
		first = first ? first : err;
		err = err == -ENOMEM || err == -E2BIG ? err : 0;
	}
	free(named);
	/* one of the processes is enough: others may be other programs */
	if (!err && pids->n && !found)
		err = first;
	if (err)
		log_error("--span '%s': %s", pattern, why);
	return err;
}

void spans__free(struct spans *s)
{
	size_t i;

	for (i = 0; i < s->n_found; i++) {
		functions__free(s->found[i]);
		free(s->found[i]);
	}
	free(s->found);
	free(s->places);
	*s = (struct spans){ 0 };
}
