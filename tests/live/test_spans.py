# SPDX-License-Identifier: MIT
"""Which function asked for it, how long that took and how long it waited."""
import json
import subprocess

import truth
from ringside import observe, observer, one_line, server, stat
from testing import WORKLOADS, Skipped, Suite, check, check_equal, check_none, scratch

suite = Suite()

API = f"{WORKLOADS}/spans:db_*"


def spans_of(report):
    return {span["function"]: span for span in report["spans"]}


def compare(report, said):
    """Everything that was observed did what the workload says, exactly."""
    check_none(truth.identity("totals", report["totals"]) + truth.losses(report))
    for name, want in said.items():
        if name not in spans_of(report):
            continue
        span = spans_of(report)[name]
        for key in ("calls", "returned"):
            check_equal(f"{name}.{key}", span[key], want[key])
        check_equal(f"{name}: calls that were timed", span["latency_ns"]["count"], want["returned"])
        check_equal(f"{name}: opcodes", sorted(op["op"] for op in span["ops"]), sorted(want["ops"]))
        for op in span["ops"]:
            compare_op(f"{name} {op['op']}", op, want["ops"][op["op"]])


def compare_op(name, op, want):
    check_equal(f"{name}.submitted", op["submitted"], want["submitted"])
    check_equal(f"{name}.completed", op["completed"], want["submitted"])
    check_equal(f"{name}: latencies", op["latency_ns"]["count"], want["submitted"])
    check_equal(f"{name}.errors", sum(op["errors"].values()), want["errors"])
    check_equal(f"{name}.punted_by.asked", op["punted_by"]["asked"], want["punted"])
    if op["bytes"] is not None:
        check_equal(f"{name}.bytes", op["bytes"], want["bytes"])
    stages = sum(stage["sum"] for stage in op["stages"].values() if stage)
    check_equal(f"{name}: the stages' sum", stages, op["latency_ns"]["sum"])


def observed(line, *patterns, options=()):
    spans = [f"--span={p}" for p in patterns or (API,)]
    result, report, said = observe(f"spans {line}", *spans, *options)
    compare(report, said)
    return result, report, said


@suite.test()
def two_functions():
    """One reads, some of it in vain; the other writes, on workers."""
    _, report, _ = observed("api --count 100")
    spans = spans_of(report)
    check_equal("errors of reads", spans["db_get"]["ops"][0]["errors"], {"EBADF": 25})
    check_equal("not called", spans["db_walk"]["calls"], 0)


@suite.test()
def chosen_ones():
    """Each once, however often it is named; by one of them alone the other's requests are nobody's."""
    _, report, _ = observed("api", f"{WORKLOADS}/spans:db_put", f"{WORKLOADS}/spans:db_p?t")
    check_equal("functions", list(spans_of(report)), ["db_put"])


@suite.test()
def nested():
    """The innermost one owns a request; the outer one does again when that has returned."""
    observed("nested")


@suite.test()
def jumped_out_of():
    """longjmp() leaves one call or several; what comes after it belongs to none of them."""
    _, report, _ = observed("jump --count 60")
    check_equal("returned", spans_of(report)["db_jump"]["returned"], 0)


@suite.test()
def recursion():
    observed("walk --count 31")


@suite.test()
def deep_recursion():
    """Beyond what is kept of a thread's stack calls are counted, and requests are not lost."""
    _, report, said = observe("spans walk --count 100", f"--span={API}")
    walk = spans_of(report)["db_walk"]
    check_equal("calls", walk["calls"], 101)
    check_equal("returned", walk["returned"], 32)
    check_equal("requests", [op["submitted"] for op in walk["ops"]], [said["db_walk"]["ops"]["NOP"]["submitted"]])
    check_equal("details_lost", report["fidelity"]["details_lost"], 69)


@suite.test()
def waits():
    """As long as it waits for CQEs, and not as long as it sleeps elsewhere."""
    _, report, said = observed("wait --count 5")
    span, want = spans_of(report)["db_wait"], said["db_wait"]
    if span["wait_ns"] is None:
        raise Skipped("this kernel does not tell")
    check_equal("waits", span["waits"], 5)
    # it does not begin to wait as soon as its time runs
    check(want["least_ns"] / 2 <= span["wait_ns"] <= want["most_ns"],
          f"{span['wait_ns']} ns, the workload {want['least_ns']} to {want['most_ns']}")
    check(span["latency_ns"]["sum"] >= 5 * want["least_ns"], f"{span['latency_ns']['sum']} ns in all")


