# SPDX-License-Identifier: MIT
"""What ringside says when it can't: one line, the right status, and the program was not started."""
import ctypes
import errno
import json
import os
import pathlib
import platform
import re
import resource
import signal
import struct
import subprocess

from refusing import kernel_that_refuses
from ringside import RINGSIDE, Observer, one_line, stat, workload
from testing import EXTRAS, Failed, Skipped, Suite, check, check_equal, scratch

suite = Suite()

FAILED, USAGE, NOT_EXECUTABLE, NOT_FOUND = 1, 2, 126, 127
BPF_SYSCALL = {"x86_64": 321, "aarch64": 280}
# The kernel's own, without a name in user space.
KERNEL_ENOTSUPP = 524
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
            (RETURN, 0, 0, RETURN_ERRNO | errno.EPERM), (RETURN, 0, 0, RETURN_ALLOW)]
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
def user_namespace():
    """Root there is nobody to the kernel's BPF, whatever the limits are."""
    for wrapper in (["unshare", "-Ur", "--"], ["unshare", "-U", "--"]):
        line = refuse(wrapper=wrapper, says=("user namespace", "outside"))
        check("MEMLOCK" not in line and "limit" not in line, f"the wrong cause: {line!r}")


# --- programs that the kernel refuses ----------------------------------------------
TOO_LARGE = "BPF program is too large"
# A feature without a program of its own.
UNTOLD = "the program that would tell is off"


def observe_without(features, **refused):
    """Observes while some programs are refused. Exactly these features are off, for these reasons; the rest counts."""
    with scratch() as folder:
        truth = folder / "truth.json"
        command = [*workload("nops storm --count 1000"), "--dir", folder, "--out", truth]
        result = Observer(folder, ["--", *command], **kernel_that_refuses(**refused)).result().expect_status(0)
        report = result.report
        want = json.loads(truth.read_text())["submitted"]
    off = {n: f["why"] for n, f in report["kernel"]["features"].items()
           if f["state"] != "full" and n not in EXTRAS}
    check_equal("features that are not full", sorted(off), sorted(features))
    for name, reason in features.items():
        check(reason in off[name], f"{name}: {reason!r} is not in {off[name]!r}")
        check("\n" not in off[name], f"{name}: more than a line: {off[name]!r}")
    check_equal("submitted", report["totals"]["submitted"], want)
    check_equal("completed", report["totals"]["completed"], want)
    return report


@suite.test
def program_too_large():
    """A verdict that comes after a million instructions, in a log that would hold none of them."""
    report = observe_without({"punt": TOO_LARGE, "call_sites": UNTOLD}, load="rs_punt=large")
    check_equal("punted", report["totals"]["punted"], None)


@suite.test
def program_invalid():
    observe_without({"poll": "R0 !read_ok"}, load="rs_poll_arm=invalid")


@suite.test
def programs_refused_without_a_word():
    """As lockdown and security modules do it: an errno, and nothing in the log."""
    observe_without({"ring_scan": "Invalid argument", "wait": "Operation not permitted", "link": "R0 !read_ok"},
                    load=f"rs_scan_files={errno.EINVAL},rs_cqring_wait={errno.EPERM},rs_link=invalid")


@suite.test
def attaching_refused():
    observe_without({"punt": "Operation not permitted", "call_sites": UNTOLD, "poll": "Device or resource busy",
                     "link": "no such function", "short_write": "No such file or directory",
                     "ring_scan": "Operation not supported"},
                    attach=f"rs_punt={errno.EPERM},rs_poll_arm={errno.EBUSY},rs_link={errno.ESRCH},"
                           f"rs_short_write={errno.ENOENT},rs_scan_files={KERNEL_ENOTSUPP}")


# What `stat` can't do without, by the programs that may provide it.
SUBMISSION = "rs_submit_req={0},rs_submit_sqe={0}"
COMPLETION = "rs_complete_cqe={0},rs_complete_args={0}"


