"""What a file does not tell: how many machines of which size, guessed from the peak."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.workloads.prices.instances import Instance, nearest_instance

CORES = (2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024)
"""Cores that machines have."""
MEMORY_GB = (4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096, 8192)
"""Memory that machines have, in GB."""
SPARE = 1.1
"""How much more than the peak there is, so that a policy has a choice."""
MACHINES = 40
"""About so many machines are guessed at most, larger ones if need be."""


class Machines(NamedTuple):
    """Machines that are alike."""

    name: str
    number: int
    cores: float
    memory_gb: float
    instance: Instance | None = None
    """What is about as large and has a list price."""


def peak(begin: Floats, end: Floats, amount: Floats) -> float:
    """The most that is there at a time, if all that a file has were there from begin to end."""
    # What ends at an instant is gone before what begins then.
    order = np.argsort(np.concatenate((end, begin)), kind="stable")
    change = np.concatenate((-amount, amount))[order]
    return float(np.cumsum(change, out=change).max(initial=0.0))


def at_least(sizes: Sequence[float], wanted: float) -> float:
    """The smallest of sizes that is enough; whole multiples of the largest beyond it."""
    enough = [size for size in sizes if size >= wanted - 1e-9]
    return float(enough[0] if enough else math.ceil(wanted / sizes[-1]) * sizes[-1])


def machines_for(
    peak_cores: float,
    peak_memory_gb: float,
    largest_cores: float,
    largest_memory_gb: float,
    least_cores: float = 16.0,
    roomy: float = 2.0,
) -> Machines:
    """Machines that hold the peak, each with room for some of the largest.

    Args:
        peak_cores: the most cores that are asked for at a time.
        peak_memory_gb: the most memory at a time.
        largest_cores: the most cores that one asks for.
        largest_memory_gb: the most memory that one asks for.
        least_cores: no machine is smaller.
        roomy: how many of the largest a machine holds at least, by cores.
    """
    cores = at_least(CORES, max(roomy * largest_cores, peak_cores / MACHINES, least_cores))
    ratio = peak_memory_gb / peak_cores if peak_cores > 0 else 4.0
    memory = at_least(MEMORY_GB, max(cores * ratio, largest_memory_gb, 4.0))
    count = math.ceil(SPARE * max(peak_cores / cores, peak_memory_gb / memory, 1e-9))
    return Machines("machine", max(count, 1), cores, memory, nearest_instance(cores, memory))
