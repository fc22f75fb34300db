"""EC2: ``aws ec2 describe-instances``, JSON, or the console's CSV; types by the list of prices.

The end of an instance stands in StateTransitionReason, ``User initiated (2026-01-03 10:11:12
GMT)``, once it is stopped or terminated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import Column
from cloudarena.importing.roles import tidy
from cloudarena.importing.sheet import sheet_of_records

DESCRIPTION = "EC2: aws ec2 describe-instances"
GONE = ("terminated", "stopped", "stopping", "shutting-down")
KEYS = {
    "instance_id": "InstanceId",
    "instance_type": "InstanceType",
    "launch_time": "LaunchTime",
    "instance_state": "State",
    "state_transition_reason": "StateTransitionReason",
    "owner_id": "OwnerId",
}
"""What the columns of a table are called in the JSON: the console writes ``Launch time``."""
WHEN = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: GMT)?)\)")


def recognises(file: File) -> bool:
    """Recognises the answer by its reservations, or a list of instances by its keys."""
    return file.holds("Reservations") or {"instance_id", "launch_time"} <= file.words


def read(files: Sequence[File]) -> Found:
    """Reads the instances."""
    records = [record for file in files for one in _instances(file) for record in _record(one)]
    if not records:
        raise TraceError(f"{files[0].path}: has no instances")
    sheet = sheet_of_records(files[0].path, records, remarks=("instances of EC2",))
    roles = {
        "id": "id", "start": "launched", "end": "gone", "type": "type", "cores": "vcpus",
        "user": "owner", "state": "state",
    }  # fmt: skip
    mapping = {role: Column(name) for role, name in roles.items() if name in sheet.columns}
    return Found(sheet, "vm", mapping)


def _instances(file: File) -> Iterator[dict[str, Any]]:
    if file.holds("Reservations"):
        for reservation in file.document["Reservations"]:
            for instance in reservation.get("Instances", []):
                yield {"OwnerId": reservation.get("OwnerId"), **instance}
    elif isinstance(file.document, list):
        for part in file.document:  # --query 'Reservations[].Instances[]' may nest lists
            yield from part if isinstance(part, list) else [part]
    else:
        names = [KEYS.get(tidy(name), name) for name in file.sheet.names]
        for row in zip(*map(file.sheet.texts, file.sheet.names), strict=True):
            yield dict(zip(names, row, strict=True))


def _record(instance: dict[str, Any]) -> Iterator[dict[str, Any]]:
    state = instance.get("State")
    name = str(state.get("Name") if isinstance(state, dict) else state or "").lower()
    reason = WHEN.search(str(instance.get("StateTransitionReason") or ""))
    options = instance.get("CpuOptions") or {}
    vcpus = None
    if isinstance(options, dict) and options.get("CoreCount"):
        vcpus = int(options["CoreCount"]) * int(options.get("ThreadsPerCore", 1))
    yield {
        "id": instance.get("InstanceId"),
        "launched": instance.get("LaunchTime"),
        "gone": reason[1] if reason and name in GONE else None,
        "type": instance.get("InstanceType"),
        "owner": instance.get("OwnerId"),
        "state": name,
        "vcpus": vcpus,
    }
