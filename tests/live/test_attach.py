# SPDX-License-Identifier: MIT
"""Coming to a running process and leaving it: exact where it stands still, never a false verdict."""
import contextlib
import json
import os

import truth
from ringside import observer, rules, server, stat, workload
from testing import Failed, Suite, check, check_equal, check_none, wait_until

suite = Suite()


@contextlib.contextmanager
def attached(s, *options):
    with observer("-p", s.pid, *options) as o:
        yield o.wait_ready()


def finish(o):
    """Ends the observation as Ctrl-C does; returns its report."""
    return o.kill().result().expect_status(0).report


def check_quiet(report):
    check_none(truth.consistency(report))
    check_equal("findings", rules(report), set())


def op(report, name):
    return next((o for o in report["ops"] if o["op"] == name), None)


@suite.test
def exact_between_phases():
    with server("ring", "run 1000") as s:
        with attached(s) as o:
            s.do("run 5000")
            report = finish(o)
        s.do("run 700")
        s.quit()
    check_quiet(report)
    t = report["totals"]
    check_equal("counts", (t["submitted"], t["completed"], t["in_flight_at_attach"], t["in_flight"]),
                (5000, 5000, 0, 0))
    check_equal("created in the window", [r["created_in_window"] for r in report["rings"]], [False])
    check_equal("owner", [(r["pid"], r["comm"]) for r in report["rings"]], [(s.pid, "serve")])


@suite.test
def again_and_again():
    with server("ring", "run 10") as s:
        for n in (100, 1000, 333):
            with attached(s) as o:
                s.do(f"run {n}")
                report = finish(o)
            check_quiet(report)
            check_equal("submitted", report["totals"]["submitted"], n)
        s.quit()


@suite.test
def requests_older_than_the_observer():
    with server("ring", "hold 100") as s:
        with attached(s) as o:
            s.do("run 50")
            s.do("release")
            report = finish(o)
        s.quit()
    check_quiet(report)
    t = report["totals"]
    check_equal("counts", (t["in_flight_at_attach"], t["submitted"], t["completed"], t["in_flight"]),
                (100, 50, 150, 0))
    check_equal("RECV", op(report, "RECV")["completed"], 100)
    check_equal("latencies without a beginning", op(report, "RECV")["latency_ns"]["count"], 0)


@suite.test
def requests_younger_than_the_detach():
    with server("ring") as s:
        with attached(s) as o:
            s.do("hold 70")
            report = finish(o)
        s.do("release")
        s.quit()
    check_quiet(report)
    t = report["totals"]
    check_equal("counts", (t["submitted"], t["completed"], t["in_flight"], t["poll_armed"]), (70, 0, 70, 70))


@suite.test
def ring_opened_while_attached():
    with server("ring", "run 5") as s:
        with attached(s) as o:
            s.do("run 40")
            s.do("ring")
            s.do("run 200")
            report = finish(o)
        s.quit()
    check_quiet(report)
    check_equal("requests and age of the rings",
                [(r["totals"]["submitted"], r["created_in_window"]) for r in report["rings"]],
                [(40, False), (200, True)])


@suite.test
def process_without_a_ring():
    with server() as s:
        with attached(s) as o:
            wait_until(lambda: "no io_uring ring yet" in o.stderr, "ringside to say that it waits")
            check(str(s.pid) in o.stderr, f"which process? {o.stderr!r}")
            s.do("ring")
            s.do("run 60")
            report = finish(o)
        s.quit()
    check_quiet(report)
    check_equal("submitted", report["totals"]["submitted"], 60)


@suite.test
def ends_with_its_target():
    with server("ring") as s:
        with attached(s) as o:
            s.do("run 64")
            s.quit()
            report = o.result().expect_status(0).report
    check_quiet(report)
    check_equal("submitted", report["totals"]["submitted"], 64)


