"""Makes small files as other tools export them, odd values included, for tests and the tutorial.

Run by ``python -m tools.make_exports FOLDER``; the same seed gives the same bytes.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


def vm_list(rng: random.Random) -> str:
    """A VM list out of a company's database: semicolons, MB, open ends, and three bad rows."""
    lines = ["VM Name;Owner;vCPUs;RAM (MB);Launched At;Terminated At"]
    for k in range(300):
        start = MONDAY + timedelta(minutes=rng.randrange(14 * 24 * 60))
        end = start + timedelta(minutes=1 + int(rng.expovariate(1 / 3000)))
        cores = rng.choice([1, 2, 2, 4, 4, 8])
        ram = cores * rng.choice([2048, 4096, 8192])
        last = f"{end:%d.%m.%Y %H:%M}" if end < MONDAY + timedelta(days=14) else ""
        lines.append(f"vm-{k};team-{k % 3};{cores};{ram};{start:%d.%m.%Y %H:%M};{last}")
    lines += [
        "vm-a;team-0;two;2048;02.03.2026 10:00;",
        "vm-b;team-0;2;2048;05.03.2026 10:00;04.03.2026 10:00",
        "vm-c;team-0;2;2048;;",
    ]
    return "\n".join(lines) + "\n"


SACCT_HEAD = (
    "JobIDRaw|User|Account|Partition|QOS|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|"
    "AllocCPUS|ReqMem|ReqNodes|AllocNodes|AllocTRES"
)
SACCT_ROWS = """\
101|ada|phys|batch|normal|COMPLETED|2026-01-05T08:00:00|2026-01-05T08:00:10|2026-01-05T09:00:10|3600|120|4|4|4Gc|1|1|cpu=4,mem=16G,node=1,billing=4
102|bob|phys|batch|normal|CANCELLED by 1001|2026-01-05T08:01:00|None|2026-01-05T08:05:00|0|60|8|0|16Gn|1|0|
103|bob|chem|gpu|normal|FAILED|2026-01-05T08:02:00|2026-01-05T08:03:00|2026-01-05T08:13:00|600|UNLIMITED|64|64|2Gc|2|2|cpu=64,mem=128G,node=2,billing=64,gres/gpu=4
104|eve|chem|batch|normal|RUNNING|2026-01-05T09:00:00|2026-01-05T09:10:00|Unknown|1200|Partition_Limit|2|2|16Gn|1|1|
105|eve|chem|batch|normal|PENDING|2026-01-05T09:20:00|Unknown|Unknown|0|30|2|0|500M|1|0|
106|ada|phys|batch|normal|TIMEOUT|2026-01-05T07:59:00|2026-01-05T08:10:00|2026-01-05T09:30:00|4800|80|1|1|3000|1|1|
106.batch|||||TIMEOUT|2026-01-05T08:10:00|2026-01-05T08:10:00|2026-01-05T09:30:00|4800||1|1||1|1|
"""  # noqa: E501


def sacct(rng: random.Random) -> str:
    """A short export of Slurm with every odd value that sacct writes."""
    return f"{SACCT_HEAD}\n{SACCT_ROWS}"


def _node(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"node.kubernetes.io/instance-type": "m5.xlarge"}},
        "spec": changes.get("spec", {}),
        "status": {
            "allocatable": {"cpu": "3920m", "memory": "15728640Ki", "pods": "58"},
            "conditions": [{"type": "Ready", "status": changes.get("ready", "True")}],
        },
    }


def _pod(
    name: str, requests: dict[str, str], owner: str = "ReplicaSet", **spec: Any
) -> dict[str, Any]:
    status = {
        "phase": spec.pop("phase", "Running"),
        "startTime": spec.pop("start", "2026-02-01T00:00:00Z"),
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "web",
            "creationTimestamp": "2026-01-31T23:59:00Z",
            "ownerReferences": [{"kind": owner, "name": "x"}],
        },
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "main", "resources": {"requests": requests}}],
            **spec,
        },
        "status": status,
    }


