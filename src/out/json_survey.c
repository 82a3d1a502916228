// SPDX-License-Identifier: MIT
/* The survey as JSON: docs/json.md is its contract. */
#include "json_out.h"

#include <string.h>

#include "survey_out.h"

static json_t *bool_or_null(enum answer a)
{
	return a == ANSWER_UNKNOWN ? json_null() : json_boolean(a == ANSWER_YES);
}

static json_t *fact__json(const struct fact *f)
{
	json_t *o = json_object();

	jout__put(&o, "usable", bool_or_null(f->answer));
	jout__put(&o, "why", jout__text(f->why));
	return o;
}

static const char *level_name(enum feature_level l)
{
	return l == FEATURE_FULL ? "full" : l == FEATURE_DEGRADED ? "degraded" : "off";
}

static json_t *features__json(const struct survey *s)
{
	static const struct {
		const char *name, *what;
		bool essential;
	} rows[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = { name, what, essential },
#include "features.def"
#undef FEATURE
	};
	json_t *features = json_object();
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++) {
		const struct survey_feature *f = &s->features[i];
		json_t *o = json_object();

		jout__put(&o, "state", f->known ? json_string(level_name(f->state.level)) : json_null());
		jout__put(&o, "how", jout__text(f->state.how));
		jout__put(&o, "why", jout__text(f->state.why));
		jout__put(&o, "planned", json_string(level_name(f->planned)));
		jout__put(&o, "needs", jout__text(f->needs));
		jout__put(&o, "what", json_string(rows[i].what));
		jout__put(&o, "essential", json_boolean(rows[i].essential));
		jout__put(&features, rows[i].name, o);
	}
	return features;
}

static json_t *sysctl__json(int value)
{
	return value == SURVEY_UNKNOWN ? json_null() : json_integer(value);
}

static json_t *config__json(const struct survey_system *s)
{
	char name[64];
	json_t *o, *options;
	size_t i;

	if (!s->config[0])
		return json_null();
	o = json_object();
	options = json_object();
	for (i = 0; i < SURVEY_OPTIONS; i++) {
		snprintf(name, sizeof(name), "CONFIG_%s", s->options[i].name);
		jout__put(&options, name, jout__text(s->options[i].value));
	}
	jout__put(&o, "file", jout__text(s->config));
	jout__put(&o, "options", options);
	return o;
}

static json_t *system__json(const struct survey_system *s)
{
	json_t *o = json_object();

	jout__put(&o, "btf", json_boolean(s->btf));
	jout__put(&o, "lockdown", jout__text(s->lockdown));
	jout__put(&o, "unprivileged_bpf_disabled", sysctl__json(s->unprivileged_bpf_disabled));
	jout__put(&o, "io_uring_disabled", sysctl__json(s->io_uring_disabled));
	jout__put(&o, "kptr_restrict", sysctl__json(s->kptr_restrict));
	jout__put(&o, "io_uring", fact__json(&s->io_uring));
	jout__put(&o, "fentry", fact__json(&s->fentry));
	jout__put(&o, "kprobe", fact__json(&s->kprobes));
	jout__put(&o, "config", config__json(s));
	return o;
}

static json_t *user__json(const struct survey_user *u)
{
	json_t *o = json_object();

	jout__put(&o, "uid", json_integer(u->uid));
	jout__put(&o, "cap_bpf", json_boolean(u->cap_bpf));
	jout__put(&o, "cap_perfmon", json_boolean(u->cap_perfmon));
	jout__put(&o, "cap_syslog", json_boolean(u->cap_syslog));
	jout__put(&o, "initial_user_namespace", json_boolean(!u->foreign_user_ns));
	jout__put(&o, "initial_pid_namespace", json_boolean(!u->foreign_pid_ns));
	jout__put(&o, "seccomp_filter", json_boolean(u->seccomp));
	return o;
}

json_t *survey__json(const struct survey *s)
{
	static const char *const depths[] = {
		[SURVEY_PLANNED] = "file",
		[SURVEY_UNTRIED] = "types",
		[SURVEY_TRIED] = "tried",
	};
	bool running = s->depth != SURVEY_PLANNED;
	json_t *o = json_object(), *kernel = json_object();

	jout__put(&kernel, "release", jout__text(s->release));
	jout__put(&kernel, "features", features__json(s));
	jout__put(&o, "schema", json_integer(SURVEY_SCHEMA));
	jout__put(&o, "kind", json_string("ringside.probe"));
	jout__put(&o, "tool", json_string("ringside"));
	jout__put(&o, "version", json_string(RINGSIDE_VERSION));
	jout__put(&o, "depth", json_string(depths[s->depth]));
	jout__put(&o, "file", jout__text(s->file));
	jout__put(&o, "works", json_boolean(s->works));
	jout__put(&o, "why", jout__text(s->why));
	jout__put(&o, "kernel", kernel);
	jout__put(&o, "system", running ? system__json(&s->system) : json_null());
	jout__put(&o, "user", running ? user__json(&s->user) : json_null());
	return o;
}
