# SPDX-License-Identifier: MIT
"""What every test is made of: how it says that it failed, how it waits, where it writes."""
import contextlib
import dataclasses
import pathlib
import re
import select
import shutil
import tempfile
import time
from typing import Callable

TESTS_DIR = pathlib.Path(__file__).resolve().parents[1]
ROOT = TESTS_DIR.parent
BUILD = ROOT / "build"
FEATURES = (ROOT / "contract" / "features.def").read_text()
# Features that have to be asked for; and with them those that many kernels do not give.
OPTIONS = re.findall(r'^OPTION\(\w+, "(\w+)"', FEATURES, re.MULTILINE)
EXTRAS = OPTIONS + re.findall(r'^EXTRA\(\w+, "(\w+)"', FEATURES, re.MULTILINE)
WORKLOADS = BUILD / "workloads"


class Failed(Exception):
    """The program under test is wrong."""


class Skipped(Exception):
    """This machine can't tell."""


@dataclasses.dataclass
class Test:
    name: str
    run: Callable[[], None]
    timeout_s: float = 60


class Suite(list):
    """The tests of one file, in the order in which they stand there."""

    def add(self, name, run, timeout_s=60):
        self.append(Test(name, run, timeout_s))

    def test(self, function=None, *, timeout_s=60):
        """As a decorator: the function is a test, its name that of the test."""

        def register(f):
            self.add(f.__name__.replace("_", "-"), f, timeout_s)
            return f

        return register(function) if function else register


def check(condition, complaint):
    if not condition:
        raise Failed(complaint)


def check_equal(what, got, want):
    if got != want:
        raise Failed(f"{what}: {got!r}, not {want!r}")


def check_none(complaints):
    if complaints:
        raise Failed("\n".join(complaints))


def wait_until(fact, what, timeout_s=20):
    """Returns what fact() returns once that is true."""
    deadline = time.monotonic() + timeout_s
    while not (value := fact()):
        if time.monotonic() > deadline:
            raise Failed(f"waited {timeout_s} s for {what}")
        select.select([], [], [], 0.01)
    return value


@contextlib.contextmanager
def scratch():
    """A folder of one's own that any user may write to, gone afterwards."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="ringside-test-"))
    path.chmod(0o777)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
