# SPDX-License-Identifier: MIT
"""The observers, a row each: how each attaches to a process, and what it says that it has seen."""
import contextlib
import dataclasses
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from attached import Attached, family_cpu_ns
from harness import BUILD, EXIT_SKIP, PROGRAMS, Failed, Skipped

RINGSIDE = os.environ.get("RINGSIDE", str(BUILD / "ringside"))
TRACEFS = pathlib.Path("/sys/kernel/tracing")
# In a mount namespace of its own, so that no mount stays behind; the process is the same before and after.
WITH_TRACEFS = ("unshare", "--mount", "sh", "-c", f'mount -t tracefs tracefs {TRACEFS} && exec "$@"', "sh")


@dataclasses.dataclass
class Verdict:
    """What an observer missed. None: it can't tell."""
    lost: int | None = None  # CQEs
    wrong: str | None = None  # its counts are not those of the workload
    note: str | None = None


@dataclasses.dataclass
class Observer:
    key: str
    title: str

    def why_not(self):
        """Why it can't run here, or None."""
        return None

    def launch(self, pid, folder):
        """The process that is going to observe; None: nobody is."""
        raise NotImplementedError

    def wait_ready(self, attached):
        """Until it observes."""
        attached.wait_quiet()

    def finish(self, attached):
        attached.stop()

    def verdict(self, attached, done):
        """done: the slices under it."""
        del attached, done
        return Verdict()

    @contextlib.contextmanager
    def watching(self, pid, folder):
        """Yields the process that observes; at the end it has been stopped."""
        attached = self.launch(pid, folder)
        if attached is None:
            yield None
            return
        try:
            self.wait_ready(attached)
            yield attached
            attached.alive()
            self.finish(attached)
        finally:
            attached.kill()

    def cpu_ns(self, attached):
        return family_cpu_ns(attached.pid) if attached else 0


class Nobody(Observer):
    def launch(self, pid, folder):
        return None


@dataclasses.dataclass
class Floor(Observer):
    mode: str

    def launch(self, pid, folder):
        return Attached([PROGRAMS / "floor", self.mode], folder, stdin=subprocess.PIPE)

    def wait_ready(self, attached):
        try:
            attached.wait_text("ready\n")
        except Skipped:
            if attached.process.returncode == EXIT_SKIP:
                raise Skipped("this kernel has no tracepoint io_uring_submit_req") from None
            raise

    def finish(self, attached):
        attached.process.stdin.close()
        attached.process.wait()


@functools.cache
def ringside_help():
    return subprocess.run([RINGSIDE, "stat", "--help"], capture_output=True, text=True, check=False).stdout


def ringside_verdict(report, done):
    """Compares the report with what the workload did."""
    totals, fidelity = report["totals"], report["fidelity"]
    pairs = (("submitted", totals["submitted"], done.submitted),
             ("completed", totals["completed"], done.completed),
             ("cqes_multishot", totals["cqes_multishot"], done.multishot))
    wrong = [f"{name} is {got}, the workload's {want}" for name, got, want in pairs
             if got is not None and got != want]
    missed = [f"{name} {n:,}" for name, n in fidelity.items() if n]
    known = [(got, want) for name, got, want in pairs if name != "submitted"]
    lost = None if any(got is None for got, _ in known) else sum(want - got for got, want in known)
    return Verdict(lost, "; ".join(wrong) or None, ", ".join(missed) or None)


@dataclasses.dataclass
class Ringside(Observer):
    options: tuple = ()

    def why_not(self):
        missing = [o for o in self.options if o.startswith("--") and o not in ringside_help()]
        return f"ringside stat has no {missing[0]}" if missing else None

    def launch(self, pid, folder):
        return Attached([RINGSIDE, "stat", "-q", "-p", pid, f"--json={folder}/report.json",
                         f"--ready-file={folder}/ready", *self.options], folder)

    def wait_ready(self, attached):
        try:
            attached.wait_for((attached.folder / "ready").exists, "ringside's ready file")
        except Skipped as e:
            raise Failed(f"{self.title}: {e}") from e

    def finish(self, attached):
        if status := attached.stop():
            raise Failed(f"{self.title}: ended with status {status}: {attached.said}")

    def verdict(self, attached, done):
        return ringside_verdict(json.loads((attached.folder / "report.json").read_text()), done)


@dataclasses.dataclass
class NeedsTracefs(Observer):
    command: str

    def why_not(self):
        if not shutil.which(self.command):
            return f"{self.command} is not installed"
        if not self.wrapper():
            return None
        trial = subprocess.run([*WITH_TRACEFS, "test", "-d", TRACEFS / "events/io_uring"], capture_output=True,
                               text=True, check=False)
        return f"no tracefs: {trial.stderr.strip() or 'no events/io_uring in it'}" if trial.returncode else None

    def wrapper(self):
        return () if (TRACEFS / "events").exists() else WITH_TRACEFS


