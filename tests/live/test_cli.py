# SPDX-License-Identifier: MIT
"""The command line: exit statuses, where the output goes, who the program runs as."""
import json
import os
import subprocess

import truth
from ringside import RINGSIDE, Observer, observe, observer, rules, server, stat, workload
from testing import EXTRAS, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

FINDINGS = 3
# A normal user, as sudo would name it.
USER = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}


def run(*args, **options):
    return subprocess.run([str(a) for a in (RINGSIDE, "stat", *args)], capture_output=True, text=True,
                          check=False, stdin=subprocess.DEVNULL, **options)


QUIET_STORM = [*workload("nops storm --count 20000"), "--out", "/dev/null"]
DRIP = [*workload("nops drip --count 50000"), "--out", "/dev/null"]  # BATCH, warn
OVERFLOWS = [*workload("nops overflow"), "--out", "/dev/null"]


# --- exit statuses ------------------------------------------------------------
@suite.test
def status_of_the_program():
    for status in (0, 1, 3, 77, 255):
        stat("--", "/bin/sh", "-c", f"exit {status}").expect_status(status)


@suite.test
def status_of_findings():
    for severity, program, status in (("info", DRIP, FINDINGS), ("warn", DRIP, FINDINGS), ("crit", DRIP, 0),
                                      ("warn", OVERFLOWS, FINDINGS), ("info", QUIET_STORM, 0)):
        stat(f"--fail-on={severity}", "--", *program).expect_status(status)
    stat("--fail-on", "warn", "--", *DRIP).expect_status(FINDINGS)
    stat("--", *DRIP).expect_status(0)


@suite.test
def program_status_comes_before_findings():
    stat("--fail-on=info", "--", "/bin/sh", "-c", f"{' '.join(DRIP)}; exit 9").expect_status(9)


@suite.test
def help_and_version():
    for words in (["--help"], ["-h"], ["--version"], ["-V"], ["stat", "--help"], ["stat", "-h"], ["help"],
                  ["help", "stat"], ["help", "help"], ["help", "--help"], ["version"], ["version", "--help"]):
        done = subprocess.run([RINGSIDE, *words], capture_output=True, text=True, check=False)
        check_equal(f"status of {words}", done.returncode, 0)
        check(done.stdout.strip() and not done.stderr, f"{words} goes to stdout: {done}")


@suite.test
def explain():
    """All rules are listed and explained; one that does not exist is answered with one that may have been meant."""
    def words(*args):
        return subprocess.run([RINGSIDE, "explain", *args], capture_output=True, text=True, check=False)

    listed = json.loads(words("--json").stdout)["rules"]
    check(listed, "no rules")
    text = words().stdout
    for rule in listed:
        check(rule["rule"] in text, f"{rule['rule']} is not listed")
        done = words(rule["rule"].lower())
        check_equal("status, messages", (done.returncode, done.stderr), (0, ""))
        check("When to ignore it" in done.stdout, f"no page: {done.stdout!r}")
    for args, said in ((["PUMT"], "unknown rule 'PUMT'; did you mean PUNT?"),
                       (["qqq"], "unknown rule 'qqq'; `ringside explain` lists them"),
                       (["PUNT", "BATCH"], "explain is for one rule at a time: 'BATCH'?")):
        done = words(*args)
        check_equal(f"explain {args}", (done.returncode, done.stdout, done.stderr), (2, "", f"ringside: {said}\n"))


@suite.test
def thresholds():
    """A finding comes and goes with the threshold that it rests on."""
    count = ["--threshold=BATCH.min_batches=100000000", "--fail-on=info"]
    stat(*count, "--", *DRIP).expect_status(0)
    stat(*count, "--threshold", "batch.min_batches=1", "--", *DRIP).expect_status(FINDINGS)
    for setting in ("BATCH.min_batches", "BATCH.nothing=1", "BATSH.min_batches=1", "BATCH.min_batches=x"):
        done = run("--threshold", setting, "--", *QUIET_STORM)
        check_equal(f"status of --threshold {setting}", (done.returncode, done.stdout), (2, ""))
        check_equal("lines of error", len(done.stderr.splitlines()), 1)


# --- output -------------------------------------------------------------------
@suite.test
def json_to_stdout():
    done = run("--json", "--", *QUIET_STORM)
    check_none(truth.consistency(json.loads(done.stdout)))
    check_equal("stderr", done.stderr, "")


@suite.test
def json_and_text_at_once():
    with scratch() as folder:
        done = run(f"--json={folder}/r.json", "-o", folder / "r.txt", "--", *QUIET_STORM)
        check_equal("stdout", done.stdout, "")
        report = json.loads((folder / "r.json").read_text())
        text = (folder / "r.txt").read_text()
    check_equal("submitted", report["totals"]["submitted"], 20000)
    check("NOP" in text and "\x1b" not in text, f"not a plain report: {text!r}")


@suite.test
def json_to_output_file():
    with scratch() as folder:
        done = run("--json", "-o", folder / "r.json", "--", *QUIET_STORM)
        check_equal("stdout", done.stdout, "")
        check_equal("submitted", json.loads((folder / "r.json").read_text())["totals"]["submitted"], 20000)


