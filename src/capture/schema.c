// SPDX-License-Identifier: MIT
#include "schema.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static json_t *describe_columns(const struct capture_record *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_columns && list; i++) {
		const struct capture_column *c = &r->columns[i];
		json_t *o = json_pack("{s:s, s:s, s:s}", "name", c->name, "coding",
			capture_codings[c->coding], "doc", c->doc);

		if (!json_array_append_new(list, o))
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

static json_t *describe_records(void)
{
	json_t *list = json_array();

	for (size_t k = 0; k < CAPTURE_KINDS && list; k++) {
		const struct capture_record *r = &capture_records[k];
		json_t *o = json_pack("{s:i, s:s, s:s, s:o}", "number", (int)r->number, "name", r->name,
			"doc", r->doc, "columns", describe_columns(r));

		if (!json_array_append_new(list, o))
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

json_t *schema__describe(json_t *facts)
{
	return json_pack("{s:s, s:s, s:O?, s:o}", "tool", "ringside", "version", RINGSIDE_VERSION, "facts",
		facts, "records", describe_records());
}

static int coding_of(const char *name)
{
	for (int i = 0; i < CAPTURE_CODINGS; i++)
		if (!strcmp(capture_codings[i], name))
			return i;
	return -1;
}

static int column_of(const struct capture_record *r, const char *name)
{
	for (size_t i = 0; i < r->n_columns; i++)
		if (!strcmp(r->columns[i].name, name))
			return (int)i;
	return SCHEMA_SKIP;
}

static int read_columns(const json_t *list, struct schema_record *ret)
{
	size_t n = json_array_size(list), i;
	uint64_t taken = 0;

	if (!json_is_array(list) || n > CAPTURE_MAX_COLUMNS)
		return -EBADMSG;
	for (i = 0; i < n; i++) {
		const json_t *o = json_array_get(list, i);
		const char *name = json_string_value(json_object_get(o, "name"));
		const char *coding = json_string_value(json_object_get(o, "coding"));
		struct schema_column *c = &ret->columns[i];

		if (!name || !coding)
			return -EBADMSG;
		if (coding_of(coding) < 0)
			return -EPROTONOSUPPORT;
		c->coding = (enum capture_coding)coding_of(coding);
		c->column =
			ret->kind == SCHEMA_SKIP ? SCHEMA_SKIP : column_of(&capture_records[ret->kind], name);
		if (c->column == SCHEMA_SKIP)
			continue;
		if (taken & 1ull << c->column)
			return -EBADMSG;
		taken |= 1ull << c->column;
	}
	ret->n_columns = n;
	return 0;
}

static int kind_of(uint32_t number)
{
	for (int k = 0; k < CAPTURE_KINDS; k++)
		if (capture_records[k].number == number)
			return k;
	return SCHEMA_SKIP;
}

int schema__read(const json_t *description, struct schema *ret)
{
	const json_t *list = json_object_get(description, "records");
	size_t n = json_array_size(list), i;
	int err;

	if (!json_is_array(list) || n > SCHEMA_MAX_RECORDS)
		return -EBADMSG;
	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < n; i++) {
		const json_t *o = json_array_get(list, i), *number = json_object_get(o, "number");
		struct schema_record *r = &ret->records[i];

		if (!json_is_integer(number) || json_integer_value(number) <= 0 ||
			json_integer_value(number) > UINT32_MAX)
			return -EBADMSG;
		r->number = (uint32_t)json_integer_value(number);
		if (schema__record(ret, r->number))
			return -EBADMSG;
		r->kind = kind_of(r->number);
		err = read_columns(json_object_get(o, "columns"), r);
		if (err)
			return err;
		ret->n_records++;
	}
	return 0;
}

const struct schema_record *schema__record(const struct schema *s, uint64_t number)
{
	for (size_t i = 0; i < s->n_records; i++)
		if (s->records[i].number == number)
			return &s->records[i];
	return NULL;
}
