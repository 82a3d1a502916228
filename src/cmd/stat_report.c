// SPDX-License-Identifier: MIT
/* The report of `stat`, whole and by intervals. */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "stat.h"
#include "stream.h"

/* A header every so many interval lines. */
#define HEADER_EVERY 20

static int print_json(struct stat_run *r, const struct report *rep, size_t flags)
{
	json_t *j = report__json(rep);
	int err = 0;

	if (!j)
		return -ENOMEM;
	/* what did not fit into memory is no error of the stream */
	if (json_dumpf(j, r->sinks.json, flags) && !ferror(r->sinks.json))
		err = -ENOMEM;
	fputc('\n', r->sinks.json);
	err = err ? err : stream__flush(r->sinks.json);
	json_decref(j);
	return err;
}

/* The reason of a failed write is better known here than to those who wrote. */
static int flush_text(struct stat_run *r, int err)
{
	int flushed = r->sinks.text && (!err || err == -EIO) ? stream__flush(r->sinks.text) : 0;

	return flushed ? flushed : err;
}

static struct report make_report(const struct stat_run *r, const struct snapshot *s,
	const struct diagnosis *d)
{
	return (struct report){
		.snap = s,
		.diag = r->o->no_doctor ? NULL : d,
		.target = r->target,
		.ended = r->ended[0] ? r->ended : NULL,
	};
}

static int say(int err)
{
	if (err)
		log_error("can't write the report: %s", strerror(-err));
	return err;
}

int stat_run__interval(struct stat_run *r)
{
	struct snapshot now, delta;
	struct diagnosis d = { 0 };
	struct report rep;
	int err;

	err = live__snapshot(r->live, &now);
	if (err)
		return say(err);
	err = snapshot__delta(&r->last, &now, &delta);
	if (err) {
		snapshot__free(&now);
		return say(err);
	}
	snapshot__free(&r->last);
	r->last = now;
	if (r->sinks.json && !r->o->no_doctor)
		err = doctor__run(&delta, &d);
	err = err ? err : snapshot__limit_rings(&delta, r->o->max_report_rings);
	rep = make_report(r, &delta, &d);
	if (!err && r->sinks.json)
		err = print_json(r, &rep, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (!err && r->sinks.text)
		err = report__interval_text(&rep, &r->sinks.style, r->n_intervals % HEADER_EVERY == 0,
			r->sinks.text);
	err = flush_text(r, err);
	r->n_intervals++;
	diagnosis__free(&d);
	snapshot__free(&delta);
	return say(err);
}

static bool reaches(const struct diagnosis *d, int fail_on)
{
	size_t i;

	for (i = 0; fail_on >= 0 && i < d->n_findings; i++)
		if ((int)d->findings[i].severity >= fail_on)
			return true;
	return false;
}

int stat_run__report(struct stat_run *r, bool *ret_findings)
{
	struct diagnosis d = { 0 };
	struct snapshot s;
	struct report rep;
	int err;

	err = live__snapshot(r->live, &s);
	if (err)
		return say(err);
	if (!r->o->no_doctor)
		err = doctor__run(&s, &d);
	err = err ? err : snapshot__limit_rings(&s, r->o->max_report_rings);
	rep = make_report(r, &s, &d);
	/* with intervals, JSON is one object an interval and nothing else */
	if (!err && r->sinks.json && !r->o->interval_ns)
		err = print_json(r, &rep, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	if (!err && r->sinks.text && r->o->interval_ns)
		fputc('\n', r->sinks.text);
	if (!err && r->sinks.text)
		err = report__text(&rep, &r->sinks.style, r->sinks.text);
	err = flush_text(r, err);
	*ret_findings = reaches(&d, r->o->fail_on);
	diagnosis__free(&d);
	snapshot__free(&s);
	return say(err);
}
