# SPDX-License-Identifier: MIT
"""An observer's process: started, ready, how much CPU time it takes, stopped."""
import os
import pathlib
import signal
import subprocess

from harness import Skipped, last_line, wait_until

TICKS = os.sysconf("SC_CLK_TCK")
# An observer without a better sign is ready once it has been this quiet for so long.
QUIET_S = 0.3
QUIET_CPU_S = 0.01
# One that gets SIGINT at a bad moment may forget it; users press Ctrl-C again.
STOP_TRIES = 3
STOP_TRY_S = 10


def stat_fields(pid):
    """/proc/PID/stat from the state on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def family(pid):
    """A process and its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                parents[int(entry)] = int(stat_fields(entry)[1])
            except OSError:
                continue
    found = [pid]
    for p in found:
        found += [child for child, parent in parents.items() if parent == p]
    return found


def process_cpu_ns(pid):
    """CPU time of the threads that a process has; of those that ended too where the kernel counts in ticks only."""
    try:
        return sum(int((task / "schedstat").read_text().split()[0])
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        pass
    try:
        user, system = stat_fields(pid)[11:13]
    except OSError:
        return 0
    return (int(user) + int(system)) * 1_000_000_000 // TICKS


def family_cpu_ns(pid):
    return sum(process_cpu_ns(p) for p in family(pid))


class Attached:
    """A process that observes. Its session is its own, so that all of it can be ended."""

    def __init__(self, command, folder, stdin=subprocess.DEVNULL, **popen):
        self.folder = pathlib.Path(folder)
        self.said_path = self.folder / "said"
        with self.said_path.open("wb") as said:
            try:
                self.process = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=said,
                                                stderr=subprocess.STDOUT, start_new_session=True, **popen)
            except OSError as e:
                raise Skipped(f"{command[0]}: {e.strerror}") from e
        self.pid = self.process.pid

    @property
    def said(self):
        return self.said_path.read_text(errors="replace")

    def alive(self):
        if self.process.poll() is not None:
            raise Skipped(f"ended with status {self.process.returncode}: {last_line(self.said)}")
        return True

    def wait_for(self, fact, what):
        wait_until(lambda: self.alive() and fact(), what)

    def wait_text(self, text):
        self.wait_for(lambda: text in self.said, f"'{text}'")

    def wait_quiet(self):
        """Until it takes next to no CPU time any more: it has nothing left to set up."""
        previous = [family_cpu_ns(self.pid)]

        def quiet():
            try:
                self.process.wait(QUIET_S)
            except subprocess.TimeoutExpired:
                pass
            before, previous[0] = previous[0], family_cpu_ns(self.pid)
            return previous[0] - before < QUIET_CPU_S * 1e9

        self.wait_for(quiet, "quiet")

    def signal_all(self, number):
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass

    def stop(self):
        """Its exit status."""
        for _ in range(STOP_TRIES):
            if self.process.poll() is None:
                self.signal_all(signal.SIGINT)
            try:
                return self.process.wait(STOP_TRY_S)
            except subprocess.TimeoutExpired:
                continue
        raise Skipped(f"did not end within {STOP_TRIES * STOP_TRY_S} s of SIGINT")

    def kill(self):
        """What is left of it."""
        self.signal_all(signal.SIGKILL)
        self.process.wait()
