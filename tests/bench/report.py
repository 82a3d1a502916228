# SPDX-License-Identifier: MIT
"""Rows as Markdown and cells as CSV, and where they go in the documentation."""
import csv
import io

from observers import NOBODY
from summary import ratio

CSV_COLUMNS = ("workload", "observer", "round", "work", "cqes", "cpu_ns", "wall_ns", "p999_ns", "observer_pct")
# Of the added time on NOPs: observer, measure, what the measure is called, aim
AIMS = (("stat", "clock", "ringside stat / two programs that read the clock", 1.3),
        ("sample", "floor", "ringside stat --sample 64 / two empty programs", 1.6))
BEGIN, END = "<!-- bench -->", "<!-- end of bench -->"


def number(value):
    if abs(value) < 100:
        return f"{value + 0.0:.1f}".replace("-0.0", "0.0")
    return f"{value:,.0f}"


def with_spread(s, unit="", form=number):
    """`12.3 (12.0 .. 12.9)`"""
    if s is None:
        return "n/a"
    return f"{form(s.median)}{unit} ({form(s.low)} .. {form(s.high)})"


def two_digits(value):
    return f"{value:.2f}"


def lost_text(row):
    if row.lost is None:
        return "n/a"
    if not row.lost:
        return "0"
    share = f", {100 * row.lost / row.cqes:.2g} %" if row.cqes else ""
    return f"{row.lost:,}{share}"


def cell_escape(text):
    return " ".join(text.split()).replace("|", "\\|")


COLUMNS = ("observer", "ns a {unit}", "added ns", "throughput lost", "p99.9 ratio", "CPU of the observer", "CQEs lost")
# Of them those that tell most
FEW_COLUMNS = (0, 1, 2, 3, 6)


def row_cells(row):
    """One for each column."""
    title = cell_escape(row.title)
    if row.skipped:
        cells = [title, f"skipped: {cell_escape(row.skipped)}"]
    elif row.observer == NOBODY.key:
        cells = [title, with_spread(row.ns)]
    else:
        cells = [title, with_spread(row.ns), with_spread(row.added_ns), with_spread(row.loss_pct, " %"),
                 with_spread(row.p999_ratio, form=two_digits), with_spread(row.observer_pct, " %"), lost_text(row)]
    return cells + [""] * (len(COLUMNS) - len(cells))


def table(workload, rows, columns=range(len(COLUMNS))):
    """The rows of one workload."""
    lines = [[c.format(unit=workload.unit) for c in COLUMNS], ["---"] + ["---:"] * (len(COLUMNS) - 1)]
    lines += [row_cells(r) for r in rows if r.workload == workload.key]
    return "\n".join("| " + " | ".join(cells[i] for i in columns) + " |" for cells in lines)


def unobserved_latency(workload, rows):
    """Of one workload: what the ratios of its latency refer to."""
    for r in rows:
        if (r.workload, r.observer) == (workload.key, NOBODY.key) and r.p999_ns:
            return (f"Unobserved, 99.9 % of the latencies of {workload.latency_of} are below "
                    f"{number(r.p999_ns.median / 1000)} µs.")
    return ""


def aims(cells):
    """What the project wants its own observers to stay below."""
    for over, under, title, aim in AIMS:
        if any(c.observer == over for c in cells):
            yield f"{title}, on NOPs: {with_spread(ratio(cells, 'nop', over, under), form=two_digits)}, aim {aim}"


def disagreements(rows):
    return [f"{r.workload}, {r.title}: {what}" for r in rows for what in r.wrong]


def notes(rows):
    return [f"{r.workload}, {r.title}: {what}" for r in rows for what in r.notes]


def plural(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def how(plan):
    return (f"{plural(plan.rounds, 'round')} of every observer in turn, {plural(plan.slices, 'slice')} of "
            f"{plan.slice_ms} ms each; median (quartiles) over the rounds, compared within a round.")


def bullets(lines):
    return "\n".join(f"- {line}" for line in lines)


def markdown(facts, results, workloads, rows):
    parts = [bullets(f"{what}: {value}" for what, value in facts), how(results.plan)]
    if lines := list(aims(results.cells)):
        parts.append(bullets(lines))
    if wrong := disagreements(rows):
        parts.append("**Counts that are not those of the workload:**\n\n" + bullets(wrong))
    for workload in workloads:
        parts += [f"### {workload.title}", table(workload, rows), unobserved_latency(workload, rows)]
    if said := notes(rows):
        parts.append("What is missing:\n\n" + bullets(said))
    return "\n\n".join(p for p in parts if p) + "\n"


def short(facts, results, workloads, rows):
    """The worst case alone."""
    told = dict(facts)
    parts = [f"Kernel {told['kernel']}; {told['machine']}. {workloads[0].title}: {how(results.plan)}",
             table(workloads[0], [r for r in rows if not r.skipped], FEW_COLUMNS), "\n".join(aims(results.cells))]
    return "\n\n".join(p for p in parts if p) + "\n"


def as_csv(cells):
    """Each cell, so that anybody can do the statistics again."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*CSV_COLUMNS, "lost"))
    for c in cells:
        values = (getattr(c, name) for name in CSV_COLUMNS)
        writer.writerow([*(round(v, 3) if isinstance(v, float) else v for v in values),
                         "" if c.verdict.lost is None else c.verdict.lost])
    return out.getvalue()


def with_section(text, body):
    """A document with what stands between its two marks replaced; ValueError if it has no marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"no {BEGIN} and {END}")
    return f"{head}{BEGIN}\n{body.strip()}\n{END}{tail}"
