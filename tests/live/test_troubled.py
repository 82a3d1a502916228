# SPDX-License-Identifier: MIT
"""Files of requests that went to workers unasked, failed or were slow, named as the program sees them."""
import contextlib
import json
import os

from ringside import WORKLOAD_SKIPS, Observer, observe, workload
from testing import Skipped, Suite, check, check_equal, scratch

suite = Suite()

FACTS = ("path", "kind", "deleted", "inode", "op", "punted", "errors")


def facts(files):
    return sorted(tuple(f[key] for key in FACTS) for f in files)


def check_files(report, truth):
    if report["kernel"]["features"]["files"]["state"] == "off":
        check_equal("files", report["files"], None)
        return
    check_equal("files", facts(report["files"]), facts(truth))
    check_equal("files without a place", (report["fidelity"]["files_lost"], report["files_other"]), (0, None))


@suite.test
def every_kind():
    """The program has ended, its sockets are gone and a file is deleted by the time that anybody could ask."""
    _, report, truth = observe("troubled")
    check_files(report, truth)
    known = {f["path"]: f for f in report["files"] or []}
    for path, f in known.items():
        if path.startswith(os.sep):
            check(f["dev"].partition(":")[1], f"{path} is on device {f['dev']}")


@suite.test
def without_extras():
    _, report, truth = observe("troubled", "--no-extras")
    check_files(report, truth)


@suite.test
def by_the_sqpoll_thread():
    _, report, truth = observe("troubled --sqpoll")
    check_files(report, truth)


@contextlib.contextmanager
def in_mount_namespace(script, *args):
    """Observes the workload where the script, whose $1 is a directory, has mounted something on $1/inside."""
    with scratch() as folder:
        (folder / "inside").mkdir()
        truth = folder / "truth.json"
        shell = f'set -e; {script}; shift; exec "$@"'
        result = Observer(folder, [*args, "--", "unshare", "-m", "sh", "-c", shell, "sh", folder,
                                   *workload("troubled"), "--dir", folder / "inside", "--out", truth]).result()
        if result.status == WORKLOAD_SKIPS:
            raise Skipped(result.stderr.strip().splitlines()[-1])
        yield result.expect_status(0).report, json.loads(truth.read_text()), folder


@suite.test
def in_a_mount_namespace():
    """What is mounted there and nowhere else."""
    with in_mount_namespace('mount -t tmpfs none "$1/inside"') as (report, truth, folder):
        check_files(report, truth)
        path = str(folder / "inside" / "fixed")
        check(path in {f["path"] for f in truth}, f"the workload does not know {path}")


@suite.test
def where_another_directory_is_mounted():
    with in_mount_namespace('mkdir "$1/real"; mount --bind "$1/real" "$1/inside"') as (report, truth, folder):
        check_files(report, truth)
        check((folder / "real" / "fixed").exists(), "nothing was mounted")


@suite.test
def slow_requests():
    """Every request is slow if that begins at 1 ns; none is if it begins at an hour."""
    _, report, said = observe("files write --count 20", "--slow=1ns")
    if report["kernel"]["features"]["files"]["state"] == "off":
        raise Skipped("files can't be known here")
    by_op = {f["op"]: f for f in report["files"]}
    for op in ("WRITE", "FSYNC"):
        check_equal(f"slow {op}", by_op[op]["slow"], said["ops"][op]["completed"])
        latency = next(o for o in report["ops"] if o["op"] == op)["latency_ns"]
        check_equal(f"time of {op}", by_op[op]["time_ns"], latency["sum"])
    check_equal("files", len({(f["path"], f["inode"]) for f in report["files"]}), 1)
    _, report, _ = observe("files write --count 20", "--slow=1h")
    check_equal("slow", sum(f["slow"] for f in report["files"]), 0)


@suite.test
def what_waits_is_not_slow():
    """Requests that wait for their peer, or for the one before them, have no trouble with their file."""
    _, report, _ = observe("stages armed", "--slow=5ms")
    check_equal("files", report["files"] or [], [])


@suite.test
def punts_of_a_file():
    _, report, said = observe("files unwanted --count 200")
    if report["kernel"]["features"]["files"]["state"] == "off":
        raise Skipped("files can't be known here")
    one, = report["files"]
    check_equal("punts", one["punted"], said["ops"]["READ"]["punted_by"]["unwanted"])
    check(one["path"].endswith("/stat"), f"the file is {one['path']}")
    punt, = report["findings"]
    check_equal("the finding's file", (punt["file"], punt["evidence"]["file"]), (one["path"], one["path"]))
    check(one["path"] in punt["title"], f"the title says nothing of it: {punt['title']}")


@suite.test
def nothing_to_say():
    _, report, _ = observe("nops storm --count 1000")
    check_equal("files", report["files"] or [], [])
