// SPDX-License-Identifier: MIT
#include "kallsyms.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kallsyms {
	enum ksym_state *state; /* of variants[i].ksym */
};

static void note_symbol(struct kallsyms *k, const char *name, unsigned long long addr)
{
	size_t i;

	for (i = 0; i < n_variants; i++)
		if (variants[i].ksym && !strcmp(variants[i].ksym, name))
			k->state[i] = addr ? KSYM_PRESENT : KSYM_HIDDEN;
}

int kallsyms__read(struct kallsyms **ret)
{
	unsigned long long addr;
	struct kallsyms *k;
	char line[512], *name, *end;
	FILE *f;

	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	k->state = calloc(n_variants, sizeof(*k->state));
	if (!k->state) {
		free(k);
		return -ENOMEM;
	}
	f = fopen("/proc/kallsyms", "re");
	/* without the file every symbol is absent, and the features say so */
	while (f && fgets(line, sizeof(line), f)) {
		/* "ffffffff81000000 T name [module]" */
		addr = strtoull(line, &end, 16);
		if (end == line || strlen(end) < 4 || strncmp(end + 2, " io_", 4))
			continue;
		name = end + 3;
		name[strcspn(name, " \t\n")] = '\0';
		note_symbol(k, name, addr);
	}
	if (f)
		fclose(f);
	*ret = k;
	return 0;
}

void kallsyms__free(struct kallsyms *k)
{
	if (!k)
		return;
	free(k->state);
	free(k);
}

enum ksym_state kallsyms__lookup(const char *name, void *arg)
{
	struct kallsyms *k = arg;
	size_t i;

	for (i = 0; i < n_variants; i++)
		if (variants[i].ksym && !strcmp(variants[i].ksym, name))
			return k->state[i];
	return KSYM_ABSENT;
}
