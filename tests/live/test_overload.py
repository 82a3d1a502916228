# SPDX-License-Identifier: MIT
"""Tables too small on purpose: counts stay exact, what is lost is latency, and fidelity says how much."""
import itertools

import truth
from ringside import observe
from testing import Suite, check, check_equal, check_none

suite = Suite()

# Opcodes of all kinds on one ring; requests that wait; refused SQEs; gaps and notifications; many rings.
LINES = ("files errors --count 600", "files fixed --count 2000", "events deadline --ms 5 --count 50",
         "events message --count 200", "events zerocopy --count 200", "rings plain --count 4000",
         "rings resize --count 2400", "rings crowd --workers 40", "rings reuse --workers 40",
         "rings exit --workers 8", "rings handed --workers 5 --count 5000")
COUNTED = ("submitted", "completed", "errors", "bytes", "rejected", "overflows", "poll_armed", "multishot",
           "aux", "notifs")


def check_counts(report, said):
    c = truth.Complaints(truth.identity("totals", report["totals"]))
    c += truth.sums(report) + truth.op_sums(report)
    for key in COUNTED:
        if said[key] is not None:
            c.equal(truth.TOTALS[key], report["totals"][truth.TOTALS[key]], said[key])
    for op in report["ops"]:
        want = said["ops"].get(op["op"], {"submitted": 0, "completed": 0, "errors": 0})
        for key in ("submitted", "completed"):
            c.equal(f"{op['op']}.{key}", op[key], want[key])
        c.equal(f"{op['op']}.errors", sum(op["errors"].values()), want["errors"])
    check_none(c)


def check_losses(report, allowed):
    """Only what was made too small may be short."""
    check_none([f"fidelity.{k} is {v}" for k, v in report["fidelity"].items() if v and k not in allowed])


def timed(report):
    return sum(op["latency_ns"]["count"] for op in report["ops"])


@suite.test(timeout_s=120)
def few_slots():
    """What is not timed is what found no slot, request by request."""
    lost = 0
    for line, slots in zip(LINES, itertools.cycle((8, 32))):
        _, report, said = observe(line, "--max-inflight", slots)
        check_counts(report, said)
        check_losses(report, ("table_full",))
        check_equal(f"requests of {line} without a time", report["totals"]["completed"] - timed(report),
                    report["fidelity"]["table_full"])
        lost += report["fidelity"]["table_full"]
        if said["batches"] is not None:
            check_equal("batches", report["totals"]["batches"], said["batches"])
    check(lost > 0, "no table was too small: this test tests nothing")


@suite.test(timeout_s=120)
def few_rings():
    """Requests of rings without a place are counted together; batches are unknown then, or exact."""
    crowded = 0
    for line, rings in zip(LINES, itertools.cycle((1, 2, 4))):
        _, report, said = observe(line, "--max-rings", rings)
        check_counts(report, said)
        check_losses(report, ("rings_full", "series_full"))
        check_equal(f"requests of {line} without a time", report["totals"]["completed"] - timed(report), 0)
        full = report["fidelity"]["rings_full"]
        if (batches := report["totals"]["batches"]) is not None:
            check_equal(f"batches of {line}, all with a ring", (batches, full), (said["batches"], 0))
        check(full <= said["submitted"], f"{full} requests without a ring of {said['submitted']}")
        listed = sum(r["totals"]["submitted"] for r in report["rings"])
        check_equal("requests with a ring, and without", listed + full, said["submitted"])
        crowded += full
    check(crowded > 0, "no table was too small: this test tests nothing")


@suite.test
def few_of_both():
    for line in LINES:
        _, report, said = observe(line, "--max-rings", "1", "--max-inflight", "8")
        check_counts(report, said)
        check_losses(report, ("rings_full", "series_full", "table_full"))
