/* SPDX-License-Identifier: MIT */
/* Where a command's output goes: -o and --json. All say themselves what went wrong with a file. */
#ifndef RINGSIDE_SINKS_H
#define RINGSIDE_SINKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "options.h"
#include "out.h"
#include "outfile.h"

/* What the user asked for; fields for an option table. */
struct sinks_options {
	const char *out;	     /* -o FILE; NULL, "-": stdout */
	struct optional_string json; /* --json[=FILE] */
};

struct sinks {
	FILE *text; /* NULL: no text */
	FILE *json; /* NULL: no JSON */
	struct outfile text_file, json_file;
	struct text_options style; /* what the text's file can show */
};

/* 0; -EINVAL: *errmsg says in one line what contradicts itself. */
int sinks_options__check(const struct sinks_options *o, char *errmsg, size_t errsize);

/* stream: files grow while ringside runs, else they appear whole at the commit. 0 or negative errno. */
int sinks__open(struct sinks *s, const struct sinks_options *o, bool stream);
int sinks__commit(struct sinks *s);
/* Removes what was not committed. */
void sinks__abort(struct sinks *s);

/*
 * Writes j (NULL: out of memory), whose reference it takes, and a newline; flags are those of json_dumpf().
 * 0 or negative errno, unsaid.
 */
int sinks__put_json(struct sinks *s, json_t *j, size_t flags);
/*
 * err: what writing the text returned. The reason of a failed write is better known here. 0 or negative errno,
 * unsaid.
 */
int sinks__flush_text(struct sinks *s, int err);
/* Says why a report can't be written, if err is not 0; returns it. */
int sinks__say(int err);

#endif
