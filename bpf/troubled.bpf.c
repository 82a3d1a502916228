// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The files of requests in trouble. A file is named when it is first met, from the kernel's own structures: then it is
 * there, whatever the process has done by the time that anybody could look into /proc.
 */
#include "troubled.h"

#include "rings.h"
#include "staged.h"

#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define TCP_LISTEN 10
#define SUN_PATH 2 /* offset of sun_path in struct sockaddr_un */

/* Directories and mounts on the way from a file to its root. */
#define WAY_MAX 64

struct naming {
	struct dentry *dentry;
	struct mount *mount;
	struct rs_file *f;
	u32 at;	   /* where in f->name what is known of it begins */
	u32 flags; /* RS_FILE_* */
};

/* Puts len bytes of a name in front, and a slash before them. */
static __always_inline bool prepend(struct naming *w, const struct qstr *q, bool slash)
{
	u32 len = BPF_CORE_READ(q, len), at = w->at;

	if (len >= RS_NAME_PART || len + 1 > at) {
		w->flags |= RS_FILE_CUT;
		return false;
	}
	at -= len;
	bpf_probe_read_kernel(&w->f->name[at & (RS_FILE_NAME - 1)], len & (RS_NAME_PART - 1),
		BPF_CORE_READ(q, name));
	if (slash)
		w->f->name[--at & (RS_FILE_NAME - 1)] = '/';
	w->at = at;
	return true;
}

static int name_step(u32 i, void *arg)
{
	struct naming *w = arg;
	struct dentry *d = w->dentry, *parent = BPF_CORE_READ(d, d_parent);
	struct mount *mount = w->mount, *up;

	if (d != BPF_CORE_READ(mount, mnt.mnt_root) && d != parent) {
		w->dentry = parent;
		return !prepend(w, __builtin_preserve_access_index(&d->d_name), true);
	}
	up = BPF_CORE_READ(mount, mnt_parent);
	if (!up || up == mount)
		return 1;
	w->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	w->mount = up;
	return 0;
}

/* Its path in its mount namespace, or what the kernel calls it. */
static __noinline int name_file(struct rs_file *f, u64 file)
{
	struct vfsmount *mnt = BPF_CORE_READ((struct file *)file, f_path.mnt);
	struct dentry *d = BPF_CORE_READ((struct file *)file, f_path.dentry);
	struct naming w = { .dentry = d, .f = f, .at = RS_FILE_NAME - 1 };

	if (!f || !d || !mnt)
		return 0;
	w.mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);
	if (d == BPF_CORE_READ(d, d_parent) && d != BPF_CORE_READ(mnt, mnt_root)) {
		w.flags = RS_FILE_PSEUDO;
		prepend(&w, __builtin_preserve_access_index(&d->d_name), false);
	} else {
		/* since 5.17, older than what lets a request be known by its io_kiocb */
		bpf_loop(WAY_MAX, name_step, &w, 0);
	}
	f->name_at = w.at;
	f->flags |= w.flags;
	return 0;
}

static __noinline int name_inet(struct rs_sock *s, struct sock *sk)
{
	bool v6;

	if (!s)
		return 0;
	v6 = s->family == AF_INET6;
	s->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	s->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	s->listening = BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN;
	if (!v6) {
		BPF_CORE_READ_INTO((u32 *)s->local, sk, __sk_common.skc_rcv_saddr);
		BPF_CORE_READ_INTO((u32 *)s->peer, sk, __sk_common.skc_daddr);
	} else if (bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) {
		BPF_CORE_READ_INTO((struct in6_addr *)s->local, sk, __sk_common.skc_v6_rcv_saddr);
		BPF_CORE_READ_INTO((struct in6_addr *)s->peer, sk, __sk_common.skc_v6_daddr);
	}
	return 0;
}

/* A socket is known by its addresses; sockets have no names in directories of their own. */
static __noinline int name_socket(struct rs_file *f, u64 file)
{
	struct socket *sock = BPF_CORE_READ((struct file *)file, private_data);
	struct sock *sk = BPF_CORE_READ(sock, sk);
	struct unix_address *addr;
	struct proto *proto;
	struct rs_sock *s;
	int len;

	if (!f || !sk)
		return 0;
	s = &f->sock;
	s->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	proto = BPF_CORE_READ(sk, __sk_common.skc_prot);
	bpf_probe_read_kernel(s->protocol, sizeof(s->protocol) - 1,
		__builtin_preserve_access_index(&proto->name));
	if (s->family == AF_INET || s->family == AF_INET6)
		return name_inet(s, sk);
	if (s->family != AF_UNIX || !bpf_core_field_exists(struct unix_sock, addr))
		return 0;
	s->listening = BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_LISTEN;
	addr = BPF_CORE_READ((struct unix_sock *)sk, addr);
	len = addr ? BPF_CORE_READ(addr, len) - SUN_PATH : 0;
	if (len <= 0 || len >= (int)RS_NAME_PART)
		return 0;
	bpf_probe_read_kernel(f->name, len & (RS_NAME_PART - 1),
		(void *)addr + bpf_core_field_offset(struct unix_address, len) + sizeof(int) + SUN_PATH);
	f->name_at = 0;
	return 0;
}

