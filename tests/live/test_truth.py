# SPDX-License-Identifier: MIT
"""Ground truth: ringside's numbers are those of the workload, and its verdict is the right one."""
import dataclasses

import truth
from ringside import observe, rules
from testing import Suite, check, check_equal, check_none

MS = 1_000_000


@dataclasses.dataclass
class Case:
    name: str
    workload: str
    findings: frozenset | None = frozenset()  # rules that must fire, and no other; None: not the point
    severity: str | None = None
    at_least_ns: dict = dataclasses.field(default_factory=dict)
    cancelled: bool = False
    options: tuple = ()
    timeout_s: float = 60

    def run(self):
        _, report, said = observe(self.workload, *self.options)
        check_none(truth.mismatches(report, said, self.cancelled, self.at_least_ns))
        if self.findings is not None:
            check_equal("findings", sorted(rules(report)), sorted(self.findings))
        if self.severity:
            check_equal("severity", {f["severity"] for f in report["findings"] if f["rule"] in self.findings},
                        {self.severity})


PUNT, BATCH, OVERFLOW = (frozenset({rule}) for rule in ("PUNT", "BATCH", "OVERFLOW"))

CASES = [
    # rings, threads, processes
    Case("storm", "nops storm --count 20000000 --untimed", timeout_s=240),
    Case("storm-defer", "nops storm --count 2000000 --flags defer"),
    Case("storm-coop", "nops storm --flags coop"),
    Case("storm-timed", "nops storm --count 1000000"),
    Case("sqpoll", "nops storm --flags sqpoll"),
    Case("threads", "nops threads"),
    Case("shared", "nops shared"),
    Case("fork", "nops fork"),
    Case("inherit", "nops inherit"),
    Case("churn", "nops churn"),
    Case("churn-many", "nops churn --workers 2000 --count 20000"),
    Case("no-io-uring", "nops none"),
    # files
    Case("read", "files read"),
    Case("read-sqpoll", "files read --flags sqpoll"),
    Case("direct", "files direct"),
    Case("direct-defer", "files direct --flags defer"),
    Case("write-fsync", "files write", findings=None),  # ext4 punts the writes, others do not
    Case("async", "files async"),
    Case("async-defer", "files async --flags defer"),
    Case("chain", "files chain --count 2000"),
    Case("errors", "files errors", frozenset({"CANCELED", "ERRORS"})),
    Case("fixed", "files fixed"),
    # events
    Case("timeout", "events timeout --ms 50", at_least_ns={"TIMEOUT": 50 * MS}),
    Case("timeout-long", "events timeout --ms 1300 --count 3", at_least_ns={"TIMEOUT": 1300 * MS}),
    Case("deadline", "events deadline --ms 20", at_least_ns={"RECV": 20 * MS, "LINK_TIMEOUT": 20 * MS}),
    Case("poll", "events poll"),
    Case("poll-defer", "events poll --flags defer"),
    Case("multishot", "events multishot"),
    Case("message", "events message --count 500"),
    Case("zerocopy", "events zerocopy --count 500"),
    Case("skip", "events skip --count 5000"),
    Case("abandon", "events abandon", cancelled=True),
    # the rules: what makes them speak, what just does not, and the healthy twin is above
    Case("punt", "files unwanted", PUNT),
    Case("punt-some", "files read --stray 10", PUNT),
    Case("punt-near-miss", "files read --stray 25"),
    Case("batch", "nops drip", BATCH, severity="warn", options=("--threshold", "BATCH.warn_per_s=1")),
    Case("batch-slow", "nops drip", BATCH, severity="info", options=("--threshold", "BATCH.warn_per_s=1000000000")),
    Case("batch-lone", "nops storm --batch 1", BATCH, severity="info"),
    Case("batch-near-miss", "nops storm --batch 2 --count 200000"),
    Case("batch-few", "nops drip --count 900"),
    Case("batch-sqpoll", "nops drip --flags sqpoll --count 20000"),
    Case("overflow", "nops overflow", OVERFLOW, severity="warn"),
    Case("overflow-one", "nops overflow --batch 9 --count 9", OVERFLOW),
    Case("overflow-near-miss", "nops overflow --batch 8"),
]

# For docs/rules.md.
ALSO_SHOWN = [("PUNT", "healthy", "files read"), ("OVERFLOW", "healthy", "nops storm"),
              ("FIDELITY", "causes", "events poll --batch 64 --count 640, with --max-inflight=8"),
              ("FIDELITY", "healthy", "the same without")]

suite = Suite()
for case in CASES:
    suite.add(case.name, case.run, case.timeout_s)


@suite.test
def more_rings_than_places():
    """What finds no place of its own is counted all the same, and fidelity tells how much that was."""
    _, report, said = observe("nops churn --workers 12000 --count 24000 --batch 2")
    totals, fidelity = report["totals"], report["fidelity"]
    for key in ("submitted", "completed", "errors"):
        check_equal(key, totals[key], said[key])
    check_none(truth.identity("totals", totals))
    check_equal("other losses", {k: v for k, v in fidelity.items() if v and k not in ("rings_full", "series_full")}, {})
    if fidelity["rings_full"]:
        check_equal("batches", totals["batches"], None)
        check(fidelity["rings_full"] <= totals["submitted"], f"{fidelity['rings_full']} without a ring")
    else:
        check_none(truth.mismatches(report, said))


@suite.test
def more_requests_in_flight_than_slots():
    """The same for requests: what finds no slot is counted and not timed."""
    _, report, said = observe("events abandon --count 30000")
    check_none(truth.identity("totals", report["totals"]) + truth.sums(report) + truth.op_sums(report))
    t, untimed = report["totals"], report["fidelity"].pop("table_full")
    check_equal("submitted, poll_armed", (t["submitted"], t["poll_armed"]), (said["submitted"],) * 2)
    check_equal("losses", truth.losses(report), [])
    timed = sum(op["latency_ns"]["count"] for op in report["ops"])
    check(timed + untimed >= t["completed"], f"{t['completed']} completed, {timed} timed, {untimed} not")
