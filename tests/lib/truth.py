# SPDX-License-Identifier: MIT
"""Compares a report with what a workload says it did."""
from testing import EXTRAS as EXTRA_FEATURES

# Key of the truth -> key of the report's totals.
TOTALS = {
    "submitted": "submitted",
    "completed": "completed",
    "errors": "errors",
    "bytes": "bytes",
    "rejected": "rejected",
    "batches": "batches",
    "overflows": "cq_overflows",
    "poll_armed": "poll_armed",
    "multishot": "cqes_multishot",
    "aux": "cqes_aux",
    "notifs": "notifs",
    "enters": "enters",
}
# These many kernels do not let be observed.
EXTRAS = ("enters", "enter_ns", "buffer_imports", "wq_queued", "wq_queue_ns")
# Scenarios in which each request that a worker runs has waited in the queue of io-wq.
QUEUED = ("async", "unwanted")
QUANTILES = ("p50", "p90", "p99", "p999", "p9999", "max")
BUCKETS_AN_OCTAVE = 16


class Complaints(list):
    def equal(self, what, got, want):
        if got != want:
            self.append(f"{what}: ringside says {got}, the workload {want}")

    def short(self, what, got, want, by):
        """Equal, or less by no more than that."""
        if not want - by <= got <= want:
            self.append(f"{what}: ringside says {got}, the workload {want}, at most {by} may lack")


def identity(what, totals):
    """in_flight_at_attach + submitted = completed + silent + in_flight"""
    t = totals
    terms = ("in_flight_at_attach", "submitted", "completed", "silent", "in_flight")
    if t["in_flight_at_attach"] is None:
        # where CQEs do not name their request, those of older ones count as no request's
        t = {**t, "in_flight_at_attach": 0}
    if None in (values := [t[k] for k in terms]):
        return [f"{what}: identity with unknown terms: {dict(zip(terms, values))}"]
    if t["in_flight_at_attach"] + t["submitted"] != t["completed"] + t["silent"] + t["in_flight"]:
        return [f"{what}: the identity does not hold: {dict(zip(terms, values))}"]
    return []


def names_requests(report):
    """Whether a CQE names its request; else (before 5.19) requests are known by their user_data alone."""
    return report["kernel"]["features"]["ends"]["state"] != "off"


def is_blind(report):
    """Whether this kernel leaves something unknown; what is null then must follow from the features."""
    return any(f["state"] == "off" for name, f in report["kernel"]["features"].items() if name not in EXTRA_FEATURES)


def losses(report, excused=()):
    """
    Every field of fidelity must be 0, but for those excused; unknown is not. What extras missed, their numbers
    are allowed to lack.
    """
    # there is room for the stages of some hundred rings, and call sites are asked for so many times a second
    excused = (*excused, "extras_missed", "stages_lost", "stacks_skipped", "stacks_lost")
    if not names_requests(report):
        # and the kernel does not count what it skipped
        excused = (*excused, "ambiguous", "unmatched", "missed")
    return [f"fidelity.{k} is {v}" for k, v in report["fidelity"].items() if v != 0 and k not in excused]


def sums(report):
    """The rings must add up to the totals."""
    c = Complaints()
    parts = [r["totals"] for r in report["rings"]]
    if report["rings_other"]:
        parts.append(report["rings_other"]["totals"])
    for key, total in report["totals"].items():
        values = [p[key] for p in parts]
        if key != "batch_mean" and None not in values and total is not None and sum(values) != total:
            c.append(f"totals.{key} is {total}, its rings have {sum(values)}")
    return c


def extras_missed(report):
    """By how much each number that only extras know may be too small."""
    return report["fidelity"]["extras_missed"] or 0


def has_older_rings(report):
    """Rings that are only summed may be older, too."""
    return report["rings_other"] or not all(r["created_in_window"] for r in report["rings"])


