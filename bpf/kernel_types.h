/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/*
 * The kernel's structures, as far as we read them. CO-RE finds the real offsets
 * when a program is loaded, so only names and types count here.
 *
 * io_kiocb.flags has 32 bits before 6.9 and 64 since; io_kiocb.task became
 * .tctx in 6.13; the CQE of a request is in .cqe since 5.19.
 */
#ifndef RINGSIDE_KERNEL_TYPES_H
#define RINGSIDE_KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

struct io_uring_task;
struct file;

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t uid;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the cgroup v2 hierarchy */
};

struct ns_common {
	unsigned int inum; /* the inode of /proc/PID/ns/... */
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* one a namespace: the initial one first, the process's own last, at level */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct xol_area {
	unsigned long vaddr; /* begins with the code that uretprobes make functions return to */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	struct uprobes_state uprobes_state;
};

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	int pid;
	int tgid;
	char comm[16];
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct sched_entity se;
	u64 start_time;
	struct io_uring_task *io_uring;
	const struct cred *cred;
	struct css_set *cgroups;
	struct files_struct *files;
	void *worker_private; /* struct io_worker of an io-wq worker, since 5.12 */
};

struct io_wq_acct {
	unsigned int nr_workers;
	unsigned int max_workers;
};

struct io_wq {
	struct task_struct *task;
	struct io_wq_acct acct[2]; /* since 6.4; bounded, unbounded */
};

struct io_wqe_acct {
	unsigned int nr_workers;
	unsigned int max_workers;
};

struct io_wqe {
	struct io_wqe_acct acct[2];
};

struct io_wq___wqe {
	struct task_struct *task;
	struct io_wqe *wqes[1]; /* one a NUMA node, before 6.4 */
};

struct io_wq_work;

struct io_worker {
	struct io_wq *wq; /* since 6.4 */
	struct io_wq_work *cur_work;
};

struct io_wqe___wq {
	struct io_wq *wq;
};

struct io_worker___wqe {
	struct io_wqe___wq *wqe; /* before 6.4 */
};

#define IO_RINGFD_REG_MAX 16

struct io_uring_task {
	struct io_wq *io_wq;
	struct file *registered_rings[IO_RINGFD_REG_MAX]; /* since 5.18 */
	atomic_t in_cancel; /* its task exits or calls exec, and cancels what it has in flight */
};

struct io_uring_task___idle {
	atomic_t in_idle; /* its name until 6.1 */
};

struct io_uring {
	u32 head;
	u32 tail;
};