@suite.test()
def threads():
    """They end inside of a function, too."""
    _, report, _ = observed("threads --count 300")
    check_equal("left", (spans_of(report)["db_leave"]["calls"], spans_of(report)["db_leave"]["returned"]), (4, 0))


@suite.test()
def forks():
    observed("fork")


@suite.test()
def library():
    """A function of the C library, whoever maps it; ringside's own calls are not counted."""
    _, report, _ = observed("library", "libc:lfind", API)
    check("libc" in spans_of(report)["lfind"]["binary"], "it is of another file")


@suite.test()
def own_calls():
    """What ringside does before the program is executed is nobody's."""
    _, report, _ = observe("spans api", "--span=libc:execve", "--span=libc:recv", "--span=libc:close")
    check_equal("execve", spans_of(report)["execve"]["calls"], 0)


@suite.test()
def sampled():
    """All are counted, some are timed."""
    _, report, said = observe("spans api --count 400", f"--span={API}", "--sample", 4)
    op = spans_of(report)["db_get"]["ops"][0]
    check_equal("submitted", op["submitted"], said["db_get"]["ops"]["READ"]["submitted"])
    check_equal("bytes", op["bytes"], said["db_get"]["ops"]["READ"]["bytes"])
    check(0 < op["latency_ns"]["count"] < op["submitted"], f"{op['latency_ns']['count']} were timed")


@suite.test()
def others_are_not_counted():
    """The same functions in a process that is not watched."""
    with scratch() as folder, server() as s:
        with observer("-p", s.pid, f"--span={API}") as o:
            o.wait_ready()
            subprocess.run([WORKLOADS / "spans", "api", "--dir", folder, "--out", folder / "truth"], check=True)
            report = o.kill().result().report
        check_equal("calls", sum(span["calls"] for span in report["spans"]), 0)


@suite.test()
def intervals():
    """Each line has what happened in its interval."""
    with scratch() as folder:
        result = stat("-i", "0.05", f"--span={API}", "--", WORKLOADS / "spans", "wait", "--count", 6,
                      "--dir", folder, "--out", folder / "truth")
        lines = [json.loads(line) for line in result.json_path.read_text().splitlines()]
    check(len(lines) > 1, f"{len(lines)} lines")
    calls = [spans_of(line)["db_wait"]["calls"] for line in lines]
    check_equal("calls", sum(calls), 6)
    timeouts = [op["submitted"] for line in lines for op in spans_of(line)["db_wait"]["ops"]]
    check_equal("requests", sum(timeouts), 6)


@suite.test()
def none_asked_for():
    _, report, _ = observe("spans api --count 1")
    check_equal("spans", report["spans"], None)
    check_equal("why", report["kernel"]["features"]["spans"]["why"], "not asked for (--span)")


REFUSALS = {
    "no-function": ("db_get", 2, "BINARY:FUNCTION"),
    "no-binary": ("/no/such/file:f", 2, "there is no file"),
    "no-library": ("nosuchthing:f", 2, "give its path"),
    "no-match": (f"{WORKLOADS}/spans:db_gte", 2, "near are db_get"),
    "too-many": ("libc:*", 2, "at most"),
    "no-elf": ("/etc/passwd:f", 2, "not a program or library"),
}


def refusal(pattern, status, words):
    def run():
        result = stat(f"--span={pattern}", "--", "/bin/true").expect_status(status)
        line = one_line(result.stderr)
        check(words in line and pattern in line, line)
    return run


for name, arguments in REFUSALS.items():
    suite.add(name, refusal(*arguments))


@suite.test()
def no_probe():
    """It is said which of the functions can't be observed."""
    result = stat("--span=libc:pthread_s*", "--", "/bin/true").expect_status(1)
    check("pthread_spin_lock in" in one_line(result.stderr), result.stderr)


@suite.test()
def stripped():
    with scratch() as folder:
        binary = folder / "spans"
        subprocess.run(["strip", "-o", binary, WORKLOADS / "spans"], check=True)
        result = stat(f"--span={binary}:db_get", "--", binary, "api").expect_status(2)
        check("stripped" in one_line(result.stderr), result.stderr)


@suite.test()
def by_name_of_the_program():
    """A program that is run by a path need not be in $PATH."""
    with scratch() as folder:
        result = stat("--span=spans:db_get", "--", WORKLOADS / "spans", "api", "--count", 8, "--dir", folder,
                      "--out", folder / "truth").expect_status(0)
    check_equal("calls", spans_of(result.report)["db_get"]["calls"], 8)
