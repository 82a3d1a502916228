// SPDX-License-Identifier: MIT
/* The rule table, and what it tells about a rule. */
#include "rules.h"

#include <string.h>
#include <strings.h>

const struct rule *const doctor_rules[] = {
#define RULE(name) &rule_##name,
#include "rules.def"
#undef RULE
};

const size_t doctor_n_rules = sizeof(doctor_rules) / sizeof(doctor_rules[0]);

/* pages/<ID>.md, in the order of their names. */
static const struct {
	const char *id, *text;
} pages[] = {
#include "rule_pages.inc"
};

const struct rule *rule__find(const char *id)
{
	for (size_t i = 0; i < doctor_n_rules; i++)
		if (strcasecmp(doctor_rules[i]->id, id) == 0)
			return doctor_rules[i];
	return NULL;
}

const char *rule__page(const struct rule *r)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (strcmp(pages[i].id, r->id) == 0)
			return pages[i].text;
	return "";
}

size_t rule__n_thresholds(const struct rule *r)
{
	size_t n = 0;

	while (n < RULE_MAX_THRESHOLDS && r->thresholds[n].name)
		n++;
	return n;
}

size_t rule__n_evidence(const struct rule *r)
{
	size_t n = 0;

	while (n < RULE_MAX_EVIDENCE && r->evidence[n].key)
		n++;
	return n;
}

const char *rule__feature_name(unsigned int feature)
{
	static const char *const names[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = name,
#include "features.def"
#undef FEATURE
	};

	return names[feature];
}
