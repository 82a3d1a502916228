# SPDX-License-Identifier: MIT
"""`ringside probe` says what `stat` will have, and why not the rest; it needs no rights to say something."""
import errno
import json
import os
import resource
import subprocess

from refusing import kernel_that_refuses
from ringside import RINGSIDE, one_line, stat
from test_contract import COUNT, FLAG, TEXT, UNKNOWN, violations
from test_refusals import AS_NOBODY, COMPLETION, SUBMISSION, TOO_LARGE, without
from testing import EXTRAS, OPTIONS, Skipped, Suite, check, check_equal, check_none, scratch

suite = Suite()

FAILED, USAGE = 1, 2
TYPES = "/sys/kernel/btf/vmlinux"

FEATURE = {"state": (TEXT, UNKNOWN), "how": (TEXT, UNKNOWN), "why": (TEXT, UNKNOWN), "planned": TEXT,
           "needs": (TEXT, UNKNOWN), "what": TEXT, "essential": FLAG}
FACT = {"usable": (FLAG, UNKNOWN), "why": (TEXT, UNKNOWN)}
SYSTEM = {"btf": FLAG, "lockdown": (TEXT, UNKNOWN), "unprivileged_bpf_disabled": (COUNT, UNKNOWN),
          "io_uring_disabled": (COUNT, UNKNOWN), "kptr_restrict": (COUNT, UNKNOWN), "io_uring": FACT,
          "fentry": FACT, "kprobe": FACT, "config": ({"file": TEXT, "options": {}}, UNKNOWN)}
USER = {"uid": COUNT, "cap_bpf": FLAG, "cap_perfmon": FLAG, "cap_syslog": FLAG, "initial_user_namespace": FLAG,
        "initial_pid_namespace": FLAG, "seccomp_filter": FLAG}
SURVEY = {"schema": COUNT, "kind": TEXT, "tool": TEXT, "version": TEXT, "depth": TEXT, "file": (TEXT, UNKNOWN),
          "works": FLAG, "why": (TEXT, UNKNOWN), "kernel": {"release": (TEXT, UNKNOWN), "features": {}},
          "system": (SYSTEM, UNKNOWN), "user": (USER, UNKNOWN)}


def run(*options, wrapper=(), **popen):
    """Returns the finished process."""
    return subprocess.run([str(a) for a in (*wrapper, RINGSIDE, "probe", *options)], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL, **popen)


def survey(*options, status=0, **how):
    """The JSON report; nothing on stderr."""
    done = run("--json", *options, **how)
    check_equal("status", done.returncode, status)
    check_equal("stderr", done.stderr, "")
    report = json.loads(done.stdout)
    check_none(violations(SURVEY, report, "report"))
    for name, feature in report["kernel"]["features"].items():
        check_none(violations(FEATURE, feature, name))
        for key in ("state", "planned"):
            check(feature[key] in ("full", "degraded", "off", None), f"{name}: {key} {feature[key]!r}")
        check(feature["state"] == "full" or feature["why"] or report["depth"] == "file",
              f"{name} is {feature['state']} without a reason")
    return report


def states(report):
    return {name: feature["state"] for name, feature in report["kernel"]["features"].items()}


def in_mount_namespace(script):
    """A wrapper that prepares the file systems, for itself alone."""
    return ["unshare", "--mount", "--", "/bin/sh", "-ec", script + '\nexec "$@"', "sh"]


# --- as root: executed, not asserted ----------------------------------------------
@suite.test
def what_stat_gets():
    report = survey()
    check_equal("depth", report["depth"], "tried")
    check_equal("works", report["works"], True)
    got = stat("--block", "--span=libc:lfind", "--", "true").expect_status(0).report["kernel"]
    check_equal("release", report["kernel"]["release"], got["release"])
    for name, feature in got["features"].items():
        told = report["kernel"]["features"][name]
        check_equal(name, {key: told[key] for key in feature}, feature)
    check_equal("features", sorted(states(report)), sorted(got["features"]))


@suite.test
def text():
    done = run(env={**os.environ, "COLUMNS": "80"})
    check_equal("status", done.returncode, 0)
    check_equal("stderr", done.stderr, "")
    check("stat runs here" in done.stdout.splitlines()[0], f"the verdict: {done.stdout!r}")
    for name in states(survey()):
        check(f"\n{name} " in done.stdout, f"no {name} in {done.stdout!r}")
    check_equal("too wide", [line for line in done.stdout.splitlines() if len(line) > 80], [])
    words = run("-v").stdout
    check("how" not in words and "(stat needs it)" in words, f"not everything told: {words!r}")


