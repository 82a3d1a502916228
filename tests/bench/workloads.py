# SPDX-License-Identifier: MIT
"""The workloads, a row each, and how they are told to work. workloads/slice.h has the protocol."""
import dataclasses
import json
import select
import subprocess

from harness import EXIT_SKIP, PROGRAMS, TIMEOUT_S, Failed, Skipped, last_line


@dataclasses.dataclass(frozen=True)
class Workload:
    key: str
    title: str
    command: tuple  # {dir}: a folder on the disk
    unit: str = "request"  # what costs are divided by
    latency_of: str = "a request"


WORKLOADS = (
    Workload("nop", "NOPs in batches of 32, DEFER_TASKRUN", ("nops", "batch"), latency_of="a batch"),
    Workload("cached", "4 KiB reads from the page cache, in batches of 16", ("disk", "cached", "{dir}"),
             latency_of="a batch"),
    Workload("direct", "O_DIRECT random 4 KiB reads, 8 in flight", ("disk", "direct", "{dir}")),
    Workload("fsync", "4 KiB write linked to an fsync", ("disk", "fsync", "{dir}"), latency_of="the pair"),
    Workload("echo", "TCP echo over loopback, 8 connections, multishot receive", ("echo",), unit="message",
             latency_of="a round trip"),
    Workload("sqpoll", "NOPs in batches of 32 through SQPOLL, two batches in flight", ("nops", "sqpoll"),
             latency_of="a batch"),
)


@dataclasses.dataclass
class Slice:
    """What a workload says about a slice; sums of slices have no latency."""
    work: int = 0
    submitted: int = 0
    completed: int = 0
    multishot: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    p999_ns: int = 0
    timed: int = 0

    def add_counts(self, other):
        for field in "work", "submitted", "completed", "multishot":
            setattr(self, field, getattr(self, field) + getattr(other, field))


class Program:
    """A workload that runs, in a process of its own."""

    def __init__(self, workload, folder):
        name, *args = workload.command
        command = [str(PROGRAMS / name), *(a.replace("{dir}", str(folder)) for a in args)]
        self.title = workload.title
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        try:
            self.read_line(TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def read_line(self, timeout_s):
        # a line at a time and never more: what select() sees is what readline() reads
        if not select.select([self.process.stdout], [], [], timeout_s)[0]:
            raise Failed(f"{self.title}: no answer for {timeout_s} s")
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            why = last_line(self.process.stderr.read())
            raise Skipped(why) if status == EXIT_SKIP else Failed(f"{self.title}: ended with {status}: {why}")
        return line

    def work(self, ms):
        self.process.stdin.write(f"{ms}\n")
        self.process.stdin.flush()
        return Slice(**json.loads(self.read_line(TIMEOUT_S + ms / 1000)))

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
