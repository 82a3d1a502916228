/* SPDX-License-Identifier: MIT */
/* The JSON report, and what can be asked of it. */
#ifndef RINGSIDE_TEST_JSON_AT_H
#define RINGSIDE_TEST_JSON_AT_H

#include "fabricate.h"
#include "out.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline json_t *render(const struct fab *f)
{
	struct report r = { .snap = f->s, .diag = &f->d, .target = "test" };
	json_t *j = report__json(&r);

	assert_non_null(j);
	return j;
}

/* The value at a path like "rings.0.ops.1.bytes"; fails if there is none. */
static inline json_t *at(json_t *j, const char *path)
{
	char *copy = strdup(path), *save = NULL, *part;

	assert_non_null(copy);
	for (part = strtok_r(copy, ".", &save); part; part = strtok_r(NULL, ".", &save)) {
		j = json_is_array(j) ? json_array_get(j, strtoul(part, NULL, 10)) : json_object_get(j, part);
		if (!j)
			fail_msg("no %s in %s", part, path);
	}
	free(copy);
	return j;
}

static inline void assert_u64(json_t *j, const char *path, uint64_t n)
{
	json_t *v = at(j, path);

	if (!json_is_integer(v) || (uint64_t)json_integer_value(v) != n)
		fail_msg("%s is %lld, not %llu", path, (long long)json_integer_value(v),
			(unsigned long long)n);
}

static inline void assert_text(json_t *j, const char *path, const char *s)
{
	assert_true(json_is_string(at(j, path)));
	assert_string_equal(json_string_value(at(j, path)), s);
}

static inline void assert_null_at(json_t *j, const char *path)
{
	if (!json_is_null(at(j, path)))
		fail_msg("%s is not null", path);
}

struct row {
	const char *id, *json;
	enum rs_feature feature;
};

static const struct row ring_rows[] = {
#define RING(id, json, feature, source) { #id, json, RS_F_##feature },
#include "counters.def"
};
static const struct row op_rows[] = {
#define OPC(id, json, feature, source) { #id, json, RS_F_##feature },
#include "counters.def"
};

#endif
