# SPDX-License-Identifier: MIT
"""Rules about rings and results: what makes each speak, what just does not, and a healthy twin of the same load."""
import dataclasses
import os
import subprocess

import truth
from ringside import observe, observer, rules, stat, workload
from testing import Skipped, Suite, check, check_equal, check_none

MS = 1_000_000

suite = Suite()

# Rules about rates that these workloads reach on a fast machine.
RATES = {"BATCH", "SETUP-FLAGS", "UNREGISTERED"}


@dataclasses.dataclass
class Case:
    """A workload on which a rule fires (or not), with these options of ringside's, and what it then says."""
    name: str
    workload: str
    rule: str
    fires: bool = True
    ring: int | None = 1
    op: str | None = None
    severity: str | None = None  # None: it depends on the machine
    evidence: dict = dataclasses.field(default_factory=dict)  # name -> number, or (least, most)
    options: tuple = ()
    others: frozenset = frozenset()  # what may be found besides

    def run(self):
        _, report, said = observe(self.workload, *self.options)
        check_none(truth.mismatches(report, said))
        found = [f for f in report["findings"] if f["rule"] == self.rule]
        check_equal("other findings", rules(report) - {self.rule} - self.others - RATES, set())
        if not self.fires:
            check_equal("findings", found, [])
            return
        check_equal(f"findings of {self.rule}", len(found), 1)
        finding, = found
        check_equal("ring, op", (finding["ring"], finding["op"]), (self.ring, self.op))
        if self.severity:
            check_equal("severity", finding["severity"], self.severity)
        for key, want in self.evidence.items():
            least, most = want if isinstance(want, tuple) else (want, want)
            got = finding["evidence"].get(key)
            check(got is not None and least <= got <= most, f"{key} is {got}, not {want}: {finding}")


