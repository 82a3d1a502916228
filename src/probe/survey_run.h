/* SPDX-License-Identifier: MIT */
/* Finds out what can be observed. */
#ifndef RINGSIDE_SURVEY_RUN_H
#define RINGSIDE_SURVEY_RUN_H

#include "privileges.h"
#include "select.h"
#include "survey.h"

struct survey_request {
	const char *btf_file; /* plan for the kernel whose types these are; NULL: try the running one */
	/* as session_options.on_refusal */
	void (*on_refusal)(const char *text);
};

/*
 * Loads and attaches all that fits the running kernel, if this user may, and takes it out again. What the
 * kernel refuses is a result: 0. For a failure of our own, or a file without types, a negative errno and one
 * line in errmsg.
 */
int survey__run(const struct survey_request *r, struct survey *ret, char *errmsg, size_t errsize);

/*
 * Fills ret->features with what can be told without trying, for a user with p (NULL: it does not matter), and
 * ret->works and ret->why with what follows. ret->release is set before, or "".
 */
void survey__plan(const struct btf *btf, ksym_lookup_fn ksym, void *arg, const struct privileges *p,
	struct survey *ret);

#endif
