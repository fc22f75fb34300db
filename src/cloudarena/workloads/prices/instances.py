"""Lists of instance types with their list prices: the one that ships, or one's own.

The list that ships has on-demand prices of Linux in one region of each of three clouds, as known
at its date, without discounts: check them before you rely on them. A list of one's own is a CSV
with the columns name, vcpu, memory_gb and hour_usd; further ones are kept out. The columns that
exports have (``instanceType``, ``armSkuName``, ``retailPrice``, ``price``) are known too.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cloudarena.base.errors import SpecError, TraceError, nearest
from cloudarena.base.files import UNREADABLE

SHIPPED = Path(__file__).with_name("instances.csv")
COLUMNS = {
    "name": ("name", "instance_type", "instancetype", "armskuname", "type", "sku"),
    "vcpu": ("vcpu", "vcpus", "cores", "cpu", "numberofcores"),
    "memory_gb": ("memory_gb", "memory", "gib", "memorygb", "memory_gib", "ram_gb"),
    "hour_usd": ("hour_usd", "usd_h", "price", "retailprice", "price_usd", "usd_per_hour"),
}
"""What each column may be called, in lower case."""


class Instance(NamedTuple):
    """An instance type."""

    name: str
    vcpu: float
    memory_gb: float
    hour_usd: float
    cloud: str = ""
    region: str = ""
    date: str = ""

    def __str__(self) -> str:
        where = ", ".join(part for part in (self.cloud, self.region, self.date) if part)
        return f"{self.name} ({where})" if where else self.name


@cache
def read_instances(path: Path = SHIPPED) -> dict[str, Instance]:
    """The instance types of a list, by name."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (*UNREADABLE, UnicodeDecodeError, csv.Error) as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else f"{error}"
        raise TraceError(f"{path}: cannot be read as a list of instance types: {reason}") from None
    if not rows:
        raise TraceError(f"{path}: has no instance types")
    names = {column.strip().lower(): column for column in rows[0] if column}
    found = {
        key: next((names[word] for word in words if word in names), None)
        for key, words in COLUMNS.items()
    }
    for key, column in found.items():
        if column is None:
            raise TraceError(
                f"{path}: column {key!r} is missing: needed are {', '.join(COLUMNS)}."
                + nearest(key, names)
            )
    instances = {}
    for line, row in enumerate(rows, 2):
        sizes = {}
        for key in ("vcpu", "memory_gb", "hour_usd"):
            text = str(row[str(found[key])] or "").replace("GiB", "").strip()
            try:
                sizes[key] = float(text)
            except ValueError:
                sizes[key] = math.nan
            if not 0 <= sizes[key] <= 1e9:
                raise TraceError(
                    f"{path}, line {line}: {found[key]}: {text!r} is not allowed: "
                    "a number, at least 0"
                )
        name = str(row[str(found["name"])] or "").strip()
        if name in instances:
            raise TraceError(f"{path}, line {line}: {name!r} is a duplicate")
        where = [str(row.get(key) or "") for key in ("cloud", "region", "date")]
        instances[name] = Instance(
            name, sizes["vcpu"], sizes["memory_gb"], sizes["hour_usd"], *where
        )
    return instances


def instance_named(name: str, path: Path = SHIPPED) -> Instance:
    """The instance type of a name, or an error that says which is the nearest."""
    instances = read_instances(path)
    if name not in instances:
        raise SpecError(
            f"instance: {name!r} is not allowed: one of the {len(instances)} of {path.name}."
            + nearest(name, instances)
        )
    return instances[name]


def nearest_instance(vcpu: float, memory_gb: float) -> Instance:
    """The cheapest instance type of the shipped list that is as large; the largest if none is."""
    instances = [one for one in read_instances().values() if not one.name.startswith("t3.")]
    enough = [one for one in instances if one.vcpu >= vcpu and one.memory_gb >= memory_gb]
    if not enough:
        return max(instances, key=lambda one: (one.vcpu, one.memory_gb))
    return min(enough, key=lambda one: (one.hour_usd, one.name))
