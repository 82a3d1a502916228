// SPDX-License-Identifier: MIT
/* The rule table as people read it: pages, text and JSON; thresholds as they write them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "assert_text.h"
#include "diagnosis.h"
#include "rules.h"
#include "rules_out.h"
#include "scarce.h"
#include "thresholds.h"

static const char *const sections[] = { "### What it means\n", "### Why it hurts\n",
	"### How it is measured\n", "### How to fix it\n", "### When to ignore it\n" };

#define N_SECTIONS (sizeof(sections) / sizeof(sections[0]))

static size_t longest_line(const char *s)
{
	size_t longest = 0, len;

	for (; *s; s += len + (s[len] == '\n')) {
		len = strcspn(s, "\n");
		longest = len > longest ? len : longest;
	}
	return longest;
}

/* All sections in this order and no others, each with something in it. */
static void every_rule_has_a_page(void **state)
{
	(void)state;
	for (size_t i = 0; i < doctor_n_rules; i++) {
		const struct rule *r = doctor_rules[i];
		const char *page = rule__page(r), *at = page;
		size_t n = 0;

		if (!*page)
			fail_msg("no pages/%s.md", r->id);
		for (const char *h = page; (h = strstr(h, "###")); h += 3)
			n++;
		assert_int_equal(n, N_SECTIONS);
		for (size_t k = 0; k < N_SECTIONS; k++) {
			at = strstr(at, sections[k]);
			if (!at)
				fail_msg("%s: no section %s", r->id, sections[k]);
			at += strlen(sections[k]);
			assert_true(at[0] == '\n' && at[1] != '#' && at[1] != '\0');
		}
		if (longest_line(page) > 79)
			fail_msg("pages/%s.md: a line of %zu columns", r->id, longest_line(page));
	}
}

static void rules_are_found_by_id(void **state)
{
	char errmsg[128] = "";

	(void)state;
	for (size_t i = 0; i < doctor_n_rules; i++)
		assert_ptr_equal(rule__find(doctor_rules[i]->id), doctor_rules[i]);
	assert_ptr_equal(rule__find("punt"), rule__find("PUNT"));
	assert_null(rule__find(""));
	assert_null(rule__find("PUN"));
	assert_ptr_equal(rule__by_word("Punt", errmsg, sizeof(errmsg)), rule__find("PUNT"));
	assert_string_equal(errmsg, "");
	assert_null(rule__by_word("batsh", errmsg, sizeof(errmsg)));
	assert_string_equal(errmsg, "unknown rule 'batsh'; did you mean BATCH?");
	assert_null(rule__by_word("xyzzy-quux", errmsg, sizeof(errmsg)));
	assert_string_equal(errmsg, "unknown rule 'xyzzy-quux'; `ringside explain` lists them");
}

/* What rule__text() prints in so many columns; to be freed. */
static char *text_of(const struct rule *r, int width)
{
	struct text_options o = { .width = width };
	char *s = NULL;
	size_t size;
	FILE *f = open_memstream(&s, &size);

	assert_non_null(f);
	assert_int_equal(r ? rule__text(r, &o, f) : rules__text(&o, f), 0);
	fclose(f);
	return s;
}

static void in_words(void **state)
{
	char *s = text_of(NULL, 80);

	(void)state;
	for (size_t i = 0; i < doctor_n_rules; i++)
		assert_non_null(strstr(s, doctor_rules[i]->id));
	free(s);
	for (size_t i = 0; i < doctor_n_rules; i++) {
		const struct rule *r = doctor_rules[i];

		s = text_of(r, 80);
		if (longest_line(s) > 80)
			fail_msg("%s: %zu columns", r->id, longest_line(s));
		assert_null(strstr(s, "###"));
		assert_non_null(strstr(s, "When to ignore it\n"));
		for (size_t k = 0; k < rule__n_thresholds(r); k++)
			assert_non_null(strstr(s, r->thresholds[k].name));
		for (size_t k = 0; k < rule__n_evidence(r); k++)
			assert_non_null(strstr(s, r->evidence[k].key));
		free(s);
	}
}

