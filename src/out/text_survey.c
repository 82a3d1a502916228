// SPDX-License-Identifier: MIT
/* The survey as text: can `stat` run, what would it see and how, what not and why, and why that may be. */
#include "text.h"

#include <inttypes.h>
#include <string.h>

#include "names.h"
#include "survey_out.h"
#include "table.h"

static const struct {
	const char *name, *what;
	bool essential;
} rows[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = { name, what, essential },
#include "features.def"
#undef FEATURE
};

/* How many features are at a level; of the extras, or of the others. */
static size_t count_at(const struct survey *s, enum feature_level level, bool extra)
{
	size_t i, n = 0;

	for (i = 0; i < RS_F_COUNT; i++)
		n += s->features[i].state.level == level && feature_is_extra(i) == extra;
	return n;
}

static bool has_any(const struct survey *s)
{
	return count_at(s, FEATURE_OFF, false) + count_at(s, FEATURE_OFF, true) < RS_F_COUNT;
}

/* "all 17 features", "15 of 17 features, and 1 in part"; ", and 3 of 4 extras" */
static void how_many(const struct survey *s, char *buf, size_t size)
{
	size_t full = count_at(s, FEATURE_FULL, false), part = count_at(s, FEATURE_DEGRADED, false);
	size_t all = full + part + count_at(s, FEATURE_OFF, false), extras = count_at(s, FEATURE_FULL, true);
	int n;

	if (full == all)
		n = snprintf(buf, size, "all %zu features", all);
	else if (part)
		n = snprintf(buf, size, "%zu of %zu features, and %zu in part", full, all, part);
	else
		n = snprintf(buf, size, "%zu of %zu features", full, all);
	if (extras)
		snprintf(buf + n, size - (size_t)n, ", and %zu of %zu extras", extras, RS_F_COUNT - all);
}

static void verdict(struct text *t, const struct survey *s)
{
	char features[128];

	how_many(s, features, sizeof(features));
	if (s->depth == SURVEY_PLANNED)
		text__wrapf(t, ATTR_BOLD, 0, 2,
			"%s: by its types, stat %s there, with %s. Nothing was loaded.", s->file,
			s->works ? "would run" : "can't run", features);
	else if (s->works)
		text__wrapf(t, ATTR_BOLD, 0, 2, "Linux %s: stat runs here, with %s.", s->release, features);
	else
		text__wrapf(t, ATTR_RED, 0, 2, "Linux %s: stat can't run: %s.", s->release, s->why);
	if (s->depth == SURVEY_PLANNED && !s->works)
		text__wrapf(t, ATTR_RED, 0, 2, "%s.", s->why);
	if (s->depth == SURVEY_UNTRIED)
		text__wrapf(t, ATTR_PLAIN, 0, 2,
			"Nothing was tried. By the kernel's types, there would be %s.", features);
	else if (s->depth == SURVEY_TRIED && has_any(s))
		text__wrap(t, ATTR_PLAIN, 0, 2,
			"Tried, not only planned: all that fits was loaded, attached and taken out again.");
}

static const char *state_text(const struct survey *s, const struct survey_feature *f)
{
	static const char *const names[] = {
		[FEATURE_OFF] = "off",
		[FEATURE_DEGRADED] = "degraded",
		[FEATURE_FULL] = "full",
	};

	if (f->known || f->planned == FEATURE_DEGRADED)
		return names[f->state.level];
	return s->depth == SURVEY_PLANNED ? "planned" : "untried";
}

static enum attr state_attr(const struct survey_feature *f)
{
	return f->known && f->state.level == FEATURE_OFF ? ATTR_YELLOW : ATTR_PLAIN;
}

static void feature_table(struct text *t, const struct survey *s)
{
	static const struct table_column columns[] = {
		{ .head = "FEATURE" },
		{ .head = "STATE" },
		{ .head = "HOW", .list = true, .min = 20 },
	};
	struct table *table = table__new(columns, 3);
	size_t i;

	text__pad(t, 1, 0);
	for (i = 0; i < RS_F_COUNT; i++) {
		const struct survey_feature *f = &s->features[i];

		table__row(table);
		table__cell(table, ATTR_PLAIN, "%s", rows[i].name);
		table__cell(table, state_attr(f), "%s", state_text(s, f));
		table__cell(table, ATTR_PLAIN, "%s", f->state.how[0] ? f->state.how : "-");
	}
	table__print(table, t, true, false);
}

/* Uncut; may be wrapped between its arguments. */
static void put_how(struct text *t, const char *how)
{
	char spaced[2 * sizeof(((struct feature_state *)0)->how)];
	size_t n = 0;

	for (; *how; how++) {
		spaced[n++] = *how;
		if (*how == ',')
			spaced[n++] = ' ';
	}
	spaced[n] = '\0';
	text__pad(t, 0, 2);
	text__wrap(t, ATTR_PLAIN, 2, 4, n ? spaced : "nothing gives it");
}

/* The same with everything there is to say. */
static void feature_list(struct text *t, const struct survey *s)
{
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		const struct survey_feature *f = &s->features[i];

		text__pad(t, 1, 0);
		text__wrapf(t, state_attr(f), 0, 2, "%s: %s: %s%s", rows[i].name, state_text(s, f),
			rows[i].what, rows[i].essential ? " (stat needs it)" : "");
		put_how(t, f->state.how);
		if (f->state.why[0]) {
			text__pad(t, 0, 2);
			text__wrapf(t, ATTR_PLAIN, 2, 4, "why: %s", f->state.why);
		}
		if (f->needs[0]) {
			text__pad(t, 0, 2);
			text__wrapf(t, ATTR_PLAIN, 2, 4, "needs: %s", f->needs);
		}
	}
}

