// SPDX-License-Identifier: MIT
#include "refusal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ENOTSUPP, which the kernel has for itself and returns all the same. */
#define KERNEL_ENOTSUPP 524

/* What libbpf puts in the place of an access that this kernel's types do not allow: a call of this helper. */
#define UNRESOLVED_ACCESS "invalid func unknown#195896080"

static bool begins(const char *line, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(line, with, n);
}

/* Lines that follow the complaint, in the order of the kernels that print them. */
static bool is_statistic(const char *line, size_t len)
{
	static const char *const heads[] = {
		"processed ",
		"verification time ",
		"stack depth ",
		"peak_states ",
	};
	size_t i;

	for (i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		if (begins(line, len, heads[i]))
			return true;
	return false;
}

/* The last line that says something; 0: there is none. */
static size_t last_words(const char *log, const char **ret)
{
	const char *end = log + strlen(log), *start;

	while (end > log) {
		for (start = end; start > log && start[-1] != '\n'; start--)
			;
		while (end > start && strchr(" \t\r", end[-1]))
			end--;
		while (start < end && strchr(" \t", *start))
			start++;
		if (end > start && !is_statistic(start, (size_t)(end - start))) {
			*ret = start;
			return (size_t)(end - start);
		}
		for (end = start; end > log && end[-1] != '\n'; end--)
			;
		if (end > log)
			end--;
	}
	return 0;
}

void refusal__meaning(int err, char *buf, size_t size)
{
	if (err == -KERNEL_ENOTSUPP)
		err = -EOPNOTSUPP;
	/* libbpf and the kernel say so of a function that is not there, was inlined, or may not be traced */
	if (err == -ESRCH)
		snprintf(buf, size, "no such function that can be traced");
	else
		libbpf_strerror(err, buf, size);
}

void refusal__reason(const char *log, int err, char *buf, size_t size)
{
	const char *line;
	size_t len = last_words(log, &line);

	if (!len)
		refusal__meaning(err, buf, size);
	else if (begins(line, len, UNRESOLVED_ACCESS))
		snprintf(buf, size, "it reads something that this kernel does not have");
	else
		snprintf(buf, size, "%.*s", (int)(len < size ? len : size - 1), line);
}
