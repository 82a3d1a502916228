// SPDX-License-Identifier: MIT
/* A survey as text and as JSON. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "survey_out.h"

#define LONG_HOW "tp_btf/io_uring_submit_req(io_kiocb*,io_ring_ctx*,io_uring_cqe*,u64,s32,u32,u64,u64)"

static void set(struct survey_feature *f, enum feature_level level, const char *how, const char *why,
	const char *needs)
{
	f->known = true;
	f->planned = FEATURE_FULL;
	f->state.level = level;
	snprintf(f->state.how, sizeof(f->state.how), "%s", how);
	snprintf(f->state.why, sizeof(f->state.why), "%s", why);
	snprintf(f->needs, sizeof(f->needs), "%s", needs);
}

/* All there is, tried and had. */
static struct survey full_survey(void)
{
	struct survey s = { .depth = SURVEY_TRIED, .release = "6.18.0", .works = true };
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++)
		set(&s.features[i], FEATURE_FULL, "tp_btf/x(u64)", "", "");
	s.system.btf = true;
	s.system.kptr_restrict = 1;
	s.system.io_uring_disabled = SURVEY_UNKNOWN;
	s.system.unprivileged_bpf_disabled = 2;
	s.system.io_uring.answer = ANSWER_YES;
	s.system.fentry = (struct fact){ ANSWER_NO, "loading: Operation not permitted" };
	s.user.cap_bpf = s.user.cap_perfmon = true;
	return s;
}

static void lose_some(struct survey *s)
{
	set(&s->features[RS_F_PUNT], FEATURE_OFF, "", "too large", "");
	set(&s->features[RS_F_LINK], FEATURE_OFF, "", "too large", "");
	set(&s->features[RS_F_POLL], FEATURE_OFF, "", "too large", "a smaller one");
	set(&s->features[RS_F_WAIT], FEATURE_DEGRADED, LONG_HOW, "half of it", "");
}

static struct survey untried_survey(void)
{
	struct survey s = full_survey();
	size_t i;

	s.depth = SURVEY_UNTRIED;
	s.works = false;
	snprintf(s.why, sizeof(s.why), "missing CAP_BPF");
	for (i = 0; i < RS_F_COUNT; i++) {
		s.features[i].known = false;
		snprintf(s.features[i].state.why, sizeof(s.features[i].state.why),
			"not tried: needs CAP_BPF");
		snprintf(s.features[i].needs, sizeof(s.features[i].needs), "CAP_BPF");
	}
	return s;
}

static char *render(const struct survey *s, bool verbose, int width)
{
	const struct text_options o = { .width = width };
	char *text = NULL, *line;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(survey__text(s, &o, verbose, f), 0);
	assert_int_equal(fclose(f), 0);
	for (line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
		if (strcspn(line, "\n") > (size_t)width)
			fail_msg("wider than %d:\n%s", width, text);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no \"%s\" in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("\"%s\" in:\n%s", part, text);
}

static void test_full(void **state)
{
	struct survey s = full_survey();
	char *text = render(&s, false, 80);

	(void)state;
	assert_has(text, "Linux 6.18.0: stat runs here, with all ");
	assert_has(text, "taken out again");
	assert_has(text, "\nsubmit                full   tp_btf/x(u64)\n");
	assert_lacks(text, "Not observed");
	/* unknown is not 0 */
	assert_has(text, "kernel.io_uring_disabled          n/a\n");
	assert_has(text, "kernel.unprivileged_bpf_disabled  2\n");
	assert_has(text, "lockdown                          n/a\n");
	assert_has(text, "no: loading: Operation not permitted\n");
	assert_has(text, "CAP_PERFMON       yes\n");
	assert_has(text, "CAP_SYSLOG        no\n");
	free(text);
}

