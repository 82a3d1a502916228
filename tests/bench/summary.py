# SPDX-License-Identifier: MIT
"""From cells to rows: medians and quartiles over the rounds, each round against its own unobserved measurement."""
import dataclasses
import statistics

from observers import NOBODY


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    low: float  # quartiles
    high: float


def spread(values):
    """None of nothing."""
    values = list(values)
    if not values:
        return None
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


@dataclasses.dataclass
class Row:
    workload: str
    observer: str
    title: str
    skipped: str | None = None
    ns: Spread | None = None
    added_ns: Spread | None = None  # None: that is what the others are compared with
    loss_pct: Spread | None = None
    p999_ns: Spread | None = None
    p999_ratio: Spread | None = None
    observer_pct: Spread | None = None
    lost: int | None = None
    cqes: int = 0
    wrong: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)


def paired(cells, base):
    """(cell, unobserved cell of the same round), where there are both."""
    by_round = {c.round: c for c in base}
    return [(c, by_round[c.round]) for c in cells if c.round in by_round]


def summarise(workload, observer, cells, base):
    row = Row(workload.key, observer.key, observer.title)
    pairs = paired(cells, base)
    row.ns = spread(c.cpu_ns for c in cells)
    row.p999_ns = spread(c.p999_ns for c in cells)
    if observer is not NOBODY:
        row.added_ns = spread(c.cpu_ns - b.cpu_ns for c, b in pairs)
        row.loss_pct = spread(100 * (1 - b.wall_ns / c.wall_ns) for c, b in pairs)
        row.p999_ratio = spread(c.p999_ns / b.p999_ns for c, b in pairs if b.p999_ns)
        row.observer_pct = spread(c.observer_pct for c in cells)
    row.cqes = sum(c.cqes for c in cells)
    known = [c.verdict.lost for c in cells]
    row.lost = sum(known) if known and None not in known else None
    row.wrong = [f"round {c.round}: {c.verdict.wrong}" for c in cells if c.verdict.wrong]
    row.notes = [f"round {c.round}: {c.verdict.note}" for c in cells if c.verdict.note]
    return row


def rows(workloads, observers, results):
    """Every workload with every observer, in their order, skipped ones too."""
    for workload in workloads:
        of_workload = [c for c in results.cells if c.workload == workload.key]
        base = [c for c in of_workload if c.observer == NOBODY.key]
        for observer in observers:
            why = (results.skipped.get((workload.key, None)) or results.skipped.get((None, observer.key)) or
                   results.skipped.get((workload.key, observer.key)))
            if why:
                yield Row(workload.key, observer.key, observer.title, skipped=why)
                continue
            row = summarise(workload, observer, [c for c in of_workload if c.observer == observer.key], base)
            row.notes += [f"round {number}: not measured: {why}" for w, o, number, why in results.gaps
                          if (w, o) == (workload.key, observer.key)]
            yield row


def ratio(cells, workload, over, under):
    """Added time of one observer by that of another, round by round; None where one was not measured."""
    of = {key: [c for c in cells if (c.workload, c.observer) == (workload, key)]
          for key in (over, under, NOBODY.key)}
    added = {key: {c.round: c.cpu_ns - b.cpu_ns for c, b in paired(of[key], of[NOBODY.key])}
             for key in (over, under)}
    common = added[over].keys() & added[under].keys()
    # an observer that costs less than nothing: the machine was too busy to tell
    if any(added[under][r] <= 0 for r in common):
        return None
    return spread(added[over][r] / added[under][r] for r in sorted(common))