def op_sums(report):
    """
    The opcodes must add up to the totals. Where an overflow does not tell whose CQE it was, that may stay
    unknown; so may be whose further CQEs are, and if details_lost does not say so, their request is older
    than the observation.
    """
    c = Complaints()
    t = report["totals"]
    known = report["kernel"]["features"]["overflow"]["state"] == "full"
    older = has_older_rings(report)
    exact = ("submitted", "rejected", "punted", "poll_armed")
    further = ("cqes_multishot", "notifs")
    others = ("completed", "bytes", "silent", "in_flight_at_attach", "in_flight")
    for key in exact + further + others:
        total, ops = t[key], sum(op[key] or 0 for op in report["ops"])
        leeway = 0 if known or key in exact else t["cq_overflows"] or 0
        if total is None or key in further and ops < total <= ops + (report["fidelity"]["details_lost"] or 0):
            continue
        if older and key in further and ops < total:
            continue
        if not total - leeway <= ops <= total + leeway:
            c.append(f"totals.{key} is {total}, the opcodes have {ops}")
    return c


def latencies(report):
    """A distribution must agree with itself."""
    c = Complaints()
    for op in report["ops"]:
        for key in ("latency_ns", "multishot_gap_ns", "notif_delay_ns"):
            if op[key]:
                _distribution(c, f"{op['op']}.{key}", op[key])
    return c


def _distribution(c, name, d):
    if sum(n for _, n in d["buckets"]) != d["count"]:
        c.append(f"{name}: the buckets do not sum up to {d['count']}")
    if not d["count"]:
        return
    order = [d[k] for k in ("min", *QUANTILES)]
    if order != sorted(order):
        c.append(f"{name}: quantiles are not in order: {order}")
    if not d["min"] * d["count"] <= d["sum"] <= d["max"] * d["count"]:
        c.append(f"{name}: a sum of {d['sum']} ns can't be")


def _queue(c, op):
    """Of what a worker ran, how much waited for it and how long: no longer than it took."""
    if op["wq_queued"] is None:
        return
    if op["wq_queued"] > op["punted"]:
        c.append(f"{op['op']}: {op['wq_queued']} were begun by a worker, {op['punted']} punted")
    if op["wq_queued"] == 0 and op["wq_queue_ns"]:
        c.append(f"{op['op']}: nothing queued for {op['wq_queue_ns']} ns")


def _stages(c, op):
    """The stages of a request follow one another without a gap."""
    known = {name: stage for name, stage in (op["stages"] or {}).items() if stage}
    if not known:
        return
    total = sum(stage["sum"] for stage in known.values())
    if total != op["latency_ns"]["sum"]:
        c.append(f"{op['op']}: its stages sum to {total} ns, its latencies to {op['latency_ns']['sum']} ns")
    for name, stage in known.items():
        if stage["count"] > op["latency_ns"]["count"]:
            c.append(f"{op['op']}.stages.{name}: {stage['count']} of {op['latency_ns']['count']} requests")


def _files(c, report, op):
    """Requests in trouble each have a file at most."""
    if report["files"] is None:
        return
    files = [f for f in report["files"] if f["op"] == op["op"]]
    for key, n in (("punted", op["punted_by"]["unwanted"]), ("errors", sum(op["errors"].values())),
                   ("slow", op["latency_ns"]["count"])):
        if (noted := sum(f[key] or 0 for f in files)) > n:
            c.append(f"{op['op']}: {noted} {key} by file, {n} in all")
    # such requests are not tried, or not punted, without a file
    if op["op"] in ("READ", "WRITE") and not report["files_other"] and not report["fidelity"]["files_lost"]:
        if (noted := sum(f["punted"] for f in files)) != op["punted_by"]["unwanted"]:
            c.append(f"{op['op']}: {noted} punted by file, {op['punted_by']['unwanted']} in all")


def _register_times(c, register):
    took = register["latency_ns"]
    if not took:
        return
    if took["count"] > register["count"]:
        c.append(f"{register['op']}: {took['count']} timed of {register['count']}")
    if took["max"] is not None and not took["max"] <= took["sum"] <= took["max"] * took["count"]:
        c.append(f"{register['op']}: times can't be: {took}")


