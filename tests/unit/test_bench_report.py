# SPDX-License-Identifier: MIT
"""The parts of the benchmark that only compute: statistics, tables, the plot, what observers said."""
import csv
import io
import re
import sys
from xml.etree import ElementTree

from testing import TESTS_DIR, Failed, Suite, check, check_equal

sys.path.insert(0, str(TESTS_DIR / "bench"))

import measure  # noqa: E402
import observers  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import summary  # noqa: E402
from observers import Verdict  # noqa: E402
from workloads import WORKLOADS, Slice  # noqa: E402

suite = Suite()
SVG = "{http://www.w3.org/2000/svg}"
NOP, CACHED = WORKLOADS[:2]
NONE, FLOOR, CLOCK, STAT = observers.OBSERVERS[:4]
FACTS = [("kernel", "6.1"), ("machine", "2 CPUs, <fast> & cheap")]


def cell(observer, number, cpu_ns, lost=None, wrong=None, note=None, workload=NOP, wall_ns=None):
    return measure.Cell(workload.key, observer.key, number, work=1000, cqes=1000, cpu_ns=cpu_ns,
                        wall_ns=wall_ns or cpu_ns, p999_ns=10 * cpu_ns, observer_pct=1.5,
                        verdict=Verdict(lost, wrong, note))


def results(*cells):
    return measure.Results(measure.PLANS["quick"], list(cells))


def rows(r, workloads=(NOP,), watching=(NONE, STAT)):
    return list(summary.rows(workloads, watching, r))


def table_cells(markdown):
    return [[c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in markdown.splitlines()]


@suite.test
def median_and_quartiles():
    check_equal("nothing", summary.spread([]), None)
    check_equal("one", summary.spread([7]), summary.Spread(7, 7, 7))
    check_equal("five", summary.spread([5, 1, 4, 2, 3]), summary.Spread(3, 2, 4))
    check_equal("four", summary.spread([10, 20, 30, 40]), summary.Spread(25, 17.5, 32.5))


@suite.test
def rounds_are_compared_with_themselves():
    # the machine got ten times slower in the second round, and the observer missed the third
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 60), cell(NONE, 2, 500), cell(STAT, 2, 510), cell(NONE, 3, 50))
    row = rows(r)[1]
    check_equal("added", row.added_ns, summary.Spread(10, 10, 10))
    check_equal("p99.9", round(row.p999_ratio.median, 3), 1.11)
    check_equal("loss", round(row.loss_pct.high, 3), round((3 * 100 / 6 + 100 / 51) / 4, 3))


@suite.test
def nobody_is_compared_with_nobody():
    row = rows(results(cell(NONE, 1, 50)), watching=(NONE,))[0]
    check_equal("added", row.added_ns, None)
    check_equal("ns", row.ns.median, 50)


@suite.test
def throughput_is_of_wall_clock_time():
    r = results(cell(NONE, 1, 50, wall_ns=100), cell(STAT, 1, 50, wall_ns=400))
    check_equal("added", rows(r)[1].added_ns.median, 0)
    check_equal("lost", rows(r)[1].loss_pct.median, 75)


@suite.test
def ratio_of_two_observers():
    cells = [cell(NONE, 1, 50), cell(CLOCK, 1, 100), cell(STAT, 1, 110),
             cell(NONE, 2, 80), cell(CLOCK, 2, 120), cell(STAT, 2, 136)]
    got = summary.ratio(cells, NOP.key, "stat", "clock")
    check_equal("ratio", [round(v, 6) for v in (got.median, got.low, got.high)], [1.3, 1.25, 1.35])
    check_equal("not measured", summary.ratio(cells, NOP.key, "sample", "floor"), None)
    cells.append(cell(NONE, 3, 50))
    cells += [cell(CLOCK, 3, 45), cell(STAT, 3, 60)]
    check_equal("too noisy to tell", summary.ratio(cells, NOP.key, "stat", "clock"), None)


@suite.test
def losses_add_up_or_are_unknown():
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 60, lost=3), cell(NONE, 2, 50), cell(STAT, 2, 60, lost=7))
    check_equal("lost", report.lost_text(rows(r)[1]), "10, 0.5 %")
    r.cells[1].verdict.lost = None
    check_equal("unknown", report.lost_text(rows(r)[1]), "n/a")
    r.cells[1].verdict.lost = r.cells[3].verdict.lost = 0
    check_equal("none", report.lost_text(rows(r)[1]), "0")


