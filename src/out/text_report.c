/* SPDX-License-Identifier: MIT */
/* The whole report as text: the sections in reading order. */
#include "text.h"

#include <errno.h>

/* Counters that no table has, if they say something. */
static void put_counters(struct text *t)
{
	const struct totals *sum = &t->totals;
	const struct {
		uint64_t n;
		const char *one, *many;
		enum rs_feature feature;
	} counters[] = {
		{ sum->waits, "wait", "waits", RS_F_WAIT },
		{ sum->rejected, "SQE rejected", "SQEs rejected", RS_F_REJECT },
		{ sum->sq_dropped, "SQE dropped", "SQEs dropped", RS_F_SUBMIT },
		{ sum->cq_overflows, "CQ overflow", "CQ overflows", RS_F_OVERFLOW },
		{ sum->cq_dropped, "CQE dropped", "CQEs dropped", RS_F_OVERFLOW },
		{ sum->short_writes, "short write", "short writes", RS_F_SHORT_WRITE },
		{ sum->cqes_multishot, "multishot CQE", "multishot CQEs", RS_F_COMPLETE },
		{ sum->cqes_aux, "auxiliary CQE", "auxiliary CQEs", RS_F_COMPLETE },
		{ sum->notifs, "zero-copy notification", "zero-copy notifications", RS_F_COMPLETE },
	};
	uint64_t op_errors = 0;
	struct list l = { 0 };
	char n[FMT_LEN], mean[FMT_LEN];
	size_t i;

	if (!t->ops.n && !sum->rejected)
		return;
	for (i = 0; i < t->ops.n; i++)
		op_errors += t->ops.ops[i].c[RS_SC_ERRORS];
	if (sum->batches_known && sum->batches)
		list__add(&l, ", ", "%s %s of %.1f SQEs on average", fmt_count(n, (double)sum->batches),
			text__plural(sum->batches, "batch", "batches"),
			((double)sum->submitted + (double)sum->rejected) / (double)sum->batches);
	for (i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (!snapshot__knows(t->r->snap, counters[i].feature))
			list__add(&l, ", ", "%s n/a", counters[i].many);
		else if (counters[i].n)
			list__add(&l, ", ", "%s %s", fmt_count(n, (double)counters[i].n),
				text__plural(counters[i].n, counters[i].one, counters[i].many));
	}
	if (sum->enters)
		list__add(&l, ", ", "%s %s of %s on average", fmt_count(n, (double)sum->enters),
			text__plural(sum->enters, "io_uring_enter", "io_uring_enters"),
			fmt_ns(mean, sum->enter_ns / sum->enters));
	if (sum->buffer_imports)
		list__add(&l, ", ", "%s %s of registered buffers", fmt_count(n, (double)sum->buffer_imports),
			text__plural(sum->buffer_imports, "use", "uses"));
	if (sum->errors > op_errors)
		list__add(&l, ", ", "%s errors in overflowed CQEs",
			fmt_count(n, (double)(sum->errors - op_errors)));
	if (l.s)
		text__wrap(t, ATTR_PLAIN, 0, 2, l.s);
	list__end(&l, t);
}

int text__begin(struct text *t, const struct report *r, const struct text_options *o, FILE *f)
{
	*t = (struct text){ .f = f, .o = o, .r = r, .totals = snapshot__totals(r->snap) };
	return snapshot__ops(r->snap, &t->ops);
}

int text__end(struct text *t)
{
	op_list__free(&t->ops);
	if (t->err)
		return t->err;
	errno = 0;
	if (fflush(t->f) == EOF || ferror(t->f))
		return errno ? -errno : -EIO;
	return 0;
}

int report__text(const struct report *r, const struct text_options *o, FILE *f)
{
	struct text t;
	int err = text__begin(&t, r, o, f);

	if (err)
		return err;
	text__head(&t);
	text__findings(&t);
	text__ops(&t);
	put_counters(&t);
	text__histograms(&t);
	text__stages(&t);
	text__files(&t);
	text__sites(&t);
	text__spans(&t);
	text__devices(&t);
	text__rings(&t);
	if (o->rings)
		text__ops_by_ring(&t);
	text__workers(&t);
	text__registers(&t);
	text__cost(&t);
	return text__end(&t);
}
