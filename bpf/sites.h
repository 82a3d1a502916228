/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */
/* Where requests were submitted that went to workers unasked. */
#ifndef RINGSIDE_SITES_BPF_H
#define RINGSIDE_SITES_BPF_H

#include "common.h"

/* In sites.bpf.c. The request in slot i of a group was punted while it was being submitted: by whom? */
int rs_site_take(u32 group, u32 i, u64 now);

#endif
