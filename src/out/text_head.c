/* SPDX-License-Identifier: MIT */
/* The first lines: what was observed, and how completely. */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "utf8.h"

/* Reasons of features that are listed; the rest are in the JSON report. */
#define MAX_REASONS 6
/* A command line cut shorter than this says too little: it gets a line of its own. */
#define MIN_TARGET_COLUMNS 16

bool text__saw_requests(const struct text *t)
{
	const struct totals *sum = &t->totals;

	return sum->submitted || sum->completed || sum->rejected || sum->in_flight || sum->untracked;
}

bool text__saw_anything(const struct text *t)
{
	return t->r->snap->n_rings || t->r->snap->n_others || text__saw_requests(t);
}

uint64_t text__count_rings(const struct snapshot *s)
{
	uint64_t n = s->n_others;
	size_t i;

	for (i = 0; i < s->n_rings; i++)
		n += s->rings[i].id != 0;
	return n;
}

/* The target and how it ended; the target is cut until both fit in `columns`. */
static char *target_text(const struct text *t, const char *target, const char *ended, size_t columns)
{
	size_t len = strlen(target), tail = utf8__width(ended);
	const char *dots = "";
	char *s;

	if (utf8__width(target) + tail > columns) {
		dots = text__ellipsis(t->o);
		tail += utf8__width(dots);
		len = utf8__fit(target,
			columns > tail + MIN_TARGET_COLUMNS ? columns - tail : MIN_TARGET_COLUMNS);
	}
	return asprintf(&s, "%.*s%s%s", (int)len, target, dots, ended) < 0 ? NULL : s;
}

/* One line if a useful part of the target fits behind the facts, else two. */
static void put_first_line(struct text *t, enum attr a, const char *facts, const char *target,
	const char *ended)
{
	size_t used = utf8__width(facts) + 2, width = (size_t)t->o->width, least = utf8__width(target);
	char *text;
	bool one;

	if (least > MIN_TARGET_COLUMNS)
		least = MIN_TARGET_COLUMNS + utf8__width(text__ellipsis(t->o));
	one = used + least + utf8__width(ended) <= width;
	text = target_text(t, target, ended, one ? width - used : width - 2);
	if (!text) {
		text__fail(t, -ENOMEM);
		return;
	}
	if (one) {
		text__wrapf(t, a, 0, 2, "%s: %s", facts, text);
	} else {
		text__wrapf(t, a, 0, 2, "%s:", facts);
		text__pad(t, 0, 2);
		text__wrap(t, a, 2, 2, text);
	}
	free(text);
}

static void first_line(struct text *t, enum attr a, const char *facts)
{
	char *target = utf8__printable(t->r->target ? t->r->target : "n/a", t->o->unicode);
	struct list ended = { 0 };

	list__add(&ended, "", "%s%s", t->r->ended ? ", " : "", t->r->ended ? t->r->ended : "");
	if (target && ended.s)
		put_first_line(t, a, facts, target, ended.s);
	else
		text__fail(t, -ENOMEM);
	list__end(&ended, t);
	free(target);
}

static void what_was_observed(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	char duration[FMT_LEN], requests[FMT_LEN], rate[FMT_LEN], rings[FMT_LEN];
	uint64_t n_rings = text__count_rings(s), n = t->totals.submitted;
	struct list facts = { 0 };

	fmt_ns(duration, s->duration_ns);
	fmt_count(rings, (double)n_rings);
	if (!text__saw_anything(t))
		list__add(&facts, "", "NOTHING USED io_uring: no ring and no request in %s", duration);
	else if (!text__saw_requests(t))
		list__add(&facts, "", "NO REQUESTS on %s %s in %s", rings,
			text__plural(n_rings, "ring", "rings"), duration);
	else
		list__add(&facts, "", "%s %s, %s %s in %s (%s/s)", rings,
			text__plural(n_rings, "ring", "rings"), fmt_count(requests, (double)n),
			text__plural(n, "request", "requests"), duration, text__rate(rate, s, (double)n));
	if (facts.s)
		first_line(t, text__saw_requests(t) ? ATTR_BOLD : ATTR_RED, facts.s);
	list__end(&facts, t);
}

