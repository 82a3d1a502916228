// SPDX-License-Identifier: MIT
#include "variants.h"

#include <string.h>

#include "names.h"

#define ROW(f, prog, on, arguments, ...)                                                                     \
	{                                                                                                    \
		.feature = RS_F_##f, .program = prog, .hook = on, .args = arguments, .level = FEATURE_FULL,  \
		##__VA_ARGS__                                                                                \
	}

/* What a file is named from. */
#define FILE_FIELDS                                                                                           \
	"io_kiocb.cqe,io_kiocb.file,file.f_path,file.f_inode,dentry.d_parent,dentry.d_name,mount.mnt_parent," \
	"mount.mnt_mountpoint,mount.mnt,sock_common.skc_prot"
#define BLOCK_ROW(...)                                                                                       \
	{                                                                                                    \
		.feature = RS_F_BLOCK, .program = "rs_rq_complete", .hook = "block_rq_complete",             \
		.args = "request*,u8,u32",                                                                   \
		.also = { { "rs_bio_queue", "block_bio_queue", "bio*" },                                     \
			{ "rs_rq_issue", "block_rq_issue", "request*" } },                                   \
		.fields = "io_kiocb.cqe,request.bio,request_queue.disk,iomap_dio.iocb,blkdev_dio.iocb",      \
		##__VA_ARGS__                                                                                \
	}

/* Rows of io_uring as of 5.15, which 5.10 has too; the other rows begin with 5.19. */
const struct variant variants[] = {
	ROW(SUBMIT, "rs_submit_req", "io_uring_submit_req", "io_kiocb*", .fields = "io_kiocb.cqe"),
	/* its name before it was io_uring_submit_req, as on 6.1 */
	ROW(SUBMIT, "rs_submit_sqe", "io_uring_submit_sqe", "io_kiocb*,...", .fields = "io_kiocb.cqe"),
	ROW(SUBMIT, "rs_submit_named", "io_uring_submit_sqe", "*,*,u8,u64,u32,...",
		.fields = "io_kiocb.user_data"),

	/* the CQE itself since 6.16 */
	ROW(COMPLETE, "rs_complete_cqe", "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*"),
	ROW(COMPLETE, "rs_complete_args", "io_uring_complete", "*,*,u64,s32,u32,u64,u64"),
	{ .feature = RS_F_COMPLETE,
		.program = "rs_complete_named",
		.hook = "io_uring_complete",
		.args = "*,u64,s32,u32",
		.level = FEATURE_DEGRADED,
		.why = "CQEs do not name their request: no latency for those in flight with the same user_data" },
	ROW(ENDS, NULL, "io_uring_complete", "io_ring_ctx*,*,io_uring_cqe*"),
	ROW(ENDS, NULL, "io_uring_complete", "*,*,u64,s32,u32,u64,u64"),
	{ .feature = RS_F_ENDS,
		.hook = "io_uring_complete",
		.args = "*,u64,s32,u32",
		.level = FEATURE_OFF,
		.why = "io_uring_complete does not name the request" },

	ROW(RING_CREATE, "rs_create", "io_uring_create", "s32,*,u32,u32,u32"),
	ROW(RING_EXIT, "rs_ring_exit", "workqueue_queue_work", "s32,pool_workqueue*,work_struct*",
		.fields = "io_ring_ctx.exit_work", .ksym = "io_ring_exit_work"),
	ROW(RING_EXIT, "rs_ring_exit", "workqueue_queue_work", "u32,pool_workqueue*,work_struct*",
		.fields = "io_ring_ctx.exit_work", .ksym = "io_ring_exit_work"),
	ROW(RING_GONE, "rs_ring_gone", "workqueue_execute_end", "work_struct*,*", .raw = true,
		.fields = "io_ring_ctx.exit_work", .ksym = "io_ring_exit_work"),
	ROW(RING_SCAN, "rs_scan_files", "iter:task_file", NULL, .fields = "file.private_data",
		.ksym = "io_uring_poll"),
	ROW(RING_SCAN_REG, "rs_scan_tasks", "iter:task", NULL, .fields = "io_uring_task.registered_rings"),
	ROW(REJECT, "rs_req_failed", "io_uring_req_failed", "io_uring_sqe*,io_kiocb*,s32"),
	ROW(OVERFLOW, "rs_cqe_overflow", "io_uring_cqe_overflow", "*,u64,s32,u32,*"),
	/* the second argument was an int, then a bool; the first is the same since 5.19 */
	ROW(PUNT, "rs_punt", "io_uring_queue_async_work", "io_kiocb*,..."),
	ROW(PUNT, "rs_punt_named", "io_uring_queue_async_work", "*,s32,*,...",
		.fields = "io_kiocb.user_data"),
	ROW(LINK, "rs_link", "io_uring_link", "io_kiocb*,io_kiocb*"),
	ROW(LINK, "rs_link_named", "io_uring_link", "*,*,*", .fields = "io_kiocb.user_data"),
	ROW(STAGES, NULL, "io_uring_submit_req", "io_kiocb*", .fields = "io_kiocb.cqe"),
	ROW(STAGES, NULL, "io_uring_submit_sqe", "io_kiocb*,...", .fields = "io_kiocb.cqe"),
	{ .feature = RS_F_STAGES,
		.hook = "io_uring_submit_sqe",
		.args = "*,*,u8,u64,u32,...",
		.level = FEATURE_OFF,
		.why = "events do not name their request" },
	ROW(FILES, NULL, "io_uring_submit_req", "io_kiocb*", .fields = FILE_FIELDS),
	ROW(FILES, NULL, "io_uring_submit_sqe", "io_kiocb*,...", .fields = FILE_FIELDS),
	{ .feature = RS_F_FILES,
		.hook = "io_uring_submit_sqe",
		.args = "*,*,u8,u64,u32,...",
		.level = FEATURE_OFF,
		.why = "events do not name their request" },
	ROW(CALL_SITES, NULL, "io_uring_queue_async_work", "io_kiocb*,...",
		.fields = "io_kiocb.cqe,pt_regs.ip,pt_regs.sp,pt_regs.bp,task_struct.thread_pid"),
	{ .feature = RS_F_CALL_SITES,
		.hook = "io_uring_queue_async_work",
		.args = "*,s32,*,...",
		.level = FEATURE_OFF,
		.why = "events do not name their request" },
	ROW(WAKE, "rs_task_add", "io_uring_task_add", "io_kiocb*,..."),
	ROW(DEFER, "rs_defer", "io_uring_defer", "io_kiocb*,..."),
	ROW(POLL, "rs_poll_arm", "io_uring_poll_arm", "io_kiocb*,..."),
	ROW(POLL, "rs_poll_arm_named", "io_uring_poll_arm", "*,*,u8,..."),
	ROW(WAIT, "rs_cqring_wait", "io_uring_cqring_wait", "*,..."),
	ROW(SHORT_WRITE, "rs_short_write", "io_uring_short_write", "*,..."),
	ROW(REGISTER, "rs_register", "io_uring_register", "*,u32,u32,u32,s64"),
	ROW(REGISTER, "rs_register_eventfd", "io_uring_register", "*,u32,u32,u32,u8,s64"),
	ROW(FOLLOW, "rs_fork", "sched_process_fork", "task_struct*,task_struct*"),
	ROW(EXIT, "rs_exit", "sched_process_exit", "task_struct*,..."),
	ROW(PIDS, "rs_list_pids", "iter:task", NULL,
		.fields =
			"task_struct.thread_pid,pid.level,pid.numbers,upid.nr,upid.ns,pid_namespace.ns,ns_common.inum"),

	/* on 5.10 the verifier refuses it */
	ROW(ENTER, "rs_enter_end", "fexit:__x64_sys_io_uring_enter", "pt_regs*", .begin = "rs_enter_begin",
		.fields = "io_kiocb.cqe"),
	ROW(WQ_QUEUE, "rs_wq_begin", "fentry:io_wq_submit_work", "io_wq_work*", .fields = "io_kiocb.cqe"),
	ROW(REGISTER_TIME, "rs_register_begin", "fentry:__x64_sys_io_uring_register", "pt_regs*"),
	BLOCK_ROW(.ksym = "iomap_dio_bio_end_io", .level = FEATURE_FULL),
	BLOCK_ROW(.level = FEATURE_DEGRADED,
		.why = "can't tell what ends direct I/O: bios are known by the thread that queues them only"),
	ROW(BUFFERS, "rs_import_buffer", "fentry:io_import_reg_buf", "io_kiocb*,..."),

	/* since 6.6 all places at once: one by one each takes a tenth of a second, to attach and to detach */
	ROW(SPANS, "rs_span_return", "uprobe_multi", NULL, .begin = "rs_span_begin",
		.fields = "bpf_uprobe_multi_link.path,uprobes_state.xol_area,xol_area.vaddr"),
	/* a program learns since 5.15 which of the places that it is attached to it runs at */
	ROW(SPANS, "rs_span_return", "uprobe", NULL, .begin = "rs_span_begin",
		.fields = "bpf_trace_run_ctx.bpf_cookie,uprobes_state.xol_area,xol_area.vaddr"),
	ROW(SPAN_WAIT, "rs_span_switch", "sched_switch", "u8,task_struct*,task_struct*,...",
		.begin = "rs_span_wait", .fields = "bpf_trace_run_ctx.bpf_cookie,xol_area.vaddr"),
};

