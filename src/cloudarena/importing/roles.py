"""What each kind of import needs of a file, and by which names tools call it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from cloudarena.importing.dates import plain
from cloudarena.importing.units import CORES, RATES, SECONDS, SIZES

Form = Literal["instant", "length", "cores", "memory", "number", "text"]
"""What the texts of a column are."""
CARBON = "carbon"
"""An import that is no kind of scenario: a series of a grid's carbon intensity."""
WHOLE_NODE = "whole node"
"""What the memory of a job is per, if it asks for all that its nodes have."""


class Role(NamedTuple):
    """What a column may stand for."""

    name: str
    form: Form
    words: tuple[str, ...]
    """Names of columns, in lower case with underscores, the best first, without units."""
    description: str


HINTS = {
    "vm": {
        "vm",
        "vms",
        "vcpu",
        "vcpus",
        "instance",
        "server",
        "flavor",
        "launched",
        "terminated",
        "deleted",
        "instanz",
        "boot",
        "booted",
    },
    "jobs": {"job", "jobid", "partition", "queue", "queued", "walltime", "qos"},
}
"""Words within names of columns that speak for a kind."""


class Need(NamedTuple):
    """What an import of a kind takes."""

    roles: tuple[Role, ...]
    required: tuple[tuple[str, ...], ...]
    """Groups of roles, of each of which one must be there."""
    telling: tuple[str, ...]
    """Roles that speak for this kind where several would do."""

    def role(self, name: str) -> Role | None:
        """The role of a name, if there is one."""
        return next((one for one in self.roles if one.name == name), None)


START_WORDS = (
    *("start", "start_time", "started", "started_at", "launched_at", "launch_time", "launched"),
    *("created", "created_at", "create_time", "creation_time", "creation_timestamp", "begin"),
    *(
        "vmcreated",
        "boot_time",
        "boot",
        "booted_at",
        "provisioned_at",
        "from",
        "first_seen",
        "arrival",
        "arrival_time",
    ),
    *("beginn", "anfang", "erstellt", "debut", "inicio", "inizio"),
    *("at", "submit_time", "timestamp", "time"),
)
END_WORDS = (
    *("end", "end_time", "ended", "ended_at", "terminated_at", "termination_time", "terminated"),
    *("deleted", "deleted_at", "delete_time", "deletion_time", "stopped_at", "stop_time", "stop"),
    *("finished", "finished_at", "finish", "finish_time", "until", "to", "last_seen", "removed_at"),
    *("vmdeleted", "completed_at", "completion_time", "shutdown_at"),
    *("ende", "bis", "beendet", "fin", "fine"),
)
LENGTH_WORDS = (
    *("duration", "lifetime", "lt", "run_time", "runtime", "elapsed", "elapsed_raw", "wall_time"),
    *(
        "walltime",
        "length",
        "execution_time",
        "exec_time",
        "uptime",
        "age",
        "time_taken",
        "latency",
    ),
    *("billed_duration", "response_time", "service_time"),
)
CORE_WORDS = (
    *(
        "maxcpu",
        "cores",
        "vcpus",
        "vcpu",
        "cpus",
        "cpu",
        "num_cpus",
        "cpu_count",
        "core_count",
        "ncpus",
    ),
    *("cpu_cores", "alloc_cpus", "alloccpus", "req_cpus", "reqcpus", "cpu_request", "cpu_milli"),
    *("requests_cpu", "n_cores", "procs", "processors", "plan_cpu", "vmcorecountbucket"),
    *("kerne", "coeurs", "nucleos"),
)
MEMORY_WORDS = (
    *(
        "maxmem",
        "memory",
        "mem",
        "ram",
        "memory_size",
        "mem_size",
        "memory_request",
        "requests_memory",
    ),
    *("req_mem", "reqmem", "memory_allocated", "ram_size", "maxrss", "plan_mem", "memory_limit"),
    *("vmmemorybucket", "allocated_memory"),
    *("arbeitsspeicher", "speicher", "memoire", "memoria"),
)
ID_WORDS = (
    *("id", "vm_id", "vmid", "instance_id", "instanceid", "uuid", "uid", "server_id", "job_id"),
    *("jobid", "job_id_raw", "jobidraw", "name", "vm_name", "hostname", "instance", "vm", "server"),
    *("job", "job_number", "request_id", "pod", "resource_id", "instanz"),
)
OWNER_WORDS = (
    *("owner", "user", "user_id", "username", "project", "project_id", "tenant", "tenant_id"),
    *("account", "account_id", "subscription", "subscriptionid", "namespace", "team", "group"),
)
TYPE_WORDS = (
    *("type", "instance_type", "flavor", "flavour", "flavor_name", "machine_type", "vm_size"),
    *("size", "sku", "vm_type", "server_type"),
)
TIME_WORDS = (
    *("time", "timestamp", "datetime", "date_time", "date", "minute", "ts", "interval", "hour"),
    *("start_time", "invoked_at", "request_time", "event_time", "start", "started_at", "period"),
    *("@timestamp", "received_at", "invocation_time", "bucket", "_time"),
)
COUNT_WORDS = (
    *(
        "requests",
        "count",
        "hits",
        "num_requests",
        "request_count",
        "requests_count",
        "invocations",
    ),
    *("n", "total", "calls", "sum", "samples", "value", "num", "rpm", "requests_per_minute"),
    *("throughput", "volume", "queries", "views", "events", "records"),
)
RATE_WORDS = ("rate", "rps", "qps", "tps", "requests_per_second", "req_per_s", "rate_per_s")
FUNCTION_WORDS = (
    *("function", "function_name", "func", "fn", "handler", "lambda", "action", "function_id"),
    *("function_arn", "hash_function", "hashfunction", "endpoint", "route", "service", "app"),
    *("resource", "operation", "operation_name", "faas_name", "lambda_name", "action_name"),
    *("cloud_function_name", "resource_name"),
)
CARBON_WORDS = (
    *("carbon", "carbon_intensity", "intensity", "co2", "co2_intensity", "g_per_kwh", "emissions"),
    *("carbon_intensity_gco_eq_kwh_direct", "carbon_intensity_gco_eq_kwh_life_cycle", "gco2"),
    *("carbon_intensity_gco2eq_kwh_direct", "carbon_intensity_gco2eq_kwh_life_cycle"),
)
ESTIMATE_WORDS = (
    *("estimate", "time_limit", "timelimit", "timelimit_raw", "requested_time", "walltime_limit"),
    *("time_requested", "req_time", "requested_walltime", "limit"),
)

