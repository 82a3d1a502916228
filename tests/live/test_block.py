# SPDX-License-Identifier: MIT
"""What the block layer does for requests, beside what the workload and the kernel's own counts say."""
import contextlib
import json

import disks
import truth
from ringside import WORKLOAD_SKIPS, observe, stat, workload
from testing import Skipped, Suite, check, check_equal, check_none, scratch

suite = Suite()


def op_of(report, name):
    return next(op for op in report["ops"] if op["op"] == name)


def block(line, *options):
    """The report on a workload, its opcode there, and its truth. Stages sum to the latency, whatever it did."""
    _, report, said = observe(f"block {line}", "--block", *options)
    if report["kernel"]["features"]["block"]["state"] != "full":
        raise Skipped(report["kernel"]["features"]["block"]["why"])
    check_none(truth.block_mismatches(report, said))
    return report, op_of(report, said["op"]), said


def device_of(report, disk):
    device = next(d for d in report["devices"] if d["name"] == disk.name)
    check_equal("number", f"{device['major']}:{device['minor']}", disk.number)
    return device


@contextlib.contextmanager
def loop():
    with disks.loop_disk() as disk:
        yield disk


def counted(disk, line):
    """The report, the opcode, the disk in it, and what the kernel counted for that disk meanwhile; all of it is ours."""
    before = disk.counts()
    report, op, said = block(line)
    device, kernel = device_of(report, disk), disk.since(before)
    check_equal("reads", device["reads"], kernel["reads"])
    check_equal("read_bytes", device["read_bytes"], kernel["read_sectors"] * disks.SECTOR)
    check_equal("requests in the histogram", device["latency_ns"]["count"], device["requests"])
    check_equal("in_flight", device["in_flight"], 0)
    return op, device, kernel, said


def check_times(op, device, kernel, direction):
    """
    The kernel counts a request from when it is made, before it goes to the disk, until it is given back, after who
    waits for it was told, however long that takes; it shows whole milliseconds.
    """
    kernel_ms = kernel[f"{direction}_ms"]
    check(device["latency_ns"]["sum"] <= (kernel_ms + 1) * 1_000_000,
          f"{device['latency_ns']['sum']} ns with the disk, the kernel says {kernel_ms} ms")
    check_equal("time with the disk", op["stages"]["device"]["sum"], device["latency_ns"]["sum"])


def direct(disk, path, options=""):
    """One request of the block layer for each io_uring request, one after the other."""
    op, device, kernel, said = counted(disk, f"direct --path {path} --count 2000{options}")
    check_equal("observed", device["observed"], said["requests"])
    check_equal("requests", kernel["reads"], said["requests"])
    for stage in "blk_queue", "device", "deliver":
        check_equal(stage, op["stages"][stage]["count"], said["requests"])
    check_equal("other", op["stages"]["other"]["sum"], 0)
    check_equal("merged and split", (device["merged"], device["split"]), (0, 0))
    check_equal("sizes", device["request_bytes"]["buckets"], [[4096, said["requests"]]])
    check_times(op, device, kernel, "read")
    return device


@suite.test
def of_a_disk():
    with loop() as disk:
        device = direct(disk, disk.path)
        check_equal("depth_max", device["depth_max"], 1)


@suite.test
def of_a_file():
    with loop() as disk, disks.ext4_on(disk) as file:
        direct(disk, file)


@suite.test
def several_at_a_time():
    with loop() as disk:
        for flags in "", " --flags sqpoll", " --flags defer":
            device = direct(disk, disk.path, f" --depth 16{flags}")
            check(2 <= device["depth_max"] <= 16, f"depth_max: {device['depth_max']}")
            check(device["depth_mean"] <= device["depth_max"], f"depth_mean: {device['depth_mean']}")


@suite.test
def by_workers():
    with loop() as disk:
        op, device, _, said = counted(disk, f"async --path {disk.path} --count 300 --depth 4")
        check_equal("observed", device["observed"], said["requests"])
        for stage in "blk_queue", "device", "deliver":
            check_equal(stage, op["stages"][stage]["count"], said["requests"])


@suite.test
def writes():
    with loop() as disk:
        before = disk.counts()
        report, op, said = block(f"write --path {disk.path} --count 300 --depth 4")
        device, kernel = device_of(report, disk), disk.since(before)
        check_equal("writes", (device["writes"], kernel["writes"]), (said["requests"], said["requests"]))
        check_equal("written_bytes", device["written_bytes"], said["bytes"])
        check_equal("with the disk", op["stages"]["device"]["count"], said["requests"])
        check_times(op, device, kernel, "write")