static void test_some_lost(void **state)
{
	struct survey s = full_survey();
	char count[64], *text;
	int i, n = 0;

	(void)state;
	for (i = 0; i < RS_F_COUNT; i++)
		n += !feature_is_extra((unsigned int)i);
	lose_some(&s);
	text = render(&s, false, 200);
	snprintf(count, sizeof(count), "%d of %d features, and 1 in part, and %d of %d extras.", n - 4, n,
		RS_F_COUNT - n, RS_F_COUNT - n);
	assert_has(text, count);
	free(text);
	/* nobody is told of extras that there are none of */
	for (i = 0; i < RS_F_COUNT; i++)
		if (feature_is_extra((unsigned int)i))
			set(&s.features[i], FEATURE_OFF, "", "not here", "");
	text = render(&s, false, 80);
	assert_lacks(text, "extras");
	assert_has(text, "\npunt                  off       -\n");
	assert_has(text, "\nwait                  degraded  tp_btf/io_uring_submit_req(");
	/* one reason is told once, if the remedy is the same */
	assert_has(text, "\npunt, link: too large.\n");
	assert_has(text, "\npoll: too large; needs a smaller one.\n");
	assert_has(text, "\nwait: half of it.\n");
	free(text);
	text = render(&s, true, 80);
	assert_has(text, "needs: a smaller one");
	assert_has(text, "why: half of it");
	/* uncut, and broken between arguments */
	assert_has(text, "tp_btf/io_uring_submit_req(io_kiocb*, io_ring_ctx*,");
	assert_has(text, "u64)\n");
	free(text);
}

static void test_untried(void **state)
{
	struct survey s = untried_survey();
	char *text = render(&s, false, 400);

	(void)state;
	assert_has(text, "stat can't run: missing CAP_BPF.");
	assert_has(text, "Nothing was tried.");
	assert_has(text, "\nsubmit                untried  tp_btf/x(u64)\n");
	assert_has(text, "not tried: needs CAP_BPF.");
	assert_lacks(text, "taken out");
	free(text);
}

static void test_file(void **state)
{
	struct survey s = full_survey();
	char *text;

	(void)state;
	s.depth = SURVEY_PLANNED;
	s.file = "/tmp/types";
	s.features[RS_F_SUBMIT].known = false;
	text = render(&s, false, 80);
	assert_has(text, "/tmp/types: by its types, stat would run there");
	assert_has(text, "\nsubmit                planned  tp_btf/x(u64)\n");
	/* nothing of this machine */
	assert_lacks(text, "This kernel");
	assert_lacks(text, "CAP_BPF");
	free(text);
}

static void test_refused_altogether(void **state)
{
	struct survey s = full_survey();
	char *text;
	size_t i;

	(void)state;
	s.works = false;
	snprintf(s.why, sizeof(s.why), "the kernel refuses BPF");
	for (i = 0; i < RS_F_COUNT; i++)
		set(&s.features[i], FEATURE_OFF, "", s.why, "");
	text = render(&s, false, 80);
	/* once is enough */
	assert_null(strstr(strstr(text, "the kernel refuses BPF") + 1, "the kernel refuses BPF"));
	assert_lacks(text, "taken out");
	free(text);
}

static void test_widths(void **state)
{
	static const int widths[] = { 40, 60, 80, 132, 400 };
	struct survey surveys[] = { full_survey(), full_survey(), untried_survey() };
	size_t i, j;

	(void)state;
	lose_some(&surveys[1]);
	for (i = 0; i < sizeof(surveys) / sizeof(surveys[0]); i++)
		for (j = 0; j < sizeof(widths) / sizeof(widths[0]); j++) {
			free(render(&surveys[i], false, widths[j]));
			free(render(&surveys[i], true, widths[j]));
		}
}

static void test_write_error(void **state)
{
	const struct text_options o = { .width = 80 };
	struct survey s = full_survey();
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(survey__text(&s, &o, false, f), -ENOSPC);
	fclose(f);
}