@suite.test
def essential_program_refused():
    for programs, how, reason in ((COMPLETION, "large", TOO_LARGE), (SUBMISSION, "invalid", "R0 !read_ok"),
                                  (SUBMISSION, errno.EPERM, "Operation not permitted")):
        refuse(says=("can't observe", reason), **kernel_that_refuses(load=programs.format(how)))


@suite.test
def essential_attaching_refused():
    for programs in (SUBMISSION, COMPLETION):
        refuse(says=("can't observe", "attach", "Device or resource busy"),
               **kernel_that_refuses(attach=programs.format(errno.EBUSY)))


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
        loop = folder / "loop"
        loop.symlink_to("loop")
        for path in (plain, folder, loop, "/" + "x" * 300):
            result = stat("--", path, json_report=False).expect_status(NOT_EXECUTABLE)
            check(str(path) in one_line(result.stderr), f"which program? {result.stderr!r}")


@suite.test
def program_without_its_interpreter():
    """There and executable, but exec() fails, after the word to go. Status as that of a shell."""
    passwd = "/etc/passwd"
    with scratch() as folder:
        path, other = folder / "script", folder / "other"
        other.write_text("#!/no/such/shell\n")
        other.chmod(0o755)
        for text, status, says in (("#!/no/such/interpreter\n", NOT_FOUND, "'/no/such/interpreter': No such file"),
                                   ("#! /no/such/one -e\n", NOT_FOUND, "'/no/such/one': No such file"),
                                   ("#!/bin/sh\r\n", NOT_FOUND, "'/bin/sh^M': No such file"),
                                   (f"#!{other}\n", NOT_FOUND, "'/no/such/shell': No such file"),
                                   (f"#!{passwd}\n", NOT_EXECUTABLE, f"'{passwd}': Permission denied")):
            path.write_text(text)
            path.chmod(0o755)
            line = one_line(stat("--", path, json_report=False).expect_status(status).stderr)
            check(f"'{path}': its interpreter {says}" in line, f"what is wrong with {text!r}? {line!r}")


@suite.test
def program_without_its_loader():
    with scratch() as folder:
        path = folder / "program"
        image = pathlib.Path("/bin/true").read_bytes()
        loader = re.search(rb"/lib[\w/.-]*/ld-[\w.-]+\.so\.\d+\0", image)
        if not loader:
            raise Skipped("/bin/true has no dynamic loader")
        path.write_bytes(image.replace(loader[0], loader[0][:-2] + b"X\0"))
        path.chmod(0o755)
        line = one_line(stat("--", path, json_report=False).expect_status(NOT_FOUND).stderr)
        check(f"'{path}': the dynamic loader" in line, f"what is wrong? {line!r}")


# --- options --------------------------------------------------------------------
@suite.test
def usage():
    for options in (["--no-such-option"], ["-Z"], ["-d", "x"], ["-d", "-1"], ["-d", "0"], ["-d", "1x"],
                    ["-d", ""], ["-i", "nan"], ["-i", "1e3"], ["--fail-on=severe"], ["--fail-on="],
                    ["--rings=3"], ["-p", "1", "-a"]):
        refuse(*options, status=USAGE, json_report=False)


@suite.test
def lists_of_processes():
    me = os.getpid()
    for pids in ("", ",", f"{me},", f",{me}", f"{me},,{me}", "0", f"{me},0", "-5", "12x", " 1", "2147483648",
                 "99999999999999", "1" * 1000):
        refuse("-p", pids, status=USAGE, program=False, json_report=False, says=("process ids",))
    # a number that a process could have
    refuse("-p", 2147483647, program=False, says=("no process 2147483647",))


