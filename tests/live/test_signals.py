# SPDX-License-Identifier: MIT
"""Signals: the program gets each one once, and ringside still reports."""
import contextlib
import fcntl
import os
import pathlib
import signal
import sys
import termios

import truth
from ringside import Observer, observer, server, stat, workload
from testing import TESTS_DIR, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

WITNESS_STATUS = 7
CTRL_C = b"\x03"


class Witness:
    """The program that writes down its signals, under ringside."""

    def __init__(self, path):
        self.path = path
        self.command = [sys.executable, TESTS_DIR / "lib" / "witness.py", path]

    def lines(self):
        return self.path.read_text().splitlines() if self.path.exists() else []

    def wait_ready(self):
        wait_until(self.lines, "the witness")
        word, _, pid = self.lines()[0].partition(" ")
        check_equal("the witness", word, "ready")
        self.pid = int(pid)
        return self

    def signals(self):
        return self.lines()[1:]


def status_fields(text):
    """/proc/PID/status as a dict."""
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def asleep_with_nothing_pending(pid):
    """It took every signal, did what it wanted to, and waits again."""
    status = status_fields(pathlib.Path(f"/proc/{pid}/status").read_text())
    return status["State"].startswith("S") and not int(status["ShdPnd"], 16) and not int(status["SigPnd"], 16)


@contextlib.contextmanager
def observed_witness(*options, **popen):
    with scratch() as folder:
        witness = Witness(folder / "signals")
        o = Observer(folder, [*options, "--", *witness.command], **popen)
        try:
            witness.wait_ready()
            yield o, witness
        finally:
            if o.process.poll() is None:
                o.process.kill()
                o.process.wait()


def settle(o, witness, n):
    """Until the witness has n signals and ringside has nothing left to hand on."""
    wait_until(lambda: len(witness.signals()) >= n, f"signal {n}")
    wait_until(lambda: asleep_with_nothing_pending(o.pid), "ringside to sleep")
    wait_until(lambda: asleep_with_nothing_pending(witness.pid), "the witness to sleep")


def end(o, witness):
    os.kill(witness.pid, signal.SIGUSR1)
    return o.result().expect_status(WITNESS_STATUS)


@suite.test
def kill_is_handed_on_once():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with observed_witness() as (o, witness):
            o.kill(number)
            settle(o, witness, 1)
            result = end(o, witness)
            check_equal("signals", witness.signals(), [f"{number.name} from {o.pid}"])
            check_equal("rings", result.report["rings"], [])


def take_terminal(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@suite.test
def terminal_reaches_the_program_by_itself():
    master, slave = os.openpty()
    try:
        with observed_witness(stdin=slave, preexec_fn=lambda: take_terminal(slave)) as (o, witness):
            os.write(master, CTRL_C)
            settle(o, witness, 1)
            check_equal("signals", witness.signals(), ["SIGINT from kernel"])
            result = end(o, witness)
            check_equal("signals to the end", witness.signals(), ["SIGINT from kernel"])
            check_equal("rings", result.report["rings"], [])
    finally:
        os.close(master)
        os.close(slave)


@suite.test
def terminal_ends_the_program_and_the_report_follows():
    """The everyday case: Ctrl-C under a busy program."""
    master, slave = os.openpty()
    try:
        with scratch() as folder:
            command = ["-o", folder / "text", "--", "/bin/sh", "-c",
                       f"echo >{folder}/begun; exec {workload('nops')[0]} storm --count 1000000000 --untimed"]
            o = Observer(folder, command, stdin=slave, preexec_fn=lambda: take_terminal(slave))
            wait_until((folder / "begun").exists, "the program to begin")
            wait_until(lambda: comm_of(child_of(o.pid)) == "nops", "the storm")
            os.write(master, CTRL_C)
            result = o.result().expect_status(128 + signal.SIGINT)
            check_none(truth.consistency(result.report))
            text = (folder / "text").read_text()
            check("killed by signal 2" in text, f"the report does not say how it ended: {text!r}")
    finally:
        os.close(master)
        os.close(slave)


def child_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def comm_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


@suite.test
def second_signal_ends_the_observation():
    """A program that ignores the first is left to itself, still running, once ringside has reported."""
    with observed_witness() as (o, witness):
        o.kill()
        settle(o, witness, 1)
        o.kill()
        wait_until(o.json_path.exists, "the report")
        check(o.process.poll() is None, "ringside ended before its program")
        end(o, witness)
        check_equal("signals", witness.signals(), [f"SIGINT from {o.pid}"] * 2)


@suite.test
def ignored_signals_stay_ignored():
    """nohup and background jobs: what the caller ignores, the program ignores too."""
    ignore_hangup = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with scratch() as folder:
        out = folder / "status"
        Observer(folder, ["--", "/bin/sh", "-c", f"cat /proc/self/status >{out}"],
                 preexec_fn=ignore_hangup).result().expect_status(0)
        status = status_fields(out.read_text())
        check_equal("ignored", int(status["SigIgn"], 16) & 0x7fffffff & ~(1 << signal.SIGPIPE - 1),
                    1 << signal.SIGHUP - 1)
        check_equal("blocked", int(status["SigBlk"], 16), 0)


@suite.test
def signal_ends_an_observation_without_a_program():
    for number in (signal.SIGINT, signal.SIGTERM):
        with server("ring") as s, observer("-p", s.pid) as o:
            o.wait_ready()
            s.do("run 20")
            report = o.kill(number).result().expect_status(0).report
            check_equal("submitted", report["totals"]["submitted"], 20)
            s.quit()


@suite.test
def killed_program():
    result = stat("--", "/bin/sh", "-c", "kill -KILL $$").expect_status(128 + signal.SIGKILL)
    check("killed by signal 9" in result.stdout, f"the report does not say it: {result.stdout!r}")