struct io_rings {
	struct io_uring sq;
	struct io_uring cq;
	u32 sq_dropped;
	atomic_t sq_flags; /* since 6.0; before, an integer */
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work_list {
	struct io_wq_work_node *first;
};

struct io_submit_state {
	struct io_wq_work_list compl_reqs; /* requests whose CQEs are being posted */
};

struct io_wq_work {
	struct io_wq_work_node list;
};

struct io_uring_sqe {
	u8 opcode;
	u8 flags;
	u16 ioprio;
	u32 len;
	u32 rw_flags; /* one union with timeout_flags, uring_cmd_flags */
	u64 user_data;
	u64 off;
	u64 addr;
};

struct io_uring_cqe {
	u64 user_data;
	s32 res;
	u32 flags;
};

struct io_sq_data {
	struct task_struct *thread;
};

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct io_ring_ctx {
	unsigned int flags;
	struct task_struct *submitter_task;
	struct io_rings *rings;
	u32 *sq_array;
	struct io_uring_sqe *sq_sqes;
	unsigned int cached_sq_head;
	unsigned int sq_entries;
	unsigned int cached_cq_tail;
	unsigned int cq_entries;
	struct io_sq_data *sq_data;
	struct work_struct exit_work;
	struct io_submit_state submit_state;
};

struct io_cqe {
	u64 user_data;
	s32 res;
	u32 flags;
};

struct io_kiocb {
	struct file *file;
	u8 opcode;
	u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_uring_task *tctx;
	struct io_wq_work_node comp_list;
	struct io_kiocb *link;
	struct io_wq_work work;
};

struct io_kiocb___task {
	struct task_struct *task;
};

struct io_kiocb___5_15 {
	u64 user_data;
};

struct task_struct___5_15 {
	void *pf_io_worker; /* worker_private's name until 5.16 */
};

struct file_operations {
	unsigned int (*poll)(struct file *file, void *wait);
};

struct vfsmount {
	struct dentry *mnt_root;
};

/* As far as it is one of a mount namespace; mnt is what the rest of the kernel has of it. */
struct mount {
	struct mount *mnt_parent; /* itself: there is none */
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct qstr {
	u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent; /* itself: it is the root of a filesystem, or in no directory */
	struct qstr d_name;
};

struct super_block {
	u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	unsigned int i_nlink;
	unsigned long i_ino;
	u32 i_generation;
	struct super_block *i_sb;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	const struct file_operations *f_op;
	struct inode *f_inode;
	void *private_data;
	struct path f_path;
};

struct proto {
	char name[32];
};

struct in6_addr {
	u8 in6_u[16];
};

struct sock_common {
	u32 skc_daddr, skc_rcv_saddr;
	u16 skc_dport; /* big endian */
	u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct proto *skc_prot;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr; /* with CONFIG_IPV6 */
};

struct sock {
	struct sock_common __sk_common;
};

struct socket {
	struct sock *sk;
};

struct unix_address {
	int len; /* right behind it: a struct sockaddr_un, two bytes of family and the path */
};

struct unix_sock {
	struct unix_address *addr;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct bio;
typedef void (*bio_end_io_t)(struct bio *bio);

struct bio {
	struct bio *bi_next;
	bio_end_io_t bi_end_io;
	void *bi_private;
};

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
};

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
};

/* Direct I/O of a file system, and of a block device: bi_private. */
struct kiocb;
struct iomap_dio {
	struct kiocb *iocb;
};

struct blkdev_dio {
	struct kiocb *iocb;
	struct bio bio; /* the only one where blkdev_bio_end_io_async() ends it */
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};

/* x86, where the arguments of a system call are in this order, then r8 and r9. */
struct pt_regs {
	unsigned long di, si, dx, r10;
	unsigned long ip, sp, bp, orig_ax;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

/* include/linux/sched.h: io-wq workers and, as they are made the same way, SQPOLL threads. */
#define PF_IO_WORKER 0x00000010
#define PF_EXITING 0x00000004
#define PF_KTHREAD 0x00200000
#define PF_FORKNOEXEC 0x00000040

/* The same on all architectures. */
#define SYS_IO_URING_ENTER 426

/* include/linux/blk_types.h: enum req_op, the low bits of request.cmd_flags. */
#define REQ_OP_MASK 0xffu
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_ZONE_APPEND 7

/* include/uapi/linux/io_uring.h and io_uring_types.h: the first bits of io_kiocb.flags are the SQE's. */
#define REQ_F_IO_DRAIN (1u << 1)
#define REQ_F_FORCE_ASYNC (1u << 4)
#define REQ_F_CQE_SKIP (1u << 6)
#define REQ_F_NEED_CLEANUP (1u << 13) /* the same in 6.1 to 7.3 */
#define IOSQE_ASYNC (1u << 4)
#define IORING_NOTIF_USAGE_ZC_COPIED (1u << 31)
#define IORING_CQE_F_MORE (1u << 1)
#define IORING_CQE_F_NOTIF (1u << 3)
#define IORING_POLL_ADD_MULTI (1u << 0)
#define IORING_POLL_UPDATE_USER_DATA (1u << 2)
#define IORING_ACCEPT_MULTISHOT (1u << 0)
#define IORING_RECV_MULTISHOT (1u << 1)
#define IORING_RECVSEND_BUNDLE (1u << 4)
#define IORING_URING_CMD_MULTISHOT (1u << 1)
#define IORING_TIMEOUT_MULTISHOT (1u << 6)
#define IORING_ENTER_REGISTERED_RING (1u << 4)
#define IORING_SETUP_SQE128 (1u << 10)
#define IORING_SETUP_REGISTERED_FD_ONLY (1u << 15)
#define IORING_SETUP_NO_SQARRAY (1u << 16)
#define IORING_SETUP_SQE_MIXED (1u << 19)
#define IORING_SETUP_SQ_REWIND (1u << 20)

/* enum io_uring_op: opcodes that are looked at closer. */
#define IORING_OP_POLL_ADD 6
#define IORING_OP_LINK_TIMEOUT 15
#define IORING_OP_POLL_REMOVE 7
#define IORING_OP_RECVMSG 10
#define IORING_OP_TIMEOUT 11
#define IORING_OP_ACCEPT 13
#define IORING_OP_LINK_TIMEOUT 15
#define IORING_OP_SEND 26
#define IORING_OP_RECV 27
#define IORING_OP_URING_CMD 46
#define IORING_OP_NOP128 63
#define IORING_OP_URING_CMD128 64

/* enum io_uring_register_op */
#define IORING_SQ_CQ_OVERFLOW (1u << 1)
#define IORING_REGISTER_FILES 2
#define IORING_REGISTER_FILES2 13
#define IORING_REGISTER_RESIZE_RINGS 33

#endif