@suite.test
def program_output_is_left_alone():
    with scratch() as folder:
        done = run("-o", folder / "report", "--", "/bin/sh", "-c", "echo out; echo err >&2")
        check_equal("stdout and stderr", (done.stdout, done.stderr), ("out\n", "err\n"))


@suite.test
def no_io_uring_is_said_first():
    done = run("--", "true")
    check_equal("status", done.returncode, 0)
    first = done.stdout.splitlines()[0]
    check("io_uring" in first and "no" in first.lower().split(), f"the first line is {first!r}")


@suite.test
def no_doctor():
    report = stat("--no-doctor", "--", *DRIP).expect_status(0).report
    check_equal("findings", report["findings"], None)
    asked, spared = (run(*o, "--", *DRIP).stdout for o in ([], ["--no-doctor"]))
    check("WARN" in asked and "WARN" not in spared, f"the text has findings: {spared}")


@suite.test
def no_extras():
    """What they would tell is unknown, and nothing else is."""
    result, report, want = observe("nops storm --count 600", "--no-extras")
    check_equal("stderr", result.stderr, "")
    check_none(truth.mismatches(report, want))
    features = report["kernel"]["features"]
    check_equal("states of extras", {features[name]["state"] for name in EXTRAS}, {"off"})
    # where the kernel lacks the function, that is why
    check("not asked for" in {features[name]["why"] for name in EXTRAS}, f"why: {features}")
    check_equal("their numbers", {report["totals"][k] for k in truth.EXTRAS if k in report["totals"]}, {None})


@suite.test
def rings_in_text():
    program = [*workload("nops threads --workers 3 --count 3000"), "--out", "/dev/null"]
    few, all_rings = (run(*o, "--", *program).stdout for o in ([], ["--rings"]))
    check(all_rings.count("NOP") > few.count("NOP"), f"--rings adds no tables: {all_rings}")


@suite.test
def intervals():
    """Each interval is an object a line; they sum up to everything that happened."""
    with server("ring") as s, scratch() as folder:
        o = Observer(folder, ["-p", s.pid, "-i", "0.2"]).wait_ready()
        lines = []
        for _ in range(3):
            s.do("run 1000")
            seen = len(lines)
            lines = wait_until(lambda n=seen: after(o, n), "another interval")
        s.do("run 77")
        o.kill().result().expect_status(0)
        reports = [json.loads(line) for line in o.json_path.read_text().splitlines()]
        s.quit()
    check(len(reports) >= 4, f"{len(reports)} intervals")
    check_equal("submitted", sum(r["totals"]["submitted"] for r in reports), 3077)
    check_equal("completed", sum(r["totals"]["completed"] for r in reports), 3077)
    for r in reports:
        check_none(truth.losses(r))
    starts = [r["window"]["start_unix_ns"] for r in reports]
    check_equal("order", starts, sorted(starts))


def after(o, n):
    lines = o.json_path.read_text().splitlines() if o.json_path.exists() else []
    return lines if len(lines) > n else None


@suite.test
def interval_lines_of_text():
    with server("ring", "load") as s:
        result = stat("-p", s.pid, "-i", "0.1", "-d", "0.5", json_report=False).expect_status(0)
        s.quit()
    check(len(result.stdout.splitlines()) > 5, f"no lines: {result.stdout!r}")


@suite.test
def width():
    """No line is wider than asked for."""
    for columns in (60, 80, 132):
        done = run("--rings", "--", *workload("files errors"), "--out", "/dev/null",
                   env={**os.environ, "COLUMNS": str(columns)})
        wide = [line for line in done.stdout.splitlines() if len(line) > columns]
        check_equal(f"lines wider than {columns}", wide, [])


@suite.test
def quiet_and_verbose():
    check_equal("stderr with -q", run("-q", "--", "true").stderr, "")
    lines = run("-v", "--", "true").stderr.splitlines()
    check(lines and all(line.startswith("ringside: ") for line in lines), f"-v says {lines}")
    check(any("io_uring_submit_re" in line for line in lines), f"-v does not name the event: {lines}")


# --- targets ------------------------------------------------------------------
@suite.test
def grandchildren():
    storm = " ".join(QUIET_STORM)
    report = stat("--", "/bin/sh", "-c", f"({storm} & {storm}; wait) & wait").expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("rings, requests", (len(report["rings"]), report["totals"]["submitted"]), (2, 40000))


@suite.test
def process_named_twice():
    with server("ring") as s:
        for pids in (["-p", f"{s.pid},{s.pid}"], ["-p", s.pid, "-p", s.pid]):
            with observer(*pids) as o:
                o.wait_ready()
                s.do("run 20")
                result = o.kill().result().expect_status(0)
                check_equal("submitted", result.report["totals"]["submitted"], 20)
                check(result.stdout.splitlines()[0].endswith(f": pid {s.pid}"), f"the target: {result.stdout!r}")
        s.quit()


