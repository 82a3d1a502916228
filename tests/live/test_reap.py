# SPDX-License-Identifier: MIT
"""How long CQEs lie in the CQ, beside what the application knows of it."""
from ringside import observe, observer, server
from testing import Suite, check, check_equal

suite = Suite()
LATE = "nops late --ms 2 --count 200"


def followed(report):
    """The reaping of the only ring, of which something was followed."""
    ring, = report["rings"]
    reap = ring["reap"]
    check_equal("how", reap["how"], "bracketed")
    check(reap["count"] > 0, "no CQE was followed")
    for key in "lower_ns", "upper_ns":
        check_equal(f"{key}.count", reap[key]["count"], reap["count"])
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


@suite.test
def until_the_window_closes():
    """A ring that lives on is looked into when the observation ends."""
    with server("ring") as s, observer("-p", s.pid) as o:
        o.wait_ready()
        s.do("run 1000")
        report = o.kill().result().expect_status(0).report
        check_equal("unreaped", followed(report)["unreaped"], 0)
        s.quit()