def pods(rng: random.Random) -> str:
    """Nodes and pods of a cluster: sidecars, init containers, overhead, daemon sets, taints."""
    init = {"name": "init", "resources": {"requests": {"cpu": "2", "memory": "64Mi"}}}
    sidecar = {
        "name": "proxy",
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    }
    items = [
        _node("n1"),
        _node("n2", spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]}),
        _node("n3", spec={"unschedulable": True}),
        _node("n4", ready="False"),
        _pod("plain", {"cpu": "250m", "memory": "512Mi"}),
        _pod("decimal", {"cpu": "1", "memory": "1G"}, start="2026-02-01T06:00:00Z"),
        _pod("sidecar", {"cpu": "500m", "memory": "1Gi"}, initContainers=[sidecar]),
        _pod("init", {"cpu": "500m", "memory": "1Gi"}, initContainers=[init]),
        _pod("both", {"cpu": "1950m", "memory": "1Gi"}, initContainers=[sidecar, init]),
        _pod("overhead", {"cpu": "1e-1", "memory": "128974848"}, overhead={"cpu": "250m"}),
        _pod("choosy", {"cpu": "100m", "memory": "64Mi"}, nodeSelector={"disk": "ssd"}),
        _pod("done", {"cpu": "4", "memory": "1Gi"}, phase="Succeeded"),
        _pod("greedless", {}),
        _pod("agent", {"cpu": "120m", "memory": "256Mi"}, owner="DaemonSet"),
        _pod("wrong", {"cpu": "1,5", "memory": "1Gx"}),
    ]
    return json.dumps({"kind": "List", "items": items}, indent=1)


def prometheus(rng: random.Random) -> str:
    """Two series of requests a second, with values that are no numbers."""
    result = [
        {
            "metric": {"__name__": "job:http_requests:rate1m", "instance": f"web-{k}"},
            "values": [
                [1767571200.0 + 60 * t, "NaN" if (k, t) == (1, 3) else f"{10 + k + t % 5}"]
                for t in range(30)
            ],
        }
        for k in range(2)
    ]
    data = {"resultType": "matrix", "result": result}
    return json.dumps({"status": "success", "data": data})