def consistency(report, excused=()):
    """What must hold in every report, whatever was observed, but for losses that are excused."""
    c = identity("totals", report["totals"]) + losses(report, excused)
    c += sums(report) + op_sums(report) + latencies(report)
    for ring in report["rings"]:
        c += identity(f"ring {ring['id']}", ring["totals"])
    for op in report["ops"]:
        _files(c, report, op)
        causes = op["punted_by"]
        if sum(causes.values()) != op["punted"]:
            c.append(f"{op['op']}: punted {op['punted']}, by cause {causes}")
        _queue(c, op)
        _stages(c, op)
    for register in report["registers"] or []:
        _register_times(c, register)
    return c


def _totals(c, report, truth, cancelled):
    for key, theirs in TOTALS.items():
        if theirs in EXTRAS and (truth.get(key) is None or report["totals"][theirs] is None):
            continue
        if truth[key] is None or (cancelled and key in ("completed", "errors")):
            continue
        if report["totals"][theirs] is None and is_blind(report):
            continue
        if theirs in EXTRAS:
            c.short(f"totals.{theirs}", report["totals"][theirs], truth[key], extras_missed(report))
            continue
        c.equal(f"totals.{theirs}", report["totals"][theirs], truth[key])
    t = report["totals"]
    # a request that a worker runs after an attempt inline is given its buffer again
    given, used = t["buffer_imports"], truth.get("imports")
    if None not in (given, used) and not used - extras_missed(report) <= given <= used + t["punted"]:
        c.append(f"totals.buffer_imports: ringside says {given}, the workload {used}, {t['punted']} punted")
    if cancelled:
        return
    c.equal("silent, and in flight without proof that it is", t["silent"] + t["in_flight"], truth["silent"])
    errnos = {}
    for op in report["ops"]:
        for name, n in op["errors"].items():
            errnos[name] = errnos.get(name, 0) + n
    c.equal("errors by errno", errnos, truth["errnos"])


def _op(c, got, want, exact):
    name = got["op"]
    c.equal(f"{name}.submitted", got["submitted"], want["submitted"])
    c.equal(f"{name}.bytes", got["bytes"], want["bytes"])
    if exact:
        c.equal(f"{name}.completed", got["completed"], want["completed"])
        c.equal(f"{name}.errors", sum(got["errors"].values()), want["errors"])
    elif got["completed"] > want["submitted"]:
        c.append(f"{name}: {got['completed']} completed of {want['submitted']}")
    for cause, n in want["punted_by"].items():
        c.equal(f"{name}.punted_by.{cause}", got["punted_by"][cause], n)


def _latency(c, name, got, want, exact):
    """Each request took ringside's clock no longer than the workload's, so each quantile is bounded too."""
    if got["count"] != want["count"]:
        if exact:
            c.append(f"{name}: {got['count']} latencies, {want['count']} requests ended")
        return
    if not got["count"]:
        return
    for key in ("min", "sum"):
        if got[key] > want[key + "_ns"]:
            c.append(f"{name}: {key} {got[key]} ns, the workload saw {want[key + '_ns']} ns")
    for q in QUANTILES:
        bound = want[q + "_ns"]
        if q != "max":
            bound = bound * 1.04 + max(1, bound / BUCKETS_AN_OCTAVE)
        if got[q] > bound:
            c.append(f"{name}: {q} {got[q]} ns, the workload saw {want[q + '_ns']} ns")


def _spans(c, name, got, want):
    """Times between two CQEs: as many as there were, and not longer in all than the workload waited."""
    if not (got or want):
        return
    got, want = got or {"count": 0, "sum": 0}, want or {"count": 0, "sum_ns": 0}
    c.equal(f"{name}.count", got["count"], want["count"])
    if got["sum"] > want["sum_ns"]:
        c.append(f"{name}: {got['sum']} ns in all, the workload saw {want['sum_ns']} ns")