const size_t n_variants = sizeof(variants) / sizeof(variants[0]);

const char *const optional_ksyms[] = { "blkdev_bio_end_io", "blkdev_bio_end_io_async", "bio_chain_endio" };
const size_t n_optional_ksyms = sizeof(optional_ksyms) / sizeof(optional_ksyms[0]);

static const struct {
	const char *name, *what;
	bool essential;
} features[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = { name, what, essential },
#include "features.def"
#undef FEATURE
};

const char *hook__function(const char *hook)
{
	if (!strncmp(hook, "fentry:", 7))
		return hook + 7;
	return strncmp(hook, "fexit:", 6) ? NULL : hook + 6;
}

bool variant__is_uprobe(const struct variant *v)
{
	return !strcmp(v->hook, "uprobe") || variant__is_uprobe_multi(v);
}

bool variant__is_uprobe_multi(const struct variant *v)
{
	return !strcmp(v->hook, "uprobe_multi");
}

static bool has_program(const struct variant *v, const char *name)
{
	size_t i;

	for (i = 0; i < COMPANIONS; i++)
		if (v->also[i].program && !strcmp(v->also[i].program, name))
			return true;
	return (v->program && !strcmp(v->program, name)) || (v->begin && !strcmp(v->begin, name));
}

bool program__is_extra(const char *name)
{
	bool extra = false;
	size_t i;

	for (i = 0; i < n_variants; i++) {
		if (!has_program(&variants[i], name))
			continue;
		if (!feature_is_extra(variants[i].feature))
			return false;
		extra = true;
	}
	return extra;
}

const char *feature_name(enum rs_feature f)
{
	return features[f].name;
}

const char *feature_what(enum rs_feature f)
{
	return features[f].what;
}

bool feature_essential(enum rs_feature f)
{
	return features[f].essential;
}
