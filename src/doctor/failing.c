// SPDX-License-Identifier: MIT
#include "failing.h"

#define ONE_RING_PCT 90

uint64_t op_stats__errno(const struct op_stats *o, int err)
{
	for (size_t i = 0; i < o->n_errnos; i++)
		if (o->errnos[i].err == err)
			return o->errnos[i].count;
	return 0;
}

uint64_t op_stats__cqes(const struct op_stats *o)
{
	return op_stats__completed(o) + o->c[RS_SC_MULTISHOT];
}

static uint64_t count_of(const struct op_stats *o, int err)
{
	return err ? op_stats__errno(o, err) : o->c[RS_SC_REJECTED];
}

static int judge_op(const struct rule *r, const struct snapshot *s, const struct op_stats *o,
	int (*judge)(const struct rule *r, const struct failing *f, struct diagnosis *d), struct diagnosis *d)
{
	struct failing f = { .snap = s, .op = o, .of = op_stats__cqes(o) };
	int err = 0;

	for (size_t i = 0; i < o->n_errnos && !err; i++) {
		f.err = o->errnos[i].err;
		f.n = o->errnos[i].count;
		err = judge(r, &f, d);
	}
	if (err || !o->c[RS_SC_REJECTED])
		return err;
	f.err = 0;
	f.n = o->c[RS_SC_REJECTED];
	f.of = f.n + o->c[RS_SC_SUBMITTED];
	return judge(r, &f, d);
}

int failing__each(const struct rule *r, const struct snapshot *s,
	int (*judge)(const struct rule *r, const struct failing *f, struct diagnosis *d), struct diagnosis *d)
{
	struct op_list l;
	int err = snapshot__ops(s, &l);

	if (err)
		return err;
	for (size_t i = 0; i < l.n && !err; i++)
		err = judge_op(r, s, &l.ops[i], judge, d);
	op_list__free(&l);
	return err;
}

static uint64_t on_ring(const struct failing *f, const struct ring_stats *ring)
{
	for (size_t i = 0; i < ring->n_ops; i++)
		if (ring->ops[i].op == f->op->op)
			return count_of(&ring->ops[i], f->err);
	return 0;
}

uint32_t failing__ring(const struct failing *f)
{
	for (size_t i = 0; i < f->snap->n_rings; i++) {
		uint64_t n = on_ring(f, &f->snap->rings[i]);

		if (n && rule__pct(n, f->n) >= ONE_RING_PCT)
			return f->snap->rings[i].id;
	}
	return 0;
}

struct finding failing__finding(const struct rule *r, const struct failing *f)
{
	return (struct finding){
		.rule = r->id,
		.severity = SEVERITY_WARN,
		.advice = r->advice,
		.ring = failing__ring(f),
		.op = (int)f->op->op,
		.weight = f->n,
	};
}

json_t *failing__evidence(const struct failing *f)
{
	json_t *e = json_object();

	evidence__u64(&e, "failed", f->n);
	evidence__u64(&e, f->err ? "cqes" : "sqes", f->of);
	evidence__real(&e, "failed_pct", rule__pct(f->n, f->of));
	if (f->snap->duration_ns)
		evidence__real(&e, "failed_per_s", rule__per_s(f->snap, f->n));
	return e;
}
