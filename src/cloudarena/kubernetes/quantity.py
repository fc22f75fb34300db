"""Kubernetes quantities, exactly: ``250m``, ``1.5``, ``1e3``, ``16333764Ki``, ``2G``."""

from __future__ import annotations

import math
import re
from fractions import Fraction

CPU, MEMORY, PODS = "cpu", "memory", "pods"
SUFFIXES = {
    **{"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1)},
    **{letter: Fraction(1000 ** (k + 1)) for k, letter in enumerate("kMGTPE")},
    **{f"{letter}i": Fraction(1024 ** (k + 1)) for k, letter in enumerate("KMGTPE")},
}
"""What a suffix multiplies by; M is a million."""
QUANTITY = re.compile(
    r"([+-]?(?:\d{1,40}(?:[.]\d{0,40})?|[.]\d{1,40}))(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)"
)


def quantity(text: str) -> Fraction:
    """The number that a text stands for; raises ValueError."""
    found = QUANTITY.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    number = Fraction(found[1])
    return number * Fraction(10) ** int(found[2]) if found[2] else number * SUFFIXES[found[3] or ""]


def amount(resource: str, text: str) -> int:
    """A quantity of a resource as kube-scheduler counts it, rounded up.

    CPU is in thousandths of a core, memory in bytes, everything else in pieces.
    """
    return math.ceil(quantity(text) * (1000 if resource == CPU else 1))


def written(resource: str, value: int) -> str:
    """An amount as people read it: ``1500m`` of CPU is ``1.5``, memory is in Gi."""
    if resource == CPU:
        return f"{value / 1000:g}"
    if resource == MEMORY or "storage" in resource or resource.startswith("hugepages-"):
        return f"{value / 2**30:.4g} Gi"
    return f"{value:,}"
