# SPDX-License-Identifier: MIT
"""Random programs of valid requests: ringside counts what each of them knows it did, ring by ring.

RINGSIDE_SEED fixes the seeds of the fresh programs, which otherwise differ from run to run.
"""
import collections
import json
import os
import time

import truth
from ringside import Observer, WORKLOAD_SKIPS, workload
from testing import Failed, Skipped, Suite, scratch

PROGRAMS = 20  # to a run of ringside
FIXED_RUNS = 10
FRESH_RUNS = 16
FRESH_SEED = int(os.environ.get("RINGSIDE_SEED") or time.time_ns() // 1_000_000)
TIMEOUT_S = 120


class Bounds(truth.Complaints):
    """Complaints about numbers that have to be equal, or in a range where the program can't know."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def within(self, key, got, low, high):
        if got is None or not low <= got <= high:
            span = f"{low}" if low == high else f"{low} to {high}"
            self.append(f"{self.what}.{key}: ringside says {got}, the program {span}")


    def equal_to(self, key, got, want):
        self.within(key, got, want, want)


def _ends(c, got, want, vague):
    """What is counted with a ring and with each opcode of it. Returns the numbers of ends that nobody saw."""
    for key in ("submitted", "rejected", "cqes_multishot"):
        c.equal_to(key, got[key], want[key])
    if got["bytes"] is not None:
        c.within("bytes", got["bytes"], want["bytes"] - vague * want["overflowed_bytes"],
                 want["bytes"] + want["unreaped_bytes"])
    return want["unreaped"]


def _totals(c, got, want, vague):
    unreaped = _ends(c, got, want, vague)
    c.within("completed", got["completed"], want["completed"], want["completed"] + unreaped)
    c.within("errors", got["errors"], want["errors"], want["errors"] + unreaped)
    c.within("silent, and in flight without proof that it is", got["silent"] + got["in_flight"],
             want["silent"], want["silent"] + unreaped)
    c.within("notifs", got["notifs"], want["notifs"], want["notifs"] + want["unreaped_notifs"])
    c.equal_to("cqes_aux", got["cqes_aux"], want["cqes_aux"])
    c.equal_to("cq_overflows", got["cq_overflows"], want["overflows"])
    c.equal_to("cq_dropped", got["cq_dropped"], 0)
    c.equal_to("sq_dropped", got["sq_dropped"], want["sq_dropped"])
    if want["batches"] is not None:
        c.equal_to("batches", got["batches"], want["batches"])


def _op(c, got, want, vague):
    unreaped = _ends(c, got, want, vague)
    unknown = vague * want["overflowed"]
    timed = want["completed"] - want["multishot_ends"]
    gaps = want["cqes_multishot"] + want["multishot_ends"]
    c.within("completed", got["completed"], want["completed"] - unknown, want["completed"] + unreaped)
    c.within("silent, in flight or overflowed", got["silent"] + got["in_flight"], want["silent"],
             want["silent"] + unreaped + unknown)
    c.within("latencies", got["latency_ns"]["count"], timed - unknown, timed + unreaped)
    c.within("gaps", (got["multishot_gap_ns"] or {"count": 0})["count"], gaps - unknown, gaps + unreaped)
    c.within("notifs", got["notifs"], want["notifs"] - want["notifs_unannounced"],
             want["notifs"] + want["unreaped_notifs"])
    for name in got["errors"].keys() | want["errnos"].keys():
        errno = want["errnos"].get(name, sparse(()))
        c.within(f"errors.{name}", got["errors"].get(name, 0), errno["count"] - vague * errno["overflowed"],
                 errno["count"] + unreaped)


def _ring(what, got, want, vague):
    c = Bounds(what)
    _totals(c, got["totals"], want, vague)
    ops = {op["op"]: op for op in got["ops"]}
    c.equal(f"{what}: opcodes", sorted(ops), sorted(want["ops"]))
    for name in ops.keys() & want["ops"].keys():
        c.what = f"{what}: {name}"
        _op(c, ops[name], want["ops"][name], vague)
    return c


def mismatches(report, program):
    """What the report says otherwise than this program, no two rings of which have the same descriptor."""
    # whose CQEs overflowed is known, or only once each io_kiocb has been used again
    vague = report["kernel"]["features"]["overflow"]["state"] != "full"
    got = {r["fd"]: r for r in report["rings"] if r["pid"] == program["pid"]}
    want = {r["fd"]: r for r in program["rings"]}
    if got.keys() != want.keys():
        return [f"ringside has rings {[*got]}, the program {[*want]}"]
    return [s for i, fd in enumerate(want) for s in _ring(f"ring {i}", got[fd], want[fd], vague)]


def sparse(pairs):
    """What a program does not mention is 0."""
    return collections.defaultdict(int, pairs)


def observe(seed, count):
    """The report on `count` programs, and what they say, by seed."""
    with scratch() as folder:
        out = folder / "truth.json"
        line = ["mix", "--seed", str(seed), "--count", str(count), "--dir", str(folder), "--out", str(out)]
        result = Observer(folder, ["--max-report-rings=65535", "--", *workload(line)]).result(TIMEOUT_S)
        if result.status == WORKLOAD_SKIPS:
            raise Skipped(result.stderr.strip().splitlines()[-1])
        result.expect_status(0)
        programs = [json.loads(line, object_pairs_hook=sparse) for line in out.read_text().splitlines()]
        return result.report, {p["seed"]: p for p in programs}


def check_alone(seed):
    """Returns what is wrong with one program, and how to see it."""
    report, programs = observe(seed, 1)
    found = truth.consistency(report) + mismatches(report, programs[seed])
    return [f"seed {seed}, reproduce with: build/ringside stat --json -- build/workloads/mix --seed {seed}",
            *(f"  {s}" for s in found or ["nothing wrong when it runs alone"])]


def run(seed):
    report, programs = observe(seed, PROGRAMS)
    whole = truth.consistency(report)
    wrong = {s: m for s, p in programs.items() if (m := mismatches(report, p))}
    if not whole and not wrong:
        print(f"seeds {seed} to {seed + PROGRAMS - 1}: {report['totals']['submitted']} requests")
        return
    said = [f"seeds {seed} to {seed + PROGRAMS - 1} (RINGSIDE_SEED={FRESH_SEED}):", *whole]
    for s, complaints in wrong.items():
        said += [f"seed {s} among others:", *(f"  {m}" for m in complaints), *check_alone(s)]
    if not wrong:
        for s in programs:
            said += check_alone(s)
    raise Failed("\n".join(said))


suite = Suite()
for _i in range(FIXED_RUNS):
    suite.add(f"fixed-{_i}", lambda seed=1 + _i * PROGRAMS: run(seed), 2 * TIMEOUT_S)
for _i in range(FRESH_RUNS):
    suite.add(f"fresh-{FRESH_SEED}-{_i}", lambda seed=FRESH_SEED + _i * PROGRAMS: run(seed), 2 * TIMEOUT_S)
