# SPDX-License-Identifier: MIT
"""Compares what a guest handed back with the truth and with what its row in kernels.txt expects."""
import json
import re

import truth
from tables import cases, states
from testing import OPTIONS, Failed

EXIT_SKIP = "77"
# What the kernel must not have said.
COMPLAINTS = re.compile(
    r"BUG:|WARNING:|Oops|general protection|stack-protector|rcu.*stall|hung task|soft lockup|KASAN|UBSAN"
)


def read_json(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise Failed(f"{path.name}: {error}") from None


class Outcome:
    """What one run of ringside in the guest left."""

    def __init__(self, results, name):
        self.results, self.name = results, name
        self.status, self.stdout, self.stderr = (self.text(s) for s in ("status", "out", "err"))

    def path(self, suffix):
        return self.results / f"{self.name}.{suffix}"

    def text(self, suffix):
        path = self.path(suffix)
        return path.read_text(errors="replace").strip() if path.exists() else "missing"

    def missed(self, key):
        """Events that the report says ringside missed, under this key of fidelity."""
        try:
            return read_json(self.path("json"))["fidelity"][key] or 0
        except (Failed, KeyError):
            return 0

    def against(self, state, mark):
        """What is otherwise than in a row of states.txt; mark: what the program leaves."""
        if self.status != state.status:
            yield f"exit status {self.status}, not {state.status}: {self.stderr}"
        lines = self.stderr.splitlines()
        if state.held and (len(lines) != 1 or not lines[0].startswith("ringside: ")):
            yield f"not one line of ringside's: {self.stderr!r}"
        if state.held and self.stdout:
            yield f"there is a report: {self.stdout}"
        if state.words not in self.stdout + self.stderr:
            yield f"{state.words!r} is not said: {self.stderr} {self.stdout}"
        if self.path(mark).exists() == state.held:
            yield f"the program was {'' if state.held else 'not '}run"


def compare_features(report, expected):
    """report: of stat or of probe."""
    features = report["kernel"]["features"]
    for name in expected.keys() - features.keys():
        yield f"there is no feature {name}"
    for name, feature in features.items():
        want = expected.get(name, "full")
        if name in OPTIONS and (feature["why"] or "").startswith("not asked for"):
            continue
        if feature["state"] != want:
            yield f"feature {name} is {feature['state']}, not {want}: {feature['why']}"


def missed_mismatches(report, said):
    """
    What is wrong where the handlers of tracepoints can be preempted: meanwhile the kernel skips them on that CPU.
    A number may be wrong by as many events as fidelity.missed has, and if it has none, all must be right.
    """
    missed = report["fidelity"]["missed"]
    complaints = truth.mismatches(report, said)
    if not complaints or not missed:
        return complaints
    complaints = []
    for ours, theirs in truth.TOTALS.items():
        got, want = report["totals"][theirs], said[ours]
        if None in (got, want) or theirs in ("batches", "bytes"):
            continue
        allowed = missed + (truth.extras_missed(report) if theirs in truth.EXTRAS else 0)
        if abs(got - want) > allowed:
            complaints.append(f"totals.{theirs} is {got}, not {want}, although only {allowed} events were missed")
    return complaints


def check_case(kernel, outcome):
    """Sentences about what is wrong; None if this kernel lacks what the case needs."""
    if outcome.status == EXIT_SKIP:
        return None
    if outcome.status != "0":
        return [f"exit status {outcome.status}: {outcome.stderr}"]
    try:
        report, said = (read_json(outcome.path(s)) for s in ("json", "truth"))
    except Failed as error:
        return [str(error)]
    if "block" in said:
        return truth.block_mismatches(report, said) + list(compare_features(report, kernel.features))
    compare = missed_mismatches if "preempt" in kernel.guest else truth.mismatches
    return compare(report, said) + list(compare_features(report, kernel.features))


def check_guest(kernel, results):
    """What the kernel and the mount table say afterwards."""
    for line in (results / "dmesg").read_text(errors="replace").splitlines():
        if COMPLAINTS.search(line):
            yield f"kernel: {line}"
    mounts = (results / "mounts").read_text()
    for line in mounts.splitlines():
        if re.search(r" type (tracefs|debugfs|bpf) ", line):
            yield f"left mounted: {line}"
    if "disk" in kernel.guest and " on /disk type ext4 " not in mounts:
        yield "no disk"
    if (cpus := int((results / "cpus").read_text())) < 2:
        yield f"{cpus} CPU"
    yield from (f"probe: {c}" for c in compare_features(read_json(results / "probe"), kernel.features))


class Verdict:
    """All about one guest: complaints, names of the cases that were right and of those left out, what was missed."""

    def __init__(self, kernel, results):
        self.passed, self.left_out, self.missed = [], [], dict.fromkeys(("missed", "extras_missed"), 0)
        self.complaints = list(check_guest(kernel, results))
        for case in cases():
            if case.needs <= kernel.guest:
                outcome = Outcome(results, case.name)
                self.add(case.name, check_case(kernel, outcome))
                for key in self.missed:
                    self.missed[key] += outcome.missed(key)
        for state in states():
            outcome = Outcome(results, state.name)
            self.add(state.name, None if outcome.status == EXIT_SKIP else list(outcome.against(state, "ran")))

    def add(self, name, found):
        if found is None:
            self.left_out.append(name)
        elif found:
            self.complaints += [f"{name}: {c}" for c in found]
        else:
            self.passed.append(name)
