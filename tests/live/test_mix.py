# SPDX-License-Identifier: MIT
"""Random programs of valid requests: ringside counts what each of them knows it did, ring by ring.

RINGSIDE_SEED is the seed of the first of the fresh programs, which otherwise differ from run to run.
"""
import collections
import json
import os
import time

import truth
from ringside import Observer, WORKLOAD_SKIPS, workload
from testing import Failed, Skipped, Suite, scratch

PROGRAMS = 50  # to a run of ringside
FIXED_RUNS = 4
FRESH_RUNS = 12
FRESH_SEED = int(os.environ.get("RINGSIDE_SEED") or time.time_ns() // 1_000_000)
MAX_ALONE = 3  # programs that are run again
MAX_SAID = 6  # complaints about a program
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

    def exactly(self, key, got, want):
        self.within(key, got, want, want)


def _ends(c, got, want, vague):
    """What is counted with a ring and with each opcode of it. Returns the number of ends that nobody saw."""
    for key in ("submitted", "rejected", "cqes_multishot"):
        c.exactly(key, got[key], want[key])
    c.within("notifs", got["notifs"], want["notifs"], want["notifs"] + want["unreaped_notifs"])
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
    c.exactly("cqes_aux", got["cqes_aux"], want["cqes_aux"])
    c.exactly("cq_overflows", got["cq_overflows"], want["overflows"])
    c.exactly("cq_dropped", got["cq_dropped"], 0)
    c.exactly("sq_dropped", got["sq_dropped"], want["sq_dropped"])
    if want["batches"] is not None:
        c.exactly("batches", got["batches"], want["batches"])


def _count(distribution):
    return distribution["count"] if distribution else 0


def _op(c, got, want, vague):
    unreaped = _ends(c, got, want, vague)
    unknown = vague * want["overflowed"]
    timed = want["completed"] - want["multishot_ends"] - want["mixed_ends"]
    gaps = want["cqes_multishot"] + want["multishot_ends"]
    c.within("completed", got["completed"], want["completed"] - unknown, want["completed"] + unreaped)
    c.within("silent, in flight or overflowed", got["silent"] + got["in_flight"], want["silent"],
             want["silent"] + unreaped + unknown)
    c.within("latencies", _count(got["latency_ns"]), timed - unknown, timed + unreaped)
    c.within("gaps", _count(got["multishot_gap_ns"]), gaps - unknown, gaps + unreaped)
    c.exactly("delays", _count(got["notif_delay_ns"]), got["notifs"])
    for name in got["errors"].keys() | want["errnos"].keys():
        errno = want["errnos"].get(name, sparse(()))
        c.within(f"errors.{name}", got["errors"].get(name, 0), errno["count"] - vague * errno["overflowed"],
                 errno["count"] + unreaped)


def _ring(what, got, want, vague):
    c = Bounds(what)
    for key in ("fd", "sq_entries", "cq_entries", "flags"):
        c.equal(f"{what}.{key}", got[key], want[key])
    if got["state"] == "closed":
        c.exactly("in_flight of a closed ring", got["totals"]["in_flight"], 0)
    _totals(c, got["totals"], want, vague)
    ops = {op["op"]: op for op in got["ops"]}
    c.equal(f"{what}: opcodes", sorted(ops), sorted(want["ops"]))
    for name in ops.keys() & want["ops"].keys():
        c.what = f"{what}: {name}"
        _op(c, ops[name], want["ops"][name], vague)
    return c


def mismatches(report, program):
    """What the report says otherwise than this program. Rings have ids in the order of their creation."""
    # whose CQEs overflowed is known, or only once each io_kiocb has been used again
    vague = report["kernel"]["features"]["overflow"]["state"] != "full"
    got = sorted((r for r in report["rings"] if r["pid"] == program["pid"]), key=lambda r: r["id"])
    want = program["rings"]
    if len(got) != len(want):
        return [f"ringside has {len(got)} rings, the program {len(want)}"]
    return [s for i, (g, w) in enumerate(zip(got, want)) for s in _ring(f"ring {i}", g, w, vague)]


def _whole(report, programs):
    """What is wrong with the report whatever each program did."""
    c = Bounds("fidelity")
    # whose multishot CQE it is, where one user_data names requests of two opcodes
    mixed = sum(p["mixed"] + p["mixed_ends"] for p in programs)
    c.exactly("details_lost", report["fidelity"]["details_lost"], mixed)
    c += truth.consistency(report, excused=("details_lost",))
    registers = collections.Counter()
    for ring in (r for p in programs for r in p["rings"]):
        for op, n in ring["registers"].items():
            registers.update({(op, "count"): n["count"], (op, "errors"): n["errors"]})
    want = sorted((registers[op, "count"], registers[op, "errors"]) for op in {op for op, _ in registers})
    c.equal("registers", sorted((r["count"], r["errors"]) for r in report["registers"]), want)
    return c


def sparse(pairs):
    """What a program does not mention is 0."""
    return collections.defaultdict(int, pairs)


def observe(seed, count):
    """What is wrong with the report on `count` programs: as a whole, and by seed."""
    with scratch() as folder:
        out = folder / "truth.json"
        line = ["mix", "--seed", str(seed), "--count", str(count), "--dir", str(folder), "--out", str(out)]
        result = Observer(folder, ["--max-report-rings=65535", "--", *workload(line)]).result(TIMEOUT_S)
        if result.status == WORKLOAD_SKIPS:
            raise Skipped(result.stderr.strip().splitlines()[-1])
        result.expect_status(0)
        report = result.report
        programs = [json.loads(line, object_pairs_hook=sparse) for line in out.read_text().splitlines()]
    print(f"seeds {seed} to {seed + count - 1}: {report['totals']['submitted']} requests")
    return _whole(report, programs), {p["seed"]: m for p in programs if (m := mismatches(report, p))}


def again(seed, test):
    return f"to reproduce: RINGSIDE_SEED={seed} tests/run live -k live/mix/{test}"


def brief(what, complaints):
    more = len(complaints) - MAX_SAID
    return [f"{what}:", *(f"  {m}" for m in complaints[:MAX_SAID]), *[f"  and {more} more"][:more > 0]]


def run_alone(seed):
    """Complaints about one program."""
    whole, wrong = observe(seed, 1)
    return [*whole, *wrong.get(seed, [])]


def one(seed):
    if complaints := run_alone(seed):
        raise Failed("\n".join([*brief(f"seed {seed}", complaints), again(seed, "one")]))


def many(seed):
    """The last lines say the most: of a long complaint only the end is shown."""
    whole, wrong = observe(seed, PROGRAMS)
    if not whole and not wrong:
        return
    said = []
    for s in [*wrong][:MAX_ALONE]:
        alone = run_alone(s)
        said += brief(f"seed {s} among others", wrong[s])
        said += brief(f"seed {s} alone", alone or ["nothing wrong"])
        said += [again(s, "one")] if alone else []
    said += brief(f"seeds {seed} to {seed + PROGRAMS - 1}, of which {len(wrong)} are wrong", [*whole])
    raise Failed("\n".join([*said, again(seed, "fresh-0")]))


suite = Suite()
for _i in range(FIXED_RUNS):
    suite.add(f"fixed-{_i}", lambda seed=1 + _i * PROGRAMS: many(seed), 4 * TIMEOUT_S)
suite.add("one", lambda: one(FRESH_SEED), 2 * TIMEOUT_S)
for _i in range(FRESH_RUNS):
    suite.add(f"fresh-{_i}", lambda seed=FRESH_SEED + _i * PROGRAMS: many(seed), 4 * TIMEOUT_S)