/* The features from the i-th on that share its reason, and so are told with it. */
static void same_reason(const struct survey *s, size_t i, bool *said, struct list *names)
{
	const struct survey_feature *f = &s->features[i];
	size_t j;

	for (j = i; j < RS_F_COUNT; j++) {
		const struct survey_feature *g = &s->features[j];

		if (strcmp(g->state.why, f->state.why) || strcmp(g->needs, f->needs))
			continue;
		said[j] = true;
		list__add(names, ", ", "%s", rows[j].name);
	}
}

/* What is not full, and why. */
static void reasons(struct text *t, const struct survey *s)
{
	bool said[RS_F_COUNT] = { false }, title = false;
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		const struct survey_feature *f = &s->features[i];
		/* "not tried" has said it */
		bool needs = f->needs[0] && (f->known || s->depth == SURVEY_PLANNED);
		struct list names = { 0 };

		/* what stands in the way of everything has been said first of all */
		if (said[i] || !f->state.why[0] || !strcmp(f->state.why, s->why))
			continue;
		if (!title)
			text__title(t, s->depth == SURVEY_UNTRIED ? "Not tried" : "Not observed, or in part");
		title = true;
		same_reason(s, i, said, &names);
		if (names.s)
			text__wrapf(t, ATTR_PLAIN, 0, 2, "%s: %s%s%s.", names.s, f->state.why,
				needs ? "; needs " : "", needs ? f->needs : "");
		list__end(&names, t);
	}
}

static const char *yes_no(enum answer a)
{
	return a == ANSWER_YES ? "yes" : a == ANSWER_NO ? "no" : "n/a";
}

static void put_fact(struct table *table, const char *name, const struct fact *f)
{
	table__row(table);
	table__cell(table, ATTR_PLAIN, "%s", name);
	table__cell(table, ATTR_PLAIN, "%s%s%s", yes_no(f->answer), f->why[0] ? ": " : "", f->why);
}

static void put_sysctl(struct table *table, const char *name, int value)
{
	table__row(table);
	table__cell(table, ATTR_PLAIN, "%s", name);
	if (value == SURVEY_UNKNOWN)
		table__cell(table, ATTR_PLAIN, "n/a");
	else
		table__cell(table, ATTR_PLAIN, "%d", value);
}

static void put_text(struct table *table, const char *name, const char *value)
{
	table__row(table);
	table__cell(table, ATTR_PLAIN, "%s", name);
	table__cell(table, ATTR_PLAIN, "%s", value);
}

static const struct table_column pairs[] = { { .head = "" }, { .head = "", .list = true } };

static void about_kernel(struct text *t, const struct survey_system *s, bool verbose)
{
	struct table *table = table__new(pairs, 2);
	char name[64];
	size_t i;

	text__title(t, "This kernel");
	put_text(table, "BTF", s->btf ? "yes" : "no: needs CONFIG_DEBUG_INFO_BTF=y");
	put_text(table, "lockdown", s->lockdown[0] ? s->lockdown : "n/a");
	put_sysctl(table, "kernel.io_uring_disabled", s->io_uring_disabled);
	put_sysctl(table, "kernel.unprivileged_bpf_disabled", s->unprivileged_bpf_disabled);
	put_sysctl(table, "kernel.kptr_restrict", s->kptr_restrict);
	put_fact(table, "fentry (not needed)", &s->fentry);
	put_fact(table, "kprobes (not needed)", &s->kprobes);
	put_text(table, "configuration", s->config[0] ? s->config : "n/a");
	for (i = 0; verbose && s->config[0] && i < SURVEY_OPTIONS; i++) {
		snprintf(name, sizeof(name), "CONFIG_%s", s->options[i].name);
		put_text(table, name, s->options[i].value);
	}
	table__print(table, t, false, false);
}

static void about_user(struct text *t, const struct survey *s)
{
	const struct survey_user *u = &s->user;
	struct table *table = table__new(pairs, 2);
	char uid[16];

	text__title(t, "This user");
	snprintf(uid, sizeof(uid), "%u", u->uid);
	put_text(table, "uid", uid);
	put_text(table, "CAP_BPF", u->cap_bpf ? "yes" : "no");
	put_text(table, "CAP_PERFMON", u->cap_perfmon ? "yes" : "no");
	put_text(table, "CAP_SYSLOG", u->cap_syslog ? "yes" : "no");
	put_fact(table, "may create rings", &s->system.io_uring);
	put_text(table, "user namespace", u->foreign_user_ns ? "not the initial one" : "the initial one");
	put_text(table, "pid namespace", u->foreign_pid_ns ? "not the initial one" : "the initial one");
	put_text(table, "seccomp filter", u->seccomp ? "yes" : "no");
	table__print(table, t, false, false);
}

int survey__text(const struct survey *s, const struct text_options *o, bool verbose, FILE *f)
{
	struct text t = { .f = f, .o = o };

	verdict(&t, s);
	if (verbose) {
		feature_list(&t, s);
	} else {
		feature_table(&t, s);
		reasons(&t, s);
	}
	if (s->depth != SURVEY_PLANNED) {
		about_kernel(&t, &s->system, verbose);
		about_user(&t, s);
	}
	return text__end(&t);
}
