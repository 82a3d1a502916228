# SPDX-License-Identifier: MIT
"""What ringside says when it can't: one line, the right status, and the program was not started."""
import ctypes
import os
import pathlib
import platform
import resource
import struct
import subprocess

from ringside import RINGSIDE, Observer, one_line, stat
from testing import Failed, Skipped, Suite, check, check_equal, scratch

suite = Suite()

FAILED, USAGE, NOT_EXECUTABLE, NOT_FOUND = 1, 2, 126, 127
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
EPERM = 1
# From linux/seccomp.h, linux/filter.h and linux/prctl.h.
PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
LOAD_SYSCALL_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
RETURN_ERRNO, RETURN_ALLOW = 0x00050000, 0x7FFF0000


def refuse(*options, status=FAILED, program=True, says=(), **popen):
    """Runs ringside with a program that leaves a mark when it runs. Returns the one line on stderr."""
    with scratch() as folder:
        mark = folder / "mark"
        command = ["--", "/bin/sh", "-c", f"echo ran >{mark}"] if program else []
        result = Observer(folder, [*options, *command], **popen).result()
        check(not mark.exists(), f"the program was run although ringside refused: {result.stderr!r}")
        check(not (folder / "ready").exists(), "the ready file was written")
    result.expect_status(status)
    check_equal("stdout", result.stdout, "")
    line = one_line(result.stderr)
    for word in says:
        check(word in line, f"{word!r} is not in {line!r}")
    return line


def without(*capabilities):
    """A wrapper that takes these capabilities away for good; uid 0 stays."""
    return ["setpriv", "--bounding-set=" + ",".join(f"-{c}" for c in capabilities),
            "--inh-caps=-all", "--"]


AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
             "--bounding-set=-all", "--"]


def refuse_bpf():
    """In the child, before exec: every bpf() fails with EPERM from now on."""
    number = BPF_SYSCALL[platform.machine()]
    code = [(LOAD_SYSCALL_NUMBER, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, number),
            (RETURN, 0, 0, RETURN_ERRNO | EPERM), (RETURN, 0, 0, RETURN_ALLOW)]
    instructions = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code), ctypes.addressof(instructions)))
    if ctypes.CDLL(None).prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        os._exit(99)


# --- rights -------------------------------------------------------------------
@suite.test
def no_rights():
    refuse(wrapper=AS_NOBODY, says=("CAP_BPF", "CAP_PERFMON"))


@suite.test
def no_cap_perfmon():
    line = refuse(wrapper=without("perfmon", "sys_admin"), says=("CAP_PERFMON",))
    check("CAP_BPF" not in line, f"CAP_BPF is not missing: {line!r}")


@suite.test
def no_cap_bpf():
    line = refuse(wrapper=without("bpf", "sys_admin"), says=("CAP_BPF",))
    check("CAP_PERFMON" not in line, f"CAP_PERFMON is not missing: {line!r}")


@suite.test
def load_refused():
    if platform.machine() not in BPF_SYSCALL:
        raise Skipped(f"the number of bpf() on {platform.machine()} is not known here")
    refuse(preexec_fn=refuse_bpf, says=("ermi",))


@suite.test
def load_refused_while_attaching():
    """The same for a running process."""
    if platform.machine() not in BPF_SYSCALL:
        raise Skipped(f"the number of bpf() on {platform.machine()} is not known here")
    refuse("-p", os.getpid(), program=False, preexec_fn=refuse_bpf)


@suite.test
def too_few_descriptors():
    """Whatever it is that can't be opened any more, ringside says so and runs nothing, or it manages."""
    for limit in (8, 16, 24, 32, 40, 48):
        with scratch() as folder:
            mark = folder / "mark"
            result = Observer(folder, ["--", "/bin/sh", "-c", f"echo ran >{mark}"],
                              preexec_fn=lambda n=limit: limit_descriptors(n)).result()
            ran = mark.exists()
        if result.status == 0:
            check(ran, "reported without running the program")
            continue
        check_equal(f"status with {limit} descriptors", result.status, FAILED)
        check(not ran, f"the program was run: {result.stderr!r}")
        last = result.stderr.splitlines()[-1]
        check(last.startswith("ringside: ") and "open files" in last, f"no reason: {result.stderr!r}")


def limit_descriptors(n):
    resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


# --- targets ------------------------------------------------------------------
def ended_process():
    p = subprocess.Popen(["true"])
    p.wait()
    return p.pid


@suite.test
def no_such_process():
    pid = ended_process()
    refuse("-p", pid, program=False, says=(str(pid),))


@suite.test
def one_of_two_processes_missing():
    pid = ended_process()
    refuse("-p", f"{os.getpid()},{pid}", program=False, says=(str(pid),))


