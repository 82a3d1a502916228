/* SPDX-License-Identifier: MIT */
/* Facts about the running kernel that decide what can be observed, read without privileges. */
#ifndef RINGSIDE_FACTS_H
#define RINGSIDE_FACTS_H

#include "survey.h"

/* Everything that files tell; what can't be read is unknown. */
void facts__read(const char *release, struct survey_system *ret);

/*
 * Whether this is a virtual machine of the x86 family. There the hypervisor passes debug exceptions on, and some lose
 * now and then what a watchpoint's was raised for: the kernel (exc_debug_user()) takes an empty DR6 for an
 * INT1 of the program's and sends it SIGTRAP.
 */
bool facts__is_x86_guest(void);

/* How far the kernel is locked down, as that file says; "": not known. */
void facts__read_lockdown(char *buf, size_t size);

/* The level in what /sys/kernel/security/lockdown says, "none [integrity] confidentiality"; "": none. */
void facts__lockdown(const char *text, char *buf, size_t size);

/* Fills options from a kernel configuration, plain or gzipped. 0 or negative errno: then nothing is filled. */
int facts__config(const char *path, struct survey_option options[SURVEY_OPTIONS]);

#endif
