# SPDX-License-Identifier: MIT
"""The added time as bars, a panel for each workload, in SVG that a browser shows in light and in dark."""
from xml.sax.saxutils import escape

from observers import NOBODY
from report import number

WIDTH, LABELS, VALUES = 760, 250, 150
BARS = WIDTH - LABELS - VALUES
ROW, TITLE, GAP, TOP = 20, 28, 22, 44
# A bar this many times longer than the middle one is cut, lest nothing is seen of the others.
CUT = 8
STYLE = """
svg { --bg: #ffffff; --fg: #1f2328; --dim: #656d76; --line: #d0d7de;
  --floor: #8c959f; --ours: #0969da; --other: #bc4c00 }
@media (prefers-color-scheme: dark) {
svg { --bg: #0d1117; --fg: #e6edf3; --dim: #8d96a0; --line: #30363d;
  --floor: #6e7681; --ours: #4493f8; --other: #db6d28 }
}
text { font: 12px system-ui, sans-serif; fill: var(--fg) }
.head { font-size: 15px; font-weight: 600 }
.title { font-weight: 600 }
.dim { fill: var(--dim) }
.bg { fill: var(--bg) }
.axis { stroke: var(--line) }
.whisker { stroke: var(--fg) }
.cut { stroke: var(--bg); stroke-width: 3 }
.floor { fill: var(--floor) }
.ours { fill: var(--ours) }
.other { fill: var(--other) }
"""


def colour(observer):
    return {"floor": "floor", "clock": "floor", "stat": "ours", "sample": "ours"}.get(observer, "other")


def scale(rows):
    """(least, most) of the axis in nanoseconds, 0 between them."""
    spreads = [r.added_ns for r in rows if r.added_ns]
    sizes = sorted(abs(s.median) for s in spreads)
    limit = CUT * sizes[len(sizes) // 2] if sizes else 0
    shown = [s for s in spreads if abs(s.median) <= limit]
    least = max(min([0, *(s.low for s in shown)]), -limit)
    most = min(max([0, *(s.high for s in shown)]), limit)
    return (least, most) if least < most else (0, 1)


def text(x, y, said, css="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">{escape(said)}</text>'


def line(x1, x2, y1, y2, css):
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" class="{css}"/>'


def bar(row, y, least, most):
    """One observer: label, bar, whisker over the quartiles, value."""
    middle, parts = y + ROW / 2, [text(LABELS - 8, y + ROW - 6, row.title, anchor="end")]
    if row.skipped or not row.added_ns:
        parts.append(text(LABELS + 6, y + ROW - 6, f"skipped: {row.skipped}" if row.skipped else "n/a", "dim"))
        return parts

    def at(ns):
        return LABELS + BARS * (min(max(ns, least), most) - least) / (most - least)

    s = row.added_ns
    left, right = sorted((at(0), at(s.median)))
    parts.append(f'<rect x="{left:.1f}" y="{y + 4}" width="{max(right - left, 1):.1f}" height="{ROW - 8}" '
                 f'class="{colour(row.observer)}"/>')
    if s.median > most:
        parts.append(line(right - 14, right - 8, y + ROW - 2, y + 2, "cut"))
    elif s.median < least:
        parts.append(line(left + 8, left + 14, y + ROW - 2, y + 2, "cut"))
    else:
        parts.append(line(at(s.low), at(s.high), middle, middle, "whisker"))
    parts.append(text(LABELS + BARS + 8, y + ROW - 6, f"{number(s.median)} ns"))
    return parts


def panel(workload, rows, y):
    rows = [r for r in rows if r.workload == workload.key and r.observer != NOBODY.key]
    least, most = scale(rows)
    zero = LABELS + BARS * (0 - least) / (most - least)
    parts = [text(8, y + 16, workload.title, "title")]
    for i, row in enumerate(rows):
        parts += bar(row, y + TITLE + i * ROW, least, most)
    parts.append(line(zero, zero, y + TITLE, y + TITLE + len(rows) * ROW, "axis"))
    return parts, y + TITLE + len(rows) * ROW + GAP


def svg(workloads, rows, caption):
    body, y = [], TOP
    for workload in workloads:
        parts, y = panel(workload, rows, y)
        body += parts
    foot = "Bars: median over the rounds. Lines: quartiles. Cut bars are longer than shown."
    head = "CPU time that observing adds to a request or message"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 24}" width="{WIDTH}" height="{y + 24}" '
        'role="img">', f"<title>{escape(head)}</title>", f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{y + 24}" class="bg"/>', text(8, 20, head, "head"),
        text(8, 36, caption, "dim"), *body, text(8, y + 8, foot, "dim"), "</svg>", ""])