PERF_EVENT = re.compile(r"^(\S+) stats:$")
PERF_SAMPLES = re.compile(r"^\s+SAMPLE events:\s+(\d+)")


def perf_samples(stats, event):
    """Samples of an event in what `perf report --stats` says; None if it doesn't say."""
    current = None
    for line in stats.splitlines():
        if m := PERF_EVENT.match(line):
            current = m[1]
        elif current == event and (m := PERF_SAMPLES.match(line)):
            return int(m[1])
    return None


class Perf(NeedsTracefs):
    """Told to begin, perf says when it has."""

    def launch(self, pid, folder):
        for name in "control", "answers":
            os.mkfifo(folder / name)
        return Attached([*self.wrapper(), "perf", "record", "--delay=-1",
                         f"--control=fifo:{folder}/control,{folder}/answers", "-e", "io_uring:*", "-p", pid,
                         "-o", f"{folder}/perf.data"], folder)

    def wait_ready(self, attached):
        # for reading and writing, so that no open waits for the other side
        fds = [os.open(attached.folder / name, os.O_RDWR | os.O_NONBLOCK) for name in ("control", "answers")]
        try:
            os.write(fds[0], b"enable\n")
            attached.wait_for(lambda: self.answered(fds[1]), "perf's answer")
        finally:
            for fd in fds:
                os.close(fd)

    @staticmethod
    def answered(fd):
        try:
            return b"ack" in os.read(fd, 64)
        except BlockingIOError:
            return False

    def verdict(self, attached, done):
        stats = subprocess.run(["perf", "report", "--stats", "-i", attached.folder / "perf.data"],
                               capture_output=True, text=True, check=False).stdout
        seen = perf_samples(stats, "io_uring:io_uring_complete")
        return Verdict(None if seen is None else done.completed + done.multishot - seen)


class Bpftrace(NeedsTracefs):
    """Probes are attached in the order in which they are written: when the last one runs, all are."""

    def launch(self, pid, folder):
        program = (f"tracepoint:io_uring:io_uring_complete /pid == {pid}/ {{ @ = count(); }} "
                   'interval:ms:100 { printf("observing\\n"); }')
        return Attached([*self.wrapper(), "bpftrace", "-B", "none", "-e", program], folder)

    def wait_ready(self, attached):
        attached.wait_text("observing\n")

    def verdict(self, attached, done):
        m = re.search(r"^@: (\d+)$", attached.said, re.MULTILINE)
        return Verdict(done.completed + done.multishot - int(m[1]) if m else None)


class Strace(Observer):
    def why_not(self):
        return None if shutil.which("strace") else "strace is not installed"

    def launch(self, pid, folder):
        return Attached(["strace", "-c", "-f", "-p", pid], folder)

    def wait_ready(self, attached):
        attached.wait_text(" attached")


@dataclasses.dataclass
class Peer(Observer):
    """Any other program."""
    command: str
    ready: str | None = None

    def launch(self, pid, folder):
        words = [word.replace("{}", str(pid)) for word in shlex.split(self.command)]
        return Attached(words, folder, cwd=folder)

    def wait_ready(self, attached):
        if self.ready is None:
            attached.wait_quiet()
        else:
            attached.wait_text(self.ready)


NOBODY = Nobody("none", "no observer")
OBSERVERS = (
    NOBODY,
    Floor("floor", "two empty programs (the floor)", "empty"),
    Floor("clock", "two programs that read the clock", "clock"),
    Ringside("stat", "ringside stat"),
    Ringside("sample", "ringside stat --sample 64", ("--sample", "64")),
    Perf("perf", "perf record -e 'io_uring:*'", "perf"),
    Bpftrace("bpftrace", "bpftrace, counting io_uring_complete", "bpftrace"),
    Strace("strace", "strace -c -f"),
)


def parse_peers(commands, ready_texts):
    """[NAME=]COMMAND words and NAME=TEXT words to observers; ValueError."""
    texts = {}
    for word in ready_texts:
        name, equals, text = word.partition("=")
        if not equals or not text:
            raise ValueError(f"--peer-ready '{word}' is not NAME=TEXT")
        texts[name] = text
    peers = []
    for word in commands:
        m = re.fullmatch(r"(?:([\w.+-]+)=)?(.*)", word, re.DOTALL)
        words = shlex.split(m[2])
        if not words:
            raise ValueError(f"--peer '{word}' has no command")
        name = m[1] or pathlib.Path(words[0]).name
        peers.append(Peer(name, name, m[2], texts.pop(name, None)))
    if texts:
        raise ValueError(f"--peer-ready names no peer: {', '.join(texts)}")
    keys = [o.key for o in (*OBSERVERS, *peers)]
    if twice := {k for k in keys if keys.count(k) > 1}:
        raise ValueError(f"two observers are called {', '.join(sorted(twice))}")
    return peers