@suite.test
def table_has_every_row():
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 1234.5, lost=0))
    r.skip(None, FLOOR, "no\nsuch | thing")
    r.skip(CACHED, None, "no disk")
    got = rows(r, (NOP, CACHED), (NONE, FLOOR, STAT))
    nop = table_cells(report.table(NOP, got))
    for lines in table_cells(report.table(NOP, got)), table_cells(report.table(NOP, got, report.FEW_COLUMNS)):
        check_equal("columns", {len(c) for c in lines}, {len(lines[0])})
    check_equal("columns", {len(c) for c in table_cells(report.table(CACHED, got))}, {7})
    check_equal("titles", [c[0] for c in nop[2:]], [NONE.title, FLOOR.title, STAT.title])
    check_equal("why", nop[3][1], "skipped: no such \\| thing")
    check_equal("of stat", nop[4][1:], ["1,234 (1,234 .. 1,234)", "1,184 (1,184 .. 1,184)", "95.9 % (95.9 .. 95.9)",
                                        "24.69 (24.69 .. 24.69)", "1.5 % (1.5 .. 1.5)", "0"])
    check_equal("skipped", report.table(CACHED, got).count("skipped: no disk"), 3)


@suite.test
def counts_that_differ_are_said():
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 60, wrong="submitted is 1", note="missed 2"))
    said = report.markdown(FACTS, r, [NOP], rows(r))
    check(report.disagreements(rows(r)), "no disagreement")
    for what in "round 1: submitted is 1", "round 1: missed 2":
        check(what in said, f"'{what}' is missing from {said}")
    r.cells[1].verdict = Verdict(0)
    check(not report.disagreements(rows(r)), "a disagreement")


@suite.test
def one_bad_round_is_a_gap():
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 60))
    r.missed(NOP, STAT, 2, "it fell over")
    r.missed(NOP, FLOOR, 1, "there is none")
    got = rows(r, watching=(NONE, FLOOR, STAT))
    check_equal("skipped", [row.skipped for row in got], [None, "there is none", None])
    check_equal("notes", got[2].notes, ["round 2: not measured: it fell over"])
    check("it fell over" in report.markdown(FACTS, r, [NOP], got), "the gap is not told")


@suite.test
def aims_need_what_they_compare():
    r = results(cell(NONE, 1, 50), cell(CLOCK, 1, 100), cell(STAT, 1, 110))
    check_equal("aims", list(report.aims(r.cells)),
                ["ringside stat / two programs that read the clock, on NOPs: 1.20 (1.20 .. 1.20), aim 1.3"])
    check_equal("without the clock", list(report.aims(r.cells[::2])),
                ["ringside stat / two programs that read the clock, on NOPs: n/a, aim 1.3"])


@suite.test
def csv_has_every_cell():
    cells = [cell(NONE, 1, 50), cell(STAT, 1, 60.12345, lost=4)]
    got = list(csv.DictReader(io.StringIO(report.as_csv(cells))))
    check_equal("observers", [c["observer"] for c in got], ["none", "stat"])
    check_equal("lost", [c["lost"] for c in got], ["", "4"])
    check_equal("time", got[1]["cpu_ns"], "60.123")


def bars(drawing):
    return [e for e in drawing.iter(f"{SVG}rect") if e.get("class") != "bg"]


def draw(r, watching=(NONE, FLOOR, CLOCK, STAT)):
    return ElementTree.fromstring(plot.svg([NOP], rows(r, watching=watching), FACTS[1][1]))


@suite.test
def plot_is_well_formed():
    r = results(cell(NONE, 1, 50), cell(CLOCK, 1, 100), cell(STAT, 1, 150))
    r.skip(None, FLOOR, "<none> & nothing")
    drawing = draw(r)
    said = [e.text for e in drawing.iter(f"{SVG}text")]
    check_equal("bars", [b.get("class") for b in bars(drawing)], ["floor", "ours"])
    for what in FACTS[1][1], "skipped: <none> & nothing", "100 ns", STAT.title:
        check(what in said, f"'{what}' is missing from {said}")
    check("prefers-color-scheme: dark" in drawing.find(f"{SVG}style").text, "light only")


@suite.test
def plot_is_to_scale():
    drawing = draw(results(cell(NONE, 1, 50), cell(FLOOR, 1, 75), cell(CLOCK, 1, 100), cell(STAT, 1, 150)))
    widths = [float(b.get("width")) for b in bars(drawing)]
    check_equal("longest", widths[2], plot.BARS)
    check(abs(widths[1] / widths[2] - 0.5) < 0.01 and abs(widths[0] / widths[2] - 0.25) < 0.01, f"{widths}")