START = Role("start", "instant", START_WORDS, "when it begins")
END = Role("end", "instant", END_WORDS, "when it ends; empty while it runs")
LENGTH = Role("duration", "length", LENGTH_WORDS, "how long it lasts")
ID = Role("id", "text", ID_WORDS, "its name")
OWNER = Role("user", "text", OWNER_WORDS, "whose it is")
CORE = Role("cores", "cores", CORE_WORDS, "cores that it asks for")
MEMORY = Role("memory", "memory", MEMORY_WORDS, "memory that it asks for")
TIME = Role("time", "instant", TIME_WORDS, "when")

NEEDS: dict[str, Need] = {
    "vm": Need(
        (
            ID, START, END, LENGTH, CORE, MEMORY, OWNER,
            Role(
                "state", "text",
                ("power_state", "powerstate", "instance_state", "vm_state", "state", "status"),
                "whether it is switched on",
            ),
            Role("type", "text", TYPE_WORDS, "an instance type, whose cores and memory are known"),
            Role(
                "cpu_percent", "number",
                ("cpu_percent", "cpu_utilization", "cpu_utilisation", "avg_cpu", "cpu_avg",
                 "average_cpu", "cpu_usage", "mean_cpu", "cpu_load", "cpu_last", "cpu_util",
                 "average_cpu_utilization", "cpu_pct"),
                "the mean CPU utilisation in per cent",
            ),
        ),
        (("start",), ("cores", "type")),
        ("type", "cpu_percent"),
    ),
    "jobs": Need(
        (
            ID,
            Role(
                "submit", "instant",
                ("submit", "submit_time", "submitted", "submitted_at", "queued_at", "qtime",
                 "enqueued_at", "created_at", "queue_time", "arrival", "arrival_time"),
                "when it is submitted",
            ),
            START, END, LENGTH,
            Role(
                "cores", "cores",
                ("alloc_cpus", "req_cpus", *CORE_WORDS, "allocated_processors"),
                "cores of all its nodes together",
            ),
            Role(
                "nodes", "number",
                ("nodes", "alloc_nodes", "allocnodes", "req_nodes", "reqnodes", "num_nodes",
                 "n_nodes", "nnodes"),
                "machines that it runs on at once",
            ),
            MEMORY,
            Role(
                "gpus", "number",
                ("gpus", "gpu", "num_gpus", "n_gpus", "gpu_count", "gpu_num"),
                "GPUs of all its nodes together",
            ),
            OWNER,
            Role("estimate", "length", ESTIMATE_WORDS, "how long it was said to run at most"),
            Role(
                "state", "text", ("state", "status", "job_state", "exit_state"),
                "what became of it",
            ),
        ),
        (("submit", "start"), ("duration", "end"), ("cores", "gpus")),
        ("submit", "estimate", "nodes", "gpus"),
    ),
    "tiers": Need(
        (
            TIME,
            Role("count", "number", COUNT_WORDS, "requests from this time to the next"),
            Role("rate", "number", RATE_WORDS, "requests a second"),
        ),
        (("time",), ("count", "rate")),
        (),
    ),
    "faas": Need(
        (
            TIME,
            Role("end", "instant", (*END_WORDS, "end_timestamp"), "when it ended"),
            Role("function", "text", FUNCTION_WORDS, "which function"),
            LENGTH,
            MEMORY,
            Role(
                "count", "number", COUNT_WORDS, "how many invocations from this time to the next"
            ),
        ),
        (("time", "end"), ("function",)),
        ("function", "duration"),
    ),
    CARBON: Need(
        (TIME, Role("intensity", "number", CARBON_WORDS, "g of CO2 per kWh")),
        (("time",), ("intensity",)),
        ("intensity",),
    ),
}  # fmt: skip
"""What may be imported, by kind."""