@suite.test
def in_parts():
    """One request takes several of the disk: from the first that is issued to the last that is done."""
    with loop() as disk:
        op, device, kernel, said = counted(disk, f"direct --path {disk.path} --count 50 --bytes 4194304")
        check_equal("bytes", device["read_bytes"], said["bytes"])
        check(kernel["reads"] > said["requests"] and device["observed"] == kernel["reads"],
              f"{device['observed']} of {kernel['reads']} requests are ours")
        check_equal("with the disk", op["stages"]["device"]["count"], said["requests"])
        check(op["stages"]["device"]["max"] * 1.07 >= device["latency_ns"]["max"],
              f"{op['stages']['device']} is shorter than a part of it: {device['latency_ns']['max']}")


@suite.test
def buffered():
    """What is not in the page cache is read by the request that is being issued; who need not wait has no time there."""
    with loop() as disk, disks.ext4_on(disk) as file:
        for scenario, exact in ("cold", False), ("cold-async", True):
            report, op, said = block(f"{scenario} --path {file} --count 500 --depth 4")
            device = device_of(report, disk)
            check_equal(f"{scenario}: observed reads", device["reads"], said["requests"])
            check(device["observed"] >= said["requests"], f"{scenario}: {device['observed']} observed")
            n = op["stages"]["device"]["count"]
            check(n == said["requests"] if exact else 0 < n <= said["requests"], f"{scenario}: {n} with the disk")
            check_equal(f"{scenario}: blk_queue", op["stages"]["blk_queue"]["count"], n)


@suite.test
def cached():
    with loop() as disk:
        report, op, _ = block(f"cached --path {disk.path} --count 2000")
        for stage in "blk_queue", "device":
            check_equal(stage, op["stages"][stage]["count"], 0)
        check_equal("devices", report["devices"], [])


@suite.test
def writeback():
    """An FSYNC writes what others left in the page cache, and has the disk flush."""
    with loop() as disk:
        report, op, said = block(f"fsync --path {disk.path} --count 50")
        device = device_of(report, disk)
        check_equal("written_bytes", device["written_bytes"], said["requests"] * 4096)
        check_equal("observed", device["observed"], said["requests"])
        check_equal("FSYNCs with the disk", op["stages"]["device"]["count"], said["requests"])
        check(op["stages"]["device"]["sum"] >= device["latency_ns"]["sum"] / 4, f"{op['stages']} beside {device}")


@suite.test
def held_back():
    """What a control group's limit holds back waits in the queue, and nowhere else."""
    with loop() as disk, disks.read_limit(disk, 100) as procs, scratch() as folder:
        line = workload(f"block direct --path {disk.path} --count 100 --out {folder}/truth.json")
        done = stat("--block", "--", "sh", "-c", 'echo $$ >"$0"; exec "$@"', procs, *line)
        if done.status == WORKLOAD_SKIPS:
            raise Skipped(done.stderr)
        op = op_of(done.expect_status(0).report, "READ")
        sums = {name: stage["sum"] for name, stage in op["stages"].items() if stage}
        check_equal("sum", sum(sums.values()), op["latency_ns"]["sum"])
        # 100 requests at 100 a second, the first few of which are free
        check(sums["blk_queue"] >= 500_000_000, f"not held back: {sums}")
        check_equal("requests with the disk", op["stages"]["device"]["count"], 100)
        check_equal("elsewhere", (sums["other"], sums["armed"], sums["wq"] if "wq" in sums else 0), (0, 0, 0))


@suite.test
def sampled():
    """Disks count all, stages what is timed."""
    with loop() as disk:
        report, op, said = block(f"direct --path {disk.path} --count 2000", "--sample", "4")
        check_equal("observed", device_of(report, disk)["observed"], said["requests"])
        check_equal("with the disk", op["stages"]["device"]["count"], op["latency_ns"]["count"])


@suite.test
def not_asked_for():
    with loop() as disk:
        _, report, said = observe(f"block direct --path {disk.path} --count 100")
        stages = op_of(report, "READ")["stages"]
        check_equal("stages", (stages["blk_queue"], stages["device"], report["devices"]), (None, None, None))
        check_equal("why", report["kernel"]["features"]["block"]["why"], "not asked for (--block)")
        check(stages["other"]["count"] + stages["issue"]["count"] >= said["requests"], f"elsewhere: {stages}")


@suite.test
def by_intervals():
    """What the intervals say sums to all there was."""
    with loop() as disk, scratch() as folder:
        line = workload(f"block direct --path {disk.path} --count 10000 --out {folder}/truth.json")
        done = stat("--block", "-i", "0.02", "--", *line).expect_status(0)
        reports = [json.loads(text) for text in done.json_path.read_text().splitlines()]
        there = [d for report in reports for d in report["devices"] if d["name"] == disk.name]
        check_equal("reads", sum(d["reads"] for d in there), 10000)
        check_equal("times", sum(d["latency_ns"]["count"] for d in there), 10000)