@suite.test
def plot_keeps_inside():
    # one far too long, one that cost less than nothing, one that cost nothing
    for added in (20, 30, 9000), (-9000, 20, 30), (-5, 0, 10), (0, 0, 0), (-1, -2, -3):
        watched = zip((FLOOR, CLOCK, STAT), added)
        drawing = draw(results(cell(NONE, 1, 10000), *(cell(o, 1, 10000 + ns) for o, ns in watched)))
        check_equal("bars", len(bars(drawing)), 3)
        for b in bars(drawing):
            left, width = float(b.get("x")), float(b.get("width"))
            check(plot.LABELS <= left and left + width <= plot.LABELS + plot.BARS + 1, f"{added}: {left} {width}")
        cut = [e for e in drawing.iter(f"{SVG}line") if e.get("class") == "cut"]
        check_equal(f"cut of {added}", len(cut), sum(abs(ns) == 9000 for ns in added))


@suite.test
def section_of_a_document():
    text = "a\n<!-- bench -->\nold\n<!-- end of bench -->\nb\n"
    got = report.with_section(text, "\nnew\n")
    check_equal("document", got, "a\n<!-- bench -->\nnew\n<!-- end of bench -->\nb\n")
    check_equal("again", report.with_section(got, "new"), got)
    for wrong in "a", "<!-- bench -->", "<!-- end of bench --> <!-- bench -->":
        try:
            report.with_section(wrong, "new")
        except ValueError:
            continue
        raise Failed(f"a section in {wrong!r}")


@suite.test
def documents_have_their_sections():
    root = TESTS_DIR.parent
    for path in root / "README.md", root / "docs" / "performance.md":
        report.with_section(path.read_text(encoding="utf-8"), "new")


@suite.test
def short_section_is_the_first_workload():
    r = results(cell(NONE, 1, 50), cell(STAT, 1, 60), cell(NONE, 1, 90, workload=CACHED))
    r.skip(None, FLOOR, "there is none")
    said = report.short(FACTS, r, [NOP, CACHED], rows(r, (NOP, CACHED), (NONE, FLOOR, STAT)))
    check(NOP.title in said and CACHED.title not in said and "skipped" not in said, said)


def ringside_report(**totals):
    fidelity = {"untracked": 0, "table_full": 0, "rings_full": 0, "records_lost": 0, "missed": None}
    return {"totals": {"submitted": 10, "completed": 9, "cqes_multishot": 5, **totals}, "fidelity": fidelity}


@suite.test
def ringside_is_held_to_the_truth():
    done = Slice(submitted=10, completed=9, multishot=5)
    check_equal("equal", observers.ringside_verdict(ringside_report(), done), Verdict(0))
    got = observers.ringside_verdict(ringside_report(completed=7), done)
    check_equal("lost", got, Verdict(2, "completed is 7, the workload's 9"))
    got = observers.ringside_verdict(ringside_report(cqes_multishot=None), done)
    check_equal("unknown", got, Verdict(None))
    missed = ringside_report()
    missed["fidelity"]["missed"] = 3
    check_equal("missed", observers.ringside_verdict(missed, done).note, "missed 3")


@suite.test
def samples_that_perf_counted():
    said = """
Aggregated stats:
           TOTAL events:       3009
          SAMPLE events:       3000
io_uring:io_uring_submit_req stats:
          SAMPLE events:       1000
    LOST_SAMPLES events:          7
io_uring:io_uring_complete stats:
          SAMPLE events:       2000
"""
    check_equal("samples", observers.perf_samples(said, "io_uring:io_uring_complete"), 2000)
    check_equal("no such event", observers.perf_samples(said, "io_uring:io_uring_create"), None)


@suite.test
def peers_have_names():
    got = observers.parse_peers(["a=x -p {}", "/usr/bin/y --z=1 {}"], ["a=go on=1"])
    check_equal("names", [(p.key, p.command, p.ready) for p in got],
                [("a", "x -p {}", "go on=1"), ("y", "/usr/bin/y --z=1 {}", None)])
    for commands, texts in ((["a="], []), (["a=x", "a=y"], []), (["stat=x"], []), (["a=x"], ["b=text"]),
                            (["a=x"], ["a"])):
        try:
            observers.parse_peers(commands, texts)
        except ValueError:
            continue
        raise Failed(f"accepted: {commands} {texts}")


@suite.test
def rows_of_the_tables_are_unique():
    for table in WORKLOADS, observers.OBSERVERS:
        names = [row.key for row in table]
        check_equal("names", sorted(set(names)), sorted(names))
    known = [o.key for o in observers.OBSERVERS]
    check({key for aim in report.AIMS for key in aim[:2]} <= set(known), "an aim compares what is not there")
