// SPDX-License-Identifier: MIT
/* Prints io_uring's tracepoints of this kernel with their arguments, as ringside sees them: NAME(ARGUMENTS). */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>

#include "select.h"

#define PREFIX "btf_trace_"

static int print_tracepoint(const struct btf *btf, const char *name)
{
	char args[512];
	int err = tracepoint__signature(btf, name, args, sizeof(args));

	if (!err)
		printf("%s(%s)\n", name, args);
	return err;
}

int main(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int err = 0;

	if (!btf) {
		perror("BTF of the kernel");
		return 1;
	}
	for (__u32 id = 1; id < btf__type_cnt(btf) && !err; id++) {
		const struct btf_type *t = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, t->name_off);

		if (btf_is_typedef(t) && !strncmp(name, PREFIX "io_uring_", strlen(PREFIX "io_uring_")))
			err = print_tracepoint(btf, name + strlen(PREFIX));
	}
	btf__free(btf);
	return err != 0;
}