@suite.test
def program_not_found():
    with scratch() as folder:
        for name in ("ringside-no-such-program", folder / "nothing", folder / "no" / "folder"):
            result = stat("--", name, json_report=False).expect_status(NOT_FOUND)
            check(str(name) in one_line(result.stderr), f"which program? {result.stderr!r}")
            check_equal("stdout", result.stdout, "")


@suite.test
def program_not_executable():
    with scratch() as folder:
        plain = folder / "plain"
        plain.write_text("#!/bin/sh\n")
        for path in (plain, folder):
            result = stat("--", path, json_report=False).expect_status(NOT_EXECUTABLE)
            check(str(path) in one_line(result.stderr), f"which program? {result.stderr!r}")


@suite.test
def program_without_its_interpreter():
    """There and executable, but exec() fails, after the word to go."""
    with scratch() as folder:
        path = folder / "script"
        path.write_text("#!/no/such/interpreter\n")
        path.chmod(0o755)
        result = stat("--", path, json_report=False).expect_status(NOT_FOUND)
        check(str(path) in one_line(result.stderr), f"which program? {result.stderr!r}")


# --- options --------------------------------------------------------------------
@suite.test
def usage():
    for options in (["--no-such-option"], ["-Z"], ["-d", "x"], ["-d", "-1"], ["-d", "0"], ["-d", "1x"],
                    ["-d", ""], ["-i", "nan"], ["-i", "1e3"], ["-p", "0"], ["-p", "12x"], ["-p", ","],
                    ["-p", "-5"], ["-p", "99999999999999"], ["--fail-on=severe"], ["--fail-on="],
                    ["--rings=3"], ["-p", "1", "-a"]):
        refuse(*options, status=USAGE, json_report=False)


@suite.test
def option_without_its_value():
    for options in (["-d"], ["-p"], ["-o"], ["--fail-on"], ["-i"]):
        refuse(*options, status=USAGE, program=False, json_report=False)


@suite.test
def process_and_program():
    refuse("-p", os.getpid(), status=USAGE)


@suite.test
def unknown_command():
    for words in (["stats"], ["--no-such-option"], [""]):
        done = subprocess.run([RINGSIDE, *words], capture_output=True, text=True, check=False)
        check_equal(f"status of {words}", done.returncode, USAGE)
        check_equal(f"stdout of {words}", done.stdout, "")
        one_line(done.stderr)


# --- output -----------------------------------------------------------------------
@suite.test
def unwritable_output():
    with scratch() as folder:
        for path in (folder / "no" / "folder", folder, pathlib.Path("/proc/ringside")):
            for option in (["-o", path], [f"--json={path}"]):
                line = refuse(*option, json_report=False)
                check(str(path) in line, f"which file? {line!r}")


@suite.test
def unwritable_ready_file():
    with scratch() as folder:
        mark = folder / "mark"
        done = subprocess.run([RINGSIDE, "stat", f"--ready-file={folder}/no/ready", "--", "touch", mark],
                              capture_output=True, text=True, check=False)
        check_equal("status", done.returncode, FAILED)
        one_line(done.stderr)
        check(not mark.exists(), "the program was run")


def observe_true(*options, stdout=subprocess.PIPE):
    return subprocess.run([RINGSIDE, "stat", *options, "--", "true"], stdout=stdout, stderr=subprocess.PIPE,
                          text=True, check=False)


@suite.test
def full_device():
    """Seen only when the report is written: the program did run, and its success is not ours."""
    for options in ([], ["--json"], ["-i", "5"], ["-i", "5", "--json"]):
        with open("/dev/full", "wb") as full:
            done = observe_true(*options, stdout=full)
        check_equal(f"status with {options}", done.returncode, FAILED)
        one_line(done.stderr)
    for options in (["-o", "/dev/full"], ["--json=/dev/full"]):
        done = observe_true(*options)
        check_equal(f"status with {options}", done.returncode, FAILED)
        one_line(done.stderr)


@suite.test
def reader_gone():
    """A closed pipe on stdout is an error, not a death by SIGPIPE."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = observe_true(stdout=write_end)
    finally:
        os.close(write_end)
    check_equal("status", done.returncode, FAILED)
    one_line(done.stderr)


@suite.test
def failed_report_leaves_the_old_one():
    """A file that can't be finished must not replace what stood there."""
    with scratch() as folder:
        report = folder / "report"
        report.write_text("old\n")
        result = stat("-o", report, "--", "ringside-no-such-program", json_report=False)
        result.expect_status(NOT_FOUND)
        if (left := report.read_text()) != "old\n":
            raise Failed(f"the old report became {left!r}")
        check_equal("files", sorted(p.name for p in folder.iterdir()), ["report"])
