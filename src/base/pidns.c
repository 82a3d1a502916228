// SPDX-License-Identifier: MIT
#include "pidns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* PROC_PID_INIT_INO of the kernel. */
#define INITIAL_PID_NS 0xEFFFFFFCu

uint32_t pidns__inode(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NS)
		return 0;
	return (uint32_t)st.st_ino;
}

bool pidns__is_left_to_children(void)
{
	struct stat own, theirs;

	return !stat("/proc/self/ns/pid", &own) && !stat("/proc/self/ns/pid_for_children", &theirs) &&
	       own.st_ino != theirs.st_ino;
}

/* How many words follow on a line. */
static unsigned int count_words(const char *s)
{
	unsigned int n = 0;

	for (s += strspn(s, " \t\n"); *s; s += strspn(s, " \t\n")) {
		s += strcspn(s, " \t\n");
		n++;
	}
	return n;
}

bool pidns__owns_status(FILE *status)
{
	unsigned int n = 1; /* a kernel without pid namespaces has no such line */
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, status) > 0) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		/* from the namespace of /proc down to the process's own */
		n = count_words(line + 6);
		break;
	}
	free(line);
	return n == 1;
}

bool pidns__owns_proc(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	bool owns;

	if (!f)
		return false;
	owns = pidns__owns_status(f);
	fclose(f);
	return owns;
}
