// SPDX-License-Identifier: MIT
#include "purge.h"

#include <bpf/bpf.h>
#include <stdbool.h>
#include <string.h>

/* The keys of these maps begin with the ring's uid. */
_Static_assert(offsetof(struct rs_tag_key, ring_uid) == 0, "tags");
_Static_assert(offsetof(struct rs_overflow_key, ring_uid) == 0, "overflowed");
_Static_assert(offsetof(struct rs_errno_key, ring_uid) == 0, "errnos");

#define KEY_MAX 16u

static bool is_dead(const struct session_tables *t, uint32_t uid)
{
	uint32_t idx = RS_RING_IDX(uid);

	/* without a generation it is a span's */
	return idx && uid != idx && (idx >= t->n_rings || t->rings[idx].uid != uid);
}

/* An insertion or deletion meanwhile may make a walk miss entries: the next one meets them. */
static void purge(const struct session_tables *t, int fd)
{
	unsigned char key[KEY_MAX], next[KEY_MAX];
	bool more = !bpf_map_get_next_key(fd, NULL, key);
	uint32_t uid;

	while (more) {
		more = !bpf_map_get_next_key(fd, key, next);
		memcpy(&uid, key, sizeof(uid));
		if (is_dead(t, uid))
			bpf_map_delete_elem(fd, key);
		memcpy(key, next, sizeof(key));
	}
}

void purge__dead_rings(const struct session *s)
{
	const struct session_maps *m = session__maps(s);
	const struct session_tables *t = session__tables(s);

	purge(t, m->tags);
	purge(t, m->overflowed);
	purge(t, m->errnos);
}
