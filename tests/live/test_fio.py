# SPDX-License-Identifier: MIT
"""fio as anybody runs it: its jobs are forked children, and its own report counts what they did."""
import json
import shutil

import truth
from ringside import Observer
from testing import Skipped, Suite, check, check_equal, check_none, scratch

suite = Suite()


def observe_fio(*options):
    if not shutil.which("fio"):
        raise Skipped("no fio")
    with scratch() as folder:
        fio_json = folder / "fio.json"
        command = ["fio", "--name=job", "--ioengine=io_uring", f"--directory={folder}", "--size=16m",
                   "--bs=4k", "--output-format=json", f"--output={fio_json}", *options]
        result = Observer(folder, ["--", *command]).result().expect_status(0)
        jobs = json.loads(fio_json.read_text())["jobs"]
        return result.report, jobs


def compare(report, jobs):
    check_none(truth.consistency(report))
    for direction, op in (("read", "READ"), ("write", "WRITE")):
        ios = sum(j[direction]["total_ios"] for j in jobs)
        done = sum(o["completed"] for o in report["ops"] if o["op"] in (op, op + "V", op + "_FIXED"))
        check_equal(f"{op} requests", done, ios)
        moved = sum(o["bytes"] for o in report["ops"] if o["op"] in (op, op + "V", op + "_FIXED"))
        check_equal(f"{op} bytes", moved, sum(j[direction]["io_bytes"] for j in jobs))
    check_equal("rings", len(report["rings"]), len(jobs))


@suite.test
def buffered():
    compare(*observe_fio("--rw=randread", "--iodepth=16"))


@suite.test
def direct():
    compare(*observe_fio("--rw=randrw", "--iodepth=16", "--direct=1"))


@suite.test
def four_jobs():
    compare(*observe_fio("--rw=randread", "--iodepth=8", "--numjobs=4"))


@suite.test
def threads():
    compare(*observe_fio("--rw=randread", "--iodepth=8", "--numjobs=2", "--thread"))


@suite.test
def registered_and_sqpoll():
    report, jobs = observe_fio("--rw=randread", "--iodepth=8", "--sqthread_poll", "--fixedbufs",
                               "--registerfiles")
    compare(report, jobs)
    ring, = report["rings"]
    check(ring["sq_thread"] and ring["sq_thread"]["tid"], f"an SQPOLL ring without a thread: {ring}")
    registers = {r["op"]: r for r in report["registers"]}
    check_equal("registrations of buffers", registers["REGISTER_BUFFERS"]["count"], 1)
    check_equal("registrations of files", registers["REGISTER_FILES"]["count"], 1)


@suite.test
def fsync():
    report, jobs = observe_fio("--rw=write", "--iodepth=8", "--fsync=8", "--size=2m")
    compare(report, jobs)
    fsyncs = sum(o["completed"] for o in report["ops"] if o["op"] == "FSYNC")
    check_equal("FSYNC requests", fsyncs, sum(j["sync"]["total_ios"] for j in jobs))