ANY = (0, float("inf"))
CASES = [
    Case("cq-size", "sick pile", "CQ-SIZE", severity="info",
         evidence={"cq_depth_max": 15, "cq_entries": 16, "cqes": 3000, "cqes_unbound": 0}),
    Case("cq-size-near-miss", "sick pile --batch 14 --count 2996", "CQ-SIZE", fires=False),
    Case("cq-size-few", "sick pile --count 990", "CQ-SIZE", fires=False),
    Case("cq-size-healthy", "sick pile --batch 8", "CQ-SIZE", fires=False),

    Case("reap-lag", "nops late --ms 6 --batch 4 --stray 1 --count 800", "REAP-LAG", severity="warn",
         evidence={"lag_p50_ns": (5 * MS, float("inf")), "followed": (20, 1000), "unreaped": 0}),
    Case("reap-lag-near-miss", "nops late --ms 6 --batch 4 --stray 1 --count 40", "REAP-LAG", fires=False),
    Case("reap-lag-healthy", "nops late --ms 0 --batch 4 --stray 1 --count 800", "REAP-LAG", fires=False),
    Case("reap-lag-unread", "nops unread --ms 1100", "REAP-LAG", severity="warn",
         evidence={"unreaped": 8, "unreaped_ns": (1000 * MS, float("inf"))}),
    Case("reap-lag-unread-near-miss", "nops unread --ms 1100 --batch 8",  "REAP-LAG", fires=False,
         options=("--threshold=REAP-LAG.min_unread_ms=100000",)),

    Case("sqpoll-idle", "sick polled --stray 1000 --ms 300", "SQPOLL-IDLE",
         evidence={"sq_cpu_ns": (300 * MS, float("inf")), "sqes": ANY, "cpu_per_sqe_ns": (200_000, float("inf"))}),
    Case("sqpoll-idle-near-miss", "sick polled --stray 150 --ms 300", "SQPOLL-IDLE", fires=False),
    Case("sqpoll-idle-healthy", "nops storm --flags sqpoll", "SQPOLL-IDLE", fires=False),

    Case("overflow-stuck", "sick stuck --ms 1100", "OVERFLOW-STUCK", severity="crit",
         evidence={"stuck_ns": (1000 * MS, float("inf")), "cq_overflows": 8, "unreaped": 0},
         others=frozenset({"OVERFLOW"})),
    Case("overflow-stuck-near-miss", "sick stuck --ms 1100", "OVERFLOW-STUCK", fires=False,
         options=("--threshold=OVERFLOW-STUCK.min_ms=100000",), others=frozenset({"OVERFLOW"})),
    Case("overflow-stuck-healthy", "sick stuck --ms 1100 --stray 1", "OVERFLOW-STUCK", fires=False,
         others=frozenset({"OVERFLOW"})),

    Case("sqpoll-stall", "sick contended --ms 2000", "SQPOLL-STALL",
         evidence={"sq_wait_ns": (100 * MS, float("inf")), "sq_wait_pct": (25, 100)}),
    Case("sqpoll-stall-near-miss", "sick contended --ms 2000", "SQPOLL-STALL", fires=False,
         options=("--threshold=SQPOLL-STALL.min_wait_ms=100000",)),

    Case("defer-tw", "sick deaf --ms 6 --flags defer", "DEFER-TW", op="RECV", severity="warn",
         evidence={"delivered": 100, "deliver_p50_ns": (5 * MS, float("inf")), "deliver_pct": (50, 100)}),
    Case("defer-tw-near-miss", "sick deaf --ms 6 --flags defer --count 99", "DEFER-TW", fires=False),
    Case("defer-tw-healthy", "events poll --flags defer", "DEFER-TW", fires=False),

    Case("delivery", "sick vfork --ms 6", "DELIVERY", op="RECV", severity="warn",
         evidence={"delivered": 100, "deliver_p50_ns": (5 * MS, float("inf")), "deliver_pct": (50, 100)}),
    Case("delivery-near-miss", "sick vfork --ms 6 --count 99", "DELIVERY", fires=False),
    Case("delivery-healthy", "sick deaf --ms 6", "DELIVERY", fires=False, others=frozenset({"REAP-LAG"})),

    Case("errors", "sick badfd --stray 100", "ERRORS", op="READ", severity="warn",
         evidence={"failed": 100, "cqes": 10000, "failed_pct": 1}),
    Case("errors-near-miss", "sick badfd --stray 101 --count 10100", "ERRORS", fires=False),
    Case("errors-healthy", "sick badfd --stray 10000", "ERRORS", fires=False),
    Case("refused", "sick refused --stray 100", "ERRORS", op="NOP", severity="warn",
         evidence={"failed": 100, "sqes": 10000}),
    Case("refused-near-miss", "sick refused --stray 101 --count 10100", "ERRORS", fires=False),

    Case("nobufs", "sick nobufs --stray 100 --untimed", "NOBUFS", op="RECV", severity="warn",
         evidence={"failed": 50, "cqes": 5000, "submitted": 5000}),
    Case("nobufs-near-miss", "sick nobufs --stray 101 --count 5050 --untimed", "NOBUFS", fires=False),
    Case("nobufs-healthy", "sick nobufs --stray 5000 --untimed", "NOBUFS", fires=False),

    Case("canceled", "sick chains --stray 50 --untimed", "CANCELED", op="NOP", severity="warn",
         evidence={"canceled": 200, "requests": 20000, "canceled_pct": 1}, others=frozenset({"ERRORS"})),
    Case("canceled-near-miss", "sick chains --stray 51 --count 10200 --untimed", "CANCELED", fires=False,
         others=frozenset({"ERRORS"})),
    Case("canceled-healthy", "sick chains --stray 10000 --untimed", "CANCELED", fires=False),

    Case("eagain", "sick eagain --stray 10", "EAGAIN", op="RECV", severity="warn",
         evidence={"failed": 500, "cqes": 5000}),
    Case("eagain-near-miss", "sick eagain --stray 11", "EAGAIN", fires=False),
    Case("eagain-healthy", "sick eagain --stray 5000", "EAGAIN", fires=False),

    Case("short-io", "sick short --stray 100", "SHORT-IO", severity="warn",
         evidence={"short_writes": 200, "writes": 20000}, others=frozenset({"PUNT"})),
    Case("short-io-near-miss", "sick short --stray 101", "SHORT-IO", fires=False, others=frozenset({"PUNT"})),
    Case("short-io-healthy", "sick short --stray 20000", "SHORT-IO", fires=False, others=frozenset({"PUNT"})),

    Case("idle-ring", "sick idle --ms 300", "IDLE-RING", ring=2, severity="info",
         evidence={"idle_ns": (200 * MS, float("inf")), "sq_entries": 8},
         options=("--threshold=IDLE-RING.min_s=0.2",)),
    Case("idle-ring-near-miss", "sick idle --ms 300", "IDLE-RING", fires=False,
         options=("--threshold=IDLE-RING.min_s=100000",)),
    Case("idle-ring-healthy", "sick idle --ms 300 --count 1", "IDLE-RING", fires=False,
         options=("--threshold=IDLE-RING.min_s=0.2",)),
]

