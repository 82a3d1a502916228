# SPDX-License-Identifier: MIT
"""The report as JSON: every key of the contract is there, of the right kind, unknown ones null."""
from ringside import Observer, observe, observer, server, workload
from testing import Suite, check, check_equal, check_none, scratch

suite = Suite()

# What a value may be. A tuple: one of these. A list: a list of such. A dict: these keys, and maybe more.
COUNT = "a whole number, not negative"
NUMBER = "a number"
TEXT = "a string"
FLAG = "true or false"
UNKNOWN = None

LATENCY = {"count": COUNT, "sum": COUNT, "buckets": [[COUNT]]} | {
    key: (COUNT, UNKNOWN) for key in ("min", "max", "p50", "p90", "p99", "p999", "p9999")}
STAGE = {"count": COUNT, "sum": COUNT, "share_of_slowest": (NUMBER, UNKNOWN)} | {
    key: (COUNT, UNKNOWN) for key in ("p50", "p99", "max")}
STAGES = ("issue", "armed", "deliver", "link", "wq", "wq_queue", "wq_run", "other", "blk_queue", "device", "reap")
REAP_TIMES = {"count": COUNT, "sum": COUNT} | dict.fromkeys(("max", "p50", "p90", "p99"), (COUNT, UNKNOWN))
REAP = {"how": TEXT, "count": COUNT, "lag_ns": (REAP_TIMES, UNKNOWN), "lower_ns": REAP_TIMES, "upper_ns": REAP_TIMES, "unreaped": (COUNT, UNKNOWN),
        "unreaped_ns": (COUNT, UNKNOWN), "cq_depth_mean": ({"lower": NUMBER, "upper": NUMBER}, UNKNOWN)}
OP = {"op": TEXT, "submitted": COUNT, "completed": COUNT, "errors": {}, "punted": COUNT,
      "punted_by": {"asked": COUNT, "opcode": COUNT, "drain": COUNT, "unwanted": COUNT}, "poll_armed": COUNT,
      "bytes": (COUNT, UNKNOWN), "latency_ns": LATENCY, "multishot_gap_ns": (LATENCY, UNKNOWN),
      "stages": ({stage: (STAGE, UNKNOWN) for stage in STAGES}, UNKNOWN), "wq_queued": (COUNT, UNKNOWN), "wq_queue_ns": (COUNT, UNKNOWN)}
TOTALS = {key: (COUNT, UNKNOWN) for key in (
    "in_flight_at_attach", "submitted", "completed", "silent", "in_flight", "rejected", "sq_dropped",
    "errors", "punted", "poll_armed", "cqes_multishot", "cqes_aux", "notifs", "cq_overflows", "cq_dropped",
    "short_writes", "batches", "waits", "bytes", "enters", "enter_ns", "buffer_imports", "wq_queued",
    "wq_queue_ns", "drained", "wq_hashed", "canceled_at_exit", "canceled_at_close",
    "canceled_in_chain", "notifs_copied")} | {"batch_mean": (NUMBER, UNKNOWN)}
RING = {"id": COUNT, "pid": COUNT, "pid_in_namespace": (COUNT, UNKNOWN), "host_pid": (COUNT, UNKNOWN),
        "comm": TEXT, "cgroup": (TEXT, UNKNOWN), "fd": (COUNT, UNKNOWN),
        "sq_entries": COUNT, "cq_entries": COUNT, "flags": [TEXT], "state": TEXT, "created_in_window": FLAG,
        "one_submitter": (FLAG, UNKNOWN),
        "sq_thread": ({"tid": COUNT, "cpu_pct": (NUMBER, UNKNOWN)}, UNKNOWN), "cq_depth_max": COUNT,
        "reap": (REAP, UNKNOWN),
        "totals": TOTALS, "ops": [OP]}
TROUBLE = {"punted": (COUNT, UNKNOWN), "errors": COUNT, "slow": COUNT, "time_ns": COUNT}
FILE = TROUBLE | {"path": (TEXT, UNKNOWN), "kind": TEXT, "deleted": FLAG, "dev": TEXT, "inode": COUNT, "op": TEXT}
FRAME = {"function": (TEXT, UNKNOWN), "inlined": (TEXT, UNKNOWN), "file": (TEXT, UNKNOWN), "line": (COUNT, UNKNOWN),
         "module": (TEXT, UNKNOWN), "offset": TEXT}
