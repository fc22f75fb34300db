"""OpenStack: ``openstack server list --long`` as JSON, CSV or the drawn table, or Nova's table.

Flavors whose cores and memory do not stand there are looked up in ``openstack flavor list -f
json``, which may be given as a further file, and among the five that Nova had from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cloudarena.base.errors import TraceError
from cloudarena.importing.file import File, Found
from cloudarena.importing.mapping import ALL_AT_ONCE, Column
from cloudarena.importing.roles import tidy
from cloudarena.importing.sheet import Sheet, sheet_of_records
from cloudarena.importing.units import number
from cloudarena.workloads.prices.instances import Instance

DESCRIPTION = (
    "OpenStack: openstack server list --long (and flavor list), or Nova's table of instances"
)
FLAVORS = {
    name: Instance(name, vcpus, ram / 1024, 0.0)
    for name, vcpus, ram in (
        ("m1.tiny", 1, 512),
        ("m1.small", 1, 2048),
        ("m1.medium", 2, 4096),
        ("m1.large", 4, 8192),
        ("m1.xlarge", 8, 16384),
    )
}
"""The flavors that Nova had from the start."""
STARTS = ("os_srv_usg_launched_at", "launched_at", "created_at", "created", "launched")
ENDS = ("os_srv_usg_terminated_at", "terminated_at", "deleted_at", "terminated")
NAMES = ("flavor_name", "flavor", "flavor_original_name", "instance_type")


def recognises(file: File) -> bool:
    """Recognises servers of the API, of the command, and of Nova's table; and flavors."""
    return file.holds("servers") or _is_servers(file.words) or _is_flavors(file.words)


def _is_servers(words: frozenset[str]) -> bool:
    command = {"id", "status"} <= words and bool(words & {"flavor", "flavor_name"})
    table = {"uuid", "vcpus", "memory_mb", "launched_at"} <= words
    usage = {"os_srv_usg_launched_at"} <= words
    return command or table or usage


def _is_flavors(words: frozenset[str]) -> bool:
    return {"name", "ram", "vcpus", "disk"} <= words


def read(files: Sequence[File]) -> Found:
    """The servers, with the sizes of their flavors."""
    flavors, notes = dict(FLAVORS), list[str]()
    servers: list[dict[str, Any]] = []
    for file in files:
        if _is_flavors(file.words) and not _is_servers(file.words):
            for one in _records(file):
                row = {tidy(key): value for key, value in one.items()}
                name = str(row["name"])
                try:
                    flavors[name] = Instance(
                        name, number(str(row["vcpus"])), number(str(row["ram"])) / 1024, 0.0
                    )
                except ValueError:
                    notes.append(f"flavor {name}: its cores or memory are no numbers: left out")
        else:
            servers += [_server(one) for one in _records(file)]
    if not servers:
        raise TraceError(f"{files[0].path}: has no servers")
    sheet = sheet_of_records(files[0].path, servers, remarks=("servers of OpenStack",))
    sheet = Sheet(
        sheet.path, sheet.columns, sheet.lines, sheet.bad, sheet.remarks, {"types": flavors}
    )
    roles = {"id": "id", "start": "start", "end": "end", "user": "project", "type": "flavor"}
    mapping = {role: Column(name) for role, name in roles.items() if name in sheet.columns}
    if not any(one["start"] for one in servers):
        mapping["start"] = ALL_AT_ONCE
        notes.append(
            "openstack server list --long -c ID -c 'Flavor Name' -c 'Created At' -f json tells "
            "when servers began; Nova's table also when they ended",
        )
    if any(one["vcpus"] for one in servers):
        mapping |= {"cores": Column("vcpus"), "memory": Column("ram_mb", "mb")}
    return Found(sheet, "vm", mapping, notes=tuple(notes))


def _records(file: File) -> Iterator[dict[str, Any]]:
    if file.holds("servers"):
        yield from file.document["servers"]
    elif isinstance(file.document, list):
        yield from file.document
    else:
        names = file.sheet.names
        for row in zip(*(file.sheet.texts(name) for name in names), strict=True):
            yield dict(zip(names, row, strict=True))


def _server(record: Mapping[str, Any]) -> dict[str, Any]:
    row = {tidy(key): value for key, value in record.items()}

    def first(names: Sequence[str]) -> Any:
        return next((row[name] for name in names if row.get(name) not in (None, "")), None)

    flavor = first(NAMES)
    vcpus, ram = row.get("vcpus"), row.get("memory_mb") or row.get("ram")
    if isinstance(flavor, Mapping):
        vcpus, ram = vcpus or flavor.get("vcpus"), ram or flavor.get("ram")
        flavor = flavor.get("original_name") or flavor.get("name") or flavor.get("id")
    if isinstance(flavor, str):
        flavor = re.sub(r" \(.*\)$", "", flavor)  # m1.small (2), as server show has it
    return {
        "id": first(("id", "uuid", "name")),
        "start": first(STARTS),
        "end": first(ENDS),
        "flavor": flavor,
        "vcpus": vcpus,
        "ram_mb": ram,
        "project": first(("project_id", "tenant_id", "project")),
        "status": row.get("status") or row.get("vm_state"),
    }
