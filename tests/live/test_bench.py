# SPDX-License-Identifier: MIT
"""Whether the benchmark works: every workload, unobserved and under stat. What it measures here is worth nothing."""
import csv
import os
import subprocess
import sys

from testing import TESTS_DIR, Skipped, Suite, check, check_equal, check_none, scratch

sys.path.insert(0, str(TESTS_DIR / "bench"))

from workloads import WORKLOADS  # noqa: E402

suite = Suite()
RUN = TESTS_DIR / "bench" / "run"
SKIPPED = "skipped: "


def bench(*options):
    environment = {k: v for k, v in os.environ.items() if k != "ROUNDS"}
    return subprocess.run([RUN, *options], capture_output=True, text=True, check=False, env=environment)


@suite.test(timeout_s=300)
def every_workload():
    with scratch() as folder:
        done = bench("--smoke", "-o", "stat", "--out", folder)
        check_equal(f"exit status (2 stands for wrong usage); {done.stderr}", done.returncode, 0)
        check_equal("standard output", (folder / "bench.md").read_text(), done.stdout)
        check("</svg>" in (folder / "bench.svg").read_text(), "no plot")
        cells = list(csv.DictReader((folder / "bench.csv").open()))
    skipped = [w.key for w in WORKLOADS if f"bench: {w.key}: {SKIPPED}" in done.stderr]
    for w in WORKLOADS:
        check(f"### {w.title}" in done.stdout, f"no table of {w.key}")
    check_equal("measured", [(c["workload"], c["observer"]) for c in cells],
                [(w.key, o) for w in WORKLOADS if w.key not in skipped for o in ("none", "stat")])
    check_none([f"nothing done: {c}" for c in cells if int(c["work"]) < 1])
    check_none([f"CQEs lost: {c}" for c in cells if c["observer"] == "stat" and c["lost"] != "0"])
    if skipped:
        raise Skipped(next(line for line in done.stderr.splitlines() if SKIPPED in line))


@suite.test
def peer_that_does_not_exist_is_a_row():
    done = bench("--smoke", "-w", "nop", "-o", "none", "--peer", "gone=/nonexistent/observer {}")
    check_equal("exit status", done.returncode, 0)
    check("| gone | skipped: /nonexistent/observer: No such file or directory |" in done.stdout, done.stdout)


@suite.test
def peer_is_told_the_process():
    # it tells what it was given on purpose: the last line of an observer that ends is the reason why it is skipped
    done = bench("--smoke", "-w", "nop", "-o", "none", "--peer", "ends=readlink /proc/{}/exe")
    check_equal("exit status", done.returncode, 0)
    check("/build/bench/nops |" in done.stdout, done.stdout)


@suite.test
def peer_that_stays_is_measured():
    # "ready" is never said before there is a process to observe
    shell = "sh -c 'test -d /proc/{} && echo ready && exec cat /dev/zero >/dev/null'"
    done = bench("--smoke", "-w", "nop", "-o", "none", "--peer", f"busy={shell}", "--peer-ready", "busy=ready")
    check_equal("exit status", done.returncode, 0)
    row = next((line for line in done.stdout.splitlines() if line.startswith("| busy | ")), "")
    check(row.count("(") == 5, f"not measured: {row!r}\n{done.stderr}")


@suite.test
def wrong_usage():
    for options in (["-w", "nope"], ["-o", "nope"], ["--rounds", "0"], ["--peer", "stat=x"], ["--peer-ready", "x=y"],
                    ["--docs", "-w", "nop"]):
        done = bench(*options)
        check_equal(f"exit status with {options}", done.returncode, 2)
        check("Traceback" not in done.stderr, done.stderr)