@suite.test
def children_of_an_attached_process():
    shell = subprocess.Popen(["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with observer("-p", shell.pid) as o:
        o.wait_ready()
        shell.communicate(" ".join(QUIET_STORM) + "\n")
        report = o.result().expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("submitted", report["totals"]["submitted"], 20000)


@suite.test
def whole_machine_while_a_program_runs():
    with server("ring") as s, scratch() as folder:
        begun, go = folder / "begun", folder / "go"
        os.mkfifo(go)
        script = f"echo >{begun}; read line <{go}; {' '.join(QUIET_STORM)}"
        o = Observer(folder, ["-a", "--", "/bin/sh", "-c", script])
        wait_until(begun.exists, "the program")
        s.do("run 123")
        go.write_text("go\n")
        report = o.result().expect_status(0).report
        s.quit()
    by_pid = {r["pid"]: r["totals"]["submitted"] for r in report["rings"]}
    check_equal("the server's requests", by_pid.get(s.pid), 123)
    check(20000 in by_pid.values(), f"the program's are missing: {by_pid}")


@suite.test
def descendant_that_outlives_the_program():
    """The observation ends with the program; what runs on is left to itself, counted up to there."""
    with scratch() as folder:
        read_end, write_end = os.pipe()
        answers_read, answers_write = os.pipe()
        script = f"{workload('serve')[0]} <&{read_end} >&{answers_write} & read line <{folder}/go"
        os.mkfifo(folder / "go")
        o = Observer(folder, ["--", "/bin/bash", "-c", script], pass_fds=(read_end, answers_write))
        os.close(read_end)
        os.close(answers_write)
        with os.fdopen(write_end, "w") as commands, os.fdopen(answers_read) as answers:
            commands.write("ring\nrun 250\nhold 7\n")
            commands.flush()
            for _ in range(4):
                answers.readline()
            (folder / "go").write_text("go\n")
            report = o.result().expect_status(0).report
            commands.write("run 10\nquit\n")
            commands.flush()
            answers.readline()
            check_equal("what it did in all", json.loads(answers.readline())["completed"], 267)
    check_none(truth.consistency(report))
    t = report["totals"]
    check_equal("submitted, in flight", (t["submitted"], t["in_flight"]), (257, 7))
    check_equal("rings", len(report["rings"]), 1)


# --- the program's identity -------------------------------------------------------
def identity(*options, **env):
    """uid, gid, groups and HOME of the program, and what ringside said."""
    done = run(*options, "-o", "/dev/null", "--", "/bin/sh", "-c", 'id -u; id -g; id -G; echo "$HOME"',
               env={**os.environ, "HOME": "/root", **env})
    check_equal("status", done.returncode, 0)
    return done.stdout.splitlines(), done.stderr


@suite.test
def runs_as_the_user_who_called_sudo():
    said, stderr = identity(**USER)
    check_equal("uid, gid, groups", said[:3], ["65534", "65534", "65534"])
    check(said[3] != "/root", "HOME is still root's")
    check(len(stderr.splitlines()) == 1 and "nobody" in stderr, f"one line should say so: {stderr!r}")


@suite.test
def as_root():
    said, stderr = identity("--as-root", **USER)
    check_equal("uid, gid, HOME", (*said[:2], said[3]), ("0", "0", "/root"))
    check_equal("stderr", stderr, "")


@suite.test
def without_sudo():
    said, stderr = identity()
    check_equal("uid, gid, HOME", (*said[:2], said[3]), ("0", "0", "/root"))
    check_equal("stderr", stderr, "")


@suite.test
def sudo_variables_that_are_no_numbers():
    with scratch() as folder:
        mark = folder / "mark"
        done = run("--", "touch", mark, env={**os.environ, "SUDO_UID": "x", "SUDO_GID": "0"})
        check(done.returncode == 1 and not mark.exists(), f"ran it: {done}")


@suite.test
def capabilities_instead_of_root():
    """CAP_BPF and CAP_PERFMON are what the message asks for, so they must be enough."""
    wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+bpf,+perfmon",
               "--ambient-caps=-all,+bpf,+perfmon", "--"]
    with scratch() as folder:
        o = Observer(folder, ["--", *QUIET_STORM], wrapper=wrapper)
        report = o.result().expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("submitted", report["totals"]["submitted"], 20000)


# --- other builds of the same program -------------------------------------------------
def other_build(name):
    binary = RINGSIDE.with_name(name)

    def test():
        check(binary.exists(), f"{binary} is not built (make static asan)")
        for line, findings in (("nops fork", set()), ("files errors", {"CANCELED", "ERRORS"}), ("nops overflow", {"OVERFLOW"}),
                               ("events abandon", set())):
            _, report, said = observe(line, binary=binary)
            check_none(truth.mismatches(report, said, cancelled=line == "events abandon"))
            check_equal(f"findings of {line}", rules(report), findings)
        with server("ring", "load") as s, observer("-p", s.pid, binary=binary) as o:
            o.wait_ready()
            s.do("turns 500")
            check_none(truth.consistency(o.kill().result().expect_status(0).report))
            s.quit()

    return test


suite.add("static-binary", other_build("ringside-static"))
suite.add("address-sanitizer", other_build("ringside-asan"))
