# SPDX-License-Identifier: MIT
"""Pid namespaces: ringside outside looking in, ringside inside; every process by the right number."""
import contextlib
import json
import os
import shutil
import signal
import subprocess

import truth
from ringside import observe, observer, one_line, server, stat, workload
from testing import EXTRAS, WORKLOADS, Skipped, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

NEW = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"]
FAILED, NOT_FOUND = 1, 127


def only_child(pid):
    """unshare and nsenter stay outside, and wait for the process that went in."""

    def child():
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
                return int((f.read().split() or [0])[0])
        except FileNotFoundError as e:
            raise Skipped("the kernel does not list children (CONFIG_PROC_CHILDREN)") from e

    return wait_until(child, f"the child of {pid}")


@contextlib.contextmanager
def container(wrapper=()):
    """A pid namespace that lasts; the wrapper that enters it."""
    holder = subprocess.Popen([*wrapper, *NEW, "sh", "-c", "echo up; read -r _"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        check_equal("the namespace", holder.stdout.readline(), b"up\n")
        outside = holder.pid
        for _ in range(1 + bool(wrapper)):
            outside = only_child(outside)
        yield ["nsenter", f"--target={outside}", "--pid", "--mount", "--"]
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait()


def pids(report):
    return [(r["pid"], r["pid_in_namespace"], r["host_pid"]) for r in report["rings"]]


def check_counts(report, n):
    check_none(truth.consistency(report))
    check_equal("submitted", report["totals"]["submitted"], n)


# --- from the host ------------------------------------------------------------------
@suite.test
def host_sees_both_numbers():
    with container() as enter, server("ring", "run 3", wrapper=enter) as s:
        outside = only_child(s.process.pid)
        with observer("-p", outside, json_report=True) as o:
            o.wait_ready()
            s.do("run 500")
            s.quit()
            result = o.result().expect_status(0)
            report = result.report
    check_counts(report, 500)
    check_equal("pids", pids(report), [(outside, s.pid, None)])


@suite.test
def host_starts_a_container():
    with scratch() as folder:
        out = folder / "truth"
        result = stat("--", *NEW, *workload("nops fork --count 2000 --workers 3"), "--out", out).expect_status(0)
        want = json.loads(out.read_text())
    check_none(truth.mismatches(result.report, want))
    rows = pids(result.report)
    check(all(here and own and here != own and host is None for here, own, host in rows), f"pids: {rows}")
    check_equal("processes", len({here for here, _, _ in rows}), len(rows))


@suite.test
def host_shows_both_in_text():
    with scratch() as folder:
        result = stat("--", *NEW, *workload("nops storm --count 100"), "--out", folder / "truth", json_report=False)
        plain = stat("--", *workload("nops storm --count 100"), "--out", folder / "truth", json_report=False)
    check("NS-PID" in result.expect_status(0).stdout, f"one number only: {result.stdout}")
    check("NS-PID" not in plain.expect_status(0).stdout, f"a number too many: {plain.stdout}")
    check("HOST-PID" not in result.stdout + plain.stdout, "this is the host")


# --- from inside ----------------------------------------------------------------------
def observe_inside(line, wrapper=NEW):
    result, report, want = observe(line, wrapper=wrapper)
    check_none(truth.mismatches(report, want))
    check_equal("stderr", result.stderr, "")
    off = {n: f["why"] for n, f in report["kernel"]["features"].items() if f["state"] == "off"}
    check("pid_namespaces" not in off, f"off: {off}")
    return report


@suite.test
def program():
    (here, own, host), = pids(observe_inside("nops storm --count 3000"))
    check(1 < here < 100 < host, f"pid {here}, on the host {host}")
    check_equal("in its namespace, which is ringside's", own, None)


@suite.test
def program_that_forks():
    rows = pids(observe_inside("nops fork --count 4000 --workers 4"))
    check_equal("processes", len({here for here, _, _ in rows}), 4)
    check(all(here and host and own is None for here, own, host in rows), f"pids: {rows}")


@suite.test
def threads_of_the_kernel():
    """SQPOLL threads and the tasks of workers by their numbers here; /proc is read by those."""
    ring, = observe_inside("nops storm --count 20000 --flags sqpoll")["rings"]
    check(ring["pid"] < ring["sq_thread"]["tid"] < 100, f"ring {ring}")
    check(ring["sq_thread"]["cpu_pct"] is not None, f"CPU time is not known: {ring['sq_thread']}")
    report = observe_inside("files async --count 200")
    task, = report["tasks"]
    check_equal("the task", (task["pid"], task["host_pid"]), (report["rings"][0]["pid"], report["rings"][0]["host_pid"]))
    check_equal("threads", (task["tid"], task["host_tid"]), (task["pid"], task["host_pid"]))


@suite.test
def process():
    with container() as enter, server("ring", "run 3", wrapper=enter) as s:
        outside = only_child(s.process.pid)
        with observer("-p", s.pid, wrapper=enter) as o:
            o.wait_ready()
            s.do("run 700")
            s.do("ring")
            s.do("run 40")
            s.quit()
            report = o.result().expect_status(0).report
    check_counts(report, 740)
    check_equal("pids", pids(report), [(s.pid, None, outside)] * 2)
    check_equal("created in the window", [r["created_in_window"] for r in report["rings"]], [False, True])
    features = report["kernel"]["features"].items()
    check_equal("what is not full", [n for n, f in features if f["state"] != "full" and n not in EXTRAS], [])


@suite.test
def thread_means_its_process():
    with container() as enter, server("ring", wrapper=enter) as s:
        script = ("import threading, os, sys\n"
                  "e = threading.Event()\n"
                  "t = threading.Thread(target=e.wait, daemon=True)\n"
                  "t.start()\n"
                  "print(os.getpid(), t.native_id, flush=True)\n"
                  "sys.stdin.read()\n")
        p = subprocess.Popen([*enter, "python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        pid, tid = map(int, p.stdout.readline().split())
        with observer("-p", f"{tid},{s.pid}", wrapper=enter, json_report=False) as o:
            o.wait_ready()
            s.quit()
            check(o.process.poll() is None, "ended before the thread's process")
            p.communicate()
            result = o.result().expect_status(0)
    check(f"pids {pid},{s.pid}" in result.stdout, f"which processes? {result.stdout}")


@suite.test
def same_number_elsewhere():
    """What is asked for is the process that has the number here, and no other."""
    with container() as here, container() as there, server("ring", wrapper=here) as a, server("ring", wrapper=there) as b:
        check_equal("numbers", a.pid, b.pid)
        with observer("-p", a.pid, wrapper=here) as o:
            o.wait_ready()
            b.do("run 400")
            a.do("run 10")
            b.do("ring")
            b.do("run 5")
            a.quit()
            report = o.result().expect_status(0).report
        b.quit()
    check_counts(report, 10)
    check_equal("rings", len(report["rings"]), 1)


@suite.test
def not_in_this_namespace():
    check(os.getpid() > 50, "a number that is free in a new namespace")
    result = stat("-p", os.getpid(), wrapper=NEW).expect_status(FAILED)
    check_equal("what it says", one_line(result.stderr), f"ringside: no process {os.getpid()}")


@suite.test
def nested():
    """A namespace in that of ringside: its numbers there, in its own, on the host."""
    with scratch() as folder, container() as enter:
        out = folder / "truth"
        command = [*NEW, *workload("nops storm --count 900"), "--out", out]
        result = stat("--", *command, wrapper=enter).expect_status(0)
        check_none(truth.mismatches(result.report, json.loads(out.read_text())))
        (here, own, host), = pids(result.report)
        check(1 == own < here < 100 < host, f"pids {here}, {own}, {host}")
        with container(enter) as deeper, server("ring", wrapper=deeper) as s:
            between = [int(n) for n in status(only_child(s.process.pid), "NSpid")]
            check_equal("namespaces", len(between), 3)
            with observer("-p", between[1], wrapper=enter) as o:
                o.wait_ready()
                s.do("run 77")
                s.quit()
                report = o.result().expect_status(0).report
    check_counts(report, 77)
    check_equal("pids", pids(report), [(between[1], between[2], between[0])])


def status(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return next(line.split()[1:] for line in f if line.startswith(key + ":"))


@suite.test
def whole_machine():
    """What is outside has no number here; on the host it has."""
    with scratch() as folder, container() as enter:
        outsider = folder / "rs-outsider"
        shutil.copy(WORKLOADS / "nops", outsider)
        line = [outsider, "storm", "--count", "600", "--out", folder / "truth"]
        with observer("-a", "--comm", outsider.name, wrapper=enter) as o:
            o.wait_ready()
            outside = subprocess.Popen(line, stdout=subprocess.DEVNULL)
            check_equal("status", outside.wait(), 0)
            check_equal("status", subprocess.run([*enter, *line], stdout=subprocess.DEVNULL).returncode, 0)
            os.kill(only_child(o.pid), signal.SIGINT)
            result = o.result().expect_status(0)
            report = result.report
    check_counts(report, 1200)
    rows = pids(report)
    check_equal("the one outside", rows[0], (None, None, outside.pid))
    check(rows[1][0] and rows[1][1] is None and rows[1][2], f"the one inside: {rows[1]}")
    for name in ("ring_scan", "ring_scan_registered"):
        feature = report["kernel"]["features"][name]
        check_equal(name, feature["state"], "degraded")
        check("namespace" in feature["why"], f"why: {feature['why']!r}")
        notes = [note for note in result.stderr.splitlines() if note.startswith(f"ringside: {name}: ")]
        check(len(notes) == 1 and " only in part: " in notes[0], f"notes: {result.stderr!r}")
        check("can't see" not in result.stderr, f"notes: {result.stderr!r}")


# --- mounts and namespaces that do not belong together ---------------------------------
@suite.test
def proc_of_another_namespace():
    """Its numbers are those of other processes: nothing is read by them."""
    strange = ["unshare", "--pid", "--fork", "--kill-child", "--"]
    ring, = observe_inside("nops storm --count 20000 --flags sqpoll", wrapper=strange)["rings"]
    check(ring["pid"] < 100 < ring["host_pid"], f"pids: {ring['pid']}, {ring['host_pid']}")


@suite.test
def namespace_for_children_alone():
    """The program is process 1 of a namespace that ringside is not in; it must be able to end."""
    _, report, want = observe("nops storm --count 3000", wrapper=["unshare", "--pid", "--"])
    check_none(truth.mismatches(report, want))
    (here, own, host), = pids(report)
    check(own == 1 < here and host is None, f"pids: {here}, {own}, {host}")


# --- exit statuses and signals -----------------------------------------------------------
@suite.test
def exit_statuses():
    for command, want in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
                          (["/nonexistent/program"], NOT_FOUND), (["true"], 0)):
        stat("--", *command, wrapper=NEW).expect_status(want)


@suite.test
def signal_from_outside():
    """Also as process 1, whom the kernel protects from signals that it does not ask for."""
    with observer("--", "sleep", "1000", wrapper=NEW) as o:
        o.wait_ready()
        os.kill(only_child(o.pid), signal.SIGTERM)
        o.result().expect_status(128 + signal.SIGTERM)