/* The table that was too small for the rings whose requests are counted elsewhere. */
static const char *full_table(const struct fidelity *f)
{
	if (!f->series_full)
		return "ring table full";
	if (f->series_full >= f->rings_full)
		return "table of rings' opcodes full";
	return "tables of rings and of their opcodes full";
}

/* What makes the counts wrong, and what only leaves gaps beside them. */
static void fidelity_lists(const struct fidelity *f, struct list *wrong, struct list *gaps)
{
	char n[FMT_LEN];

	if (f->untracked)
		list__add(wrong, "; ", "%s completions whose submission was not seen",
			fmt_count(n, (double)f->untracked));
	if (f->records_lost)
		list__add(wrong, "; ", "%s records lost", fmt_count(n, (double)f->records_lost));
	if (f->children_lost)
		list__add(wrong, "; ", "%s child processes not followed",
			fmt_count(n, (double)f->children_lost));
	if (f->missed_known && f->missed)
		list__add(wrong, "; ", "%s events skipped by the kernel (recursion)",
			fmt_count(n, (double)f->missed));
	if (f->table_full)
		list__add(gaps, "; ", "%s requests not timed (in-flight table full)",
			fmt_count(n, (double)f->table_full));
	if (f->stages_lost)
		list__add(gaps, "; ", "stages of %s requests lost (table full)",
			fmt_count(n, (double)f->stages_lost));
	if (f->files_lost)
		list__add(gaps, "; ", "files of %s requests not noted (table full)",
			fmt_count(n, (double)f->files_lost));
	if (f->ambiguous)
		list__add(gaps, "; ", "%s requests not timed (several in flight with one user_data)",
			fmt_count(n, (double)f->ambiguous));
	if (f->unmatched)
		list__add(gaps, "; ", "%s CQEs of unknown requests (refused, or older than this report)",
			fmt_count(n, (double)f->unmatched));
	if (f->rings_full)
		list__add(gaps, "; ", "%s requests counted under no ring of their own (%s)",
			fmt_count(n, (double)f->rings_full), full_table(f));
	if (f->details_lost)
		list__add(gaps, "; ",
			"%s details lost (errnos, opcodes of further CQEs, workers: tables full)",
			fmt_count(n, (double)f->details_lost));
}

bool text__fidelity_problems(struct text *t)
{
	struct list wrong = { 0 }, gaps = { 0 };
	bool any;

	fidelity_lists(&t->r->snap->fidelity, &wrong, &gaps);
	any = wrong.s || gaps.s;
	if (wrong.s)
		text__wrapf(t, ATTR_RED, 0, 2, "COUNTS INCOMPLETE: %s%s%s.", wrong.s, gaps.s ? "; " : "",
			gaps.s ? gaps.s : "");
	else if (gaps.s)
		text__wrapf(t, ATTR_YELLOW, 0, 2, "Counts exact, but %s.", gaps.s);
	list__end(&wrong, t);
	list__end(&gaps, t);
	return any;
}

/* in_flight_at_attach + submitted (+ untracked) = completed + silent + in_flight, without the terms that are 0. */
static void balance(const struct totals *sum, struct list *l)
{
	uint64_t in = sum->in_flight_at_attach + sum->submitted + sum->untracked;
	uint64_t out = sum->completed + sum->silent + sum->in_flight;

	if (sum->in_flight_at_attach)
		list__add(l, "", "%" PRIu64 " in flight at attach + ", sum->in_flight_at_attach);
	list__add(l, "", "%" PRIu64 " submitted", sum->submitted);
	if (sum->untracked)
		list__add(l, "", " + %" PRIu64 " untracked", sum->untracked);
	if (in == sum->completed && out == in) {
		list__add(l, "", ", all completed");
		return;
	}
	list__add(l, "", " %s %" PRIu64 " completed", in == out ? "=" : "but", sum->completed);
	if (sum->silent)
		list__add(l, "", " + %" PRIu64 " silent", sum->silent);
	if (sum->in_flight)
		list__add(l, "", " + %" PRIu64 " in flight", sum->in_flight);
	if (in != out)
		list__add(l, "", " (off by %" PRIu64 ")", in > out ? in - out : out - in);
}

