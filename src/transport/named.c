// SPDX-License-Identifier: MIT
#include "named.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#define BATCH 4096u

struct batch {
	struct rs_named_key keys[BATCH];
	struct rs_named values[BATCH];
};

static void count(const struct session_tables *t, const struct rs_named_key *key, const struct rs_named *n,
	struct slot_counts *c)
{
	uint32_t idx = RS_RING_IDX(key->ring_uid);

	/* its ring has been read out and its entry given to another */
	if (idx >= t->n_rings || n->series >= t->n_series || t->rings[idx].uid != key->ring_uid)
		return;
	c->ring_in_flight[idx]++;
	if (n->doubt & RS_DOUBT_OP)
		c->unnamed[idx]++;
	else
		c->in_flight[n->series]++;
}

int named__count(const struct session *s, struct slot_counts *c)
{
	int fd = session__maps(s)->named, err = 0;
	uint32_t position, *from = NULL, n, i;
	struct batch *b;

	if (fd < 0)
		return 0;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	/* whole buckets at once: a walk key by key starts anew whenever its key has been deleted */
	while (!err) {
		n = BATCH;
		err = bpf_map_lookup_batch(fd, from, &position, b->keys, b->values, &n, NULL);
		if (err && err != -ENOENT)
			break;
		for (i = 0; i < n; i++)
			count(session__tables(s), &b->keys[i], &b->values[i], c);
		from = &position;
	}
	free(b);
	return err == -ENOENT ? 0 : err;
}
