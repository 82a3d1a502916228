# SPDX-License-Identifier: MIT
"""How long CQEs lie in the CQ, beside what the application knows of it."""
import pathlib

from ringside import observe, observer, one_line, server, stat
from testing import Skipped, Suite, check, check_equal

suite = Suite()
LATE = "nops late --ms 2 --count 200"


def followed(report, how="bracketed"):
    """The reaping of the only ring, of which something was followed."""
    ring, = report["rings"]
    reap = ring["reap"]
    check_equal("how", reap["how"], how)
    check(reap["count"] > 0, "no CQE was followed")
    check_equal("lag_ns is null", reap["lag_ns"] is None, how != "exact")
    check_equal("lower_ns.count", reap["lower_ns"]["count"], reap["upper_ns"]["count"])
    check_equal("count", reap["count"], reap["lag_ns" if how == "exact" else "upper_ns"]["count"])
    for key in "sum", "max", "p50":
        check(reap["lower_ns"][key] <= reap["upper_ns"][key], f"{key}: the lower bound is above the upper: {reap}")
    return reap


def check_within(reap, lags):
    """Bounds of some CQEs, beside the shortest and the longest time that any can have lain there."""
    n = reap["count"]
    check(reap["lower_ns"]["sum"] <= n * lags["upper_max_ns"] and reap["lower_ns"]["max"] <= lags["upper_max_ns"],
          f"longer than any CQE lay in the CQ, {lags}: {reap}")
    check(reap["upper_ns"]["sum"] >= n * lags["lower_min_ns"],
          f"shorter than any CQE lay in the CQ, {lags}: {reap}")


@suite.test
def late():
    """The truth is between the bounds."""
    for flags in "", " --flags defer", " --flags sqpoll":
        _, report, said = observe(LATE + flags)
        reap = followed(report)
        check_within(reap, said["lags"])
        check_equal("unreaped", reap["unreaped"], 0)


@suite.test
def late_together():
    """Of CQEs that come and go together any may be the one; each lies there as long."""
    _, report, said = observe("nops late --ms 2 --batch 16 --count 3200")
    reap = followed(report)
    check_within(reap, said["lags"])
    mean = reap["cq_depth_mean"]
    lags, n = said["lags"], said["lags"]["count"]
    check(mean["upper"] * report["window"]["duration_ns"] >= 0.99 * n * lags["lower_min_ns"],
          f"{mean} CQEs on average; they lay there for {lags}")
    # the rounds follow one another: all of them together take what each takes
    check(mean["lower"] <= mean["upper"] <= 1.01 * n * reap["upper_ns"]["max"] / (lags["lower_sum_ns"] / 16),
          f"{mean} CQEs on average; they lay there for {lags}")


@suite.test
def seen_to_be_late():
    """Where the kernel has reason to look, the bounds are close to each other."""
    _, report, said = observe(LATE + " --stray 1")
    reap, lags = followed(report), said["lags"]
    check(reap["lower_ns"]["max"] >= lags["seen_min_ns"], f"CQEs lay there for longer, {lags}: {reap}")
    check(reap["lower_ns"]["max"] <= lags["upper_max_ns"], f"no CQE lay there for so long, {lags}: {reap}")


@suite.test
def prompt():
    _, report, said = observe("nops late --ms 0 --count 20000")
    reap = followed(report)
    _, _, late_said = observe(LATE)
    check(reap["upper_ns"]["p50"] < late_said["lags"]["lower_min_ns"] / 4, f"not prompt: {reap}, {said['lags']}")


@suite.test
def with_samples():
    _, report, said = observe(LATE + " --batch 4 --count 4000", "--sample", 4)
    check_within(followed(report), said["lags"])


@suite.test
def never():
    """An application that does not consume its CQEs."""
    _, report, said = observe("nops unread")
    ring, = report["rings"]
    reap, lags = ring["reap"], said["lags"]
    check_equal("followed to their end", reap["count"], 0)
    check_equal("unreaped", reap["unreaped"], lags["left"])
    check(reap["unreaped_ns"] >= lags["seen_min_ns"], f"they were there for longer, {lags}: {reap}")
    check_equal("cq_depth_mean", reap["cq_depth_mean"], None)


def observe_exactly(line):
    """The report and the truth, with watchpoints. Some virtual machines have none, or lose why one trapped."""
    _, report, said = observe(line, "--reap=exact-in-vm")
    if said["lost_traps"]:
        raise Skipped(f"the program got SIGTRAP for {said['lost_traps']} moves of a CQ head")
    if not any(ring["reap"]["how"] == "exact" for ring in report["rings"]):
        raise Skipped("no watchpoint could be set")
    return report, said


@suite.test
def exact():
    """Each CQE since the ring is watched lay there for as long as the application says, within its own bounds."""
    for flags in "", " --flags defer", " --flags sqpoll", " --batch 16":
        count = 8000 if "batch" in flags else 500
        report, said = observe_exactly(f"nops late --ms 2 --count {count}{flags}")
        reap, lags = followed(report, "exact"), said["lags"]
        lag, n = reap["lag_ns"], reap["count"]
        check(n * lags["lower_min_ns"] <= lag["sum"] <= n * lags["upper_max_ns"], f"{lag} is not within {lags}")
        check(lag["sum"] <= lags["upper_sum_ns"] and lag["max"] <= lags["upper_max_ns"], f"{lag} is beyond {lags}")
        if n == lags["count"]:
            check(lag["sum"] >= lags["lower_sum_ns"], f"{lag} is less than {lags}")


@suite.test
def exact_of_few():
    """There are four watchpoints a thread, and each thread of a process may consume the CQEs of each ring."""
    report, said = observe_exactly("nops threads --workers 8 --count 2000000")
    how = [ring["reap"]["how"] for ring in report["rings"]]
    check(how.count("exact") <= 4, f"more than there are watchpoints: {how}")
    check_equal("rings", len(how), 8)
    check_equal("completed", report["totals"]["completed"], said["completed"])


@suite.test
def exact_for_another_process():
    """Heads that others move are seen to have been moved unseen."""
    _, report, _ = observe("nops inherit --workers 2 --count 8000000", "--reap=exact-in-vm")
    followed(report)


@suite.test
def exact_in_a_virtual_machine():
    """A watchpoint's trap whose cause the hypervisor loses kills: only on demand."""
    done = stat("--reap=exact", "--", "true")
    if "hypervisor" in pathlib.Path("/proc/cpuinfo").read_text().split():
        check_equal("status", done.status, 1)
        check("--reap=exact-in-vm" in one_line(done.stderr), done.stderr)
    else:
        check_equal("status", done.status, 0)


@suite.test
def bad_value():
    done = stat("--reap=roughly", "--", "true")
    check_equal("status", done.status, 2)
    one_line(done.stderr)


@suite.test
def until_the_window_closes():
    """A ring that lives on is looked into when the observation ends."""
    with server("ring") as s, observer("-p", s.pid) as o:
        o.wait_ready()
        s.do("run 1000")
        report = o.kill().result().expect_status(0).report
        check_equal("unreaped", followed(report)["unreaped"], 0)
        s.quit()
