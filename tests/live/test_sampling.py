# SPDX-License-Identifier: MIT
"""Timing a part of the requests: counts stay exact, and the part is a fair one. And holding a budget."""
import itertools
import json
import math

import truth
from ringside import observe, observer, one_line, server, stat
from testing import Suite, check, check_equal, check_none, wait_until

suite = Suite()

LINES = ("nops storm --count 200000 --batch 32", "nops storm --count 200000 --batch 32 --flags defer",
         "nops threads --count 50000 --workers 4", "nops shared --count 50000 --workers 4",
         "nops overflow --count 400 --batch 40", "files errors --count 600", "files fixed --count 2000",
         "events message --count 200", "events zerocopy --count 200", "events deadline --ms 5 --count 50")


def timed(report):
    return sum(op["latency_ns"]["count"] for op in report["ops"])


def untimed(said):
    """The workload's truth but for its latencies."""
    return {key: value for key, value in said.items() if key != "latency"}


def check_fair(report, sample):
    """Whether so many requests in all that could be timed is what chance allows, six standard deviations wide."""
    requests, got = report["totals"]["completed"], timed(report)
    want = requests / sample
    check(abs(got - want) <= 6 * math.sqrt(want) + 0.01 * want + 6,
          f"{got} of {requests} requests were timed, not about {want:.0f}")
    check_equal("cost.timed", report["cost"]["timed"], got)
    check_equal("cost.sample", report["cost"]["sample"], sample)


@suite.test(timeout_s=200)
def counts_do_not_depend_on_it():
    """Every line, as the workload tells it, with few requests timed; nothing else is lost."""
    for line, sample in zip(LINES, itertools.cycle((7, 1000))):
        _, report, said = observe(line, "--sample", sample)
        check_none(truth.mismatches(report, untimed(said)))
        check(timed(report) < max(20, report["totals"]["completed"] / 2), f"{line}: {timed(report)} timed")


@suite.test()
def long_rings():
    for sample in (2, 32, 64):
        _, report, _ = observe("nops storm --count 400000 --batch 32", "--sample", sample)
        check_fair(report, sample)


@suite.test()
def short_rings():
    """A ring's first requests are timed as often as any."""
    _, report, _ = observe("nops churn --workers 3000 --count 4", "--sample", 8)
    check_fair(report, 8)


@suite.test()
def all_by_default():
    _, report, _ = observe("nops storm --count 10000")
    check_equal("timed", timed(report), 10000)
    check_equal("cost.sample", report["cost"]["sample"], 1)
    check_equal("cost.budget", report["cost"]["budget"], None)


@suite.test()
def what_it_costs_is_known():
    _, report, _ = observe("nops storm --count 100000")
    cost = report["cost"]
    for key in "request_ns", "timing_ns":
        check(cost[key] is not None and cost[key] >= 0, f"cost.{key} is {cost[key]}")
    check(cost["request_ns"] > 0, "watching a request costs nothing")
    estimate = 100000 * (cost["request_ns"] + cost["timing_ns"])
    check(abs(cost["programs_ns"] - estimate) <= 2 + estimate / 1000,
          f"programs_ns is {cost['programs_ns']}, not {estimate:.0f}")
    check_equal("estimated_cpu_ns", cost["estimated_cpu_ns"], cost["programs_ns"] + cost["process_ns"])
    check_equal("rings of the workload", len(report["rings"]), 1)


@suite.test(timeout_s=120)
def a_budget_that_cannot_be_held():
    result, report, said = observe("nops storm --count 8000000", "--budget", "0.001")
    check_none(truth.mismatches(report, untimed(said)))
    budget = report["cost"]["budget"]
    check(not budget["held"] and budget["over_ns"] > 0, f"the budget was held: {budget}")
    check_equal("sample_max", budget["sample_max"], 65536)
    check("NOT HELD" in result.stdout, "the text does not say so")


@suite.test(timeout_s=120)
def a_budget_for_everything():
    """What costs less than all there is, is timed whole in the end."""
    with server("ring") as s, observer("-p", s.pid, "--budget", "100", "-i", "0.1") as o:
        o.wait_ready()

        def all_are_timed():
            s.do("run 1000")
            lines = [line for line in o.json_path.read_text().splitlines(keepends=True) if line.endswith("\n")]
            return lines and json.loads(lines[-1])["cost"]["sample"] == 1

        wait_until(all_are_timed, "every request to be timed", 60)
        o.kill()
        check_equal("status", o.result().status, 0)


@suite.test()
def bad_values():
    for args in (("--sample", "0"), ("--sample", "65537"), ("--sample", "x"), ("--budget", "0"), ("--budget", "101"),
                 ("--budget", "-1"), ("--budget", "1e3"), ("--sample", "2", "--budget", "1")):
        done = stat(*args, "--", "true")
        check_equal(f"status of {args}", done.status, 2)
        one_line(done.stderr)
