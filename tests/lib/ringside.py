# SPDX-License-Identifier: MIT
"""Running ringside and the ground-truth workloads."""
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess

from testing import BUILD, WORKLOADS, Failed, Skipped, check, scratch, wait_until

RINGSIDE = pathlib.Path(os.environ.get("RINGSIDE", BUILD / "ringside"))
WORKLOAD_SKIPS = 77
DEADLINE_S = 50


@dataclasses.dataclass
class Result:
    status: int  # exit status, -SIGNAL
    stdout: str
    stderr: str
    json_path: pathlib.Path

    @property
    def report(self):
        try:
            return json.loads(self.json_path.read_text())
        except (OSError, ValueError) as e:
            raise Failed(f"no report: {e}; status {self.status}, stderr: {self.stderr!r}") from e

    def expect_status(self, status):
        check(self.status == status, f"exit status {self.status}, not {status}; stderr: {self.stderr!r}")
        return self


class Observer:
    """A `ringside stat` that runs."""

    def __init__(self, folder, args, binary=RINGSIDE, wrapper=(), json_report=True, **popen):
        self.folder = pathlib.Path(folder)
        self.json_path = self.folder / "report.json"
        self.ready_path = self.folder / "ready"
        command = [*wrapper, binary, "stat", f"--ready-file={self.ready_path}"]
        if json_report:
            command.append(f"--json={self.json_path}")
        popen.setdefault("stdin", subprocess.DEVNULL)
        self.stdout_path, self.stderr_path = self.folder / "stdout", self.folder / "stderr"
        with self.stdout_path.open("wb") as out, self.stderr_path.open("wb") as err:
            popen.setdefault("stdout", out)
            popen.setdefault("stderr", err)
            self.process = subprocess.Popen([str(a) for a in [*command, *args]], **popen)

    @property
    def pid(self):
        return self.process.pid

    @property
    def stderr(self):
        return self.stderr_path.read_text(errors="replace")

    def wait_ready(self, timeout_s=20):
        """Returns once every probe is attached."""

        def ready():
            if self.process.poll() is not None:
                raise Failed(f"ringside ended with {self.process.returncode}: {self.stderr!r}")
            return self.ready_path.exists()

        wait_until(ready, "the ready file", timeout_s)
        return self

    def kill(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self

    def result(self, timeout_s=DEADLINE_S):
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as e:
            raise Failed(f"ringside did not end; stderr so far: {self.stderr!r}") from e
        return Result(status, self.stdout_path.read_text(errors="replace"), self.stderr, self.json_path)


@contextlib.contextmanager
def observer(*args, **options):
    with scratch() as folder:
        o = Observer(folder, args, **options)
        try:
            yield o
        finally:
            if o.process.poll() is None:
                o.process.kill()
                o.process.wait()


def stat(*args, **options):
    """Runs ringside to its end."""
    with scratch() as folder:
        result = Observer(folder, args, **options).result()
        report = folder / "report.json"
        result.json_path = _Kept(report.read_text() if report.exists() else "")
        return result


class _Kept:
    """A report that outlives its folder."""

    def __init__(self, text):
        self.text = text

    def read_text(self):
        if not self.text:
            raise OSError("no report was written")
        return self.text


def workload(line):
    """'nops storm --count 5' as an argument vector."""
    program, *args = line.split() if isinstance(line, str) else line
    path = WORKLOADS / program
    if not path.exists():
        raise Failed(f"{path} is not built (make workloads)")
    return [str(path), *args]


def observe(line, *options, **popen):
    """Observes a workload. Returns ringside's result, its report and the workload's truth."""
    with scratch() as folder:
        truth_path = folder / "truth.json"
        command = [*workload(line), "--dir", str(folder), "--out", str(truth_path)]
        result = Observer(folder, [*options, "--", *command], **popen).result(600)
        if result.status == WORKLOAD_SKIPS:
            raise Skipped(result.stderr.strip().splitlines()[-1])
        result.expect_status(0)
        return result, result.report, json.loads(truth_path.read_text())


class Server:
    """A workload that does what it is told."""

    def __init__(self, line="serve", wrapper=(), **popen):
        self.process = subprocess.Popen([*wrapper, *workload(line)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, **popen)
        self.hello = self.reply()
        self.pid = self.hello["pid"]

    def reply(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"the server ended with {self.process.wait()}")
        return json.loads(line)

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.reply()

    def quit(self):
        """Returns the truth of its whole life."""
        truth = self.do("quit")
        check(self.process.wait(20) == 0, f"the server ended with {self.process.returncode}")
        return truth


@contextlib.contextmanager
def server(*commands, **popen):
    """A server that has carried out these commands."""
    s = Server(**popen)
    try:
        for command in commands:
            s.do(command)
        yield s
    finally:
        if s.process.poll() is None:
            s.process.kill()
            s.process.wait()


def one_line(stderr):
    """The one line that ringside may say when it refuses."""
    lines = stderr.splitlines()
    check(len(lines) == 1 and lines[0].startswith("ringside: "), f"not one line of ringside's: {stderr!r}")
    return lines[0]


# Whether these fire on a workload that does as much as it can depends on how much that is, or on what else there is
# to do for the CPUs.
AS_QUICK_AS_THE_MACHINE = ("RING-CHURN", "SETUP-FLAGS", "SQPOLL-STALL", "UNREGISTERED")


def rules(report):
    """The ids of the findings about what was observed, but for those that depend on how quick the machine is."""
    return {f["rule"] for f in report["findings"] if f["gates"] and f["rule"] not in AS_QUICK_AS_THE_MACHINE}
