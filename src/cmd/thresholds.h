/* SPDX-License-Identifier: MIT */
/* Names of rules and thresholds as users write them. */
#ifndef RINGSIDE_THRESHOLDS_H
#define RINGSIDE_THRESHOLDS_H

#include <stddef.h>

#include "doctor.h"

/* NULL: there is none; *errmsg says so in one line, and which may have been meant. */
const struct rule *rule__by_word(const char *word, char *errmsg, size_t errsize);

/* Appends "RULE.name=VALUE". 0; -EINVAL, -ENOMEM: *errmsg says in one line what is wrong. */
int threshold_settings__parse(struct threshold_settings *s, const char *arg, char *errmsg, size_t errsize);
void threshold_settings__free(struct threshold_settings *s);

#endif
