/* SPDX-License-Identifier: MIT */
/* Where requests are submitted that go to workers unasked. */
#ifndef RINGSIDE_SITES_H
#define RINGSIDE_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL and 0: unknown. */
struct site_frame {
	char *module;	 /* path in the process's mount namespace, "[vdso]", "[anon]" */
	uint64_t offset; /* in module, as the file numbers it; without a module the address */
	char *function,
		*inlined; /* inlined: the innermost function inlined there, which file and line belong to */
	char *file;
	int line;
};

enum site_end {
	SITE_COMPLETE, /* up to where the thread begins */
	SITE_CUT,      /* more of the stack was not copied */
	SITE_NO_FRAMES, /* up to code that keeps no frame pointer, and of which no file says how to do without */
};

#define SITE_FRAMES 24

struct site_stats {
	struct site_frame *frames; /* the innermost first */
	size_t n;
	enum site_end end;
	unsigned int op;
	uint64_t samples; /* stacks that looked like this */
};

struct site_list {
	struct site_stats *list;
	size_t n;
	uint64_t others; /* samples of those that found no room in the list */
};

void site_stats__free(struct site_stats *s);
void site_list__free(struct site_list *l);
/* Whether both are the same call, whichever process made it. */
bool site_stats__same(const struct site_stats *a, const struct site_stats *b);
/* 0 or -ENOMEM. */
int site_list__copy(const struct site_list *l, struct site_list *ret);
/* Most samples first. */
void site_list__sort(struct site_list *l);
/* Keeps the n with most samples, sorted, and adds the rest to others. */
void site_list__limit(struct site_list *l, size_t n);
/* cur - prev, sorted; what of cur has nothing new is left out. 0 or -ENOMEM. */
int site_list__delta(const struct site_list *prev, const struct site_list *cur, struct site_list *ret);

/* The innermost frame that is no part of libraries that make the system call. NULL: there is none. */
const struct site_frame *site_stats__caller(const struct site_stats *s);

#define SITE_TEXT_LEN 256
/* For people; returns buf: "wal_append (wal.c:12)", "inlined in f (f.c:1)", "f [libx.so]", "prog+0x12", "0x7f00". */
char *site_frame__text(char buf[SITE_TEXT_LEN], const struct site_frame *f);

/* In words, static. */
const char *site_end__words(enum site_end end);

#endif
