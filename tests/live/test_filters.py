# SPDX-License-Identifier: MIT
"""--uid, --comm, --cgroup: exactly the rings that were asked for, with every kind of target."""
import contextlib
import os
import pathlib

import truth
from ringside import observe, observer, rules, server, stat, workload
from testing import Skipped, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

NOBODY, DAEMON = 65534, 1


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


@contextlib.contextmanager
def servers(*how):
    """A server for each dict of Server's arguments, with a ring that has been used."""
    with contextlib.ExitStack() as stack:
        started = [stack.enter_context(server("ring", "run 10", **h)) for h in how]
        for s in started:
            s.rings = 1
        yield started


@contextlib.contextmanager
def named(program, *names):
    """Paths to a workload under other names: what it is called is what its processes are called."""
    with scratch() as folder:
        for name in names:
            (folder / name).symlink_to(workload(program)[0])
        yield [str(folder / name) for name in names]


def requests_by_pid(report):
    found = {}
    for ring in report["rings"]:
        found[ring["pid"]] = found.get(ring["pid"], 0) + ring["totals"]["submitted"]
    return found


def check_only(target, options, wanted, unwanted):
    """Rings that exist and rings that come: those of the wanted servers are counted, and no other."""
    with observer(*target, *options) as o:
        o.wait_ready()
        for i, s in enumerate([*unwanted, *wanted]):
            s.do(f"run {100 * (i + 1)}")
            s.do("ring")
            s.do("run 7")
            s.do("hold 3")
            s.do("release")
            s.rings += 1
        report = o.kill().result().expect_status(0).report
    check_none(truth.consistency(report))
    check_equal(f"requests with {options}", requests_by_pid(report),
                {s.pid: 100 * (i + 1) + 10 for i, s in enumerate([*unwanted, *wanted]) if s in wanted})
    check_equal("rings", len(report["rings"]), sum(s.rings for s in wanted))
    check_equal("rings that came", sum(r["created_in_window"] for r in report["rings"]), len(wanted))
    return report


def check_pids(options, wanted, unwanted):
    pids = ",".join(str(s.pid) for s in [*wanted, *unwanted])
    return check_only(["-p", pids], options, wanted, unwanted)


def check_all(options, wanted, unwanted):
    return check_only(["-a"], options, wanted, unwanted)


def check_with_each_target(options, wanted, unwanted):
    check_all(options, wanted, unwanted)
    return check_pids(options, wanted, unwanted)


# --- user ------------------------------------------------------------------------------
@suite.test
def user():
    with servers({"wrapper": as_user(NOBODY)}, {"wrapper": as_user(DAEMON)}, {}) as (nobody, daemon, root):
        check_with_each_target(["--uid", NOBODY], [nobody], [daemon, root])
        check_with_each_target(["--uid", "daemon"], [daemon], [nobody, root])


@suite.test
def user_of_a_program():
    storm = f"{workload('nops')[0]} storm --out /dev/null --count"
    script = f"{' '.join(as_user(NOBODY))} {storm} 700 & {storm} 4000; wait"
    report = stat("--uid", "nobody", "--", "/bin/sh", "-c", script).expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("rings, requests", (len(report["rings"]), report["totals"]["submitted"]), (1, 700))


# --- name ------------------------------------------------------------------------------
@suite.test
def name():
    with named("serve", "abc", "abcd", "fifteen-letters") as paths:
        with servers(*({"line": [path]} for path in paths)) as (abc, abcd, fifteen):
            check_with_each_target(["--comm", "abc"], [abc], [abcd, fifteen])
            check_with_each_target(["--comm", "abcd"], [abcd], [abc, fifteen])
            report = check_with_each_target(["--comm", "fifteen-letters"], [fifteen], [abc, abcd])
            check_equal("names", {r["comm"] for r in report["rings"]}, {"fifteen-letters"})


@suite.test
def name_of_a_thread_is_not_that_of_its_process():
    with named("nops", "several") as (path,):
        program = [path, "threads", "--workers", "3", "--count", "900", "--out", "/dev/null"]
        report = stat("--comm", "several", "--", *program).expect_status(0).report
        check_equal("rings, requests", (len(report["rings"]), report["totals"]["submitted"]), (3, 900))
        report = stat("--comm", "nops", "--", *program).expect_status(0).report
        check_equal("rings, requests", (report["rings"], report["totals"]["submitted"]), ([], 0))


