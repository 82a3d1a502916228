# SPDX-License-Identifier: MIT
"""valgrind finds nothing wrong with ringside's use of memory, whatever way it goes."""
import contextlib
import os
import shutil
import socket
import subprocess
import threading

import truth
from ringside import RINGSIDE, Observer, server, workload
from testing import TESTS_DIR, Skipped, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

FAILED, USAGE, ERRORS = 1, 2, 99
LIB = TESTS_DIR / "lib"
WRAPPER = ["valgrind", "-q", f"--error-exitcode={ERRORS}", "--leak-check=full",
           "--show-leak-kinds=definite,indirect", "--errors-for-leak-kinds=definite,indirect",
           "--child-silent-after-fork=yes", f"--suppressions={LIB / 'valgrind.supp'}"]
# Loading takes it a quarter of a minute.
TIMEOUT_S = 180
ATTACHED_S = 100


class Pidfds:
    """Answers what tests/lib/pidfd_preload.c asks."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while asked := self.ours.recv(4):
            try:
                fd = os.pidfd_open(int.from_bytes(asked, "little", signed=True))
            except OSError as e:
                self.ours.send(e.errno.to_bytes(4, "little"))
                continue
            socket.send_fds(self.ours, [bytes(4)], [fd])
            os.close(fd)

    def close(self):
        self.theirs.close()
        self.ours.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.ours.close()


@contextlib.contextmanager
def valgrind(folder):
    """What Popen needs, besides the wrapper, for ringside under valgrind."""
    if not shutil.which("valgrind"):
        raise Skipped("no valgrind")
    preload = folder / "pidfd_preload.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", preload, LIB / "pidfd_preload.c", "-ldl"],
                   check=True)
    pidfds = Pidfds()
    number = pidfds.theirs.fileno()
    try:
        env = {**os.environ, "LD_PRELOAD": str(preload), "PIDFD_SOCKET": str(number)}
        yield {"pass_fds": (number,), "env": env}
    finally:
        pidfds.close()


def attach(folder, name, popen, *options):
    """Starts ringside under valgrind in a folder of its own."""
    (folder / name).mkdir(mode=0o777)
    return Observer(folder / name, options, wrapper=WRAPPER, **popen)


def finish(o, status=0):
    result = o.result(TIMEOUT_S)
    # it passes commands of bpf(2) on that it does not know
    said = [line for line in result.stderr.splitlines() if "unhandled eBPF command" not in line]
    check(result.status != ERRORS, "\n".join(["valgrind says:", *said]))
    return result.expect_status(status)


PROGRAM = "; ".join(" ".join([*workload_line, "--out /dev/null"]) for workload_line in map(workload, (
    "nops churn --workers 3000 --count 30000", "files errors", "files unwanted --count 500",
    "events multishot --count 50", "events zerocopy --count 50", "nops overflow", "events abandon",
    "nops storm --count 1000 --flags sqpoll", "rings register --workers 50")))


@suite.test(timeout_s=TIMEOUT_S)
def every_target():
    """
    A program that does of everything a little, a process by intervals, the whole machine with small
    tables, and an error when all is loaded: at once, as most of the time is spent on loading.
    """
    with (scratch() as folder, server("ring", "hold 5", "load") as a, server("ring", "hold 5") as b,
          valgrind(folder) as popen):
        program = attach(folder, "program", popen, "--rings", "--max-report-rings", "100", "--", "/bin/sh", "-c",
                         PROGRAM)
        process = attach(folder, "process", popen, "-p", a.pid, "-i", "0.2")
        machine = attach(folder, "machine", popen, "-a", "--comm", "serve", "--uid", "root", "--max-rings", "2",
                         "--max-inflight", "8")
        error = attach(folder, "error", popen, "--ready-file", "/no/such/folder/file", "--", "true")
        process.wait_ready(ATTACHED_S)
        for command in ("turns 2000", "ring", "run 100", "turns 2000"):
            a.do(command)
        wait_until(lambda: len(process.json_path.read_text().splitlines()) > 1, "intervals", ATTACHED_S)
        finish(process.kill())
        machine.wait_ready(ATTACHED_S)
        for command in ("ring", "hold 20", "ring", "hold 20", "release"):
            b.do(command)
        finish(machine.kill())
        finish(error, FAILED)
        report = finish(program).report
        a.quit()
        b.quit()
    check_none(truth.identity("totals", report["totals"]))
    check(report["totals"]["submitted"] > 30000, f"{report['totals']['submitted']} submitted")


@suite.test(timeout_s=TIMEOUT_S)
def early_ends():
    """The ways out before anything is loaded."""
    with scratch() as folder, valgrind(folder) as popen:
        popen = {**popen, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        for status, args in ((USAGE, ["stat", "--no-such-option"]), (USAGE, ["nothing"]), (0, ["stat", "--help"]),
                             (FAILED, ["stat", "-p", "1,4194304"]),
                             (127, ["stat", "--", "ringside-no-such-program"]),
                             (126, ["stat", "--", "/etc/passwd"]),
                             (FAILED, ["stat", "-o", "/no/such/folder/file", "--", "true"]),
                             (USAGE, ["stat", "--uid", "no-such-user", "--", "true"]),
                             (USAGE, ["stat", "--cgroup", "/etc", "--", "true"])):
            done = subprocess.run([*WRAPPER, RINGSIDE, *args], check=False, text=True, **popen)
            check_equal(f"status of {args}, which said {done.stderr}", done.returncode, status)