@suite.test
def programs_refused():
    refused = kernel_that_refuses(load=f"rs_punt=large,rs_poll_arm={errno.EPERM}", attach=f"rs_link={errno.EBUSY}")
    features = survey(**refused)["kernel"]["features"]
    off = {name: f for name, f in features.items() if f["state"] == "off" and name not in EXTRAS}
    check_equal("features that are off", sorted(off), ["call_sites", "link", "poll", "punt"])
    for name, reason in (("punt", TOO_LARGE), ("poll", "Operation not permitted"), ("link", "busy")):
        check(reason in off[name]["why"], f"{name}: {off[name]['why']!r}")
        check_equal(f"planned {name}", off[name]["planned"], "full")


@suite.test
def essential_refused():
    """Then stat can't run, and the rest is looked at all the same."""
    before = survey()["kernel"]["features"]
    for programs, name in ((SUBMISSION, "submit"), (COMPLETION, "complete")):
        report = survey(status=FAILED, **kernel_that_refuses(load=programs.format("invalid")))
        check_equal("works", report["works"], False)
        check("R0 !read_ok" in report["why"], f"why: {report['why']!r}")
        # a feature without a program of its own goes with the one that tells it
        lost = [n for n, f in before.items() if f["how"] == before[name]["how"]]
        off = [n for n, state in states(report).items() if state == "off" and n not in EXTRAS]
        check_equal("features that are off", off, lost)


@suite.test
def verbose_tells_what_the_kernel_said():
    done = run("-v", **kernel_that_refuses(load="rs_punt=invalid"))
    check_equal("status", done.returncode, 0)
    check("R0 !read_ok" in done.stderr, f"the verifier's words: {done.stderr!r}")
    check("R0 !read_ok" in done.stdout, f"the reason: {done.stdout!r}")


# --- with less than all rights -----------------------------------------------------
@suite.test
def nobody():
    report = survey(status=FAILED, wrapper=AS_NOBODY)
    check_equal("depth", report["depth"], "types")
    check_equal("works", report["works"], False)
    check("CAP_BPF" in report["why"] and "CAP_PERFMON" in report["why"], f"why: {report['why']!r}")
    check_equal("uid", report["user"]["uid"], 65534)
    tried = survey()
    for name, feature in report["kernel"]["features"].items():
        check_equal(f"planned {name}", feature["planned"], tried["kernel"]["features"][name]["planned"])
        if feature["planned"] != "off":
            check_equal(f"state of {name}", feature["state"], None)
            check("CAP_BPF" in feature["needs"], f"{name} needs {feature['needs']!r}")
            check("not tried" in feature["why"], f"{name}: {feature['why']!r}")
    for hook in ("fentry", "kprobe"):
        check_equal(hook, report["system"][hook]["usable"], None)
    words = run(wrapper=AS_NOBODY)
    check_equal("status", words.returncode, FAILED)
    check("Nothing was tried" in words.stdout, f"{words.stdout!r}")


@suite.test
def no_cap_syslog():
    report = survey(wrapper=without("syslog"))
    check_equal("cap_syslog", report["user"]["cap_syslog"], False)
    if report["system"]["kptr_restrict"] == 0 and "off" not in states(report).values():
        raise Skipped("the kernel shows its addresses to everybody")
    for name in ("ring_exit", "ring_scan"):
        check_equal(f"{name} needs", report["kernel"]["features"][name]["needs"], "CAP_SYSLOG")


@suite.test
def user_namespace():
    report = survey(status=FAILED, wrapper=["unshare", "-Ur", "--"])
    check("user namespace" in report["why"], f"why: {report['why']!r}")
    check_equal("states", set(states(report).values()), {"off"})
    check_equal("initial_user_namespace", report["user"]["initial_user_namespace"], False)


@suite.test
def pid_namespace():
    report = survey(wrapper=["unshare", "--pid", "--fork", "--mount-proc", "--"])
    check_equal("initial_pid_namespace", report["user"]["initial_pid_namespace"], False)
    check_equal("initial_user_namespace", report["user"]["initial_user_namespace"], True)


# --- kernels that are set up otherwise ------------------------------------------------
@suite.test
def no_types():
    hidden = in_mount_namespace("mount -t tmpfs none /sys/kernel/btf")
    report = survey(status=FAILED, wrapper=hidden)
    check("no BTF" in report["why"], f"why: {report['why']!r}")
    check_equal("btf", report["system"]["btf"], False)
    check_equal("states", set(states(report).values()), {"off"})
    check_equal("needs", {f["needs"] for f in report["kernel"]["features"].values()}, {"CONFIG_DEBUG_INFO_BTF=y"})
    line = one_line(stat("--", "true", wrapper=hidden).expect_status(FAILED).stderr)
    check("CONFIG_DEBUG_INFO_BTF" in line, f"what stat says: {line!r}")


