"""What a run of clusters holds: arrays that the kernel changes."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from cloudarena.base.arrays import Floats, Ints


class Total(IntEnum):
    """What is added up: MB-seconds, task-seconds of waiting and service, VM-seconds of service."""

    MEMORY = 0
    BACKLOG = 1
    BUSY = 2


class World(NamedTuple):
    """A run: what arrives, and how far it is done. Arrays of (batches, classes), or of classes."""

    times: Floats  # (batches,)
    tasks: Floats
    seconds: Floats  # of a task on one VM
    memory_mb: Floats  # of a VM that works on the batch
    start: Floats  # NaN until it is known
    finish: Floats
    head: Ints  # the batch that each class is at
    left: Floats  # VM-seconds of it that are left
    done: Floats  # tasks of each class
    totals: Floats  # by Total
