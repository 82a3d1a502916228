# SPDX-License-Identifier: MIT
"""
Traffic and ring churn for a while: ringside's memory and descriptors do not grow, and every number is
right in the end. RINGSIDE_SOAK_S is for how many seconds (`make soak`: an hour).
"""
import json
import os
import pathlib
import re
import select

import truth
from ringside import Observer, rules, workload
from testing import Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

SECONDS = float(os.environ.get("RINGSIDE_SOAK_S", "8"))
SAMPLES = 100
SLACK_KB = 512
# An opcode more on each of the rings that are kept after their end: where sizes of SQEs are mixed, such
# rings are the busiest, and only after a while all that are kept are of their kind.
MIXED_KB = 6144
SNAPSHOT_KB = 16384  # of a thousand rings
CHURN = 40000


def sample(pid):
    """Memory in kB and number of descriptors of a process; None once it has ended."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    rss = re.search(r"^VmRSS:\s*(\d+) kB", status, re.MULTILINE)
    return rss and (int(rss[1]), len(os.listdir(f"/proc/{pid}/fd")))


def watch(o, interval_s, enough):
    """Samples ringside now and then until it has ended or there are enough samples."""
    samples, end = [], select.poll()
    end.register(os.pidfd_open(o.pid), select.POLLIN)
    while len(samples) < enough and not end.poll(interval_s * 1000):
        samples.append(sample(o.pid))
    return [s for s in samples if s]


def check_flat(samples, slack_kb=SLACK_KB):
    """A snapshot is memory for a moment, so the lows are what must not rise from one half to the other."""
    half = len(samples) // 2
    first, second = samples[:half], samples[half:]
    low, end = min(first)[0], min(second)[0]
    print(f"{low} kB, then {end} kB")
    check(end - low <= slack_kb, f"memory grew from {low} to {end} kB: {[rss for rss, _ in samples]}")
    few, fewest_now = (min(fds for _, fds in part) for part in (first, second))
    check(fewest_now <= few, f"{few} descriptors became {fewest_now}")


def soak(seconds, *options, slack_kb=SLACK_KB, **popen):
    """A program that goes on until its stdin ends. Returns the result, and the program's truth."""
    with scratch() as folder:
        truth_path = folder / "truth.json"
        read_end, write_end = os.pipe()
        command = [*workload("rings traffic"), "--out", truth_path]
        o = Observer(folder, [*options, "--", *command], stdin=read_end, **popen)
        os.close(read_end)
        # tables fill, and the allocator finds its level
        wait_until(lambda: len(o.stdout_path.read_text().splitlines()) > 1, "thousands of rings", 300)
        samples = watch(o, seconds / SAMPLES, SAMPLES)
        os.close(write_end)
        result = o.result().expect_status(0)
        said = json.loads(truth_path.read_text())
        check_equal("samples", len(samples), SAMPLES)
        check_flat(samples, slack_kb + (MIXED_KB if "NOP128" in said["ops"] else 0))
        return json.loads(result.json_path.read_text()) if result.json_path.exists() else None, said


@suite.test(timeout_s=SECONDS + 400)
def traffic():
    report, said = soak(SECONDS * 2 / 3)
    check_none(truth.mismatches(report, said))
    # its traffic has requests fail, and rings go with requests in flight
    check_equal("findings", rules(report) - {"ABANDONED", "CANCELED", "ERRORS"}, set())
    print(f"{said['rings']} rings, {said['submitted']} requests")


@suite.test(timeout_s=SECONDS + 400)
def traffic_by_intervals():
    soak(SECONDS / 3, "-i", "0.1", "-o", "/dev/null", slack_kb=SNAPSHOT_KB, json_report=False)


def check_churn(report, said):
    """Rings that came faster than ringside got a CPU are counted together, and their batches are unknown."""
    if not report["fidelity"]["rings_full"]:
        check_none(truth.mismatches(report, said))
        check_equal("rings", report["rings_other"]["n_rings"] + len(report["rings"]), said["rings"])
        return
    for key in ("submitted", "completed", "errors"):
        check_equal(key, report["totals"][key], said[key])
    check_none(truth.identity("totals", report["totals"]))


@suite.test(timeout_s=120)
def churn():
    """Rings by the ten thousand, as fast as they can be made."""
    with scratch() as folder:
        truth_path = folder / "truth.json"
        line = f"nops churn --workers {CHURN} --count {100 * CHURN} --untimed"
        o = Observer(folder, ["--", *workload(line), "--out", truth_path]).wait_ready()
        samples = watch(o, 0.004, 10000)
        report = o.result().expect_status(0).report
        said = json.loads(truth_path.read_text())
    check_churn(report, said)
    check(len(samples) > 30, f"{len(samples)} samples")
    check_flat(samples[len(samples) // 3:])