@suite.test
def name_among_the_children_of_a_program():
    with named("nops", "this", "that") as (this, that):
        script = f"{this} churn --workers 20 --count 600 --out /dev/null & {that} fork --out /dev/null; wait"
        report = stat("--comm", "this", "--", "/bin/sh", "-c", script).expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("rings, requests", (len(report["rings"]), report["totals"]["submitted"]), (20, 600))


@suite.test
def whole_machine_while_a_program_runs():
    """-a with a PROGRAM: the filter applies to the program as to all others."""
    # names that nothing else on the machine has
    other, ours = f"other{os.getpid()}", f"ours{os.getpid()}"
    with named("serve", other) as (path,), named("nops", ours) as (program,), \
            servers({"line": [path]}) as (outside,):
        for comm, wanted in ((other, set()), (ours, {5000})):
            report = stat("-a", "--comm", comm, "--", program, "storm", "--count", "5000", "--out",
                          "/dev/null").expect_status(0).report
            check_equal(f"requests of {comm}", set(requests_by_pid(report).values()) - {0}, wanted)
            check_equal("the other's ring is there", outside.pid in requests_by_pid(report), comm == other)


# --- cgroup ----------------------------------------------------------------------------
def cgroup_mount():
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind = line.split()[:3]
        if kind == "cgroup2":
            return pathlib.Path(where)
    raise Skipped("no cgroup2 file system is mounted")


@contextlib.contextmanager
def cgroups(*names):
    """Folders below the cgroup2 mount; NAME/NAME is one below another."""
    top = cgroup_mount() / f"ringside-test-{os.getpid()}"
    made = []
    try:
        for path in (top, *(top / n for n in names)):
            try:
                path.mkdir()
            except OSError as e:
                raise Skipped(f"can't make {path}: {e.strerror}") from e
            made.append(path)
        yield made[1:]
    finally:
        for path in reversed(made):
            wait_until(lambda p=path: remove(p), f"{path} to be empty")


def remove(path):
    try:
        path.rmdir()
    except OSError:
        return False
    return True


def inside(cgroup):
    """A wrapper that moves itself there and runs a program."""
    return ["/bin/sh", "-c", f"echo $$ >{cgroup}/cgroup.procs && exec \"$@\"", "sh"]


def in_hierarchy(path):
    return "/" + str(path.relative_to(cgroup_mount()))


@suite.test
def cgroup():
    with cgroups("a", "a/inner", "b") as (a, inner, b):
        hows = [{"wrapper": inside(c)} for c in (a, inner, b)]
        with servers(*hows, {}) as (in_a, in_inner, in_b, elsewhere):
            check_pids(["--cgroup", b], [in_b], [in_a, in_inner, elsewhere])
            report = check_with_each_target(["--cgroup", a], [in_a, in_inner], [in_b, elsewhere])
            check_equal("paths", {r["pid"]: r["cgroup"] for r in report["rings"]},
                        {in_a.pid: in_hierarchy(a), in_inner.pid: in_hierarchy(inner)})
            # by the path in the hierarchy, as /proc/PID/cgroup has it
            check_all(["--cgroup", in_hierarchy(inner)], [in_inner], [in_a, in_b, elsewhere])
            check_pids(["--cgroup", a.parent], [in_a, in_inner, in_b], [elsewhere])


@suite.test
def cgroup_of_a_program():
    storm = f"{workload('nops')[0]} storm --out /dev/null --count"
    with cgroups("a", "a/inner", "b") as (a, inner, b):
        parts = [f"{' '.join(inside(c)[:2])} 'echo $$ >{c}/cgroup.procs && exec {storm} {n}'"
                 for c, n in ((a, 100), (inner, 2000), (b, 30000))]
        script = " & ".join([*parts, f"{storm} 400000"]) + "; wait"
        for path, requests in ((a, 2100), (inner, 2000), (b, 30000)):
            report = stat("--cgroup", path, "--", "/bin/sh", "-c", script).expect_status(0).report
            check_none(truth.consistency(report))
            check_equal(f"requests in {path.name}", report["totals"]["submitted"], requests)
            # its processes have ended long ago
            check(all(r["cgroup"].startswith(in_hierarchy(path)) for r in report["rings"]),
                  f"cgroups of {report['rings']}")


