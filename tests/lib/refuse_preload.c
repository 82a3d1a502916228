// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: makes the kernel refuse some of a program's BPF programs. libbpf calls bpf(2) through
 * syscall(), which is defined here.
 *
 * REFUSE_LOAD, REFUSE_ATTACH: "NAME=HOW,NAME=HOW": what happens to BPF programs of that name. HOW is the number
 * of an errno, which stands for a kernel that refuses without a word; of a load it may also be `invalid` or
 * `large`: the kernel gets a program of ours instead, and refuses that one itself.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define LOADED_MAX 256

/* By file descriptor. */
static char loaded[LOADED_MAX][BPF_OBJ_NAME_LEN];

/* What the list in the environment says about this program; 0: nothing. */
static size_t how(const char *variable, const char *name, const char **ret)
{
	const char *p = getenv(variable), *eq;

	for (; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		eq = strchr(p, '=');
		/* the kernel keeps 15 bytes of a name */
		if (!eq || strncmp(p, name, strlen(name)) || (p[strlen(name)] != '=' && strlen(name) < 15))
			continue;
		*ret = eq + 1;
		return strcspn(eq + 1, ",");
	}
	return 0;
}

static bool is(const char *s, size_t len, const char *word)
{
	return len == strlen(word) && !strncmp(s, word, len);
}

static long do_bpf(long (*real)(long, ...), int cmd, union bpf_attr *attr, size_t size)
{
	/* no return value: "R0 !read_ok" */
	static const struct bpf_insn invalid[] = { { .code = BPF_JMP | BPF_EXIT } };
	/* counts to two million, and the verifier follows each step */
	static const struct bpf_insn large[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = 0, .off = -2, .imm = 2000000 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr swapped = { 0 };
	const char *what;
	size_t len = 0;
	long fd;

	if (cmd == BPF_PROG_LOAD)
		len = how("REFUSE_LOAD", attr->prog_name, &what);
	else if (cmd == BPF_RAW_TRACEPOINT_OPEN && attr->raw_tracepoint.prog_fd < LOADED_MAX)
		len = how("REFUSE_ATTACH", loaded[attr->raw_tracepoint.prog_fd], &what);
	else if (cmd == BPF_LINK_CREATE && attr->link_create.prog_fd < LOADED_MAX)
		len = how("REFUSE_ATTACH", loaded[attr->link_create.prog_fd], &what);
	if (len && (is(what, len, "invalid") || is(what, len, "large"))) {
		memcpy(&swapped, attr, size < sizeof(swapped) ? size : sizeof(swapped));
		swapped.insns = (unsigned long)(*what == 'i' ? invalid : large);
		swapped.insn_cnt =
			*what == 'i' ? sizeof(invalid) / sizeof(*invalid) : sizeof(large) / sizeof(*large);
		swapped.func_info_cnt = swapped.line_info_cnt = 0;
		attr = &swapped;
		size = sizeof(swapped);
	} else if (len) {
		errno = (int)strtol(what, NULL, 10);
		return -1;
	}
	fd = real(SYS_bpf, cmd, attr, size);
	if (cmd == BPF_PROG_LOAD && fd >= 0 && fd < LOADED_MAX)
		snprintf(loaded[fd], sizeof(loaded[fd]), "%s", attr->prog_name);
	return fd;
}

long syscall(long number, ...)
{
	long (*real)(long, ...), a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_bpf)
		return do_bpf(real, (int)a[0], (union bpf_attr *)a[1], (size_t)a[2]);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
