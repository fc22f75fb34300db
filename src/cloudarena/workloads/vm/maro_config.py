"""A topology of MARO's ``vm_scheduling``, its ``config.yml``, as a vm spec.

The config describes the machines, the rules and the prices; how long to run is an argument of
MARO's environment and not in it. Machines are numbered depth-first, as MARO does: regions, zones,
data centres, clusters, racks, machines, each in the order of the file. A machine's type is the
index of its component in the list, whatever its ``pm_type`` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.errors import TraceError, nearest
from cloudarena.base.files import UNREADABLE
from cloudarena.base.yaml import parse_yaml

SETTINGS = {
    "BUFFER_TIME_BUDGET": ("buffer", "budget_ticks"),
    "DELAY_DURATION": ("buffer", "delay_ticks"),
    "MAX_CPU_OVERSUBSCRIPTION_RATE": ("oversubscription", "cpu"),
    "MAX_MEM_OVERSUBSCRIPTION_RATE": ("oversubscription", "memory"),
    "MAX_UTILIZATION_RATE": ("oversubscription", "utilisation"),
    "PRICE_PER_CPU_CORES_PER_HOUR": ("prices", "core_hour_usd"),
    "PRICE_PER_MEMORY_PER_HOUR": ("prices", "gb_hour_usd"),
    "UNIT_ENERGY_PRICE_PER_KWH": ("prices", "kwh_usd"),
    "POWER_USAGE_EFFICIENCY": ("prices", "pue"),
}
"""Numbers that only have other names here."""
OTHERS = (
    "TICKS_PER_HOUR",
    "KILL_ALL_VMS_IF_OVERLOAD",
    "VM_TABLE",
    "CPU_READINGS",
    "PROCESSED_DATA_URL",
    "components",
    "architecture",
)
MOST_MACHINES = 1_000_000


class Topology(NamedTuple):
    """What a config says."""

    spec: dict[str, Any]
    """A vm spec without its workload."""
    vmtable: Path | None
    readings: tuple[Path, ...]
    """The files of readings that are there, beginning with the one that the config names."""
    notes: tuple[str, ...]
    """What could not be carried over."""


def read_config(path: Path, ticks: int) -> Topology:
    """The spec that a config amounts to, for a run of so many ticks."""
    config = _load(path)
    try:
        racks = list(_racks(config))
        components = config["components"]["pm"]
        kinds = [_machine_type(index, one) for index, one in enumerate(components)]
        rows = [kind for rack in racks for kind in rack.machines]
        for kind in rows:
            if not 0 <= kind < len(kinds):
                raise TraceError(f"pm_type: {kind} is not allowed: 0 to {len(kinds) - 1}")
        machines = [{**kinds[kind], "count": len(list(members))} for kind, members in groupby(rows)]
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    except (KeyError, IndexError, TypeError, ValueError) as error:
        what = error.args[0] if error.args else error
        raise TraceError(
            f"{path}: components or architecture cannot be read: {type(error).__name__}: {what}"
        ) from None
    spec: dict[str, Any] = {"scenario": "vm", "ticks": ticks}
    if "TICKS_PER_HOUR" in config:
        spec["tick_seconds"] = 3600.0 / _number(path, config, "TICKS_PER_HOUR")
    spec["machines"] = machines
    hierarchy = _hierarchy(racks)
    notes: tuple[str, ...] = ()
    if hierarchy is None:
        notes = ("racks or clusters differ in size: the hierarchy is left out",)
    else:
        spec["hierarchy"] = hierarchy
    for key, (section, name) in SETTINGS.items():
        if key in config:
            spec.setdefault(section, {})[name] = config[key]
    if "KILL_ALL_VMS_IF_OVERLOAD" in config:
        spec["overload"] = "kill" if config["KILL_ALL_VMS_IF_OVERLOAD"] else "record"
    vmtable = _path(path, config, "VM_TABLE")
    first = _path(path, config, "CPU_READINGS")
    return Topology(spec, vmtable, _parts(first) if first else (), notes)


def _load(path: Path) -> Mapping[str, Any]:
    try:
        config = parse_yaml(path.read_text(encoding="utf-8"))
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise TraceError(
            f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    except ValueError as error:
        raise TraceError(f"{path}, {error}") from None
    known = (*SETTINGS, *OTHERS)
    if not isinstance(config, Mapping):
        raise TraceError(f"{path}: is no config of MARO: it has no keys")
    for key in config:
        if key not in known:
            raise TraceError(f"{path}: unknown key {str(key)!r}." + nearest(str(key), known))
    for key in ("components", "architecture"):
        if key not in config:
            raise TraceError(f"{path}: {key}: is required")
    return config


def _number(path: Path, config: Mapping[str, Any], key: str) -> float:
    value = config[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        raise TraceError(f"{path}: {key}: {value!r} is not allowed: a number above 0")
    return value


def _path(path: Path, config: Mapping[str, Any], key: str) -> Path | None:
    """A path of the config; a relative one starts from the folder of the config."""
    value = config.get(key)
    if value is None:
        return None
    return path.parent / Path(str(value)).expanduser()


def _parts(first: Path) -> tuple[Path, ...]:
    """All parts of readings in ``...-file-1-of-195.bin``, by their number; else the one file."""
    match = re.fullmatch(r"(.*-file-)\d+(-of-\d+\.bin)", first.name)
    if match is None:
        return (first,)
    begin, end = match.groups()
    inside = re.compile(re.escape(begin) + r"(\d+)" + re.escape(end))
    found = {}
    for file in first.parent.glob("*.bin"):
        part = inside.fullmatch(file.name)
        if part:
            found[int(part[1])] = file
    return tuple(found[index] for index in sorted(found)) or (first,)


def _machine_type(index: int, component: Mapping[str, Any]) -> dict[str, Any]:
    curve = component["power_curve"]
    return {
        "name": f"pm-{index}",
        "cores": component["cpu"],
        "memory_gb": component["memory"],
        "power": {
            "idle_w": curve["idle_power"],
            "busy_w": curve["busy_power"],
            "r": curve["calibration_parameter"],
        },
    }


class _Rack(NamedTuple):
    """A rack: its region, zone, data centre and cluster, and the types of its machines."""

    location: tuple[int, int, int, int]
    machines: list[int]


def _racks(config: Mapping[str, Any]) -> Iterator[_Rack]:
    """All racks, depth-first."""
    components = config["components"]
    rack_types = {one["type"]: _members(one["pm"], "pm") for one in components["rack"]}
    cluster_types = {one["type"]: _members(one["rack"], "rack") for one in components["cluster"]}
    cluster = machines = 0
    for location, group in _cluster_groups(config["architecture"]["region"]):
        for _ in range(_amount(group, "cluster_amount")):
            cluster += 1
            for rack_type in cluster_types[group["type"]]:
                rack = _Rack((*location, cluster), [int(kind) for kind in rack_types[rack_type]])
                machines += len(rack.machines)
                if machines > MOST_MACHINES:
                    raise TraceError(f"architecture: more than {MOST_MACHINES:,} machines")
                yield rack


def _cluster_groups(regions: Any) -> Iterator[tuple[tuple[int, int, int], Mapping[str, Any]]]:
    """The clusters that are alike: where they are, and their entry in the config."""
    for region_number, region in enumerate(regions):
        for zone_number, zone in enumerate(region["zone"]):
            for centre_number, centre in enumerate(zone["data_center"]):
                for group in centre["cluster"]:
                    yield (region_number, zone_number, centre_number), group


def _members(entries: Any, level: str) -> list[Any]:
    """The types of what is in a rack or cluster, one by one."""
    return [
        entry[f"{level}_type"]
        for entry in entries
        for _ in range(_amount(entry, f"{level}_amount"))
    ]


def _amount(entry: Mapping[str, Any], key: str) -> int:
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_MACHINES:
        raise TraceError(f"{key}: {value!r} is not allowed: 1 to {MOST_MACHINES:,}")
    return value


def _hierarchy(racks: list[_Rack]) -> dict[str, int] | None:
    """How many of each level are in one of the level above; None where that differs."""
    if len({len(rack.machines) for rack in racks}) != 1:
        return None
    counts = []
    rows: list[tuple[int, ...]] = [(*rack.location, k) for k, rack in enumerate(racks)]
    for level in range(len(rows[0]), 0, -1):
        members = sorted({row[:level] for row in rows})
        groups = [len(list(inside)) for _, inside in groupby(members, lambda row: row[:-1])]
        if len(set(groups)) != 1:
            return None
        counts.append(groups[0])
    names = ("regions", "zones", "data_centres", "clusters", "racks")
    return dict(zip(names, reversed(counts), strict=True))
