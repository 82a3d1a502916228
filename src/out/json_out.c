/* SPDX-License-Identifier: MIT */
#include "json_out.h"

#include <stdlib.h>
#include <string.h>

#include "utf8.h"

void jout__put(json_t **object, const char *key, json_t *value)
{
	if (!*object) {
		json_decref(value);
		return;
	}
	if (json_object_set_new(*object, key, value)) {
		json_decref(*object);
		*object = NULL;
	}
}

void jout__add(json_t **array, json_t *value)
{
	if (!*array) {
		json_decref(value);
		return;
	}
	if (json_array_append_new(*array, value)) {
		json_decref(*array);
		*array = NULL;
	}
}

json_t *jout__u64(uint64_t n)
{
	return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

json_t *jout__u64_if(bool known, uint64_t n)
{
	return known ? jout__u64(n) : json_null();
}

json_t *jout__ratio(double part, double whole)
{
	double ratio;

	if (whole <= 0 || part < 0)
		return json_null();
	ratio = part / whole;
	if (ratio < 1e12)
		ratio = (double)(uint64_t)(ratio * 1000 + 0.5) / 1000;
	return json_real(ratio);
}

json_t *jout__text(const char *s)
{
	json_t *j;
	char *valid;

	if (!s || !*s)
		return json_null();
	valid = utf8__valid(s);
	if (!valid)
		return NULL;
	j = json_string(valid);
	free(valid);
	return j;
}

json_t *jout__comm(const char comm[RS_COMM_LEN])
{
	char name[RS_COMM_LEN + 1] = "";

	memcpy(name, comm, RS_COMM_LEN);
	return jout__text(name);
}
