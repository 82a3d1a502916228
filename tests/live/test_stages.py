# SPDX-License-Identifier: MIT
"""Where the time of requests goes: the stage that a workload holds them up in has the time, and no other."""
import truth
from ringside import observe
from testing import Suite, check, check_equal, check_none

suite = Suite()


def op_of(report, name):
    return next(op for op in report["ops"] if op["op"] == name)


def held_up(scenario, stages, *options):
    """
    What the workload held up for at least a time and saw for at most a time has spent that time in these stages: the
    last of them that are known.
    """
    _, report, said = observe(f"stages {scenario}", *options)
    check_none(truth.consistency(report))
    op = op_of(report, said["op"])
    known = [op["stages"][stage] for stage in stages if op["stages"][stage]]
    check(known, f"none of {stages} is known")
    check_equal("requests", op["latency_ns"]["count"], said["requests"])
    held = sum(stage["sum"] for stage in known)
    check(said["least_ns"] <= held, f"{stages}: {held} ns, the workload held up for {said['least_ns']} ns")
    check(op["latency_ns"]["sum"] <= said["most_ns"],
          f"{op['latency_ns']['sum']} ns in all, the workload saw {said['most_ns']} ns")
    share = sum(stage["share_of_slowest"] for stage in known)
    check(abs(share * op["latency_ns"]["sum"] - held) <= op["latency_ns"]["sum"] * 0.35,
          f"{share} of the slowest, {held} of {op['latency_ns']['sum']} ns of all")
    return op


@suite.test()
def armed():
    op = held_up("armed", ["armed"])
    check_equal("requests that were armed", op["stages"]["armed"]["count"], 5)


@suite.test()
def deliver():
    """Woken at once, but the thread does not enter the kernel."""
    op = held_up("deliver", ["deliver"])
    check_equal("requests that were delivered", op["stages"]["deliver"]["count"], 5)


@suite.test()
def link():
    op = held_up("link", ["link"])
    check_equal("requests that waited", op["stages"]["link"]["count"], 5)


@suite.test()
def drain():
    held_up("drain", ["link"])


@suite.test()
def workers():
    """One worker: the second request waits for it as long as the first runs."""
    op = held_up("wq", ["wq", "wq_queue", "wq_run"])
    check_equal("punted", op["punted"], 10)


@suite.test()
def timeouts_wait():
    _, report, _ = observe("events timeout --ms 20 --count 5")
    stages = op_of(report, "TIMEOUT")["stages"]
    check_equal("armed", stages["armed"]["sum"], op_of(report, "TIMEOUT")["latency_ns"]["sum"])


@suite.test()
def inline():
    """What ends in its batch has one stage."""
    _, report, _ = observe("nops storm --count 100000")
    stages = op_of(report, "NOP")["stages"]
    check_equal("issue", stages["issue"]["sum"], op_of(report, "NOP")["latency_ns"]["sum"])
    check_equal("share of the slowest", stages["issue"]["share_of_slowest"], 1)


@suite.test()
def behind_each_other():
    """Each follower of a chain has waited, on workers too."""
    _, report, said = observe("files chain --count 300")
    check_none(truth.mismatches(report, said))
    waited = sum(op["stages"]["link"]["count"] for op in report["ops"])
    check(waited > 0, "nobody waited")


@suite.test()
def sampled():
    """Stages are of the requests that are timed."""
    _, report, _ = observe("events poll --count 4000", "--sample", 4)
    check_none(truth.consistency(report))
    for name in "READ", "RECV":
        op = op_of(report, name)
        check_equal(f"{name} armed", op["stages"]["armed"]["count"], op["latency_ns"]["count"])


@suite.test(timeout_s=120)
def no_room():
    """More rings than there is room for: what is lost is said, and no stages are made up."""
    _, report, _ = observe("rings crowd --workers 40", "--max-rings", 8)
    check(report["fidelity"]["stages_lost"] > 0, "there was room for all")
    check(any(op["stages"] is None for op in report["ops"]), "every opcode has its stages")
    check_none(truth.identity("totals", report["totals"]))