@suite.test
def cgroup_that_a_process_leaves():
    """Decided once a ring: the ring stays what it was, the process's next ring is another's."""
    with cgroups("a", "b") as (a, b), servers({"wrapper": inside(a)}) as (s,):
        with observer("-a", "--cgroup", a) as o:
            o.wait_ready()
            (b / "cgroup.procs").write_text(f"{s.pid}\n")
            s.do("run 40")
            s.do("ring")
            s.do("run 500")
            report = o.kill().result().expect_status(0).report
        check_equal("requests", [r["totals"]["submitted"] for r in report["rings"]], [40])


# --- all at once -------------------------------------------------------------------------
@suite.test
def every_filter_at_once():
    with cgroups("a") as (a,), named("serve", "this", "that") as (this, that):
        hows = [{"line": [path], "wrapper": [*(inside(a) if c else []), *as_user(uid)]}
                for path in (this, that) for uid in (NOBODY, DAEMON) for c in (True, False)]
        with servers(*hows) as (wanted, *unwanted):
            check_with_each_target(["--comm", "this", "--uid", NOBODY, "--cgroup", a], [wanted], unwanted)


@suite.test
def nothing_matches():
    _, report, _ = observe("nops churn", "--comm", "no-such-name")
    check_equal("rings, requests", (report["rings"], report["totals"]["submitted"]), ([], 0))
    check_none(truth.consistency(report))


@suite.test
def others_come_and_go():
    """Rings that the filter leaves out, more than there is room for at a time."""
    with named("nops", "crowd", "single") as (crowd, single):
        script = (f"{crowd} churn --workers 6000 --count 60000 --out /dev/null & "
                  f"{single} churn --workers 30 --count 3000 --out /dev/null; wait")
        report = stat("--comm", "single", "--", "/bin/sh", "-c", script).expect_status(0).report
    check_none(truth.consistency(report))
    check_equal("rings, requests", (len(report["rings"]), report["totals"]["submitted"]), (30, 3000))


# --- foreign rings -----------------------------------------------------------------------
GATHER = 800


def check_one_ring(report, requests):
    """Exact, and in the only place that there is."""
    check_none(truth.consistency(report))
    check_equal("findings", rules(report), set())
    check_equal("requests of each ring", [r["totals"]["submitted"] for r in report["rings"]], [requests])
    check_equal("rings summed", report["rings_other"], None)


@suite.test
def thousands_of_others():
    """Rings of no target take no place: not those that are there, nor those that come, nor their use."""
    with contextlib.ExitStack() as stack:
        others = [stack.enter_context(server(line=f"rings gather --workers {GATHER}")) for _ in range(2)]
        target = stack.enter_context(server("ring", "run 10"))
        with observer("-p", target.pid, "--max-rings", "1") as o:
            o.wait_ready()
            for i in range(2):
                for other in others:
                    other.do("go")
                    target.do(f"run {1000 * (i + 1)}")
            report = o.kill().result().expect_status(0).report
        check_one_ring(report, 6000)
        for other in others:
            check_equal("rings of another", other.quit()["rings"], 3 * GATHER)


@suite.test
def many_others_and_a_filter():
    """The same where it is a filter that leaves them out."""
    with contextlib.ExitStack() as stack:
        other = stack.enter_context(server(line=f"rings gather --workers {GATHER}"))
        path, = stack.enter_context(named("serve", "alone"))
        target = stack.enter_context(server(line=[path]))
        with observer("-a", "--comm", "alone", "--max-rings", "1") as o:
            o.wait_ready()
            other.do("go")
            target.do("ring")
            target.do("run 500")
            other.do("go")
            target.do("run 70")
            report = o.kill().result().expect_status(0).report
    check_one_ring(report, 570)


TURNS, TURNOVER, NOPS = 6, 150, 4


@suite.test
def addresses_of_others():
    """What a target gives back a stranger gets, and the other way round; half of them die with a child."""
    line = f"rings turnover --workers {TURNOVER} --batch {NOPS}"
    with server(line=line) as target, server(line=line) as other:
        with observer("-p", target.pid) as o:
            o.wait_ready()
            for turn in range(TURNS):
                order = (target, other) if turn % 3 else (other, target)
                for s in order:
                    s.do("go")
                # now both at once
                for s in order:
                    s.process.stdin.write("go\n")
                    s.process.stdin.flush()
                for s in order:
                    s.reply()
            said = target.quit()
            report = o.result().expect_status(0).report
        other.quit()
    check_none(truth.mismatches(report, said))
    check_equal("findings", rules(report), set())
    check_equal("rings", said["rings"], 2 * TURNS * TURNOVER)
    check_equal("requests of each ring", {r["totals"]["submitted"] for r in report["rings"]}, {NOPS})
