"""Sizes of instance types that are in no list, by what clouds put into their names."""

from __future__ import annotations

import re

from cloudarena.workloads.prices.instances import Instance, read_instances

AWS = re.compile(
    r"([a-z]+)(\d+)([a-z-]*)[.](?:(nano|micro|small|medium|large|x?large|metal)|(\d+)xlarge)"
)
AWS_VCPUS = {"nano": 1, "micro": 1, "small": 1, "medium": 1, "large": 2, "xlarge": 4}
AWS_GB = {"c": 2.0, "m": 4.0, "t": 4.0, "r": 8.0, "i": 8.0, "z": 8.0, "x": 16.0, "d": 8.0}
"""GB beside a vCPU by the first letter of a family."""
BURSTABLE_GB = {"nano": 0.5, "micro": 1.0, "small": 2.0, "medium": 4.0, "large": 8.0}
AZURE = re.compile(
    r"(?:Standard|Basic)_([A-Z]+?)(\d+)(?:-(\d+))?([a-z]*)(?:_[A-Za-z0-9]+)*", re.ASCII
)
AZURE_GB = {
    "A": 2.0,
    "B": 4.0,
    "D": 4.0,
    "DC": 4.0,
    "E": 8.0,
    "EC": 8.0,
    "F": 2.0,
    "L": 8.0,
    "M": 28.0,
}
GCP = re.compile(r"([a-z]\d[a-z]?)-(standard|highmem|highcpu)-(\d+)(?:-lssd)?")
GCP_GB = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
GCP_SHARED = {
    "e2-micro": (2, 1.0), "e2-small": (2, 2.0), "e2-medium": (2, 4.0),
    "f1-micro": (1, 0.6), "g1-small": (1, 1.7),
}  # fmt: skip
GCP_CUSTOM = re.compile(r"(?:[a-z]\d[a-z]?-)?custom-(\d+)-(\d+)(?:-ext)?")
FORM = re.compile(
    r"(?:^|[^0-9])(\d{1,3})\s?(?:v?cpus?|c|vc|core|cores)[-_ x./]*(\d{1,4})\s?(?:gb?|gib|ram)\b",
    re.I,
)
"""Flavors of one's own that say their sizes: 4c8g, 2vCPU-16GB, c4r16 is not one."""


def short_name(name: str) -> str:
    """The name of a type without the address before it, as Google's lists write it."""
    return name.strip().rpartition("/")[2]


def size_of(name: str) -> Instance | None:
    """The vCPUs and memory of an instance type: from the list of prices, or by its name."""
    word = short_name(name)
    return read_instances().get(word) or by_name(word)


def by_name(name: str) -> Instance | None:
    """The vCPUs and memory that the name of a type says; without a price."""
    sizes = _aws(name) or _azure(name) or _google(name)
    if sizes is None and (found := FORM.search(name)):
        sizes = float(found[1]), float(found[2])
    return None if sizes is None else Instance(name, sizes[0], sizes[1], 0.0)


def _aws(name: str) -> tuple[float, float] | None:
    found = AWS.fullmatch(name.removeprefix("db.").removeprefix("cache."))
    if found is None or found[4] == "metal":
        return None
    family, each = found[1], AWS_GB.get(found[1][0], 0.0)
    if not each:
        return None
    if family == "t":
        vcpus = 2.0 if found[4] and found[4] != "xlarge" else float(4 * int(found[5] or 1))
        return vcpus, BURSTABLE_GB.get(found[4] or "", 4.0 * vcpus)
    vcpus = float(AWS_VCPUS[found[4]] if found[4] else 4 * int(found[5]))
    return vcpus, each * vcpus


def _azure(name: str) -> tuple[float, float] | None:
    found = AZURE.fullmatch(name)
    if found is None or found[1] not in AZURE_GB:
        return None
    vcpus = float(found[2])
    half = found[1] == "B" and "m" not in found[4] and vcpus <= 2
    return float(found[3] or vcpus), vcpus * AZURE_GB[found[1]] * (0.5 if half else 1.0)


def _google(name: str) -> tuple[float, float] | None:
    if name in GCP_SHARED:
        return GCP_SHARED[name]
    if found := GCP_CUSTOM.fullmatch(name):
        return float(found[1]), float(found[2]) / 1024
    found = GCP.fullmatch(name)
    if found is None:
        return None
    return float(found[3]), float(found[3]) * (3.75 if found[1] == "n1" else GCP_GB[found[2]])
