# SPDX-License-Identifier: MIT
"""Signals: the program gets each one once, and ringside still reports."""
import contextlib
import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import termios

import truth
from ringside import Observer, observer, server, stat, workload
from testing import TESTS_DIR, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

WITNESS_STATUS = 7
CTRL_C = b"\x03"
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
OTHERS = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)


class Witness:
    """The program that writes down its signals, under ringside."""

    def __init__(self, path):
        self.path = path
        self.seen = 1
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
        """What came since the last call of forget()."""
        return self.lines()[self.seen:]

    def forget(self, n):
        self.seen += n


def status_fields(text):
    """/proc/PID/status as a dict."""
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def state_of(pid):
    return status_fields(pathlib.Path(f"/proc/{pid}/status").read_text())["State"][0]


def children_of(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def comm_of(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def has_ended(pid):
    try:
        return state_of(pid) == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@contextlib.contextmanager
def observed_witness(*options, prefix=(), **popen):
    with scratch() as folder:
        witness = Witness(folder / "signals")
        o = Observer(folder, [*options, "--", *prefix, *witness.command], **popen)
        try:
            witness.wait_ready()
            yield o, witness
        finally:
            if o.process.poll() is None:
                o.process.kill()
                o.process.wait()


def settle(o, witness):
    """
    Returns what the witness got, once ringside is done with all signals that were sent before.

    Both take those that wait for them by number, so that SIGWINCH, which is handed on, is the last.
    """
    last = f"SIGWINCH from {o.pid}"
    o.kill(signal.SIGWINCH)
    wait_until(lambda: last in witness.signals(), "SIGWINCH")
    got = witness.signals()
    witness.forget(len(got))
    check_equal("the last signal", got[-1], last)
    return got[:-1]


def check_observes(o):
    check(o.process.poll() is None and not o.json_path.exists(), "the observation has ended")


def end(o, witness):
    os.kill(witness.pid, signal.SIGRTMIN)
    return o.result().expect_status(WITNESS_STATUS)


def send_from_shell(command, **popen):
    """Runs a shell command that sends a signal. Returns the sender."""
    shell = subprocess.Popen(["/bin/sh", "-c", command], **popen)
    check_equal(f"status of {command!r}", shell.wait(), 0)
    return shell.pid


# --- to ringside alone --------------------------------------------------------------
@suite.test
def kill_is_handed_on_once():
    for number in ENDS:
        with observed_witness() as (o, witness):
            o.kill(number)
            check_equal("signals", settle(o, witness), [f"{number.name} from {o.pid}"])
            check_observes(o)
            result = end(o, witness)
            check_equal("signals after that", witness.signals(), [])
            check_equal("rings", result.report["rings"], [])


@suite.test
def other_signals_do_not_end_the_observation():
    with observed_witness() as (o, witness):
        for number in (*OTHERS, *OTHERS):
            o.kill(number)
            check_equal("signals", settle(o, witness), [f"{number.name} from {o.pid}"])
            check_observes(o)
        end(o, witness)


@suite.test
def program_that_a_signal_kills():
    """It was for the program: that dies of it, and ringside tells."""
    with scratch() as folder:
        o = Observer(folder, ["--", "/bin/sh", "-c", f"echo >{folder}/begun; exec sleep 1000"])
        wait_until((folder / "begun").exists, "the program to begin")
        program = children_of(o.pid)[0]
        o.kill(signal.SIGUSR1).result().expect_status(128 + signal.SIGUSR1)
        check(has_ended(program), "the program runs on")


@suite.test
def after_the_observation():
    """The time is up, ringside has reported and waits for the program: signals are for that."""
    with observed_witness("-d", "0.1") as (o, witness):
        wait_until(o.json_path.exists, "the report")
        for number in (signal.SIGUSR1, signal.SIGTERM):
            o.kill(number)
            check_equal("signals", settle(o, witness), [f"{number.name} from {o.pid}"])
        end(o, witness)


# --- to the whole process group -----------------------------------------------------
@suite.test
def group_gets_it_once():
    """From another group, as a shell's `kill %1`; while ringside observes, and afterwards."""
    with observed_witness(process_group=0) as (o, witness):
        for number in (*OTHERS, *ENDS):
            os.killpg(o.pid, number)
            check_equal("signals", settle(o, witness), [f"{number.name} from {os.getpid()}"])
        end(o, witness)


@suite.test
def group_gets_it_once_from_its_own():
    with observed_witness(process_group=0) as (o, witness):
        for number in (*OTHERS, *ENDS):
            name = number.name[3:]
            sender = send_from_shell(f"trap '' {name}; kill -{name} 0", process_group=o.pid)
            check_equal("signals", settle(o, witness), [f"{number.name} from {sender}"])
        end(o, witness)


@suite.test
def one_of_the_group_signals_ringside():
    """A script that sends a signal to the ringside that it started."""
    with observed_witness(process_group=0) as (o, witness):
        for number in (*OTHERS, *ENDS):
            send_from_shell(f"kill -{number.name[3:]} {o.pid}", process_group=o.pid)
            check_equal("signals", settle(o, witness), [f"{number.name} from {o.pid}"])
        end(o, witness)


@suite.test
def group_and_ringside_by_turns():
    with observed_witness(process_group=0) as (o, witness):
        for i in range(40):
            to_all = i % 3 > 0
            (os.killpg if to_all else os.kill)(o.pid, signal.SIGUSR1)
            check_equal(f"signals of turn {i}", settle(o, witness),
                        [f"SIGUSR1 from {os.getpid() if to_all else o.pid}"])
        end(o, witness)


@suite.test
def each_process_on_its_own():
    """As a service manager does: ringside, and all that there is below it."""
    with observed_witness() as (o, witness):
        o.kill(signal.SIGSTOP)
        wait_until(lambda: state_of(o.pid) == "T", "ringside to stop")
        for pid in (o.pid, *children_of(o.pid)):
            os.kill(pid, signal.SIGTERM)
        wait_until(witness.signals, "a signal")
        o.kill(signal.SIGCONT)
        check_equal("signals", settle(o, witness), [f"SIGTERM from {os.getpid()}"])
        end(o, witness)


@suite.test
def program_that_left_the_group():
    with observed_witness(process_group=0, prefix=["setsid"]) as (o, witness):
        os.killpg(o.pid, signal.SIGUSR1)
        check_equal("signals", settle(o, witness), [f"SIGUSR1 from {o.pid}"])
        end(o, witness)


@suite.test
def all_of_a_name():
    """Who signals every ringside, by name or by command line, has not signalled the program."""
    with observed_witness(process_group=0) as (o, witness):
        for pick in (["-x", comm_of(o.pid)], ["-f", " stat --ready-file="]):
            subprocess.run(["pkill", "-USR2", "--pgroup", str(o.pid), *pick], check=True)
            check_equal(f"signals with {pick}", settle(o, witness), [f"SIGUSR2 from {o.pid}"])
        end(o, witness)


@suite.test
def nothing_is_left_behind():
    """The program runs on if ringside is killed; whatever else it has started ends with it."""
    with observed_witness() as (o, witness):
        others = set(children_of(o.pid)) - {witness.pid}
        check_equal("processes besides the program", len(others), 1)
        o.kill(signal.SIGKILL).process.wait()
        # orphans are collected by whoever runs the tests
        wait_until(lambda: all(has_ended(p) for p in others), "the others to end")
        check(not has_ended(witness.pid), "the program ended")
        os.kill(witness.pid, signal.SIGRTMIN)
    with observed_witness() as (o, witness):
        others = children_of(o.pid)
        end(o, witness)
        check_equal("left", [p for p in others if not has_ended(p)], [])


# --- from the terminal --------------------------------------------------------------
def take_terminal(slave):
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)


@suite.test
def terminal_reaches_the_program_by_itself():
    master, slave = os.openpty()
    try:
        with observed_witness(stdin=slave, preexec_fn=lambda: take_terminal(slave)) as (o, witness):
            os.write(master, CTRL_C)
            # the driver of the terminal may take its time
            wait_until(witness.signals, "a signal")
            check_equal("signals", settle(o, witness), ["SIGINT from kernel"])
            check_equal("signals after that", settle(o, witness), [])
            result = end(o, witness)
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
            wait_until(lambda: comm_of(children_of(o.pid)[0]) == "nops", "the storm")
            os.write(master, CTRL_C)
            result = o.result().expect_status(128 + signal.SIGINT)
            check_none(truth.consistency(result.report))
            text = (folder / "text").read_text()
            check("killed by signal 2" in text, f"the report does not say how it ended: {text!r}")
    finally:
        os.close(master)
        os.close(slave)


@suite.test
def hangup():
    """When the terminal is gone, only the leader of its session hears of it: here, ringside."""
    master, slave = os.openpty()
    try:
        with observed_witness(stdin=slave, preexec_fn=lambda: take_terminal(slave)) as (o, witness):
            os.close(slave)
            os.close(master)
            slave = master = None
            wait_until(witness.signals, "a signal")
            check_equal("signals", settle(o, witness), [f"SIGHUP from {o.pid}"])
            end(o, witness)
    finally:
        for fd in (master, slave):
            if fd is not None:
                os.close(fd)


# --- what ends the observation ------------------------------------------------------
@suite.test
def second_signal_ends_the_observation():
    """A program that ignores the first is left to itself, still running, once ringside has reported."""
    for send in (os.kill, os.killpg):
        with observed_witness(process_group=0) as (o, witness):
            send(o.pid, signal.SIGINT)
            first = settle(o, witness)
            check_observes(o)
            send(o.pid, signal.SIGINT)
            wait_until(o.json_path.exists, "the report")
            check(o.process.poll() is None, "ringside ended before its program")
            check_equal("second signal", settle(o, witness), first)
            end(o, witness)


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
def ignored_hangup():
    """nohup: it is not for ringside, but the program gets what was sent to ringside."""
    ignore_hangup = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731
    with observed_witness(preexec_fn=ignore_hangup) as (o, witness):
        for _ in range(3):
            o.kill(signal.SIGHUP)
            check_equal("signals", settle(o, witness), [f"SIGHUP from {o.pid}"])
            check_observes(o)
        end(o, witness)
    with server("ring") as s, observer("-p", s.pid, preexec_fn=ignore_hangup) as o:
        o.wait_ready().kill(signal.SIGHUP)
        s.do("run 20")
        # once it has taken the other, it would have taken SIGHUP
        report = o.kill().result().expect_status(0).report
        check_equal("submitted", report["totals"]["submitted"], 20)
        s.quit()


@suite.test
def ignored_interrupt():
    """What a shell script starts with & ignores SIGINT and SIGQUIT; kill is the way to end it."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        with server("ring") as s, observer("-p", s.pid,
                                           preexec_fn=lambda n=number: signal.signal(n, signal.SIG_IGN)) as o:
            o.wait_ready()
            s.do("run 20")
            report = o.kill(number).result().expect_status(0).report
            check_equal("submitted", report["totals"]["submitted"], 20)
            s.quit()


@suite.test
def signal_ends_an_observation_without_a_program():
    for number in ENDS:
        with server("ring") as s, observer("-p", s.pid) as o:
            o.wait_ready()
            s.do("run 20")
            report = o.kill(number).result().expect_status(0).report
            check_equal("submitted", report["totals"]["submitted"], 20)
            s.quit()


@suite.test
def default_action_without_a_program():
    """Signals that are a program's, where there is none: as anywhere, and nothing stays behind."""
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        with server("ring") as s, observer("-p", s.pid) as o:
            o.wait_ready()
            result = o.kill(number).result().expect_status(-number)
            check(not o.json_path.exists() and not result.stderr, f"it reported: {result.stderr!r}")
            s.quit()


@suite.test
def killed_program():
    result = stat("--", "/bin/sh", "-c", "kill -KILL $$").expect_status(128 + signal.SIGKILL)
    check("killed by signal 9" in result.stdout, f"the report does not say it: {result.stdout!r}")