ALSO_SHOWN = [("SQPOLL-STALL", "healthy", "sick contended --ms 500 --stray 1"),
              ("SQPOLL-SHARE", "causes", "sick bound --stray 1"),
              ("SQPOLL-SHARE", "just not", "sick bound --stray 1 (min_sqes=2001)"),
              ("SQPOLL-SHARE", "healthy", "sick bound")]

for case in CASES:
    suite.add(case.name, case.run)


@suite.test
def sqpoll_stall_healthy():
    """A poller that gets its CPU; whether it does is known to the workload."""
    _, report, said = observe("sick contended --ms 500 --stray 1")
    check_none(truth.mismatches(report, said))
    if said["poller_wait_ns"] > said["poller_cpu_ns"] / 5:
        raise Skipped(f"the machine is busy: the poller waited {said['poller_wait_ns']} ns for a CPU")
    check_equal("findings", [f for f in report["findings"] if f["rule"] == "SQPOLL-STALL"], [])


def bound(*args, options=()):
    """The findings about a ring whose thread was asked to submit 2000 NOPs while observed."""
    with subprocess.Popen([*workload("sick bound"), *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        check_equal("first line", program.stdout.readline(), "ready\n")
        with observer("-p", program.pid, *options) as o:
            o.wait_ready()
            program.stdin.write("go\n")
            program.stdin.flush()
            check_equal("answer", program.stdout.readline(), "done\n")
            report = o.kill().result().expect_status(0).report
        program.communicate()
        check_equal("status", program.returncode, 0)
    check_equal("submitted", report["totals"]["submitted"], 2000)
    check_equal("not checked", [n for n in report["not_checked"] if n["rule"] == "SQPOLL-SHARE"], [])
    return [f for f in report["findings"] if f["rule"] == "SQPOLL-SHARE"]


@suite.test
def sqpoll_share():
    """A poller that is bound to the CPU of the thread that made the ring; too few SQEs; a thread that is not bound."""
    found, = bound("--stray", "1")
    check_equal("ring, severity, sqes", (found["ring"], found["severity"], found["evidence"]["sqes"]), (1, "warn", 2000))
    few = bound("--stray", "1", options=["--threshold=SQPOLL-SHARE.min_sqes=2001"])
    check_equal("findings where that is too few", few, [])
    check_equal("findings where the thread may run elsewhere", bound() if (os.cpu_count() or 1) > 1 else [], [])


@suite.test
def fidelity():
    """What ringside misses is told apart, and never gates."""
    command = ["--", *workload("events poll --batch 64 --count 640"), "--out", "/dev/null"]
    report = stat("--fail-on=info", "--max-inflight=8", *command).expect_status(0).report
    found, = [f for f in report["findings"] if f["rule"] == "FIDELITY"]
    check_equal("severity, gates", (found["severity"], found["gates"]), ("info", False))
    check_equal("table_full", found["evidence"]["table_full"], report["fidelity"]["table_full"])
    check(found["evidence"]["table_full"] > 0, "everything found room")
    report = stat("--fail-on=info", *command).expect_status(0).report
    check_equal("findings", report["findings"], [])