SITE = {"caller": (TEXT, UNKNOWN), "op": TEXT, "samples": COUNT, "stack": [FRAME], "complete": FLAG,
        "why": (TEXT, UNKNOWN)}
FINDING = {"rule": TEXT, "severity": TEXT, "title": TEXT, "evidence": {}, "advice": TEXT,
           "ring": (COUNT, UNKNOWN), "op": (TEXT, UNKNOWN), "file": (TEXT, UNKNOWN), "stack": ([TEXT], UNKNOWN),
           "requests": (COUNT, UNKNOWN), "time_ns": (COUNT, UNKNOWN), "gates": FLAG}
REPORT = {
    "schema": COUNT, "tool": TEXT, "version": TEXT,
    "kernel": {"release": TEXT, "features": {}},
    "window": {"start_unix_ns": COUNT, "duration_ns": COUNT, "cpus": COUNT},
    "cost": {"estimated_cpu_ns": (COUNT, UNKNOWN), "programs_ns": (COUNT, UNKNOWN), "process_ns": COUNT,
             "request_ns": (NUMBER, UNKNOWN), "timing_ns": (NUMBER, UNKNOWN), "events": COUNT, "sample": COUNT,
             "timed": COUNT, "budget": ({"percent": NUMBER, "held": bool, "used_percent": (NUMBER, UNKNOWN),
                                         "busy_cpu_ns": COUNT, "over_ns": COUNT, "sample_min": COUNT,
                                         "sample_max": COUNT}, UNKNOWN)},
    "fidelity": dict.fromkeys(("untracked", "table_full", "rings_full", "series_full", "records_lost",
                               "details_lost", "stages_lost", "files_lost", "stacks_skipped", "stacks_lost", "ambiguous", "unmatched", "children_lost", "missed",
                               "extras_missed"), COUNT),
    "totals": TOTALS, "rings": [RING], "rings_other": ({"n_rings": COUNT, "totals": TOTALS}, UNKNOWN),
    "tasks": [{"pid": COUNT, "tid": COUNT, "host_pid": (COUNT, UNKNOWN), "host_tid": (COUNT, UNKNOWN),
               "comm": TEXT, "workers_bounded_max": COUNT, "workers_unbounded_max": COUNT,
               "bounded_limit": (COUNT, UNKNOWN), "unbounded_limit": (COUNT, UNKNOWN)}],
    "ops": [OP], "files": [FILE], "files_other": (TROUBLE | {"n_files": COUNT}, UNKNOWN),
    "call_sites": ([SITE], UNKNOWN), "call_sites_other": ({"samples": COUNT}, UNKNOWN),
    "registers": [{"op": TEXT, "count": COUNT, "errors": COUNT, "stacks": [TEXT],
                   "latency_ns": ({"count": COUNT, "sum": COUNT, "max": (COUNT, UNKNOWN)}, UNKNOWN)}],
    "findings": [FINDING],
    "not_checked": [{"rule": TEXT, "why": TEXT, "in_part": FLAG}],
}


def is_a(kind, value):
    if kind is UNKNOWN:
        return value is None
    if kind is TEXT:
        return isinstance(value, str)
    if kind is FLAG:
        return isinstance(value, bool)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and (kind is NUMBER or isinstance(value, int) and value >= 0)