@suite.test
def filters():
    """Values that can't be right are a wrong command line, also for who may not observe."""
    for options in (["--uid=no-such-user"], ["--uid="], ["--uid=4294967295"], ["--uid=-1"], ["--comm="],
                    ["--comm=of-sixteen-bytes"], ["--cgroup="], ["--cgroup=/etc"], ["--cgroup=/etc/passwd"],
                    ["--cgroup=/etc/passwd/x"]):
        name, _, value = options[0].partition("=")
        for how in ({}, {"wrapper": AS_NOBODY}):
            refuse(*options, status=USAGE, json_report=False, says=(f"{name} '{value}': ",), **how)


@suite.test
def no_such_cgroup():
    mounted = "cgroup2" in {line.split()[2] for line in pathlib.Path("/proc/mounts").read_text().splitlines()}
    refuse("--cgroup=/no/such/group", status=USAGE if mounted else FAILED, json_report=False, says=("cgroup",))


@suite.test
def option_without_its_value():
    for options in (["-d"], ["-p"], ["-o"], ["--fail-on"], ["-i"]):
        refuse(*options, status=USAGE, program=False, json_report=False)


@suite.test
def process_and_program():
    refuse("-p", os.getpid(), status=USAGE)


@suite.test
def unknown_command():
    for words in (["stats"], ["--no-such-option"], [""], ["help", "stats"], ["help", ""], ["help", "stat", "x"],
                  ["version", "x"], ["-V", "x"]):
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


NO_SPACE = "No space left on device"


@suite.test
def full_device():
    """Seen only when the report is written: the program did run, and its success is not ours."""
    for options in ([], ["--json"], ["-i", "5"], ["-i", "5", "--json"]):
        with open("/dev/full", "wb") as full:
            done = observe_true(*options, stdout=full)
        check_equal(f"status with {options}", done.returncode, FAILED)
        check(NO_SPACE in one_line(done.stderr), f"what is wrong with {options}? {done.stderr!r}")
    for options in (["-o", "/dev/full"], ["--json=/dev/full"], ["--json=/dev/full", "-i", "5"]):
        done = observe_true(*options)
        check_equal(f"status with {options}", done.returncode, FAILED)
        check(NO_SPACE in one_line(done.stderr), f"what is wrong with {options}? {done.stderr!r}")


@suite.test
def full_device_in_the_middle():
    """A report of many blocks fails before its end."""
    command = ["--rings", "--", *workload("nops churn --workers 300 --count 3000"), "--out", "/dev/null"]
    with scratch() as folder:
        for options in ([], ["--json"]):
            report = folder / "report"
            stat("-o", report, *options, *command, json_report=False).expect_status(0)
            check(report.stat().st_size > 20000, f"no long report: {report.stat().st_size}")
            result = stat("-o", "/dev/full", *options, *command, json_report=False).expect_status(FAILED)
            check(NO_SPACE in one_line(result.stderr), f"what is wrong with {options}? {result.stderr!r}")


@suite.test
def full_device_for_help():
    for words in (["help"], ["--help"], ["help", "stat"], ["stat", "--help"], ["version"], ["-V"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([RINGSIDE, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        check_equal(f"status of {words}", done.returncode, FAILED)
        check(NO_SPACE in one_line(done.stderr), f"what is wrong with {words}? {done.stderr!r}")


@suite.test
def file_size_limit():
    """An error, and not a death by SIGXFSZ; the program has the signal as it would have it."""
    with scratch() as folder:
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))  # noqa: E731
        command = [RINGSIDE, "stat", "-o", folder / "report", "--", "/bin/sh", "-c",
                   "grep SigIgn: /proc/self/status >&2"]
        done = subprocess.run(command, preexec_fn=limit, capture_output=True, text=True, check=False)
        check_equal("status", done.returncode, FAILED)
        ignored, said = done.stderr.splitlines()
        check_equal("ignored by the program", int(ignored.split()[1], 16) & 1 << signal.SIGXFSZ - 1, 0)
        check("File too large" in one_line(said), f"what is wrong? {said!r}")
        check_equal("files", list(folder.iterdir()), [])


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
