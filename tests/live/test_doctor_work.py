# SPDX-License-Identifier: MIT
"""
The doctor on workers, chains, registrations, timers and setups: each rule on what causes it, on a dose just below
its threshold, and on a healthy twin.
"""
import dataclasses
import subprocess
from typing import Callable

from ringside import RINGSIDE, observe, observer, server
from testing import Skipped, Suite, check, check_equal

# Rates depend on the machine; so do times.
FLUSH = "--threshold=FSYNC-TAIL.min_p99_ms=0"


def any_rate(rule):
    return f"--threshold={rule}.min_per_s=0"


def findings_of(report, rule):
    return [f for f in report["findings"] if f["rule"] == rule]


def tells_block():
    """Whether this ringside can be asked for the time in the block layer."""
    return "--block" in subprocess.run([RINGSIDE, "stat", "--help"], capture_output=True, text=True, check=True).stdout


@dataclasses.dataclass
class Case:
    name: str
    rule: str
    workload: str
    options: tuple = ()
    op: str | None = None
    ring: int | None = 1
    severity: str | None = None
    # evidence -> what it must be, or whether it may be that; of the workload's truth
    evidence: Callable = lambda said: {}
    quiet: bool = False
    ext4: bool = False  # the workload needs buffered writes to be punted

    def run(self):
        if "--block" in self.options and not tells_block():
            raise Skipped("this ringside has no --block")
        _, report, said = observe(self.workload, *self.options)
        if self.ext4 and not report["totals"]["wq_hashed"]:
            raise Skipped("buffered writes need no worker on this file system")
        unchecked = {n["rule"]: n["why"] for n in report["not_checked"]}
        if self.rule in unchecked and not findings_of(report, self.rule):
            self.must_be_unchecked(report, unchecked[self.rule])
        found = findings_of(report, self.rule)
        if self.quiet:
            check_equal("findings", [f["title"] for f in found], [])
            return
        check_equal("number of findings", len(found), 1)
        self.check_finding(found[0], said)

    def must_be_unchecked(self, report, why):
        """A rule may say that it could not judge only where what it needs is off."""
        features = report["kernel"]["features"]
        check(any(f["state"] == "off" and name in why for name, f in features.items()), f"not checked: {why}")
        raise Skipped(why)

    def check_finding(self, f, said):
        check_equal("ring, op", (f["ring"], f["op"]), (self.ring, self.op))
        if self.severity:
            check_equal("severity", f["severity"], self.severity)
        for key, want in self.evidence(said).items():
            got = f["evidence"][key]
            check(want(got) if callable(want) else got == want, f"{key} is {got}: {f['title']}")


def at_least(n):
    return lambda got: got >= n


def quiet(name, rule, workload, *options, **more):
    return Case(name, rule, workload, options, quiet=True, **more)


