// SPDX-License-Identifier: MIT
/* The report of `stat`, whole and by intervals. */
#include "stat.h"

/* Files listed in the report, the costliest. */
#define FILES_LISTED 64

/* Call sites, those that are met most often. */
#define SITES_LISTED 32

/* A header every so many interval lines. */
#define HEADER_EVERY 20

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

int stat_run__interval(struct stat_run *r)
{
	struct snapshot now, delta;
	struct diagnosis d = { 0 };
	struct report rep;
	int err;

	err = live__snapshot(r->live, &now);
	if (err)
		return sinks__say(err);
	err = snapshot__delta(&r->last, &now, &delta);
	if (err) {
		snapshot__free(&now);
		return sinks__say(err);
	}
	snapshot__free(&r->last);
	r->last = now;
	if (r->sinks.json && !r->o->no_doctor)
		err = doctor__run(&delta, &r->o->thresholds, &d);
	err = err ? err : snapshot__limit_rings(&delta, r->o->max_report_rings);
	file_list__limit(&delta.files, FILES_LISTED);
	site_list__limit(&delta.sites, SITES_LISTED);
	rep = make_report(r, &delta, &d);
	if (!err && r->sinks.json)
		err = sinks__put_json(&r->sinks, report__json(&rep), JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (!err && r->sinks.text)
		err = report__interval_text(&rep, &r->sinks.style, r->n_intervals % HEADER_EVERY == 0,
			r->sinks.text);
	err = sinks__flush_text(&r->sinks, err);
	r->n_intervals++;
	diagnosis__free(&d);
	snapshot__free(&delta);
	return sinks__say(err);
}

static bool reaches(const struct diagnosis *d, int fail_on)
{
	size_t i;

	for (i = 0; fail_on >= 0 && i < d->n_findings; i++)
		if (!d->findings[i].never_gates && (int)d->findings[i].severity >= fail_on)
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
		return sinks__say(err);
	if (!r->o->no_doctor)
		err = doctor__run(&s, &r->o->thresholds, &d);
	err = err ? err : snapshot__limit_rings(&s, r->o->max_report_rings);
	file_list__limit(&s.files, FILES_LISTED);
	site_list__limit(&s.sites, SITES_LISTED);
	rep = make_report(r, &s, &d);
	/* with intervals, JSON is one object an interval and nothing else */
	if (!err && r->sinks.json && !r->o->interval_ns)
		err = sinks__put_json(&r->sinks, report__json(&rep),
			JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	if (!err && r->sinks.text && r->o->interval_ns)
		fputc('\n', r->sinks.text);
	if (!err && r->sinks.text)
		err = report__text(&rep, &r->sinks.style, r->sinks.text);
	err = sinks__flush_text(&r->sinks, err);
	*ret_findings = reaches(&d, r->o->fail_on);
	diagnosis__free(&d);
	snapshot__free(&s);
	return sinks__say(err);
}