def prometheus_counter(rng: random.Random) -> str:
    """A counter that is restarted once."""
    values = [
        [1767571200.0 + 30 * t, str(300 * t if t < 10 else 300 * (t - 10))] for t in range(20)
    ]
    result = [{"metric": {"__name__": "http_requests_total"}, "values": values}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def openstack(rng: random.Random) -> str:
    """What ``openstack server list --long -c ...`` prints as a table."""
    return """\
+------+-------+--------+----------+-------------+----------------------+
| ID   | Name  | Status | Networks | Flavor Name | Created At           |
+------+-------+--------+----------+-------------+----------------------+
| aa-1 | web-1 | ACTIVE | net=10.1 | m1.small    | 2026-01-05T08:00:00Z |
| aa-2 | web-2 | ACTIVE | net=10.2 | own.large   | 2026-01-05T10:00:00Z |
| aa-3 | web-3 | ERROR  |          | nobody      | 2026-01-05T11:00:00Z |
+------+-------+--------+----------+-------------+----------------------+
"""


def flavors(rng: random.Random) -> str:
    """What ``openstack flavor list -f json`` prints."""
    return json.dumps(
        [{"ID": "7", "Name": "own.large", "RAM": 12288, "Disk": 20, "Ephemeral": 0, "VCPUs": 6}]
    )


def nova(rng: random.Random) -> str:
    """Rows of Nova's table of instances."""
    return """\
uuid,project_id,vcpus,memory_mb,launched_at,terminated_at,vm_state
u1,p1,2,4096,2026-01-05 08:00:00,2026-01-06 08:00:00,deleted
u2,p1,4,8192,2026-01-05 09:00:00,NULL,active
u3,p2,1,512,NULL,NULL,error
"""


def ec2(rng: random.Random) -> str:
    """An answer of ``aws ec2 describe-instances``."""

    def instance(name: str, kind: str, state: str, reason: str = "") -> dict[str, Any]:
        return {
            "InstanceId": name,
            "InstanceType": kind,
            "LaunchTime": "2026-01-05T08:00:00+00:00",
            "State": {"Code": 16, "Name": state},
            "StateTransitionReason": reason,
        }

    ended = "User initiated (2026-01-07 10:11:12 GMT)"
    instances = [
        instance("i-1", "m5.large", "running"),
        instance("i-2", "c5.xlarge", "terminated", ended),
        instance("i-3", "x99.huge", "running"),
    ]
    instances[2]["CpuOptions"] = {"CoreCount": 4, "ThreadsPerCore": 2}
    instances.append(instance("i-4", "x99.huge", "running"))
    return json.dumps({"Reservations": [{"OwnerId": "42", "Instances": instances}]})


def cloudwatch(rng: random.Random) -> str:
    """An answer of ``get-metric-statistics``, in no order."""
    points = [
        {"Timestamp": f"2026-01-05T08:0{k}:00+00:00", "Sum": 60.0 * (k + 1), "Unit": "Count"}
        for k in (2, 0, 1, 3)
    ]
    return json.dumps({"Label": "RequestCount", "Datapoints": points})


def requests_per_minute(rng: random.Random) -> str:
    """Two days of requests, counted by the minute, with some minutes missing."""
    import math

    lines = ["minute,rpm"]
    for k in range(2 * 1440):
        if 700 < k < 705:
            continue
        level = 1 + 0.8 * math.sin(2 * math.pi * (k / 1440 - 0.3))
        at = MONDAY + timedelta(minutes=k)
        lines.append(f"{at:%Y-%m-%d %H:%M},{int(300 * level * rng.uniform(0.85, 1.15))}")
    return "\n".join(lines) + "\n"


def invocations(rng: random.Random) -> str:
    """A log of invocations with times in milliseconds, in no order, and a line that is cut."""
    rows, at = [], 1775433600000
    for _ in range(1500):
        at += int(rng.expovariate(1 / 800))
        name = rng.choice(["thumb", "auth", "auth", "report"])
        mean, memory = {"thumb": (6.0, 512), "auth": (3.5, 128), "report": (7.5, 1024)}[name]
        rows.append(f"{at},{name},{rng.lognormvariate(mean, 0.4):.2f},{memory},ok")
    rng.shuffle(rows)
    return (
        "\n".join(["timestamp,function_name,duration_ms,memory_mb,status", *rows, "17754,au"])
        + "\n"
    )


def lambda_reports(rng: random.Random) -> str:
    """Lambda's REPORT lines."""
    lines = []
    for k in range(20):
        lines += [
            f"2026-01-05T08:00:{k:02d}.123Z START RequestId: r{k} Version: $LATEST",
            f"2026-01-05T08:00:{k:02d}.456Z REPORT RequestId: r{k}\tDuration: {100 + k}.25 ms\t"
            f"Billed Duration: {101 + k} ms\tMemory Size: 256 MB\tMax Memory Used: 80 MB",
        ]
    return "\n".join(lines) + "\n"


def swf(rng: random.Random) -> str:
    """A log in Standard Workload Format, with -1 where nothing is known."""
    return """\
; Version: 2.2
; UnixStartTime: 1767571200
; MaxProcs: 128
1 0 10 3600 64 -1 1024 64 7200 2048 1 3 1 -1 1 -1 -1 -1
2 60 -1 -1 -1 -1 -1 8 600 -1 5 4 1 -1 1 -1 -1 -1
3 30 5 100 -1 -1 -1 300 -1 -1 1 3 1 -1 1 -1 -1 -1
4 90 5 100 2 -1
"""


def carbon(rng: random.Random) -> str:
    """A grid's intensity, hour by hour, as electricityMaps exports it."""
    lines = ["Datetime (UTC),Zone id,Carbon intensity gCO₂eq/kWh (direct)"]
    lines += [f"2026-01-05 {hour:02d}:00:00,DE,{300 + 5 * hour}" for hour in range(24)]
    return "\n".join(lines) + "\n"


EXPORTS: dict[str, Callable[[random.Random], str]] = {
    "vms.csv": vm_list,
    "sacct.txt": sacct,
    "pods.json": pods,
    "prometheus.json": prometheus,
    "counter.json": prometheus_counter,
    "openstack.txt": openstack,
    "flavors.json": flavors,
    "nova.csv": nova,
    "ec2.json": ec2,
    "cloudwatch.json": cloudwatch,
    "rpm.csv": requests_per_minute,
    "invocations.csv": invocations,
    "lambda.log": lambda_reports,
    "log.swf": swf,
    "carbon.csv": carbon,
}
"""What makes each file."""


def write_exports(folder: Path, *names: str) -> None:
    """Writes the files of these names, by default all."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or EXPORTS:
        (folder / name).write_text(EXPORTS[name](random.Random(1)), encoding="utf-8")


if __name__ == "__main__":
    write_exports(Path(sys.argv[1]))
