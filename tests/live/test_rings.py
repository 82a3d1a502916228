# SPDX-License-Identifier: MIT
"""Rings of every setup, by the thousand, resized, handed on, released with requests in flight."""
import os
import pathlib
import re
import signal
import time

import truth
from ringside import observe, observer, rules, server, stat, workload
from testing import Failed, Skipped, Suite, check, check_equal, check_none, wait_until

suite = Suite()

# Scenario of tests/workloads/rings.c and the flags that its ring has.
DEFER = ["SINGLE_ISSUER", "DEFER_TASKRUN"]
SETUPS = {
    "plain": [],
    "submit-all": ["SUBMIT_ALL"],
    "coop": ["COOP_TASKRUN", "TASKRUN_FLAG"],
    "single": ["SINGLE_ISSUER"],
    "defer": DEFER,
    "sqpoll": ["SQPOLL"],
    "disabled": ["R_DISABLED", "SINGLE_ISSUER"],
    "no-mmap": ["NO_MMAP"],
    "registered-only": ["NO_MMAP", "REGISTERED_FD_ONLY"],
    "no-sqarray": ["NO_SQARRAY"],
    "sqe128": ["SQE128"],
    "cqe32": ["CQE32"],
    "large": ["SQE128", "CQE32", *DEFER, "NO_SQARRAY"],
    "cqe-mixed": ["CQE_MIXED"],
    "sqe-mixed": ["SUBMIT_ALL", "SQE_MIXED"],
    "sqe-mixed-direct": ["NO_SQARRAY", "SQE_MIXED"],
    "rewind": ["NO_SQARRAY", "SQ_REWIND"],
    "iopoll": ["IOPOLL"],
    "hybrid": ["IOPOLL", "HYBRID_IOPOLL"],
    "iopoll-read": ["IOPOLL"],
    "hybrid-read": ["IOPOLL", "HYBRID_IOPOLL"],
}


# What these rings are used for has SQEs that are refused and requests that fail.
ON_PURPOSE = {"CANCELED", "ERRORS"}


def observe_exactly(line, *options, findings=frozenset()):
    """Observes a workload; every number is the truth's. Returns report and truth."""
    _, report, said = observe(line, *options)
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report) - ON_PURPOSE, findings)
    return report, said


def setup(name, flags):
    def test():
        report, _ = observe_exactly(f"rings {name}")
        ring, = report["rings"]
        check_equal("flags", ring["flags"], flags)
        check_equal("sizes", (ring["sq_entries"], ring["cq_entries"]), (32, 64))
        check_equal("created, state", (ring["created_in_window"], ring["state"]), (True, "closed"))
        if "REGISTERED_FD_ONLY" in flags:
            check_equal("descriptor", ring["fd"], None)
        else:
            check(ring["fd"] > 2, f"the descriptor is {ring['fd']}")
        check_equal("has a thread", ring["sq_thread"] is not None, "SQPOLL" in flags)

    return test


for scenario, its_flags in SETUPS.items():
    suite.add(scenario, setup(scenario, its_flags))


@suite.test
def shared_sqpoll_thread():
    report, _ = observe_exactly("rings attach-wq")
    first, second = report["rings"]
    check_equal("flags", (first["flags"], second["flags"]), (["SQPOLL"], ["SQPOLL", "ATTACH_WQ"]))
    check_equal("threads", first["sq_thread"]["tid"], second["sq_thread"]["tid"])


@suite.test
def resized():
    report, _ = observe_exactly("rings resize")
    ring, = report["rings"]
    check_equal("sizes after the last change", (ring["sq_entries"], ring["cq_entries"]), (16, 128))
    check_equal("most CQEs waiting", ring["cq_depth_max"], 8)


# --- many -----------------------------------------------------------------------------
ALIVE = 1000
REQUESTS = 100000


