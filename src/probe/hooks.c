// SPDX-License-Identifier: MIT
#include "hooks.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "refusal.h"

/* In every kernel that has io_uring, and called once a batch: a hook there for a moment costs nothing. */
#define FUNCTION "io_submit_sqes"

static void say_no(struct fact *f, const char *what, const char *log, int err)
{
	char reason[120];

	refusal__reason(log, err, reason, sizeof(reason));
	f->answer = ANSWER_NO;
	snprintf(f->why, sizeof(f->why), "%s: %s", what, reason);
}

/* A program that does nothing; negative errno: there is none, and why. */
static int load_fentry(const struct btf *btf, struct fact *ret)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char log[4096] = "";
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY, .log_level = 1,
		.log_buf = log, .log_size = sizeof(log));
	int id = btf__find_by_name_kind(btf, FUNCTION, BTF_KIND_FUNC), prog;

	ret->why[0] = '\0';

	if (id < 0) {
		ret->answer = ANSWER_UNKNOWN;
		snprintf(ret->why, sizeof(ret->why), "the kernel's types name no %s", FUNCTION);
		return -ENOENT;
	}
	opts.attach_btf_id = (__u32)id;
	prog = bpf_prog_load(BPF_PROG_TYPE_TRACING, "rs_try", "Dual MIT/GPL", nothing,
		sizeof(nothing) / sizeof(nothing[0]), &opts);
	if (prog < 0)
		say_no(ret, "loading", log, prog);
	return prog;
}

int hooks__may_fentry(const struct btf *btf, struct fact *ret)
{
	int prog = load_fentry(btf, ret);

	if (prog < 0)
		return prog;
	ret->answer = ANSWER_YES;
	close(prog);
	return 0;
}

void hooks__try_fentry(const struct btf *btf, struct fact *ret)
{
	int prog = load_fentry(btf, ret), link;

	if (prog < 0)
		return;
	link = bpf_raw_tracepoint_open(NULL, prog);
	if (link < 0)
		say_no(ret, "attaching", "", link);
	else
		ret->answer = ANSWER_YES;
	if (link >= 0)
		close(link);
	close(prog);
}

void hooks__try_kprobe(struct fact *ret)
{
	static const char type_file[] = "/sys/bus/event_source/devices/kprobe/type";
	struct perf_event_attr attr = { .size = sizeof(attr), .config1 = (unsigned long)FUNCTION };
	FILE *f = fopen(type_file, "re");
	int fd;

	if (!f || fscanf(f, "%u", &attr.type) != 1) {
		if (f)
			fclose(f);
		ret->answer = access("/sys/bus/event_source/devices", F_OK) ? ANSWER_UNKNOWN : ANSWER_NO;
		snprintf(ret->why, sizeof(ret->why), "there are none (CONFIG_KPROBE_EVENTS)");
		return;
	}
	fclose(f);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		say_no(ret, "perf_event_open", "", -errno);
		return;
	}
	ret->answer = ANSWER_YES;
	close(fd);
}