CASES = [
    Case("wq-hashed", "WQ-HASHED", "causes hashed", op="WRITE", severity="warn", ext4=True,
         evidence=lambda said: {"wq_hashed": said["requests"], "same_file_pct": at_least(99), "pid": said["pid"],
                                "in_wq_mean": lambda n: 4 <= n <= 16}),
    # three at a time can't be four on average
    quiet("wq-hashed-near-miss", "WQ-HASHED", "causes hashed --depth 3", ext4=True),
    quiet("wq-hashed-few", "WQ-HASHED", "causes hashed --count 99", ext4=True),
    quiet("wq-hashed-twin", "WQ-HASHED", "causes hashed --files 16", ext4=True),

    Case("workers-limited", "WORKERS", "causes limited", severity="warn",
         evidence=lambda said: {"limit": 1, "workers_max": 1, "punted": said["requests"], "pid": said["pid"],
                                "in_wq_mean": lambda n: 2 <= n <= 16}),
    quiet("workers-near-miss", "WORKERS", "causes limited --depth 2"),
    Case("workers-many", "WORKERS", "causes blocked --depth 64", severity="info",
         evidence=lambda said: {"kind": "bounded", "workers_max": 64, "limit": 64}),
    quiet("workers-many-near-miss", "WORKERS", "causes blocked --depth 63"),
    quiet("workers-twin", "WORKERS", "files async"),

    Case("link-stall", "LINK-STALL", "stages link --count 100 --ms 5", op="NOP", severity="info",
         evidence=lambda said: {"waited": said["requests"], "drained": 0, "link_pct": at_least(50)}),
    Case("link-stall-drain", "LINK-STALL", "stages drain --count 100 --ms 5", op="NOP", severity="warn",
         evidence=lambda said: {"waited": at_least(said["requests"]), "drained": at_least(said["requests"])}),
    quiet("link-stall-near-miss", "LINK-STALL", "stages link --count 99 --ms 5"),
    quiet("link-stall-twin", "LINK-STALL", "nops storm --count 100000"),

    Case("fsync-tail", "FSYNC-TAIL", "causes fsyncs --count 120 --depth 20", (FLUSH,), op="FSYNC",
         evidence=lambda said: {"fsyncs": said["calls"], "punted": said["calls"], "slowest_pct": at_least(50)}),
    quiet("fsync-tail-near-miss", "FSYNC-TAIL", "causes fsyncs --count 99 --depth 20", FLUSH),
    quiet("fsync-tail-twin", "FSYNC-TAIL", "files read", FLUSH),

    # once is setting up and tidying up
    Case("reg-churn", "REG-CHURN", "causes registers --count 101", (any_rate("REG-CHURN"),),
         evidence=lambda said: {"what": "buffers", "registered": said["calls"], "unregistered": said["calls"],
                                "submitted": said["requests"]}),
    quiet("reg-churn-near-miss", "REG-CHURN", "causes registers --count 100", any_rate("REG-CHURN")),
    quiet("reg-churn-twin", "REG-CHURN", "files fixed", any_rate("REG-CHURN")),

    Case("unregistered", "UNREGISTERED", "files read --count 100000", (any_rate("UNREGISTERED"),), severity="info",
         evidence=lambda said: {"requests": said["submitted"]}),
    quiet("unregistered-near-miss", "UNREGISTERED", "files read --count 99999", any_rate("UNREGISTERED")),
    quiet("unregistered-twin", "UNREGISTERED", "files fixed --count 100000", any_rate("UNREGISTERED")),

    Case("ring-churn", "RING-CHURN", "nops churn --workers 100 --count 1000", (any_rate("RING-CHURN"),), ring=None,
         evidence=lambda said: {"created_and_closed": 100, "requests": said["submitted"], "comm": "nops"}),
    quiet("ring-churn-near-miss", "RING-CHURN", "nops churn --workers 99 --count 1000", any_rate("RING-CHURN")),
    quiet("ring-churn-twin", "RING-CHURN", "nops threads --workers 8", any_rate("RING-CHURN")),

    Case("setup-flags", "SETUP-FLAGS", "events poll --count 10000", (any_rate("SETUP-FLAGS"),), severity="info",
         evidence=lambda said: {"by_task_work": said["submitted"], "submitters": "one thread"}),
    quiet("setup-flags-near-miss", "SETUP-FLAGS", "events poll --count 9999", any_rate("SETUP-FLAGS")),
    quiet("setup-flags-twin", "SETUP-FLAGS", "events poll --flags defer", any_rate("SETUP-FLAGS")),
    quiet("setup-flags-inline", "SETUP-FLAGS", "nops storm --count 100000", any_rate("SETUP-FLAGS")),

    Case("abandoned-exit", "ABANDONED", "causes left-at-exit --count 50", op="WRITE", severity="warn",
         evidence=lambda said: {"canceled_at_exit": said["requests"], "canceled_at_close": 0}),
    Case("abandoned-close", "ABANDONED", "causes left-at-close --count 50", op="WRITE", severity="warn",
         evidence=lambda said: {"canceled_at_close": said["requests"], "canceled_at_exit": 0}),
    Case("abandoned-one", "ABANDONED", "causes left-at-exit --count 1", op="WRITE"),
    # a server that ends leaves reads behind
    quiet("abandoned-near-miss", "ABANDONED", "events abandon"),
    quiet("abandoned-twin", "ABANDONED", "causes awaited --count 50"),

    Case("poll-retry", "POLL-RETRY", "causes herd --count 300", (any_rate("POLL-RETRY"),), op="RECV", severity="warn",
         evidence=lambda said: {"requests": said["requests"], "poll_armed": at_least(3 * said["requests"])}),
    quiet("poll-retry-near-miss", "POLL-RETRY", "causes herd --count 1000 --depth 2", any_rate("POLL-RETRY")),
    quiet("poll-retry-twin", "POLL-RETRY", "events poll", any_rate("POLL-RETRY")),

    Case("timeout-storm", "TIMEOUT-STORM", "events timeout --ms 1 --count 1000 --batch 100",
         (any_rate("TIMEOUT-STORM"),), op="TIMEOUT",
         evidence=lambda said: {"expired": said["submitted"], "submitted": said["submitted"]}),
    quiet("timeout-storm-near-miss", "TIMEOUT-STORM", "events timeout --ms 1 --count 999 --batch 100",
          any_rate("TIMEOUT-STORM")),
    Case("deadlines", "TIMEOUT-STORM", "events deadline --ms 1 --count 100", op="LINK_TIMEOUT", severity="warn",
         evidence=lambda said: {"expired": 100}),
    quiet("deadlines-near-miss", "TIMEOUT-STORM", "events deadline --ms 1 --count 99"),
    quiet("timeout-storm-twin", "TIMEOUT-STORM", "events poll", any_rate("TIMEOUT-STORM")),

    Case("wait-spin", "WAIT-SPIN", "causes spin --count 12000", (any_rate("WAIT-SPIN"),), severity="warn",
         evidence=lambda said: {"useless": lambda n: 10000 <= n <= said["calls"], "cqes": said["requests"]}),
    quiet("wait-spin-near-miss", "WAIT-SPIN", "causes spin --count 9999", any_rate("WAIT-SPIN")),
    quiet("wait-spin-twin", "WAIT-SPIN", "nops storm --count 100000", any_rate("WAIT-SPIN")),

    Case("enter-block", "ENTER-BLOCK", "causes large --files 4 --count 120",
         ("--threshold=ENTER-BLOCK.min_mean_ms=0.1",), severity="warn",
         evidence=lambda said: {"submitted": said["requests"], "enter_mean_ns": at_least(100000)}),
    quiet("enter-block-near-miss", "ENTER-BLOCK", "causes large --count 99", "--threshold=ENTER-BLOCK.min_mean_ms=0"),
    quiet("enter-block-twin", "ENTER-BLOCK", "nops storm --count 100000"),

    Case("zc-notif", "ZC-NOTIF", "causes copied --count 100", op="SEND_ZC", severity="warn",
         evidence=lambda said: {"notifs": said["requests"], "copied": said["calls"], "bytes_mean": 8192}),
    quiet("zc-notif-near-miss", "ZC-NOTIF", "causes copied --count 99"),
    # it does not ask whether it was copied
    quiet("zc-notif-twin", "ZC-NOTIF", "events zerocopy --count 200"),
]