static json_t *at(json_t *j, const char *a, const char *b, const char *c)
{
	json_t *v = json_object_get(j, a);

	v = b ? json_object_get(v, b) : v;
	v = c ? json_object_get(v, c) : v;
	if (!v)
		fail_msg("no %s.%s.%s", a, b ? b : "", c ? c : "");
	return v;
}

static void assert_text(json_t *v, const char *want)
{
	assert_true(json_is_string(v));
	assert_string_equal(json_string_value(v), want);
}

static void test_json(void **state)
{
	struct survey s = full_survey();
	json_t *j, *f;

	(void)state;
	lose_some(&s);
	j = survey__json(&s);
	assert_non_null(j);
	assert_int_equal(json_integer_value(at(j, "schema", NULL, NULL)), 1);
	assert_text(at(j, "kind", NULL, NULL), "ringside.probe");
	assert_text(at(j, "tool", NULL, NULL), "ringside");
	assert_text(at(j, "depth", NULL, NULL), "tried");
	assert_true(json_is_true(at(j, "works", NULL, NULL)));
	assert_true(json_is_null(at(j, "why", NULL, NULL)));
	assert_true(json_is_null(at(j, "file", NULL, NULL)));
	assert_text(at(j, "kernel", "release", NULL), "6.18.0");
	assert_int_equal(json_object_size(at(j, "kernel", "features", NULL)), RS_F_COUNT);
	f = at(j, "kernel", "features", "poll");
	assert_text(at(f, "state", NULL, NULL), "off");
	assert_true(json_is_null(at(f, "how", NULL, NULL)));
	assert_text(at(f, "why", NULL, NULL), "too large");
	assert_text(at(f, "needs", NULL, NULL), "a smaller one");
	assert_text(at(f, "planned", NULL, NULL), "full");
	assert_true(json_is_false(at(f, "essential", NULL, NULL)));
	f = at(j, "kernel", "features", "wait");
	assert_text(at(f, "state", NULL, NULL), "degraded");
	assert_text(at(f, "how", NULL, NULL), LONG_HOW);
	f = at(j, "kernel", "features", "submit");
	assert_true(json_is_true(at(f, "essential", NULL, NULL)));
	/* unknown is null */
	assert_true(json_is_null(at(j, "system", "io_uring_disabled", NULL)));
	assert_true(json_is_null(at(j, "system", "lockdown", NULL)));
	assert_true(json_is_null(at(j, "system", "config", NULL)));
	assert_true(json_is_null(at(j, "system", "kprobe", "usable")));
	assert_true(json_is_false(at(j, "system", "fentry", "usable")));
	assert_int_equal(json_integer_value(at(j, "system", "kptr_restrict", NULL)), 1);
	assert_true(json_is_false(at(j, "user", "cap_syslog", NULL)));
	json_decref(j);
}

static void test_json_untried(void **state)
{
	struct survey s = untried_survey();
	json_t *j, *f;

	(void)state;
	j = survey__json(&s);
	assert_text(at(j, "depth", NULL, NULL), "types");
	assert_true(json_is_false(at(j, "works", NULL, NULL)));
	f = at(j, "kernel", "features", "submit");
	assert_true(json_is_null(at(f, "state", NULL, NULL)));
	assert_text(at(f, "planned", NULL, NULL), "full");
	assert_text(at(f, "needs", NULL, NULL), "CAP_BPF");
	json_decref(j);
	s.depth = SURVEY_PLANNED;
	s.file = "types";
	j = survey__json(&s);
	assert_text(at(j, "depth", NULL, NULL), "file");
	assert_text(at(j, "file", NULL, NULL), "types");
	assert_true(json_is_null(at(j, "system", NULL, NULL)));
	assert_true(json_is_null(at(j, "user", NULL, NULL)));
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_some_lost),
		cmocka_unit_test(test_untried),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_refused_altogether),
		cmocka_unit_test(test_widths),
		cmocka_unit_test(test_write_error),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_untried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
