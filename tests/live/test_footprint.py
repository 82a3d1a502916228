# SPDX-License-Identifier: MIT
"""What ringside takes, and what it leaves behind, above all when it is killed: nothing; and the program runs on."""
import json
import os
import pathlib
import re
import subprocess

import truth
from ringside import Observer, observe, observer, server, stat, workload
from testing import Failed, Skipped, Suite, check, check_equal, check_none, scratch, wait_until

suite = Suite()

KINDS = ("prog", "map", "link")


def bpf_objects_of(pid):
    """{(kind, id)} of the BPF objects that a process holds."""
    found = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            text = info.read_text()
        except OSError:
            continue
        ids = re.findall(r"^(prog|map|link)_id:\s*(\d+)$", text, re.MULTILINE)
        found |= {(kind, int(n)) for kind, n in ids}
    return found


def bpf_objects():
    """{(kind, id)} of all of them in the kernel."""
    found = set()
    for kind in KINDS:
        done = subprocess.run(["bpftool", "--json", kind, "list"], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise Skipped(f"bpftool {kind} list: {done.stderr.strip() or done.stdout.strip()}")
        found |= {(kind, o["id"]) for o in json.loads(done.stdout)}
    return found


def mounts():
    return pathlib.Path("/proc/self/mounts").read_text().splitlines()


def tracing_mounts():
    return [m for m in mounts() if m.split()[2] in ("tracefs", "debugfs")]


def expect_gone(objects):
    """The kernel releases them a moment later."""
    check(objects, "ringside held no BPF object: this test looks in the wrong place")
    wait_until(lambda: not objects & bpf_objects(), f"the end of {len(objects)} BPF objects")


@suite.test
def killed_while_observing_a_process():
    with server("ring", "load") as s:
        with observer("-p", s.pid) as o:
            o.wait_ready()
            objects = bpf_objects_of(o.pid)
            check_equal("kinds of BPF objects", {kind for kind, _ in objects}, set(KINDS))
            check(objects <= bpf_objects(), "the kernel does not list what ringside holds")
            s.do("turns 100")
            o.process.kill()
            o.process.wait()
        s.do("turns 100")
        expect_gone(objects)
        s.do("turns 100")
        s.do("unload")
        s.quit()


@suite.test
def killed_under_its_program():
    """The program does not notice, and comes to its end."""
    with scratch() as folder:
        commands_read, commands_write = os.pipe()
        answers_read, answers_write = os.pipe()
        o = Observer(folder, ["--", *workload("serve")], stdin=commands_read, stdout=answers_write)
        os.close(commands_read)
        os.close(answers_write)
        with os.fdopen(commands_write, "w") as commands, os.fdopen(answers_read) as answers:

            def do(command):
                commands.write(command + "\n")
                commands.flush()
                return json.loads(answers.readline())

            answers.readline()
            do("ring")
            do("run 1000")
            objects = bpf_objects_of(o.pid)
            o.process.kill()
            o.process.wait()
            do("run 1000")
            expect_gone(objects)
            do("run 500")
            check_equal("what the program did", do("quit")["completed"], 2500)
            check_equal("what follows when it has ended", answers.read(), "")


@suite.test
def nothing_left_after_a_normal_end():
    with server("ring") as s:
        with observer("-p", s.pid) as o:
            o.wait_ready()
            objects = bpf_objects_of(o.pid)
            s.do("run 10")
            o.kill().result().expect_status(0)
        expect_gone(objects)
        s.quit()


def observe_for(seconds):
    """Observes a program for a while that runs on after it. Returns what was seen of its 100 requests."""
    with scratch() as folder:
        commands_read, commands_write = os.pipe()
        o = Observer(folder, ["-d", seconds, "--", *workload("serve")], stdin=commands_read)
        os.close(commands_read)
        with os.fdopen(commands_write, "w") as commands:
            commands.write("ring\nrun 100\n")
            commands.flush()
            o.wait_ready()
            objects = bpf_objects_of(o.pid)
            wait_until(o.json_path.exists, "the report", 20 + seconds)
            expect_gone(objects)
            check(o.process.poll() is None, "ringside did not wait for its program")
            commands.write("run 50\nquit\n")
        report = o.result().expect_status(0).report
    check_none(truth.consistency(report))
    check(report["window"]["duration_ns"] >= seconds * 1e9, f"a window of {report['window']}")
    return report["totals"]["submitted"]


@suite.test(timeout_s=120)
def detached_while_the_program_runs_on():
    """-d with a program: the report comes at the end of the window, and ringside's programs are gone then."""
    for seconds in (0.3, 3, 30):
        if (submitted := observe_for(seconds)) == 100:
            return
        # a busy machine lets the program begin late
    raise Failed(f"{submitted} requests of 100 in {seconds} s")


@suite.test
def no_mounts():
    """tracefs and debugfs are neither needed nor left mounted."""
    if tracing_mounts():
        raise Skipped(f"mounted already: {tracing_mounts()}")
    before = mounts()
    with observer("-a") as o:
        o.wait_ready()
        check_equal("mounts while observing", mounts(), before)
        o.kill().result().expect_status(0)
    observe("nops storm --count 1000")
    check_equal("mounts", mounts(), before)


@suite.test
def no_descriptors_for_the_program():
    """Nothing of ringside's is open in the program."""
    listing = stat("-o", "/dev/null", "--", "ls", "-l", "/proc/self/fd").expect_status(0).stdout
    numbers = sorted(int(n) for n, target in re.findall(r" (\d+) -> (\S+)", listing)
                     if not target.startswith("/proc/"))
    check_equal("open in the program", numbers, [0, 1, 2])


def kernel_bytes_of(pid):
    """Of the maps that a process holds, each once, as the kernel counts them."""
    maps = {}
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        text = info.read_text()
        if (name := re.search(r"^map_id:\s*(\d+)$", text, re.MULTILINE)):
            maps[name[1]] = int(re.search(r"^memlock:\s*(\d+)$", text, re.MULTILINE)[1])
    return sum(maps.values())


def resident_bytes_of(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)[1]) << 10


def sizes_with(*options):
    """(bytes in the kernel, most bytes resident) of ringside while it observes the machine."""
    with observer("-a", *options) as o:
        o.wait_ready()
        sizes = kernel_bytes_of(o.pid), resident_bytes_of(o.pid)
        o.kill().result().expect_status(0)
    return sizes


@suite.test
def small():
    """Memory, of which the sizes of the tables decide; the sizes that a common machine gets."""
    small_kernel, small_resident = sizes_with("--max-rings", "1", "--max-inflight", "8")
    kernel, resident = sizes_with("--max-rings", "1200", "--max-inflight", "65536")
    check(kernel <= 40 << 20, f"{kernel} bytes in the kernel")
    check(resident <= 40 << 20, f"{resident} bytes resident")
    check(small_kernel <= 12 << 20, f"{small_kernel} bytes in the kernel with small tables")
    check(small_resident <= resident, f"{small_resident} bytes resident with small tables, else {resident}")


@suite.test
def nothing_pinned():
    bpffs = pathlib.Path("/sys/fs/bpf")
    before = sorted(bpffs.rglob("*"))
    stat("--", *workload("nops storm --count 1000"), "--out", "/dev/null").expect_status(0)
    check_equal("pinned", sorted(bpffs.rglob("*")), before)
