// SPDX-License-Identifier: MIT
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "parse.h"
#include "thresholds.h"

/* What is being parsed; the messages name it as the user wrote it. */
struct cursor {
	const struct option_row *rows;
	size_t n;
	int argc, at;
	char **argv;
	char *fields;
	char *errmsg;
	size_t errsize;
};

#define FAIL(c, ...) (snprintf((c)->errmsg, (c)->errsize, __VA_ARGS__), -EINVAL)

static bool wants_value(const struct option_row *r)
{
	return r->kind != OPTION_FLAG && r->kind != OPTION_OPTIONAL;
}

/* A value as messages show it: the reason stands behind it, and has to fit too. */
static const char *shorten(const char *v, char buf[64])
{
	if (strlen(v) < 64)
		return v;
	snprintf(buf, 64, "%.60s...", v);
	return buf;
}

static int set_duration(struct cursor *c, const char *shown, const char *v, uint64_t *field)
{
	char buf[64];

	switch (parse_duration_ns(v, field)) {
	case 0:
		return 0;
	case -ERANGE:
		return FAIL(c, "%s '%s': must be more than 0 and less than 10 years", shown, shorten(v, buf));
	default:
		return FAIL(c, "%s '%s': not a duration; try 5, 0.5 or 200ms", shown, shorten(v, buf));
	}
}

static int add_string(struct cursor *c, const char *shown, const char *v, struct string_list *field)
{
	const char **more = reallocarray(field->strings, field->n + 1, sizeof(*more));

	if (!more)
		return FAIL(c, "%s: out of memory", shown);
	field->strings = more;
	more[field->n++] = v;
	return 0;
}

static int set_value(struct cursor *c, const struct option_row *r, const char *shown, const char *v)
{
	void *field = c->fields + r->offset;
	struct pid_list *pids = field;
	enum severity sev;
	char buf[64];

	switch (r->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return 0;
	case OPTION_STRING:
		*(const char **)field = v;
		return 0;
	case OPTION_STRINGS:
		return add_string(c, shown, v, field);
	case OPTION_DURATION:
		return set_duration(c, shown, v, field);
	case OPTION_PIDS:
		if (parse_pids(v, &pids->pids, &pids->n))
			return FAIL(c, "%s '%s': must be process ids, such as 123 or 123,456", shown,
				shorten(v, buf));
		return 0;
	case OPTION_OPTIONAL:
		*(struct optional_string *)field = (struct optional_string){ true, v };
		return 0;
	case OPTION_COUNT:
		if (parse_u64(v, 1, r->max, field))
			return FAIL(c, "%s '%s': must be a number from 1 to %" PRIu64, shown, shorten(v, buf),
				r->max);
		return 0;
	case OPTION_PERCENT:
		if (parse_percent(v, field))
			return FAIL(c, "%s '%s': must be a number above 0, to 100, such as 0.5", shown,
				shorten(v, buf));
		return 0;
	case OPTION_THRESHOLD:
		return threshold_settings__parse(field, v, c->errmsg, c->errsize);
	case OPTION_SEVERITY:
		if (severity__parse(v, &sev))
			return FAIL(c, "%s '%s': must be info, warn or crit", shown, shorten(v, buf));
		*(int *)field = (int)sev;
		return 0;
	}
	return FAIL(c, "%s: unknown kind of option", shown);
}

static int parse_long(struct cursor *c)
{
	const char *arg = c->argv[c->at++], *eq = strchr(arg, '='), *v = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - arg) : strlen(arg), i;
	char shown[64];

	snprintf(shown, sizeof(shown), "%.*s", (int)len, arg);
	if (!strcmp(shown, "--help"))
		return 1;
	for (i = 0; i < c->n; i++) {
		const struct option_row *r = &c->rows[i];

		if (!r->name || strlen(r->name) != len - 2 || strncmp(r->name, arg + 2, len - 2))
			continue;
		if (r->kind == OPTION_FLAG && v)
			return FAIL(c, "%s takes no value", shown);
		if (wants_value(r) && !v) {
			if (c->at >= c->argc)
				return FAIL(c, "%s needs a value (%s)", shown, r->value);
			v = c->argv[c->at++];
		}
		return set_value(c, r, shown, v);
	}
	return FAIL(c, "unknown option '%s'", shown);
}

/* "-q", "-qv", "-d5", "-d 5" */
static int parse_letters(struct cursor *c)
{
	const char *p = c->argv[c->at++] + 1, *v;
	char shown[3] = "-";
	size_t i;
	int err;

	for (; *p; p++) {
		shown[1] = *p;
		if (*p == 'h')
			return 1;
		for (i = 0; i < c->n && c->rows[i].letter != *p; i++)
			;
		if (i == c->n)
			return FAIL(c, "unknown option '%s'", shown);
		if (!wants_value(&c->rows[i])) {
			err = set_value(c, &c->rows[i], shown, NULL);
			if (err)
				return err;
			continue;
		}
		v = p[1] ? p + 1 : c->at < c->argc ? c->argv[c->at++] : NULL;
		if (!v)
			return FAIL(c, "%s needs a value (%s)", shown, c->rows[i].value);
		return set_value(c, &c->rows[i], shown, v);
	}
	return 0;
}

int options__parse(const struct option_row *rows, size_t n, int argc, char **argv, void *fields,
	int *ret_first, char *errmsg, size_t errsize)
{
	struct cursor c = { rows, n, argc, 1, argv, fields, errmsg, errsize };
	int err = 0;

	while (!err && c.at < argc) {
		const char *arg = argv[c.at];

		if (!strcmp(arg, "--")) {
			c.at++;
			break;
		}
		if (arg[0] != '-' || !arg[1])
			break;
		err = arg[1] == '-' ? parse_long(&c) : parse_letters(&c);
	}
	if (!err)
		*ret_first = c.at;
	return err;
}

void options__print(const struct option_row *rows, size_t n)
{
	char left[64], letter[8];
	size_t i;

	for (i = 0; i < n; i++) {
		const struct option_row *r = &rows[i];
		const char *sep = r->name ? (wants_value(r)			 ? "="
						    : r->kind == OPTION_OPTIONAL ? "[="
										 : "")
					  : " ";

		snprintf(letter, sizeof(letter), r->letter ? "-%c%s" : "    ", r->letter,
			r->letter && r->name ? ", " : "");
		snprintf(left, sizeof(left), "%s%s%s%s%s%s", letter, r->name ? "--" : "",
			r->name ? r->name : "", r->value ? sep : "", r->value ? r->value : "",
			r->kind == OPTION_OPTIONAL ? "]" : "");
		printf("  %-24s %s\n", left, r->help);
	}
	printf("  %-24s %s\n", "-h, --help", "this list");
}
