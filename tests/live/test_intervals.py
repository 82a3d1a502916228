# SPDX-License-Identifier: MIT
"""Interval lines: what they say adds up to everything that happened, however rings come and go."""
import json

import truth
from ringside import Observer, workload
from testing import Suite, check, check_equal, check_none, scratch

suite = Suite()

ALIVE = "rings alive --workers 100 --count 3000000 --stray 100 --untimed"

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
            totals[key] = totals.get(key, 0) + line["totals"][key]
        add_ops(ops, line["ops"])
        for r in line["registers"]:
            into = registers.setdefault(r["op"], {"count": 0, "errors": 0})
            into["count"] += r["count"]
            into["errors"] += r["errors"]
    complaints = truth.Complaints()
    for theirs, ours in truth.TOTALS.items():
        if said[theirs] is not None:
            complaints.equal(ours, totals[ours], said[theirs])
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


def observe_by_intervals(line, *options, at_least=3):
    lines, said = lines_of(line, "-i", "0.05", *options)
    check(len(lines) >= at_least, f"{len(lines)} lines")
    check_sums(lines, said)
    check_clock(lines)
    check_equal("requests left", lines[-1]["totals"]["in_flight"], 0)
    return lines


@suite.test
def rings_that_stay():
    for line in ("rings resize --count 48000", ALIVE):
        observe_by_intervals(line)


@suite.test
def rings_that_come_and_go():
    observe_by_intervals("rings reuse --workers 600")
    observe_by_intervals("nops churn --workers 3000 --count 6000000 --untimed")


@suite.test
def one_ring_listed():
    """The others are summed, in every line anew."""
    for line in ("rings reuse --workers 600", ALIVE, "nops threads --workers 8 --count 4000000 --untimed"):
        for each in observe_by_intervals(line, "--max-report-rings", "1"):
            check(len(each["rings"]) <= 1, f"{len(each['rings'])} rings in a line")


@suite.test
def processes_that_come_and_go():
    observe_by_intervals("rings exit --workers 300 --batch 256 --count 300000")
