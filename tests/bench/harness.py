# SPDX-License-Identifier: MIT
"""What all parts of the benchmark share: where things are, how it gives up, how it waits."""
import pathlib
import select
import time

BENCH_DIR = pathlib.Path(__file__).resolve().parent
ROOT = BENCH_DIR.parents[1]
BUILD = ROOT / "build"
PROGRAMS = BUILD / "bench"
EXIT_SKIP = 77
TIMEOUT_S = 60


class Failed(Exception):
    """The benchmark can't be trusted or can't go on."""


class Skipped(Exception):
    """This machine has no such observer or can't run this workload: a row says why."""


def wait_until(fact, what, timeout_s=TIMEOUT_S):
    """Returns what fact() returns once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := fact()):
        if time.monotonic() > deadline:
            raise Failed(f"waited {timeout_s} s for {what}")
        select.select([], [], [], 0.005)
    return value


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
