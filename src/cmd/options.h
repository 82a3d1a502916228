/* SPDX-License-Identifier: MIT */
/* Option tables: parsing and help follow from one row an option. */
#ifndef RINGSIDE_OPTIONS_H
#define RINGSIDE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pid_list {
	pid_t *pids;
	size_t n;
};

struct string_list {
	const char **strings;
	size_t n;
};

struct optional_string {
	bool given;
	const char *value; /* NULL: given without a value */
};

enum option_kind {
	OPTION_FLAG,	  /* bool */
	OPTION_STRING,	  /* const char * */
	OPTION_STRINGS,	  /* struct string_list, values add up */
	OPTION_DURATION,  /* uint64_t nanoseconds */
	OPTION_PIDS,	  /* struct pid_list, values add up */
	OPTION_OPTIONAL,  /* struct optional_string; the value only as --name=value */
	OPTION_SEVERITY,  /* int: enum severity, -1 when not given */
	OPTION_COUNT,	  /* uint64_t, 1 .. max */
	OPTION_PERCENT,	  /* double, above 0, to 100 */
	OPTION_THRESHOLD, /* struct threshold_settings, values add up */
};

struct option_row {
	char letter;	   /* 0: none */
	const char *name;  /* NULL: none */
	const char *value; /* how help calls the value */
	enum option_kind kind;
	size_t offset; /* of the field in the structure that is filled */
	const char *help;
	uint64_t max; /* OPTION_COUNT */
};

/*
 * Parses up to "--" or the first word that is no option; *ret_first is the index of what follows.
 * 0; 1: help was asked for; -EINVAL: *errmsg says in one line what is wrong. Strings point into argv.
 */
int options__parse(const struct option_row *rows, size_t n, int argc, char **argv, void *fields,
	int *ret_first, char *errmsg, size_t errsize);

/* One line (or two) an option, to stdout. */
void options__print(const struct option_row *rows, size_t n);

#endif