def violations(kind, value, where):
    """Where the value is not what it should be."""
    if isinstance(kind, tuple):
        each = [violations(k, value, where) for k in kind]
        return [] if [] in each else min(each, key=len)
    if isinstance(kind, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no list"]
        return [v for i, item in enumerate(value) for v in violations(kind[0], item, f"{where}[{i}]")]
    if isinstance(kind, dict):
        if not isinstance(value, dict):
            return [f"{where}: {value!r} is no object"]
        found = [f"{where}.{key} is missing" for key in kind if key not in value]
        for key in kind.keys() & value.keys():
            found += violations(kind[key], value[key], f"{where}.{key}")
        return found
    return [] if is_a(kind, value) else [f"{where}: {value!r} is not {kind or 'null'}"]


def check_contract(report):
    check_none(violations(REPORT, report, "report"))
    for name, feature in report["kernel"]["features"].items():
        check(feature["state"] in ("full", "degraded", "off"), f"{name} is {feature['state']}")
        check((feature["state"] == "full") == (feature["why"] is None), f"{name}: {feature}")
    for ring in report["rings"]:
        check(ring["state"] in ("open", "closing", "closed"), f"ring {ring['id']} is {ring['state']}")


@suite.test
def every_kind_of_workload():
    for line in ("nops none", "nops threads", "nops storm --flags sqpoll", "nops overflow", "files unwanted",
                 "files errors", "files fixed", "events poll", "events multishot"):
        _, report, _ = observe(line)
        check_contract(report)


@suite.test
def attached():
    with server("ring", "hold 5", "load") as s, observer("-p", s.pid) as o:
        o.wait_ready()
        s.do("turns 100")
        check_contract(o.kill().result().expect_status(0).report)
        s.quit()


@suite.test
def the_facts_of_a_ring():
    _, report, _ = observe("nops overflow")
    ring, = report["rings"]
    check_equal("sizes", (ring["sq_entries"], ring["cq_entries"], ring["cq_depth_max"]), (8, 8, 8))
    check_equal("flags", ring["flags"], ["CQSIZE"])
    check_equal("comm, created, sq_thread", (ring["comm"], ring["created_in_window"], ring["sq_thread"]),
                ("nops", True, None))


@suite.test
def each_ring_of_several():
    _, report, _ = observe("nops threads --workers 8 --count 8000")
    check_equal("requests of each ring", [r["totals"]["submitted"] for r in report["rings"]], [1000] * 8)
    check_equal("ids", [r["id"] for r in report["rings"]], list(range(1, 9)))
    check_equal("processes", len({r["pid"] for r in report["rings"]}), 1)
    _, report, _ = observe("nops fork --workers 3 --count 3000")
    check_equal("requests of each ring", [r["totals"]["submitted"] for r in report["rings"]], [1000] * 3)
    check_equal("processes", len({r["pid"] for r in report["rings"]}), 3)


@suite.test
def sqpoll_thread():
    _, report, _ = observe("nops storm --flags sqpoll")
    ring, = report["rings"]
    thread = ring["sq_thread"]
    check(thread and thread["tid"] > 0 and thread["tid"] != ring["pid"], f"the SQPOLL thread is {thread}")
    check(0 < thread["cpu_pct"] <= 105, f"a busy SQPOLL thread at {thread['cpu_pct']} %")
    check("SQPOLL" in ring["flags"], f"flags are {ring['flags']}")


@suite.test
def workers():
    """io-wq workers belong to the task that made them run."""
    _, report, _ = observe("files unwanted")
    task, = report["tasks"]
    check_equal("task", (task["comm"], task["pid"]), ("files", report["rings"][0]["pid"]))
    check(task["workers_bounded_max"] + task["workers_unbounded_max"] >= 1, f"no worker, but punts: {task}")
    _, report, _ = observe("nops storm --count 1000")
    check_equal("tasks with workers", report["tasks"], [])


@suite.test
def evidence():
    """A finding tells the numbers that it rests on."""
    _, report, said = observe("files unwanted")
    punt, = report["findings"]
    check_equal("punts", punt["evidence"]["punted_unwanted"], said["ops"]["READ"]["punted_by"]["unwanted"])
    check_equal("opcode, ring", (punt["op"], punt["ring"]), ("READ", 1))
    _, report, said = observe("nops overflow")
    overflow, = report["findings"]
    check_equal("overflows", overflow["evidence"]["cq_overflows"], said["overflows"])
    _, report, said = observe("nops drip")
    batch, = report["findings"]
    check_equal("batches", batch["evidence"]["batches"], said["batches"])


@suite.test
def awkward_names():
    """A program's name is whatever its owner likes; the report stays JSON."""
    with scratch() as folder:
        odd = folder / "\"\\\x01é\udcff"
        odd.symlink_to(workload("nops")[0])
        command = ["--", odd, "storm", "--count", "100", "--out", "/dev/null"]
        report = Observer(folder, command).result().expect_status(0).report
    check_contract(report)
    check_equal("submitted", report["totals"]["submitted"], 100)
