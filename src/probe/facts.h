/* SPDX-License-Identifier: MIT */
/* Facts about the running kernel that decide what can be observed, read without privileges. */
#ifndef RINGSIDE_FACTS_H
#define RINGSIDE_FACTS_H

#include "survey.h"

/* Everything that files tell; what can't be read is unknown. */
void facts__read(const char *release, struct survey_system *ret);

/* How far the kernel is locked down, as that file says; "": not known. */
void facts__read_lockdown(char *buf, size_t size);

/* The level in what /sys/kernel/security/lockdown says, "none [integrity] confidentiality"; "": none. */
void facts__lockdown(const char *text, char *buf, size_t size);

/* Fills options from a kernel configuration, plain or gzipped. 0 or negative errno: then nothing is filled. */
int facts__config(const char *path, struct survey_option options[SURVEY_OPTIONS]);

#endif
