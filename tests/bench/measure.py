# SPDX-License-Identifier: MIT
"""Rounds: each observer in turn around the same process, again and again."""
import contextlib
import dataclasses
import pathlib
import statistics
import tempfile
import time

from harness import Skipped
from observers import Verdict
from workloads import Program, Slice


@dataclasses.dataclass(frozen=True)
class Plan:
    rounds: int
    slices: int
    slice_ms: int
    warm_ms: int


PLANS = {
    "quick": Plan(3, 2, 100, 40),
    "full": Plan(9, 5, 300, 100),
    # Does it all work? The times are worth nothing.
    "smoke": Plan(1, 1, 20, 10),
}


@dataclasses.dataclass
class Cell:
    """One workload under one observer in one round."""
    workload: str
    observer: str
    round: int
    work: int  # all of it while observed
    cqes: int
    cpu_ns: float  # a unit of work, median of the slices
    wall_ns: float  # the same
    p999_ns: float  # median of the slices
    observer_pct: float  # CPU time of the observer's processes, of one CPU
    verdict: Verdict


@dataclasses.dataclass
class Results:
    plan: Plan
    cells: list = dataclasses.field(default_factory=list)
    skipped: dict = dataclasses.field(default_factory=dict)  # (workload or None, observer or None): why
    gaps: list = dataclasses.field(default_factory=list)  # (workload, observer, round, why it was not measured)

    def skip(self, workload, observer, why):
        self.skipped[(workload.key if workload else None, observer.key if observer else None)] = str(why)

    def missed(self, workload, observer, number, why):
        """What works in one round may fail in another. What never works is not tried again."""
        if any((c.workload, c.observer) == (workload.key, observer.key) for c in self.cells):
            self.gaps.append((workload.key, observer.key, number, str(why)))
        else:
            self.skip(workload, observer, why)

    def is_skipped(self, workload, observer):
        return any(key in self.skipped for key in ((None, observer.key), (workload.key, observer.key)))


def measure(program, observer, plan, folder):
    """A cell but for its names."""
    done = Slice()

    def work(ms):
        s = program.work(ms)
        done.add_counts(s)
        return s

    with observer.watching(program.pid, folder) as attached:
        work(plan.warm_ms)  # caches and branch predictors meet the observer
        cpu_ns, start = observer.cpu_ns(attached), time.monotonic_ns()
        slices = [work(plan.slice_ms) for _ in range(plan.slices)]
        cpu_ns, window_ns = observer.cpu_ns(attached) - cpu_ns, time.monotonic_ns() - start
    return {
        "work": done.work,
        "cqes": done.completed + done.multishot,
        "cpu_ns": statistics.median(s.cpu_ns / s.work for s in slices),
        "wall_ns": statistics.median(s.wall_ns / s.work for s in slices),
        "p999_ns": statistics.median(s.p999_ns for s in slices),
        "observer_pct": 100 * cpu_ns / window_ns,
        "verdict": observer.verdict(attached, done),
    }


def run_workload(workload, observers, results, folder, progress):
    with contextlib.closing(Program(workload, folder)) as program:
        program.work(results.plan.warm_ms)
        for number in range(1, results.plan.rounds + 1):
            progress(f"{workload.key}: round {number} of {results.plan.rounds}")
            for observer in observers:
                if results.is_skipped(workload, observer):
                    continue
                try:
                    # on the disk, and gone before the next one begins
                    with tempfile.TemporaryDirectory(dir=folder) as scratch:
                        cell = measure(program, observer, results.plan, pathlib.Path(scratch))
                except Skipped as e:
                    results.missed(workload, observer, number, e)
                    progress(f"{workload.key}, {observer.title}: skipped: {e}")
                    continue
                results.cells.append(Cell(workload.key, observer.key, number, **cell))


def run(workloads, observers, plan, folder, progress):
    results = Results(plan)
    for observer in observers:
        if why := observer.why_not():
            results.skip(None, observer, why)
            progress(f"{observer.title}: skipped: {why}")
    for workload in workloads:
        try:
            run_workload(workload, observers, results, folder, progress)
        except Skipped as e:
            results.skip(workload, None, e)
            progress(f"{workload.key}: skipped: {e}")
    return results