@suite.test
def two_targets():
    with server("ring") as a, server("ring") as b:
        with observer("-p", f"{a.pid},{b.pid}") as o:
            o.wait_ready()
            a.do("run 10")
            b.do("run 300")
            a.quit()
            b.do("run 1")
            check(o.process.poll() is None, "ended with the first of two targets")
            b.quit()
            report = o.result().expect_status(0).report
    check_quiet(report)
    by_pid = {r["pid"]: r["totals"]["submitted"] for r in report["rings"]}
    check_equal("requests of each", by_pid, {a.pid: 10, b.pid: 301})


@suite.test
def two_observers():
    """They do not know of each other."""
    with server("ring") as s, attached(s) as first:
        s.do("run 100")
        with attached(s) as second:
            s.do("run 20")
            second_report = finish(second)
        s.do("run 3")
        first_report = finish(first)
        s.quit()
    for report, n in ((first_report, 123), (second_report, 20)):
        check_quiet(report)
        check_equal("submitted", report["totals"]["submitted"], n)


@suite.test
def others_are_not_counted():
    with server("ring") as target, server("ring") as other:
        with attached(target) as o:
            target.do("run 500")
            other.do("run 900")
            report = finish(o)
        target.quit()
        other.quit()
    check_quiet(report)
    check_equal("submitted", report["totals"]["submitted"], 500)


@suite.test
def whole_machine():
    with server("ring", "run 3") as a, server("ring") as b:
        with observer("-a") as o:
            o.wait_ready()
            a.do("run 111")
            b.do("run 222")
            b.do("ring")
            b.do("run 5")
            report = finish(o)
        a.quit()
        b.quit()
    check_none(truth.identity("totals", report["totals"]))
    by_pid = {}
    for r in report["rings"]:
        by_pid[r["pid"]] = by_pid.get(r["pid"], 0) + r["totals"]["submitted"]
    check_equal("requests of each", {p: by_pid.get(p) for p in (a.pid, b.pid)}, {a.pid: 111, b.pid: 227})


@suite.test(timeout_s=120)
def under_load():
    """Attach and detach in the middle of everything, with requests of every kind in flight."""
    with server("ring", "hold 10", "load") as s:
        for _ in range(8):
            with attached(s) as o:
                s.do("turns 2000")
                report = finish(o)
            check_none(truth.consistency(report))
            check_equal("findings", rules(report), set())
            t = report["totals"]
            check(t["submitted"] >= 1900 * 16, f"only {t['submitted']} submitted in 2000 turns")
            for key in ("in_flight", "in_flight_at_attach"):
                check(t[key] <= 64, f"{key} is {t[key]} on a ring of 64")
            s.do("turns 10")
        s.quit()


@suite.test
def whole_life_under_load():
    """A program that is observed from its start to its end, whatever it does meanwhile."""
    commands = "ring\nrun 1000\nhold 200\nload\nturns 3000\nring\nrun 77\nrelease\nunload\nrun 8\nquit\n"
    read_end, write_end = os.pipe()
    os.write(write_end, commands.encode())
    os.close(write_end)
    with observer("-o", "/dev/null", "--", *workload("serve"), stdin=read_end) as o:
        os.close(read_end)
        result = o.result().expect_status(0)
        said = json.loads(result.stdout.splitlines()[-1])
        check_none(truth.mismatches(result.report, said))


@suite.test(timeout_s=120)
def window_of_a_process():
    with server("ring", "load") as s:
        for ms in (300, 3000, 30000):
            report = stat("-p", s.pid, "-d", f"{ms}ms").expect_status(0).report
            check_none(truth.consistency(report))
            ns = report["window"]["duration_ns"]
            check(ns >= ms * 1_000_000, f"a window of {ns} ns")
            s.do("turns 10")
            # on a busy machine the process may not get a CPU for as long as that
            if report["totals"]["completed"]:
                break
        else:
            raise Failed("saw nothing of a busy ring")
        s.quit()

