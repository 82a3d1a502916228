# SPDX-License-Identifier: MIT
"""
Attach and detach in the middle of everything: several programs at once on all CPUs, rings that come
and go, requests of every kind in flight. The numbers agree with each other and no rule complains.
"""
import contextlib
import os
import random
import select
import signal
import subprocess

import truth
from ringside import observer, rules, server, workload
from testing import Suite, check, check_equal, check_none, scratch

suite = Suite()

ROUNDS = 22
UID = 64999  # nobody else's
# More requests than any ring here has room for can't be in flight.
MOST_IN_FLIGHT = 1024


# Memory of rings counts against RLIMIT_MEMLOCK, and is given back a while after their end.
AS_USER = ["nice", "-n", "5", "setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups",
           "--inh-caps=-all,+ipc_lock", "--ambient-caps=-all,+ipc_lock", "--"]
LOOPS = ("files read --count 20000", "files async --count 2000", "events multishot --count 500",
         "events zerocopy --count 500", "nops churn --workers 200 --count 20000")


def repeat(line, folder):
    """A program that does this over and over."""
    command = " ".join([*workload(line), "--dir", str(folder), "--out", "/dev/null"])
    return subprocess.Popen([*AS_USER, "/bin/sh", "-c", f"while {command}; do :; done"], process_group=0,
                            stdin=subprocess.DEVNULL)


@contextlib.contextmanager
def load():
    """All kinds of work, as a user of its own. Yields the processes' ids."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch())
        processes = [stack.enter_context(server("ring", "hold 10", "load", wrapper=AS_USER)).process,
                     stack.enter_context(server(line="rings traffic", wrapper=AS_USER)).process]
        for line in LOOPS:
            processes.append(repeat(line, folder))
            stack.callback(os.killpg, processes[-1].pid, signal.SIGKILL)
        yield [p.pid for p in processes]
        check_equal("ended by themselves", [p.args for p in processes if p.poll() is not None], [])


def numbers(value):
    """Every number in a report."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [n for v in value for n in numbers(v)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def check_report(report):
    check_none(truth.consistency(report))
    # its traffic closes rings on which reads wait, and has requests fail
    check(rules(report) <= {"ABANDONED", "CANCELED", "ERRORS"}, f"findings: {rules(report)}")
    strange = [n for n in numbers(report) if not 0 <= n < 1 << 62]
    check_equal("negative numbers, or differences that went below 0", strange, [])
    for ring in report["rings"]:
        for key in ("in_flight", "in_flight_at_attach"):
            check(ring["totals"][key] <= MOST_IN_FLIGHT, f"{key} is {ring['totals'][key]} on {ring}")
        if ring["created_in_window"]:
            check_equal("in flight before the ring was", ring["totals"]["in_flight_at_attach"], 0)


def attach_at_random(options_of):
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    seen = 0
    with load() as pids:
        for _ in range(ROUNDS // 2):
            select.select([], [], [], chance.uniform(0, 0.1))
            with observer(*options_of(pids)) as o:
                o.wait_ready()
                select.select([], [], [], chance.uniform(0, 0.4))
                report = o.kill().result().expect_status(0).report
            check_report(report)
            seen += report["totals"]["submitted"]
    check(seen > 10000 * ROUNDS, f"only {seen} requests in {ROUNDS // 2} observations")


@suite.test(timeout_s=120)
def processes():
    attach_at_random(lambda pids: ["-p", ",".join(map(str, pids))])


@suite.test(timeout_s=120)
def all_of_a_user():
    attach_at_random(lambda pids: ["-a", "--uid", UID])


# Nothing but these two at once, without a pause: their findings, and whether requests may be silent.
BUSY = (
    ("nops storm --count 20000000 --untimed", "nops storm --flags defer --count 20000000 --untimed",
     set(), False),
    ("nops shared --workers 2 --count 2000000 --untimed", "nops overflow --count 640000 --untimed",
     {"OVERFLOW"}, False),
    ("events skip --count 2000000 --untimed", "events refused-chain --count 800000 --untimed",
     {"CANCELED", "ERRORS"}, True),
    ("events skip-overflow --count 257000 --untimed", "rings hush-storm --workers 20000", {"OVERFLOW"}, True),
)
AT_ONCE = 640  # requests between two looks at the CQ, at most


def check_explained(report, verdicts, silent):
    """Every difference between what came and what ended has its reason."""
    check_none(truth.consistency(report))
    check(rules(report) <= verdicts, f"findings: {rules(report)}")
    strange = [n for n in numbers(report) if not 0 <= n < 1 << 62]
    check_equal("negative numbers, or differences that went below 0", strange, [])
    for ring in report["rings"]:
        t = ring["totals"]
        check(silent or not t["silent"], f"silent requests on {ring}")
        check(t["in_flight_at_attach"] <= AT_ONCE, f"in flight at attach: {t} of {ring['id']}")
        check(t["in_flight"] <= AT_ONCE, f"in flight: {t} of ring {ring['id']}")
        check_equal("CQEs of no request", (t["cqes_multishot"], t["cqes_aux"], t["notifs"]), (0, 0, 0))
        if ring["created_in_window"]:
            check_equal("in flight before the ring was", t["in_flight_at_attach"], 0)


def observe_busy(lines, seconds):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(scratch())
        for line in lines:
            process = repeat(line, folder)
            stack.callback(process.wait)
            stack.callback(os.killpg, process.pid, signal.SIGKILL)
        with observer("-a", "--uid", UID) as o:
            o.wait_ready()
            select.select([], [], [], seconds)
            return o.kill().result().expect_status(0).report


@suite.test(timeout_s=120)
def busy():
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for *lines, verdicts, silent in BUSY:
        print(*lines, sep="\n")
        report = observe_busy(lines, chance.uniform(0.02, 0.6))
        print(report["totals"]["submitted"], "requests on", len(report["rings"]), "rings")
        check_explained(report, verdicts, silent)