static __noinline int describe(struct rs_file *f, u64 file)
{
	struct inode *inode = BPF_CORE_READ((struct file *)file, f_inode);

	if (!f)
		return 0;
	f->name_at = RS_FILE_NAME - 1;
	f->mode = BPF_CORE_READ(inode, i_mode);
	f->nlink = BPF_CORE_READ(inode, i_nlink);
	if ((f->mode & S_IFMT) == S_IFSOCK)
		name_socket(f, file);
	else
		name_file(f, file);
	ATOMIC_ADD(&f->flags, RS_FILE_READY);
	return 0;
}

/* The entry of a file, made and described when it is met for the first time. NULL: there is no room. */
static __noinline struct rs_file *file_of(u64 file, u32 op)
{
	struct inode *inode = BPF_CORE_READ((struct file *)file, f_inode);
	struct rs_file_key key = { .op = op };
	struct rs_file *f, *blank;
	u32 zero = 0;

	key.inode = BPF_CORE_READ(inode, i_ino);
	key.generation = BPF_CORE_READ(inode, i_generation);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	f = bpf_map_lookup_elem(&rs_files, &key);
	blank = f ? NULL : bpf_map_lookup_elem(&rs_file_blank, &zero);
	if (!blank)
		return f;
	if (bpf_map_update_elem(&rs_files, &key, blank, BPF_NOEXIST))
		/* another CPU met it at the same time, or there is no room */
		return bpf_map_lookup_elem(&rs_files, &key);
	f = bpf_map_lookup_elem(&rs_files, &key);
	describe(f, file);
	ATOMIC_ADD(&rs.n_files, 1);
	return f;
}

__noinline int rs_file_note(u64 req, u32 op, u32 trouble, u64 ns)
{
	u64 file = req ? (u64)BPF_CORE_READ((struct io_kiocb *)req, file) : 0;
	struct rs_file *f;

	/* it never got one, or needs none */
	if (!file || op >= RS_OPS)
		return 0;
	f = file_of(file, op);
	if (!f) {
		ATOMIC_ADD(&rs.files_full, 1);
		return 0;
	}
	if (trouble & TROUBLE_PUNT)
		ATOMIC_ADD(&f->punted, 1);
	if (trouble & TROUBLE_ERROR)
		ATOMIC_ADD(&f->errors, 1);
	if (trouble & TROUBLE_SLOW)
		ATOMIC_ADD(&f->slow, 1);
	if (ns)
		ATOMIC_ADD(&f->time_ns, ns);
	return 0;
}

static __always_inline struct rs_hot *hot_at(u32 group, u32 i)
{
	struct rs_hot_group *g = hot_group(group);

	return g ? &g->s[in_group(i)] : NULL;
}

__noinline int rs_slot_punted(u32 group, u32 i)
{
	struct rs_hot *s = hot_at(group, i);
	struct rs_series *se = s ? series_at(s->series) : NULL;

	if (!s || !se || !punt_is_unwanted(se, s->flags))
		return 0;
	return rs_file_note(s->key, se->op, TROUBLE_PUNT, 0);
}

/* What it waited for is others' business: a peer, its predecessor in a chain. */
static __always_inline bool is_slow(struct rs_hot *s, struct rs_cold *c, u32 traits, u64 latency_ns)
{
	if (latency_ns < rs_config.slow_ns || (s->flags & RS_SLOT_MULTI))
		return false;
	if (!(s->flags & RS_SLOT_STAGED))
		return !(traits & RS_OP_WAITS);
	/* without a series of its own nobody has added up its stages */
	return !series_is_shared(s->series) &&
	       latency_ns >= c->ns[RS_ST_ARMED] + c->ns[RS_ST_LINK] + rs_config.slow_ns;
}

__noinline int rs_slot_troubled(u32 group, u32 i, s32 res, u64 latency_ns)
{
	struct rs_hot *s = hot_at(group, i);
	struct rs_cold *c = cold_at(group, i);
	struct rs_series *se = s ? series_at(s->series) : NULL;
	bool punted, slow;

	if (!s || !c || !se)
		return 0;
	punted = (s->flags & RS_SLOT_PUNTED) && punt_is_unwanted(se, s->flags);
	slow = is_slow(s, c, se->traits, latency_ns);
	if (res >= 0 && !punted && !slow)
		return 0;
	/* the punt itself was noted when it happened */
	return rs_file_note(s->key, se->op, (res < 0 ? TROUBLE_ERROR : 0) | (slow ? TROUBLE_SLOW : 0),
		latency_ns);
}