static void as_json(void **state)
{
	json_t *all = rules__json(NULL), *one = rules__json(rule__find("BATCH")), *r;
	const char *text;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(all, "rules")), doctor_n_rules);
	assert_int_equal(json_array_size(json_object_get(one, "rules")), 1);
	r = json_array_get(json_object_get(one, "rules"), 0);
	assert_string_equal(json_string_value(json_object_get(r, "rule")), "BATCH");
	text = json_string_value(json_object_get(r, "page"));
	assert_string_equal(text, rule__page(rule__find("BATCH")));
	assert_string_equal(json_string_value(json_array_get(json_object_get(r, "needs"), 0)), "submit");
	r = json_array_get(json_object_get(r, "thresholds"), 0);
	assert_string_equal(json_string_value(json_object_get(r, "name")), "min_batches");
	assert_true(json_real_value(json_object_get(r, "value")) == 1000);
	json_decref(all);
	json_decref(one);
}

static void thresholds_are_set(void **state)
{
	struct snapshot *s = punted_reads(1000, 60);
	struct threshold_settings t = { 0 };
	char errmsg[128] = "";
	struct diagnosis d;

	(void)state;
	assert_healthy(s);
	assert_int_equal(threshold_settings__parse(&t, "PUNT.min_requests=61", errmsg, sizeof(errmsg)), 0);
	assert_int_equal(doctor__run(s, &t, &d), 0);
	assert_int_equal(d.n_findings, 0);
	diagnosis__free(&d);
	/* of two for the same the last counts; others stay as they are */
	assert_int_equal(threshold_settings__parse(&t, "punt.min_requests=60", errmsg, sizeof(errmsg)), 0);
	assert_int_equal(threshold_settings__parse(&t, "BATCH.max_mean=0.5", errmsg, sizeof(errmsg)), 0);
	assert_int_equal(doctor__run(s, &t, &d), 0);
	assert_int_equal(d.n_findings, 1);
	assert_string_equal(d.findings[0].rule, "PUNT");
	diagnosis__free(&d);
	threshold_settings__free(&t);
	assert_null(t.list);
	threshold_settings__free(&t);
	/* and the table is what it was */
	assert_healthy(s);
	sample__free(s);
}

static void thresholds_refused(void **state)
{
	static const struct {
		const char *arg, *why;
	} cases[] = {
		{ "PUNT", "--threshold 'PUNT': must be RULE.NAME=VALUE, such as PUNT.min_pct=10" },
		{ "PUNT=3", "--threshold 'PUNT=3': must be RULE.NAME=VALUE, such as PUNT.min_pct=10" },
		{ "PUNT.=3", "--threshold 'PUNT.=3': must be RULE.NAME=VALUE, such as PUNT.min_pct=10" },
		{ ".min_pct=3",
			"--threshold '.min_pct=3': must be RULE.NAME=VALUE, such as PUNT.min_pct=10" },
		{ "PUNTS.min_pct=3", "--threshold: unknown rule 'PUNTS'; did you mean PUNT?" },
		{ "PUNT.min_pc=3", "--threshold: PUNT has no threshold 'min_pc'; did you mean min_pct?" },
		{ "PUNT.zzzzzz=3",
			"--threshold: PUNT has no threshold 'zzzzzz'; `ringside explain PUNT` lists them" },
		{ "PUNT.min_pct=", "--threshold PUNT.min_pct: '' is not a number of 0 or more" },
		{ "PUNT.min_pct=5%", "--threshold PUNT.min_pct: '5%' is not a number of 0 or more" },
		{ "PUNT.min_pct=-5", "--threshold PUNT.min_pct: '-5' is not a number of 0 or more" },
	};
	struct threshold_settings t = { 0 };
	char errmsg[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(threshold_settings__parse(&t, cases[i].arg, errmsg, sizeof(errmsg)),
			-EINVAL);
		assert_string_equal(errmsg, cases[i].why);
	}
	scarce__begin(0);
	assert_int_equal(threshold_settings__parse(&t, "PUNT.min_pct=5", errmsg, sizeof(errmsg)), -ENOMEM);
	scarce__end();
	assert_int_equal(t.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_has_a_page),
		cmocka_unit_test(rules_are_found_by_id),
		cmocka_unit_test(in_words),
		cmocka_unit_test(as_json),
		cmocka_unit_test(thresholds_are_set),
		cmocka_unit_test(thresholds_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
