# SPDX-License-Identifier: MIT
"""
Tables too small on purpose: counts stay exact, what is lost is latency, and fidelity says how much.
So do CQ rings too small, and refused SQEs that get no CQE.
"""
import itertools

import truth
from ringside import observe, rules
from testing import Suite, check, check_equal, check_none

suite = Suite()

# Opcodes of all kinds on one ring; requests that wait; refused SQEs; gaps and notifications; many rings.
LINES = ("files errors --count 600", "files fixed --count 2000", "events deadline --ms 5 --count 50",
         "events message --count 200", "events zerocopy --count 200", "rings plain --count 4000",
         "rings resize --count 2400", "rings crowd --workers 40", "rings reuse --workers 40",
         "rings exit --workers 8", "rings handed --workers 5 --count 5000", "rings waiters", "rings killed",
         "rings waiters-tight")
# Counted under no ring of their own; the latter are part of the former.
UNPLACED = ("rings_full", "series_full")
COUNTED = ("submitted", "completed", "errors", "bytes", "rejected", "overflows", "poll_armed", "multishot",
           "aux", "notifs")


def check_counts(report, said):
    c = truth.Complaints(truth.identity("totals", report["totals"]))
    c.equal("silent, and in flight", report["totals"]["silent"] + report["totals"]["in_flight"], said["silent"])
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
    """Only what was made too small may be short; with the rings, so is the room for their stages."""
    allowed = (*allowed, "stages_lost")
    allowed = (*allowed, "extras_missed")  # of what is not compared here
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
        check_losses(report, UNPLACED)
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
        check_losses(report, (*UNPLACED, "table_full"))


# --- no CQE, or no room for it ----------------------------------------------------------
def check_op(report, name, completed, silent):
    """The opcode of every overflowed CQE is known where its event leads to the request."""
    op = next(op for op in report["ops"] if op["op"] == name)
    if report["kernel"]["features"]["overflow"]["state"] == "full":
        check_equal(f"{name}: completed, silent, in flight", (op["completed"], op["silent"], op["in_flight"]),
                    (completed, silent, 0))
    return op


@suite.test
def refused_without_a_cqe():
    """A chain's head asked for no CQE and fails: its followers get none, and their memory goes to others."""
    _, report, said = observe("events refused-chain")
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report), {"CANCELED", "ERRORS"})
    check_op(report, "NOP", said["completed"], said["silent"])


@suite.test
def refused_without_a_cqe_nor_a_slot():
    """Reads that wait take all the slots, so neither the refused nor those after them have one."""
    for parked, slots in ((64, 8), (100, 64)):
        _, report, said = observe(f"events refused-chain --stray {parked}", "--max-inflight", slots)
        check_counts(report, said)
        check_losses(report, ("table_full",))
        check_op(report, "NOP", said["completed"] - parked, said["silent"])
        check(report["fidelity"]["table_full"] > said["silent"], "the table was large enough")


@suite.test
def overflow_after_silent_requests():
    """The CQE that finds no room is that of the 201st request since the last one."""
    _, report, said = observe("events skip-overflow")
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report), {"OVERFLOW"})
    check_op(report, "NOP", said["ops"]["NOP"]["completed"], said["silent"])
    op = check_op(report, "POLL_ADD", said["overflows"], 0)
    if report["kernel"]["features"]["overflow"]["state"] == "full":
        check_equal("timed", op["latency_ns"]["count"], said["overflows"])


@suite.test
def overflow_without_a_slot():
    _, report, said = observe("events skip-overflow", "--max-inflight", "8")
    check_counts(report, said)
    check_losses(report, ("table_full",))


@suite.test
def overflow_after_more_than_is_looked_through():
    """Whose CQE it is shows when all is over."""
    for slots in (65536, 256):
        _, report, said = observe("events skip-overflow-far", "--max-inflight", slots)
        check_none(truth.identity("totals", report["totals"]) + truth.sums(report))
        check_losses(report, ("table_full",))
        t = report["totals"]
        check_equal("submitted, completed, overflows", (t["submitted"], t["completed"], t["cq_overflows"]),
                    (said["submitted"], said["completed"], said["overflows"]))
        check_equal("silent, and in flight", t["silent"] + t["in_flight"], said["silent"])
