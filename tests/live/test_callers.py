# SPDX-License-Identifier: MIT
"""Who submits requests that go to workers unasked: functions named as the program's author did, where that can be known."""
import contextlib

from ringside import Server, observe, observer
from testing import Skipped, Suite, check, check_equal, scratch

suite = Suite()


@contextlib.contextmanager
def observed(kind="callers", wrapper=(), before=None):
    """Attaches to a workload, has it submit, and hands out the report and what the workload says."""
    s = Server(kind, wrapper=wrapper)
    try:
        if before:
            before()
        with observer("-p", s.pid) as o:
            o.wait_ready()
            said = s.do("go")
            report = o.kill().result().expect_status(0).report
        if report["kernel"]["features"]["call_sites"]["state"] == "off":
            check_equal("call sites", report["call_sites"], None)
            raise Skipped("call sites can't be known here")
        check_equal("stacks not told", (report["fidelity"]["stacks_skipped"], report["fidelity"]["stacks_lost"]),
                    (0, 0))
        yield report["call_sites"], said
    finally:
        s.process.kill()
        s.process.wait()


def own(site):
    """The frames in the workload's code, the innermost first."""
    return [f for f in site["stack"] if "callers" in (f["module"] or "")]


def check_functions(sites, said, lines=True):
    """Each of both functions with its requests, the line of the call, and who called it."""
    check_equal("sites", len(sites), 2)
    for site in sites:
        # the library may be part of the program
        chain = [f for f in own(site) if not (f["function"] or "").startswith(("io_uring", "__io_uring"))]
        name = chain[0]["function"]
        check(name in said, f"{name} is no function that submits")
        line, count = said[name]
        check_equal(f"requests of {name}", (site["op"], site["samples"]), ("READ", count))
        check_equal("callers", [f["function"] for f in chain[1:3]], ["repeat", "main"])
        check(site["caller"].startswith(name), f"the caller is {site['caller']}")
        check_equal("the stack is all", (site["complete"], site["why"]), (True, None))
        if lines:
            check_equal("line", (chain[0]["file"].rpartition("/")[2], chain[0]["line"]), ("callers.c", line))
        else:
            check_equal("line", (chain[0]["file"], chain[0]["line"]), (None, None))


@suite.test
def with_debug_information():
    with observed() as (sites, said):
        check_functions(sites, said)


@suite.test
def not_position_independent():
    with observed("callers-fixed") as (sites, said):
        check_functions(sites, said)


@suite.test
def without_debug_information():
    with observed("callers-nodebug") as (sites, said):
        check_functions(sites, said, lines=False)


@suite.test
def with_the_library_linked_in():
    with observed("callers-linked") as (sites, said):
        check_functions(sites, said)


@suite.test
def stripped():
    """Module and offset are all there is; they tell both calls apart."""
    with observed("callers-stripped") as (sites, said):
        check_equal("requests", sorted(s["samples"] for s in sites), sorted(n for _, n in said.values()))
        for site in sites:
            check_equal("functions", {f["function"] for f in own(site)}, {None})
            check(site["caller"].startswith("callers-stripped+0x"), f"the caller is {site['caller']}")
            check(site["complete"], f"the stack ends: {site['why']}")
        check_equal("calls", len({own(site)[0]["offset"] for site in sites}), 2)


@suite.test
def frame_pointers_alone():
    with observed("callers-frames") as (sites, said):
        check_functions(sites, said)


@suite.test
def neither_frame_pointers_nor_unwind_information():
    """Who called the library is still known; beyond that the report says that it is not."""
    with observed("callers-bare") as (sites, said):
        for site in sites:
            name = own(site)[0]["function"]
            check(name in said, f"{name} is no function that submits")
            check(site["caller"].startswith(name), f"the caller is {site['caller']}")
            check_equal("the stack is all", site["complete"], False)
            check("unwind information" in site["why"], f"why: {site['why']}")
            check("main" not in [f["function"] for f in own(site)[:2]], "main was guessed")
        counts = {name: sum(s["samples"] for s in sites if own(s)[0]["function"] == name) for name in said}
        check_equal("requests", counts, {name: n for name, (_, n) in said.items()})


@suite.test
def in_a_mount_namespace():
    """A program on a filesystem that is mounted there and nowhere else."""
    with scratch() as folder:
        inside = folder / "inside"
        inside.mkdir()
        shell = f'set -e; mount -t tmpfs none {inside}; cp "$1" {inside}/callers; exec {inside}/callers'
        with observed(wrapper=("unshare", "-m", "sh", "-c", shell, "sh")) as (sites, said):
            check_functions(sites, said)
            check_equal("module", {own(s)[0]["module"] for s in sites}, {f"{inside}/callers"})


@suite.test
def deleted_while_running():
    """A program whose file no name leads to any more."""
    with scratch() as folder:
        copy = folder / "callers"
        with observed(wrapper=("sh", "-c", f'cp "$1" {copy}; exec {copy}', "sh"), before=copy.unlink) as (sites, said):
            check_functions(sites, said)


@suite.test
def by_sqpoll_threads():
    """They submit for others: nobody knows for whom."""
    _, report, _ = observe("files unwanted --count 50 --flags sqpoll")
    check_equal("call sites", report["call_sites"], None)


@suite.test
def too_many():
    """Stacks are taken of some, and how many were not asked is said."""
    _, report, said = observe("files unwanted --count 20000")
    if report["call_sites"] is None:
        raise Skipped("call sites can't be known here")
    f = report["fidelity"]
    samples = sum(s["samples"] for s in report["call_sites"])
    check(f["stacks_skipped"] > 0, "every stack was taken")
    check_equal("punts", samples + f["stacks_skipped"] + f["stacks_lost"],
                said["ops"]["READ"]["punted_by"]["unwanted"])


@suite.test
def nothing_to_say():
    _, report, _ = observe("nops storm --count 1000")
    check_equal("call sites", report["call_sites"] or [], [])