def requests_of(k):
    """How many requests the k-th of the rings that are alive gets, from 1."""
    until = [REQUESTS * n * (n + 1) // (ALIVE * (ALIVE + 1)) for n in (k - 1, k)]
    return until[1] - until[0]


@suite.test
def thousand_alive():
    report, _ = observe_exactly(f"rings alive --workers {ALIVE} --count {REQUESTS} --stray 50")
    check_equal("ids", [r["id"] for r in report["rings"]], list(range(1, ALIVE + 1)))
    check_equal("requests of each", [r["totals"]["submitted"] for r in report["rings"]],
                [requests_of(k) for k in range(1, ALIVE + 1)])


@suite.test
def thousand_alive_ten_listed():
    report, _ = observe_exactly(f"rings alive --workers {ALIVE} --count {REQUESTS} --stray 50",
                                "--max-report-rings", "10")
    # as many requests as the least busy of those listed, or fewer: which of equals is listed is open
    busiest = sorted((requests_of(k) for k in range(1, ALIVE + 1)), reverse=True)[:10]
    check_equal("requests of the busiest", sorted((r["totals"]["submitted"] for r in report["rings"]),
                                                  reverse=True), busiest)
    check_equal("rings summed", report["rings_other"]["n_rings"], ALIVE - 10)
    check_equal("their requests", report["rings_other"]["totals"]["submitted"], REQUESTS - sum(busiest))


@suite.test
def more_errnos_than_places():
    """20 errnos on each of 1,000 rings: what finds no place is OTHER, and the sum is exact."""
    _, report, said = observe(f"rings alive --workers {ALIVE} --count {REQUESTS} --stray 1")
    lost = report["fidelity"].pop("details_lost")
    check_none(truth.consistency(report))
    check_equal("errors", report["totals"]["errors"], said["errors"])
    op, = report["ops"]
    check_equal("errors by errno", sum(op["errors"].values()), said["errors"])
    check_equal("errors without a name", op["errors"].get("OTHER", 0), lost)
    for name in op["errors"].keys() - {"OTHER"}:
        n, want = op["errors"][name], said["errnos"][name]
        check(n <= want, f"{n} times {name} of {want}")


@suite.test
def thousand_alive_in_text():
    """Fits a screen or two, and no line is wider than asked for."""
    for columns in (80, 100):
        text = stat("--", *workload(f"rings alive --workers {ALIVE} --stray 7"), "--out", "/dev/null",
                    json_report=False, env={**os.environ, "COLUMNS": str(columns)}).expect_status(0).stdout
        lines = text.splitlines()
        check_equal(f"lines wider than {columns}", [line for line in lines if len(line) > columns], [])
        check(len(lines) <= 80, f"{len(lines)} lines")
        check(any("984 more rings" in line for line in lines), f"how many rings are left out? {text}")
        check("1000 rings" in lines[0], f"the first line is {lines[0]!r}")


@suite.test
def thousand_alive_with_three_opcodes_each():
    """Every ring has its own numbers, also when each needs a row for NOPs, reads and refused SQEs."""
    report, _ = observe_exactly(f"rings crowd --workers {ALIVE}")
    check_equal("opcodes of each ring", {tuple(op["op"] for op in r["ops"]) for r in report["rings"]},
                {("NOP", "RECV", "OP_200")})


def times_slept(pid):
    """How often this process has waited for something."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status, re.MULTILINE)[1])


def let_it_look(o):
    """Returns when ringside has looked at its tables: it wakes up for nothing else, then sleeps again."""
    before = times_slept(o.pid)
    wait_until(lambda: times_slept(o.pid) >= before + 2, "ringside to look at its tables")


BURSTS, BURST = 25, 400


@suite.test(timeout_s=120)
def ten_thousand_in_one_run():
    """Five times as many as there is room for, and each time ringside looks no more than that are new."""
    with server(line=f"rings burst --workers {BURST}") as s:
        with observer("-p", s.pid) as o:
            o.wait_ready()
            for _ in range(BURSTS):
                s.do("go")
                let_it_look(o)
            said = s.quit()
            report = o.result().expect_status(0).report
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report) - ON_PURPOSE, set())
    check_equal("rings", len(report["rings"]) + report["rings_other"]["n_rings"], BURSTS * BURST)
    check_equal("batches", report["totals"]["batches"], BURSTS * BURST)


@suite.test(timeout_s=120)
def thousands_with_registrations():
    """One after the other, with three opcodes and three registrations each; all have room, however slow ringside is."""
    observe_exactly("rings register --workers 6000", "--max-rings", 9000)


# --- released, handed on --------------------------------------------------------------------
@suite.test
def released_with_requests_in_flight():
    """The next ring comes at once, mostly at the same address."""
    for flags in ([], ["--flags", "defer"]):
        report, _ = observe_exactly(" ".join(["rings reuse", *flags]), findings={"ABANDONED"})
        check_equal("states", {r["state"] for r in report["rings"]}, {"closed"})
        check_equal("requests of each", [r["totals"]["submitted"] for r in report["rings"]],
                    [15 + 1 + k % 16 for k in range(300)])


@suite.test
def owner_ends_with_requests_in_flight():
    report, _ = observe_exactly("rings exit")
    check_equal("processes", len({r["pid"] for r in report["rings"]}), len(report["rings"]))
    check_equal("states", {r["state"] for r in report["rings"]}, {"closed"})


@suite.test
def owner_ends_and_another_goes_on():
    """A ring stays that of the process that made it."""
    report, _ = observe_exactly("rings handed")
    check_equal("processes", len({r["pid"] for r in report["rings"]}), len(report["rings"]))
    check_equal("requests of each", {r["totals"]["submitted"] for r in report["rings"]}, {1875})


@suite.test
def released_while_thousands_wait():
    """Each of them is cancelled; that its CQE finds no room and no reader changes nothing."""
    for scenario, verdict in (("waiters", {"ABANDONED"}), ("waiters-tight", {"ABANDONED", "OVERFLOW"})):
        _, report, said = observe(f"rings {scenario}")
        check_cancelled(report, said, verdict)


@suite.test
def killed_while_thousands_wait():
    for scenario, verdict in (("killed", set()), ("killed-tight", {"OVERFLOW"})):
        _, report, said = observe(f"rings {scenario}")
        check_cancelled(report, said, verdict)


def check_cancelled(report, said, verdict):
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report) - ON_PURPOSE, verdict)
    ring, = report["rings"]
    check_equal("state, in flight", (ring["state"], ring["totals"]["in_flight"]), ("closed", 0))
    if report["kernel"]["features"]["overflow"]["state"] != "full":
        return
    for op in report["ops"]:
        if op["op"] in ("READ", "POLL_ADD"):
            check_equal(f"{op['op']}: completed, errors, timed",
                        (op["completed"], op["errors"], op["latency_ns"]["count"]),
                        (1500, {"ECANCELED": 1500}, 1500))


@suite.test
def owner_killed_under_load():
    """Nothing of a process that is gone stays in flight, and nothing has come from nowhere."""
    for _ in range(4):
        with server("ring", "hold 300", "load") as s:
            with observer("-p", s.pid) as o:
                o.wait_ready()
                s.do("hold 200")
                s.do("turns 500")
                os.kill(s.pid, signal.SIGKILL)
                report = o.result().expect_status(0).report
        check_none(truth.consistency(report))
        check_equal("findings", rules(report) - ON_PURPOSE, set())
        check_owner_gone(report)


def check_owner_gone(report):
    """The kernel may be busy still with what was held: 500 reads, 300 of them older than the observation."""
    for r in report["rings"]:
        check(r["state"] != "open", f"ring {r['id']} is open")
        check(r["state"] == "closing" or not r["totals"]["in_flight"], f"in flight on what is gone: {r}")
    t = report["totals"]
    check_equal("silent, rejected", (t["silent"], t["rejected"]), (0, 0))
    held, = (r for r in report["rings"] if r["totals"]["submitted"] == 200)
    check_equal("errors of those that ended", held["totals"]["errors"], held["totals"]["completed"])
    check(held["totals"]["in_flight_at_attach"] <= 300, f"in flight at attach: {held}")
    if held["state"] == "closed":
        check_equal("cancelled", held["totals"]["completed"], 500)


@suite.test
def silent_by_the_thousand():
    """A ring that is gone proves that its requests have ended; their places are free for others then."""
    _, report, said = observe("rings hush", "--max-inflight", "512")
    if report["kernel"]["features"]["ring_gone"]["state"] != "full":
        raise Skipped("the end of a ring can't be seen here")
    check_none(truth.mismatches(report, said))
    check_silent(report, said)


@suite.test
def silent_faster_than_rings_go():
    """What finds no place meanwhile was silent, too."""
    _, report, said = observe("rings hush-storm --workers 1500", "--max-inflight", "256")
    if report["kernel"]["features"]["ring_gone"]["state"] != "full":
        raise Skipped("the end of a ring can't be seen here")
    report["fidelity"].pop("table_full")
    check_none(truth.mismatches(report, said))
    check_silent(report, said)


@suite.test(timeout_s=120)
def silent_in_more_rings_than_places():
    """More than the table holds: they are taken out of it while their successors take their io_kiocbs."""
    _, report, said = observe("rings hush-storm --workers 30000")
    if report["kernel"]["features"]["ring_gone"]["state"] != "full":
        raise Skipped("the end of a ring can't be seen here")
    unplaced = report["fidelity"]["rings_full"]
    if not unplaced:
        check_none(truth.mismatches(report, said))
        check_silent(report, said)
        return
    # rings go as fast as the kernel is; what is counted without a ring is never known to be gone
    t = report["totals"]
    check_none(truth.consistency(report, ("rings_full", "series_full")))
    check_equal("submitted", t["submitted"], said["silent"])
    ended = t["silent"] + t["in_flight"]
    check(0 <= said["silent"] - ended <= unplaced, f"{said['silent']} submitted, {ended} ended, {unplaced} without a ring")
    check(t["in_flight"] <= unplaced, f"{t['in_flight']} in flight")


def check_silent(report, said):
    t = report["totals"]
    check_equal("submitted, silent, completed, in flight",
                (t["submitted"], t["silent"], t["completed"], t["in_flight"]),
                (said["silent"], said["silent"], 0, 0))
    check_equal("states", {r["state"] for r in report["rings"]}, {"closed"})
    check_equal("findings", rules(report) - ON_PURPOSE, set())


# --- dropped SQEs -----------------------------------------------------------------------------------
def dropped(report):
    """Of each ring; those without a descriptor come first."""
    return sorted((r["fd"] or -1, r["created_in_window"], r["totals"]["sq_dropped"]) for r in report["rings"])


def quit_unseen(s):
    """The truth of a workload that outlived the observation, and closes its rings only now."""
    return {**s.quit(), "registers": {}}


def check_dropped(report, said, rings):
    """rings: as the workload described them."""
    check_none(truth.mismatches(report, said))
    check_equal("dropped of each ring", dropped(report),
                sorted((r["fd"] or -1, r["created_in_window"], r["dropped"]) for r in rings))
    check_equal("dropped", report["totals"]["sq_dropped"], sum(r["dropped"] for r in rings))
    check_equal("findings", rules(report) - ON_PURPOSE, set())


@suite.test
def dropped_by_rings_that_stay():
    """The last thing that happened on an open ring is that it dropped SQEs: no event tells of that."""
    for i in range(2):
        with server(line="rings dropped") as s:
            with observer(*targets(s)[i]) as o:
                o.wait_ready()
                rings = s.do("go")["rings"]
                report = o.kill().result().expect_status(0).report
            said = quit_unseen(s)
        check_equal("states", {r["state"] for r in report["rings"]}, {"open"})
        check_dropped(report, said, rings)


@suite.test
def dropped_by_rings_that_are_gone():
    with server(line="rings dropped") as s:
        with observer("-p", s.pid) as o:
            o.wait_ready()
            rings = s.do("go")["rings"]
            said = s.quit()
            report = o.result().expect_status(0).report
    check_equal("states", {r["state"] for r in report["rings"]}, {"closed"})
    check_dropped(report, said, rings)


@suite.test
def dropped_before_the_end_of_a_window():
    """As long as it takes, until all was done inside the window."""
    for seconds in (0.5, 2, 8, 32):
        with server(line="rings dropped") as s:
            with observer("-p", s.pid, "-d", seconds) as o:
                o.wait_ready()
                rings = s.do("go")["rings"]
                done_ns = time.time_ns()
                report = o.result().expect_status(0).report
            said = quit_unseen(s)
        if report["window"]["start_unix_ns"] + report["window"]["duration_ns"] > done_ns:
            check_dropped(report, said, rings)
            return
    raise Failed("a window of 32 s is too short")


# --- older than the observation -----------------------------------------------------------------
def targets(s):
    """The ways to attach to it, and to nothing else."""
    return (["-p", s.pid], ["-a", "--comm", "rings"])


def check_found(report, s, found):
    """found: the rings as the workload described them, in the order of the report."""
    check_equal("rings", len(report["rings"]), len(found))
    for ring, want in zip(report["rings"], found):
        # a ring that was enabled since is not disabled any more
        flags = [f for f in SETUPS.get(want["name"], []) if f != "R_DISABLED"]
        for key, value in (("fd", want["fd"]), ("flags", flags), ("sq_entries", want["sq_entries"]),
                           ("cq_entries", want["cq_entries"]), ("pid", s.pid), ("comm", "rings"),
                           ("created_in_window", False)):
            check_equal(f"{key} of {want['name']}", ring[key], value)


def by_descriptor(ring):
    """Of the two that have none, the one without flags comes last."""
    plain = ring["name"] == "registered" if "name" in ring else not ring["flags"]
    return ring["fd"] is None, ring["fd"] or 0, plain


@suite.test
def found_before_any_request():
    for i in range(2):
        with server(line="rings adopt") as s:
            with observer(*targets(s)[i]) as o:
                report = o.wait_ready().kill().result().expect_status(0).report
            s.do("go")
            s.quit()
        check_none(truth.consistency(report))
        check_equal("submitted", report["totals"]["submitted"], 0)
        check_equal("states", {r["state"] for r in report["rings"]}, {"open"})
        report["rings"].sort(key=by_descriptor)
        check_found(report, s, sorted(s.hello["rings"], key=by_descriptor))


def observe_told(line, i):
    """Attaches to it the i-th way, lets it act and end. Returns report and server."""
    with server(line=line) as s:
        with observer(*targets(s)[i]) as o:
            o.wait_ready()
            s.do("go")
            said = s.quit()
            report = (o.kill() if i else o).result().expect_status(0).report
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report) - ON_PURPOSE, set())
    return report, s


@suite.test
def adopted_with_every_setup():
    """The n-th ring gets 16 n requests, of which n are refused."""
    for i in range(2):
        report, s = observe_told("rings adopt", i)
        report["rings"].sort(key=lambda r: r["totals"]["submitted"])
        check_found(report, s, s.hello["rings"])
        check_equal("requests", [r["totals"]["submitted"] for r in report["rings"]],
                    [15 * n for n in range(1, len(report["rings"]) + 1)])


@suite.test
def met_by_its_submission():
    """An SQPOLL ring whose descriptor was closed: no table of files leads to it."""
    for i in range(2):
        report, s = observe_told("rings hidden", i)
        ring, = report["rings"]
        check_equal("facts", (ring["pid"], ring["fd"], ring["flags"], ring["created_in_window"]),
                    (s.pid, None, ["SQPOLL"], False))
        check(ring["sq_thread"]["tid"] > 0, f"the thread is {ring['sq_thread']}")


@suite.test
def met_in_another_process():
    """A ring that the target gets from a process that is none."""
    with server(line="rings receive") as s:
        with observer("-p", s.pid) as o:
            o.wait_ready()
            s.do("go")
            report = o.kill().result().expect_status(0).report
        said = s.quit()
    check_none(truth.mismatches(report, said))
    ring, = report["rings"]
    check_equal("facts", (ring["pid"], ring["fd"], ring["created_in_window"]), (s.pid, None, False))
