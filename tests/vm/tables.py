# SPDX-License-Identifier: MIT
"""The tables of this folder: kernels.txt, cases.txt, states.txt."""
import dataclasses
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@dataclasses.dataclass
class Kernel:
    name: str
    core: bool
    guest: set  # "disk", "polled", "preempt"
    features: dict  # name: state, of those that are not full

    @property
    def directory(self):
        return ROOT / "build" / "vm" / self.name


@dataclasses.dataclass
class Case:
    name: str
    needs: set  # what the guest must have


@dataclasses.dataclass
class State:
    name: str
    status: str
    held: bool
    words: str


def _rows(name, fields):
    for line in (HERE / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            row = line.split(None, fields - 1)
            if len(row) != fields:
                raise SystemExit(f"tests/vm/{name}: not {fields} fields: {line}")
            yield row


def _listed(column):
    return [] if column == "-" else column.split(",")


def kernels():
    for name, which, _, _, guest, features in _rows("kernels.txt", 6):
        yield Kernel(name, which == "core", set(_listed(guest)), dict(f.split("=") for f in _listed(features)))


def cases():
    for name, needs, _ in _rows("cases.txt", 3):
        yield Case(name, set(_listed(needs)))


def states():
    for name, status, program, words in _rows("states.txt", 4):
        yield State(name, status, program == "held", words)


def features():
    """Names, in the order of contract/features.def."""
    text = (ROOT / "contract" / "features.def").read_text()
    return re.findall(r'^[A-Z]+\([A-Z_]+, "(\w+)",', text, re.MULTILINE)
