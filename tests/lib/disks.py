# SPDX-License-Identifier: MIT
"""Disks of one's own, and what the kernel counts for a disk."""
import contextlib
import pathlib
import shutil
import subprocess

from testing import Skipped, scratch

SECTOR = 512


class Disk:
    def __init__(self, path):
        self.path = path
        self.name = pathlib.Path(path).name
        self.number = pathlib.Path(f"/sys/block/{self.name}/dev").read_text().strip()

    def counts(self):
        """See Documentation/block/stat.rst of the kernel; the times are in ms, rounded down."""
        keys = ("reads", "read_merges", "read_sectors", "read_ms", "writes", "write_merges", "write_sectors", "write_ms")
        fields = pathlib.Path(f"/sys/block/{self.name}/stat").read_text().split()
        return dict(zip(keys, map(int, fields)))

    def since(self, before):
        return {key: n - before[key] for key, n in self.counts().items()}


@contextlib.contextmanager
def loop_disk(mib=32):
    """A loop device over a file that has been written."""
    if not shutil.which("losetup"):
        raise Skipped("there is no losetup")
    with scratch() as folder:
        image = folder / "image"
        image.write_bytes(b"x" * (mib << 20))
        done = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Skipped(f"no loop device: {done.stderr.strip()}")
        path = done.stdout.strip()
        try:
            yield Disk(path)
        finally:
            subprocess.run(["losetup", "--detach", path], check=True)


@contextlib.contextmanager
def ext4_on(disk):
    """A file of 8 MiB on an ext4 of this disk."""
    with scratch() as folder:
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", disk.path], check=True, capture_output=True)
        subprocess.run(["mount", disk.path, folder], check=True)
        try:
            file = folder / "file"
            file.write_bytes(b"x" * (8 << 20))
            subprocess.run(["sync", "-f", file], check=True)
            yield file
        finally:
            subprocess.run(["umount", folder], check=True)


@contextlib.contextmanager
def read_limit(disk, per_second):
    """A file that a process writes its number into, to be held to so many reads of this disk a second."""
    v1, v2 = (pathlib.Path("/sys/fs/cgroup") / name for name in ("blkio", "cgroup.controllers"))
    if (v1 / "blkio.throttle.read_iops_device").exists():
        group, limit, text = v1 / "ringside-test", "blkio.throttle.read_iops_device", f"{disk.number} {per_second}"
    elif v2.exists() and "io" in (v2.parent / "cgroup.subtree_control").read_text().split():
        group, limit, text = v2.parent / "ringside-test", "io.max", f"{disk.number} riops={per_second}"
    else:
        raise Skipped("no control group limits I/O here")
    group.mkdir(exist_ok=True)
    try:
        (group / limit).write_text(text)
        yield group / "cgroup.procs"
    finally:
        group.rmdir()