def mismatches(report, truth, cancelled=False, at_least_ns=None):
    """
    What the report says otherwise than the truth, as sentences.

    cancelled: the workload ended with requests in flight, and what became of them it can't know.
    at_least_ns: {op: nanoseconds} that no request of it can have been quicker than.
    """
    c = Complaints(consistency(report))
    _totals(c, report, truth, cancelled)
    if not names_requests(report):
        c.equal("fidelity.unmatched", report["fidelity"]["unmatched"], truth["rejected"] + truth["aux"])
    rings = len(report["rings"]) + (report["rings_other"]["n_rings"] if report["rings_other"] else 0)
    c.equal("rings", rings, truth["rings"])
    registers = {r["op"]: {"count": r["count"], "errors": r["errors"]} for r in report["registers"]}
    c.equal("registers", registers, truth["registers"])

    for r in report["registers"]:
        if r["latency_ns"] and not has_older_rings(report):
            c.short(f"{r['op']}.latency_ns.count", r["latency_ns"]["count"], r["count"], extras_missed(report))

    # An opcode of which every SQE was refused has a row, too.
    ops = {op["op"]: op for op in report["ops"] if op["submitted"] or op["completed"] or not op["rejected"]}
    # Which opcode an overflowed CQE ended is known only once its io_kiocb is used again.
    exact = not truth["overflows"] and not cancelled and not report["fidelity"]["ambiguous"]
    c.equal("opcodes", sorted(ops), sorted(truth["ops"]))
    for name in ops.keys() & truth["ops"].keys():
        _op(c, ops[name], truth["ops"][name], exact and not truth["silent"])
        if truth.get("scenario") in QUEUED and ops[name]["wq_queued"] is not None:
            c.short(f"{name}.wq_queued", ops[name]["wq_queued"], ops[name]["punted"], extras_missed(report))
        if "latency" not in truth:
            continue  # the workload looked at no clock
        for theirs, ours in (("multishot_gap_ns", "gaps"), ("notif_delay_ns", "holds")):
            _spans(c, f"{name}.{theirs}", ops[name][theirs], truth["ops"][name].get(ours))
        if want := truth["latency"].get(name):
            _latency(c, name, ops[name]["latency_ns"], want, exact)
    for name, least in (at_least_ns or {}).items():
        if ops[name]["latency_ns"]["min"] < least:
            c.append(f"{name}: min {ops[name]['latency_ns']['min']} ns is less than {least} ns")
    return c


def block_mismatches(report, said):
    """What is wrong in a report on a workload of block.c, wherever its file is. Sentences."""
    op = next((op for op in report["ops"] if op["op"] == said["op"]), None)
    if op is None:
        return [f"no {said['op']}"]
    complaints = Complaints()
    # where handlers can be preempted, the kernel skips some, and says so
    missed = (report["fidelity"]["missed"] or 0) + extras_missed(report)

    def nearly(what, got, want):
        if not want - missed <= got <= want:
            complaints.append(f"{what}: ringside says {got}, the workload {want}, and {missed} events were missed")

    nearly("requests", op["completed"], said["requests"])
    latency, stages = op["latency_ns"], op["stages"] or {}
    known = {name: stage["sum"] for name, stage in stages.items() if stage}
    if known and sum(known.values()) != latency["sum"]:
        complaints.append(f"the stages sum to {sum(known.values())}, not {latency['sum']}: {known}")
    if latency["sum"] > said["most_ns"]:
        complaints.append(f"{latency['sum']} ns in all, the workload saw {said['most_ns']} ns")
    if not stages.get("device"):
        return complaints
    # buffered reads that end inline need not have waited
    if said["block"] != "cold":
        want = 0 if said["block"] == "cached" else latency["count"]
        nearly("requests with the disk", stages["device"]["count"], want)
        nearly("requests with the block layer", stages["blk_queue"]["count"], want)
    observed = sum(device["observed"] for device in report["devices"])
    if observed + missed < (said["requests"] if said["block"] != "cached" else 0):
        complaints.append(f"only {observed} requests of the disk were observed: {report['devices']}")
    return complaints