# Whose the tail is depends on the device: any part of it, and of any length, is enough here.
DEVICE = ("--block", "--threshold=DEVICE.min_p99_ms=0", "--threshold=DEVICE.min_pct=0")
BLK_QUEUE = ("--block", "--threshold=BLK-QUEUE.min_p99_ms=0", "--threshold=BLK-QUEUE.min_pct=0")
CASES += [
    Case("device", "DEVICE", "files direct --count 1000", DEVICE, op="READ", severity="info",
         evidence=lambda said: {"timed": said["submitted"], "share_pct": lambda n: 0 < n <= 100}),
    quiet("device-near-miss", "DEVICE", "files direct --count 999", *DEVICE),
    # from the page cache
    quiet("device-twin", "DEVICE", "files read --count 5000", *DEVICE),
    Case("blk-queue", "BLK-QUEUE", "files direct --count 1000", BLK_QUEUE, op="READ", severity="info",
         evidence=lambda said: {"timed": said["submitted"], "share_pct": lambda n: 0 < n <= 100}),
    quiet("blk-queue-near-miss", "BLK-QUEUE", "files direct --count 999", *BLK_QUEUE),
    quiet("blk-queue-twin", "BLK-QUEUE", "files read --count 5000", *BLK_QUEUE),
]

suite = Suite()
for case in CASES:
    suite.add(case.name, case.run, 120)


# For docs/rules.md: what is tested below, and by another way than a workload that runs by itself.
ALSO_SHOWN = [("LEAK", "causes", "serve: stuck 3, pass 300 (min_age_s=0.25)"),
              ("LEAK", "just not", "the same (min_age_s=3600)"),
              ("LEAK", "healthy", "serve: hold 5, pass 300 (min_age_s=0.1)")]


def watch(s, *options):
    """What was found while reads hang for 300 ms."""
    with observer("-p", s.pid, *options) as o:
        o.wait_ready()
        s.do("stuck 3")
        s.do("pass 300")
        found = findings_of(o.kill().result().expect_status(0).report, "LEAK")
    s.do("unstick")
    return found


@suite.test
def without_the_option():
    """What only an option tells is not guessed."""
    _, report, _ = observe("files direct --count 1000")
    unchecked = {n["rule"]: n["why"] for n in report["not_checked"]}
    for rule in "DEVICE", "BLK-QUEUE":
        check_equal(rule, unchecked.get(rule), "needs --block")
        check_equal(f"findings of {rule}", findings_of(report, rule), [])


@suite.test
def leak():
    with server("ring") as s:
        f, = watch(s, "--threshold=LEAK.min_age_s=0.25")
        check_equal("ring, op, severity", (f["ring"], f["op"], f["severity"]), (1, "READ", "warn"))
        check_equal("requests", (f["evidence"]["requests"], f["evidence"]["in_flight"]), (3, 3))
        check(f["evidence"]["oldest_ns"] >= 300_000_000, f"{f['evidence']}")
        check_equal("younger ones", watch(s, "--threshold=LEAK.min_age_s=3600"), [])
        s.quit()


@suite.test
def leak_twin():
    """Reads that wait for data may do so as long as they like."""
    with server("ring") as s, observer("-p", s.pid, "--threshold=LEAK.min_age_s=0.1") as o:
        o.wait_ready()
        s.do("hold 5")
        s.do("pass 300")
        check_equal("findings", findings_of(o.kill().result().expect_status(0).report, "LEAK"), [])
        s.do("release")
        s.quit()
