// SPDX-License-Identifier: MIT
#include "json_out.h"
#include "rules.h"
#include "rules_out.h"

static json_t *needs__json(const struct rule *r)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < RS_F_COUNT; i++)
		if (r->needs & (1u << i))
			jout__add(&list, json_string(rule__feature_name(i)));
	return list;
}

static json_t *thresholds__json(const struct rule *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rule__n_thresholds(r); i++) {
		const struct threshold *t = &r->thresholds[i];
		json_t *o = json_object();

		jout__put(&o, "name", json_string(t->name));
		jout__put(&o, "value", json_real(t->value));
		jout__put(&o, "unit", json_string(t->unit));
		jout__put(&o, "why", json_string(t->why));
		jout__add(&list, o);
	}
	return list;
}

static json_t *evidence__json(const struct rule *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < rule__n_evidence(r); i++) {
		json_t *o = json_object();

		jout__put(&o, "key", json_string(r->evidence[i].key));
		jout__put(&o, "what", json_string(r->evidence[i].what));
		jout__add(&list, o);
	}
	return list;
}

static json_t *rule__json(const struct rule *r)
{
	json_t *o = json_object();

	jout__put(&o, "rule", json_string(r->id));
	jout__put(&o, "what", json_string(r->what));
	jout__put(&o, "severity", json_string(r->severity));
	jout__put(&o, "gates", json_boolean(!r->never_gates));
	jout__put(&o, "needs", needs__json(r));
	jout__put(&o, "thresholds", thresholds__json(r));
	jout__put(&o, "evidence", evidence__json(r));
	jout__put(&o, "advice", json_string(r->advice));
	jout__put(&o, "page", json_string(rule__page(r)));
	return o;
}

json_t *rules__json(const struct rule *only)
{
	json_t *list = json_array(), *o = json_object();

	for (size_t i = 0; i < doctor_n_rules; i++)
		if (!only || only == doctor_rules[i])
			jout__add(&list, rule__json(doctor_rules[i]));
	jout__put(&o, "schema", json_integer(RULES_SCHEMA));
	jout__put(&o, "kind", json_string("ringside.rules"));
	jout__put(&o, "tool", json_string("ringside"));
	jout__put(&o, "version", json_string(RINGSIDE_VERSION));
	jout__put(&o, "rules", list);
	return o;
}