@suite.test
def lockdown():
    """As far as the file tells: the kernel is not locked down by it."""
    for text_of_file, level in (("none [integrity] confidentiality", "integrity"), ("[none] integrity", "none"),
                                ("", None)):
        script = ("mount -t tmpfs none /sys/kernel/security\n"
                  f"echo '{text_of_file}' >/sys/kernel/security/lockdown")
        check_equal("lockdown", survey(wrapper=in_mount_namespace(script))["system"]["lockdown"], level)


@suite.test
def lockdown_as_the_cause():
    """In confidentiality mode the verifier knows no helper that reads the kernel's memory."""
    wrapper = in_mount_namespace("mount -t tmpfs none /sys/kernel/security\n"
                                 "echo 'none integrity [confidentiality]' >/sys/kernel/security/lockdown")
    punt = survey(wrapper=wrapper, **kernel_that_refuses(load="rs_punt=invalid"))["kernel"]["features"]["punt"]
    check("confidentiality" in punt["why"] and "R0 !read_ok" in punt["why"], f"why: {punt['why']!r}")
    check("integrity" in punt["needs"], f"needs: {punt['needs']!r}")


@suite.test
def no_symbols():
    """/proc/kallsyms can't be read: what needs an address is off, the rest is not."""
    before = states(survey())
    features = survey(wrapper=in_mount_namespace("mount --bind /dev/full /proc/kallsyms"))["kernel"]["features"]
    lost = [name for name, feature in features.items() if feature["state"] != before[name]]
    check("ring_exit" in lost, f"lost: {lost}")
    for name in set(lost) - set(OPTIONS):
        check_equal(f"state of {name}", features[name]["state"], "off")
        check("can't read /proc/kallsyms" in features[name]["why"], f"{name}: {features[name]['why']!r}")


@suite.test
def types_of_another_kernel():
    """A plan needs neither rights nor the kernel."""
    running = survey()
    with scratch() as folder:
        copy = folder / "types"
        with open(TYPES, "rb") as f:
            copy.write_bytes(f.read())
        copy.chmod(0o644)
        for wrapper in ((), AS_NOBODY):
            report = survey("--btf", copy, wrapper=wrapper)
            check_equal("depth", report["depth"], "file")
            check_equal("file", report["file"], str(copy))
            check_equal("system", report["system"], None)
            for name, feature in report["kernel"]["features"].items():
                check_equal(f"planned {name}", feature["planned"], running["kernel"]["features"][name]["planned"])
        for path in (folder / "nothing", folder, "/bin/sh"):
            done = run("--btf", path)
            check_equal("status", done.returncode, FAILED)
            check_equal("stdout", done.stdout, "")
            check(str(path) in one_line(done.stderr), f"which file? {done.stderr!r}")


# --- the command line -----------------------------------------------------------------
@suite.test
def usage():
    for options in (["x"], ["-Z"], ["--no-such"], ["--btf"], ["-o"], ["-v=1"], ["--", "true"],
                    ["-o", "x", "--json=x"]):
        done = run(*options)
        check_equal(f"status of {options}", done.returncode, USAGE)
        check_equal(f"stdout of {options}", done.stdout, "")
        one_line(done.stderr)


@suite.test
def outputs():
    with scratch() as folder:
        a, b = folder / "a", folder / "b"
        done = run("-o", a, f"--json={b}")
        check_equal("status", done.returncode, 0)
        check_equal("stdout", done.stdout, "")
        check("FEATURE" in a.read_text(), "no text")
        check_equal("kind", json.loads(b.read_text())["kind"], "ringside.probe")
        for options in ((), ("--json",)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([RINGSIDE, "probe", *options], stdout=full, stderr=subprocess.PIPE, text=True,
                                      check=False)
            check_equal("status with a full device", done.returncode, FAILED)
            one_line(done.stderr)
        done = run("-o", folder / "no" / "folder")
        check_equal("status", done.returncode, FAILED)
        one_line(done.stderr)


@suite.test
def too_few_descriptors():
    """What ringside itself runs out of is not reported as something that the kernel lacks."""
    before = states(survey())
    for limit in (4, 8, 16, 24, 32, 40):
        done = run("--json", preexec_fn=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        if done.returncode == 0:
            check_equal("states", states(json.loads(done.stdout)), before)
            continue
        check_equal(f"status with {limit} descriptors", done.returncode, FAILED)
        check_equal("stdout", done.stdout, "")
        check("open files" in one_line(done.stderr), f"no reason: {done.stderr!r}")
