# SPDX-License-Identifier: MIT
"""What the numbers depend on, besides the code: a list of (what, value)."""
import os
import pathlib
import platform
import re
import subprocess

SYS = pathlib.Path("/sys/devices/system")


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return None


def cpu_model():
    m = re.search(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo") or "", re.MULTILINE)
    return m[1] if m else platform.machine()


def virtualization():
    """Of the processor's flags only: nothing but the kernel is asked."""
    return "a virtual machine" if re.search(r"^flags\s*:.*\bhypervisor\b", read("/proc/cpuinfo") or "",
                                            re.MULTILINE) else "not known to be virtual"


def mitigations():
    """What is not "Not affected", shortened."""
    said = []
    for path in sorted((SYS / "cpu/vulnerabilities").glob("*")):
        text = read(path)
        if text and text != "Not affected":
            said.append(f"{path.name} ({text.removeprefix('Mitigation: ')})")
    return ", ".join(said)


def governor():
    found = {read(p) for p in (SYS / "cpu").glob("cpu[0-9]*/cpufreq/scaling_governor")} - {None}
    return ", ".join(sorted(found)) or "none, the kernel does not set frequencies"


def memory():
    m = re.search(r"^MemTotal:\s*(\d+) kB", read("/proc/meminfo") or "", re.MULTILINE)
    return f"{int(m[1]) / 1024 / 1024:.0f} GiB" if m else None


def disk(folder):
    """File system and device of a folder, as mountinfo names them."""
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in (read("/proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        if left.split()[2] == wanted:
            kind, source = right.split()[:2]
            return f"{kind} on {source}"
    return None


def version(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0] or None


def load():
    """Of the last 1, 5 and 15 minutes."""
    said = read("/proc/loadavg")
    return " ".join(said.split()[:3]) if said else "unknown"


def facts(folder, ringside, public=False):
    """public: without what only its owner calls this kernel."""
    release = platform.release()
    tools = (version(ringside, "--version"), version("perf", "--version"), version("bpftrace", "--version"),
             version("strace", "--version"))
    rows = (
        ("kernel", re.match(r"[\d.]*", release)[0] if public else release),
        ("machine", f"{os.cpu_count()} CPUs, {cpu_model()}, {virtualization()}, {memory() or 'memory unknown'}"),
        ("clock source", read(SYS / "clocksource/clocksource0/current_clocksource")),
        ("mitigations", mitigations()),
        ("CPU frequency governor", governor()),
        ("disk", disk(folder)),
        ("load at the start", load()),
        ("versions", "; ".join(v for v in tools if v)),
    )
    return [(what, value or "unknown") for what, value in rows]