UNITS: dict[Form, tuple[str, ...]] = {
    "memory": tuple(SIZES),
    "length": tuple(SECONDS),
    "instant": ("s", "ms", "us", "ns"),
    "cores": tuple(CORES),
    "number": tuple(RATES),
    "text": (),
}
"""The units that may stand behind a column's name in ``--map``."""
ENDINGS: dict[Form, dict[str, str]] = {
    "memory": {
        **{
            f"_{unit}": unit
            for unit in (
                "kib",
                "mib",
                "gib",
                "kb",
                "mb",
                "gb",
                "bytes",
                "b",
                "tb",
                "ko",
                "mo",
                "go",
            )
        },
        **{f"_{unit}": unit for unit in ("mio", "gio", "кб", "мб", "гб")},
        **{
            "_in_gbs": "gb",
            "_m_b": "mb",
            "_g_b": "gb",
            "_ki_b": "kib",
            "_mi_b": "mib",
            "_gi_b": "gib",
            "_megabytes": "mb",
            "_gigabytes": "gb",
        },
        "_in_mb": "mb",
    },
    "length": {
        **{f"_{unit}": unit for unit in (*SECONDS, "m") if unit != "d"},
        **{"_raw": "", "_in_seconds": "s", "_in_ms": "ms", "_millis": "ms"},
        "_m": "min",
    },
    "instant": {
        **{f"_{unit}": unit for unit in ("ns", "us", "ms", "s")},
        **{"_utc": "", "_epoch": "", "_epoch_ms": "ms", "_unix": "", "_seconds": "s", "_local": ""},
    },
    "cores": {"_m": "m", "_milli": "m", "_millicores": "m", "_mcpu": "m"},
    "number": {"_per_minute": "", "_per_min": "", "_per_second": "/s", "_per_s": "/s"},
    "text": {},
}
"""How the ends of names of columns tell their units."""


def tidy(name: str) -> str:
    """A column's name in lower case with underscores: ``LaunchTime`` is ``launch_time``."""
    name = re.sub("[vV]?CPU([sS]?)", lambda found: found[0].capitalize(), name)  # vCPUs is one word
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[^\w@]+", "_", plain(spaced)).strip("_")


def unit_of(name: str, form: Form) -> tuple[str, str]:
    """A tidy name without the end that tells its unit, and the unit; empty if it tells none."""
    for end, unit in sorted(ENDINGS[form].items(), key=lambda one: -len(one[0])):
        if name.endswith(end) and len(name) > len(end):
            return name.removesuffix(end), unit
    return name, ""
