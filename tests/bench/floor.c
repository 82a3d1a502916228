// SPDX-License-Identifier: MIT
/*
 * floor empty|clock: attaches the two programs of floor.bpf.c, says "ready" and
 * stays until its standard input ends. Exit status 77: this kernel lacks a tracepoint.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "floor.skel.h"

#define EXIT_SKIP 77

static int only_warnings(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, ap) : 0;
}

static bool have_tracepoints(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool ret;

	if (!btf)
		return false;
	ret = btf__find_by_name_kind(btf, "btf_trace_io_uring_submit_req", BTF_KIND_TYPEDEF) > 0 &&
	      btf__find_by_name_kind(btf, "btf_trace_io_uring_complete", BTF_KIND_TYPEDEF) > 0;
	btf__free(btf);
	return ret;
}

static void wait_for_end_of_input(void)
{
	char buf[64];
	ssize_t n;

	do
		n = read(STDIN_FILENO, buf, sizeof(buf));
	while (n > 0 || (n < 0 && errno == EINTR));
}

static int observe(bool clock)
{
	struct floor_bpf *skel = floor_bpf__open();
	int err;

	if (!skel)
		return -errno;
	bpf_program__set_autoload(clock ? skel->progs.clock_submit : skel->progs.empty_submit, true);
	bpf_program__set_autoload(clock ? skel->progs.clock_complete : skel->progs.empty_complete, true);
	err = floor_bpf__load(skel);
	if (!err)
		err = floor_bpf__attach(skel);
	if (!err) {
		puts("ready");
		fflush(stdout);
		wait_for_end_of_input();
	}
	floor_bpf__destroy(skel);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2 || (strcmp(argv[1], "empty") && strcmp(argv[1], "clock"))) {
		fprintf(stderr, "usage: floor empty|clock\n");
		return 2;
	}
	libbpf_set_print(only_warnings);
	if (!have_tracepoints())
		return EXIT_SKIP;
	err = observe(!strcmp(argv[1], "clock"));
	if (err) {
		fprintf(stderr, "floor: %s\n", strerror(-err));
		return 1;
	}
	return 0;
}