/* But for extras, which are nothing to complain of. */
static bool all_features(const struct snapshot *s)
{
	size_t i;

	for (i = 0; i < RS_F_COUNT; i++)
		if (s->features[i].level != FEATURE_FULL && !feature_is_extra(i))
			return false;
	return true;
}

static void feature_notes(struct text *t, enum feature_level level, enum attr a, const char *lead)
{
	static const char *const names[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = name,
#include "features.def"
#undef FEATURE
	};
	const struct snapshot *s = t->r->snap;
	struct list l = { 0 };
	size_t i, n = 0;

	for (i = 0; i < RS_F_COUNT; i++) {
		const struct feature_state *f = &s->features[i];

		if (f->level != level || feature_is_extra(i) || n++ >= MAX_REASONS)
			continue;
		list__add(&l, "; ", "%s%s%s%s", names[i], *f->why ? " (" : "", f->why, *f->why ? ")" : "");
	}
	if (n > MAX_REASONS)
		list__add(&l, "; ", "%zu more", n - MAX_REASONS);
	if (l.s)
		text__wrapf(t, a, 0, 2, "%s: %s.", lead, l.s);
	list__end(&l, t);
}

/* No other count is short because of these. */
static void extras_note(struct text *t)
{
	static const char *const whats[] = {
#define FEATURE(id, name, essential, what) [RS_F_##id] = what,
#include "features.def"
#undef FEATURE
	};
	const struct snapshot *s = t->r->snap;
	struct list l = { 0 };
	char n[FMT_LEN];
	size_t i;

	if (!s->fidelity.missed_known || !s->fidelity.extras_missed)
		return;
	for (i = 0; i < RS_F_COUNT; i++)
		if (feature_is_extra(i) && snapshot__knows(s, i))
			list__add(&l, "; ", "%s", whats[i]);
	fmt_count(n, (double)s->fidelity.extras_missed);
	if (l.s)
		text__wrapf(t, ATTR_YELLOW, 0, 2, "Extras may lack up to %s %s that the kernel skipped: %s.",
			n, text__plural(s->fidelity.extras_missed, "event", "events"), l.s);
	list__end(&l, t);
}

/* On one line if it fits: the claim and the sum that bears it out. */
static void claim(struct text *t, const char *what, const char *sum)
{
	bool one = utf8__width(what) + utf8__width(sum) + 3 <= (size_t)t->o->width;

	if (one) {
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s: %s.", what, sum);
	} else {
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s.", what);
		text__wrapf(t, ATTR_PLAIN, 0, 2, "%s.", sum);
	}
}

static void how_completely(struct text *t)
{
	const struct snapshot *s = t->r->snap;
	bool full = all_features(s) && s->fidelity.missed_known;
	struct list sum = { 0 };

	if (text__saw_requests(t))
		balance(&t->totals, &sum);
	if (text__fidelity_problems(t)) {
		if (sum.s)
			text__wrapf(t, ATTR_PLAIN, 0, 2, "%s.", sum.s);
	} else if (sum.s) {
		claim(t,
			full ? "Counts exact, every request tracked"
			     : "Nothing lost of what could be observed",
			sum.s);
	}
	list__end(&sum, t);
	extras_note(t);
	if (!s->fidelity.missed_known)
		text__wrap(t, ATTR_YELLOW, 0, 2,
			"Skipped events are not counted by this kernel (before 5.12).");
	feature_notes(t, FEATURE_OFF, ATTR_YELLOW, "Not observed, n/a below");
	feature_notes(t, FEATURE_DEGRADED, ATTR_YELLOW, "Observed in part");
}

void text__head(struct text *t)
{
	what_was_observed(t);
	how_completely(t);
}
