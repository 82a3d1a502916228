# SPDX-License-Identifier: MIT
"""Gets a kernel and boots it in QEMU, to its end."""
import contextlib
import shutil
import subprocess
import tarfile

from tables import HERE, ROOT
from testing import Failed, Skipped

EXIT_SKIP = 77
FETCH_LIMIT_S = 900
# How long a guest may say nothing. It names each case, and gives up on one after less.
STALL_S = 400
DISK_BYTES = 64 << 20
COMMON_INITRD = ROOT / "build" / "vm" / "initrd.gz"
# KVM is left alone: it is not available everywhere, and rates are of no interest here. A CPU with
# cmpxchg16b, the pc machine type and a thread for each CPU are unreliable under emulation.
# A guest does not outlive this process.
QEMU = ("setpriv --pdeathsig KILL qemu-system-x86_64 -M q35 -accel tcg,thread=single -cpu qemu64,-cx16"
        " -smp 2 -m 2G -display none -nodefaults -no-reboot -device virtio-serial").split()
# Without mitigations, which only cost time here; queues without interrupts, for IOPOLL.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 mitigations=off nvme.poll_queues=1"


def make_initrd(*args):
    if subprocess.run([HERE / "mkinitrd", *args], check=False).returncode:
        raise Failed("no initrd")


def fetch(kernel):
    """Its package and version."""
    done = subprocess.run([HERE / "fetch", kernel.name], capture_output=True, text=True, check=False,
                          timeout=FETCH_LIMIT_S)
    if done.returncode == EXIT_SKIP:
        raise Skipped(done.stderr.strip())
    if done.returncode:
        raise Failed("fetch: " + done.stderr.strip())
    return (kernel.directory / "version").read_text().split()


def kernel_initrd(kernel):
    """What all guests need, and this kernel's modules."""
    modules, whole = kernel.directory / "modules.gz", kernel.directory / "initrd.gz"
    make_initrd(modules, kernel.directory / "modules")
    with whole.open("wb") as out:
        for part in (COMMON_INITRD, modules):
            out.write(part.read_bytes())
    return whole


def command(kernel, console, archive):
    line = [*QEMU, "-kernel", kernel.directory / "vmlinuz", "-initrd", kernel_initrd(kernel)]
    line += ["-append", KERNEL_OPTIONS, "-serial", f"file:{console}"]
    line += ["-chardev", f"file,id=results,path={archive}", "-device", "virtserialport,chardev=results"]
    if "disk" in kernel.guest:
        disk = kernel.directory / "disk"
        disk.write_bytes(b"")
        with disk.open("r+b") as f:
            f.truncate(DISK_BYTES)
        line += ["-drive", f"file={disk},if=none,id=disk,format=raw,cache=unsafe"]
        line += ["-device", "nvme,drive=disk,serial=1"]
    return line


def wait_while_it_speaks(process, console):
    said = -1
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(STALL_S)
        if (size := console.stat().st_size) == said:
            raise Failed(f"no word for {STALL_S} s, see {console}")
        said = size


def run_to_its_end(kernel, console, archive):
    """Returns what QEMU said."""
    process = subprocess.Popen(command(kernel, console, archive), stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
    try:
        status = wait_while_it_speaks(process, console)
        said = process.stderr.read().strip()
        if status:
            raise Failed(f"qemu ended with {status}: {said}")
        return said
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def boot(kernel):
    """Runs the guest and unpacks its results."""
    console, archive, results = (kernel.directory / n for n in ("console", "results.tar", "results"))
    shutil.rmtree(results, ignore_errors=True)
    said = run_to_its_end(kernel, console, archive)
    try:
        with tarfile.open(archive, "r:") as tar:
            # older Pythons have no filters, later ones warn where none is named
            tar.extraction_filter = getattr(tarfile, "data_filter", None)
            tar.extractall(results)
    except tarfile.TarError as error:
        raise Failed(f"no complete results ({error}), see {console}; qemu: {said or 'nothing'}") from None
    return results
