# SPDX-License-Identifier: MIT
"""Interval lines: what they say adds up to everything that happened, however rings come and go."""
import json

import truth
from ringside import Observer, workload
from testing import Failed, Suite, check, check_equal, check_none, scratch

suite = Suite()

# Workloads: how much is for the machine to say.
ALIVE = "rings alive --workers 100 --count {} --stray 100 --untimed"
REUSE = "rings reuse --workers {} --untimed"
MOST_RUNS = 7

# What is counted; the others of the totals are gauges or quotients.
GAUGES = {"in_flight", "batch_mean"}


def lines_of(line, *options):
    """Observes a workload by intervals. Returns an object for each line, and the truth."""
    with scratch() as folder:
        truth_path = folder / "truth.json"
        command = [*workload(line), "--dir", folder, "--out", truth_path]
        result = Observer(folder, [*options, "--", *command]).result(100).expect_status(0)
        lines = result.json_path.read_text().splitlines()
        return [json.loads(each) for each in lines], json.loads(truth_path.read_text())


def add_ops(sums, ops):
    for op in ops:
        into = sums.setdefault(op["op"], {"errors": {}})
        for key in ("submitted", "completed", "rejected", "punted", "poll_armed", "bytes", "silent"):
            into[key] = into.get(key, 0) + (op[key] or 0)
        into["timed"] = into.get("timed", 0) + op["latency_ns"]["count"]
        for name, n in op["errors"].items():
            into["errors"][name] = into["errors"].get(name, 0) + n


def check_sums(lines, said):
    """Every counter of every line, added up, against the truth."""
    totals, ops, registers = {}, {}, {}
    for line in lines:
        check_none(truth.losses(line) + truth.sums(line))
        for key in line["totals"].keys() - GAUGES:
            # what only some kernels tell is unknown in every line
            unknown = key in truth.EXTRAS and line["totals"][key] is None
            totals[key] = None if unknown else totals.get(key, 0) + line["totals"][key]
        add_ops(ops, line["ops"])
        for r in line["registers"]:
            into = registers.setdefault(r["op"], {"count": 0, "errors": 0})
            into["count"] += r["count"]
            into["errors"] += r["errors"]
    complaints = truth.Complaints()
    for theirs, ours in truth.TOTALS.items():
        if said[theirs] is not None and not (ours in truth.EXTRAS and totals[ours] is None):
            lack = sum(truth.extras_missed(line) for line in lines) if ours in truth.EXTRAS else 0
            complaints.short(ours, totals[ours], said[theirs], lack)
    complaints.equal("registers", registers, said["registers"])
    for name, want in said["ops"].items():
        got = ops.get(name, {})
        for key in ("submitted", "completed"):
            complaints.equal(f"{name}.{key}", got.get(key), want[key])
        complaints.equal(f"{name}.timed", got.get("timed"), want["completed"])
        complaints.equal(f"{name}.errors", sum(got["errors"].values()), want["errors"])
    errnos = {}
    for op in ops.values():
        for name, n in op["errors"].items():
            errnos[name] = errnos.get(name, 0) + n
    complaints.equal("errors by errno", errnos, said["errnos"])
    check_none(complaints)


def check_clock(lines):
    """One after the other, without a gap."""
    windows = [(w["start_unix_ns"], w["duration_ns"]) for w in (line["window"] for line in lines)]
    for (start, duration), (following, _) in zip(windows, windows[1:]):
        check_equal("start of the next interval", following, start + duration)


def check_ended(lines):
    """A ring that has ended comes again only if something of it was counted late."""
    ended, open_before = set(), set()
    for line in lines:
        rings = {ring["id"]: ring for ring in line["rings"]}
        for ring in (rings[n] for n in rings.keys() & ended):
            check(any(ring["totals"].values()), f"ring {ring['id']} has ended before and did nothing: {ring}")
        closed = {n for n, ring in rings.items() if ring["state"] == "closed"}
        check_equal("open rings that are not listed", open_before - rings.keys(), set())
        open_before = rings.keys() - closed
        ended |= closed


def observe_by_intervals(line, amount, *options, at_least=5, complete=True):
    """Observes `line` with so much to do, or more where that is done before there are enough intervals."""
    for _ in range(MOST_RUNS):
        lines, said = lines_of(line.format(amount), "-i", "0.05", *options)
        check_sums(lines, said)
        check_clock(lines)
        if complete:
            check_ended(lines)
        check_equal("requests left", lines[-1]["totals"]["in_flight"], 0)
        if len(lines) >= at_least:
            return lines
        amount *= 4
    raise Failed(f"{len(lines)} lines about {line.format(amount // 4)}")


@suite.test(timeout_s=120)
def rings_that_stay():
    observe_by_intervals("rings resize --count {}", 4800)
    observe_by_intervals(ALIVE, 200000)


@suite.test(timeout_s=120)
def rings_that_come_and_go():
    observe_by_intervals(REUSE, 100, complete=False)
    # some are only summed; the table has room for all of them, should ringside not get a CPU for long
    lines = observe_by_intervals("nops churn --workers 3000 --count {} --untimed", 1500000,
                                 "--max-rings", "4096", complete=False)
    check(any(line["rings_other"] for line in lines), "all rings are listed: this test tests too little")


@suite.test(timeout_s=120)
def rings_that_ended_are_not_listed_again():
    for each in observe_by_intervals("nops churn --workers 100 --count {} --untimed", 500000):
        check_equal("rings that are only summed", each["rings_other"], None)


@suite.test(timeout_s=120)
def one_ring_listed():
    """The others are summed, in every line anew."""
    for line, amount in ((REUSE, 100), (ALIVE, 200000),
                         ("nops threads --workers 8 --count {} --untimed", 1000000)):
        for each in observe_by_intervals(line, amount, "--max-report-rings", "1", complete=False):
            check(len(each["rings"]) <= 1, f"{len(each['rings'])} rings in a line")


@suite.test(timeout_s=120)
def processes_that_come_and_go():
    observe_by_intervals("rings exit --workers {} --batch 256 --untimed", 50, complete=False)
