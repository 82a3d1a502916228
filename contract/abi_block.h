/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* The part of abi.h that is about the block layer; it includes this. */
#ifndef RINGSIDE_ABI_BLOCK_H
#define RINGSIDE_ABI_BLOCK_H

#define RS_BLOCK_DIRECT 1u /* the bios name the request; else its thread was seen to queue them */

/* What the block layer did for the request in a slot; found as its rs_cold is. May be stamped in interrupts. */
struct rs_block {
	__u64 of_ns;	      /* submit_ns of the request that this is of */
	__u64 queued_ns;      /* the first bio was queued, 0: none */
	__u64 last_queued_ns; /* the last one */
	__u64 issued_ns;      /* the first part went to a device, 0: none */
	__u64 done_ns;	      /* the last part was done, 0: none */
	__u64 blk_queue_ns;   /* of what was done before queued_ns: how long it took */
	__u64 device_ns;
	__u32 flags; /* RS_BLOCK_* */
	__u32 pad;
};

struct rs_block_group {
	struct rs_block s[RS_GROUP];
};

/* What a thread is submitting; found by tid, modulo their number. */
#define RS_ISSUING 4096u
struct rs_issuing {
	__u64 req;
	__u64 before; /* what it submitted before that, or the head of the chain that this ended */
	__u32 tid;
	__u32 pad;
};

/* Whose bio it is, where the bio does not say; key of the map: its address. */
struct rs_bio {
	__u64 req;
	__u64 submit_ns; /* of the request: addresses are used again */
};

/* Disks that watched requests used. Key of their index: major << 32 | first minor. */
#define RS_DEVICES 64u
#define RS_DISK_NAME_LEN 32
/* Octaves of bytes from 512 on. */
#define RS_SIZES 16u

struct rs_device {
	__u32 major, minor;
	char name[RS_DISK_NAME_LEN];
	__u32 in_flight, depth_max;
	__u64 reads, writes, others; /* requests of the block layer that were done */
	__u64 read_bytes, written_bytes;
	__u64 observed; /* of them, those with a part of a watched request */
	__u64 errors;
	__u64 merged; /* bios that went along with another one's request */
	__u64 split;  /* bios that had been cut off another one */
	__u64 max_bytes;
	__u64 sizes[RS_SIZES];
	struct rs_lat lat; /* with the device */
} __attribute__((aligned(64)));

/* A request of the block layer that is with a device; key of the map: its address. */
struct rs_rq {
	__u64 issued_ns;
	__u32 device;
	__u32 bytes;
	__u8 op;
	__u8 observed;
	__u8 pad[6];
};

#endif
