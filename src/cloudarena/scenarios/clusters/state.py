"""What a run of clusters holds: arrays that the kernel changes."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints


class Total(IntEnum):
    """What is added up: MB-seconds, task-seconds of waiting and service, VM-seconds of service."""

    MEMORY = 0
    BACKLOG = 1
    BUSY = 2


class Rules(NamedTuple):
    """The spec's numbers that the kernel needs."""

    vms: int
    allow_idle: bool
    squared: bool
    """Whether memory adds up as ``sum d theta^2``."""
    oracle: bool
    """Whether batches to come are known."""
    pipelined: bool
    """Whether a stage thinks for the next one."""
    decide_seconds: float
    stage_s: float
    least_stage_s: float


CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("ended", np.int64),  # whether all work is done
        ("plans", np.int64),  # how many decisions were taken; the last one's plan is in force
        ("stages", np.int64),  # how many stages are over
    ]
)
PLAN = np.dtype([("time", np.float64), ("length_s", np.float64), ("evaluations", np.int64)])
"""A decision that was taken."""
STAGE = np.dtype(
    [
        ("begin", np.float64),
        ("end", np.float64),
        ("thinking_s", np.float64),  # the part of it that was spent thinking for the next stage
        ("plan", np.int64),  # the plan that was in force
    ]
)
"""A stage that is over."""


class Works(IntEnum):
    """Rows of ``World.works``: VM-seconds of each class, or VM-seconds a second."""

    BACKLOG = 0  # has arrived and is not done
    EXPECTED = 1  # what the next stage is expected to have to do
    LONG_RUN = 2  # the backlog, and what arrives in a stage in the long run
    RECENT_RATE = 3  # arrives a second, as expected for the next stage
    LONG_RATE = 4  # arrives a second, since the start
    GAINS = 5  # room for what one VM more would shorten


RULE_COUNT = 7
"""How many rules there are whose shares learners are told."""


class World(NamedTuple):
    """A run: what arrives, and how far it is done. Arrays of (batches, classes), or of classes."""

    rules: Rules
    times: Floats  # (batches,)
    tasks: Floats
    arrived: Floats  # (batches + 1, classes): tasks of the first batches
    seconds: Floats  # of a task on one VM
    memory_mb: Floats  # of a VM that works on the batch
    mean_seconds: Floats
    mean_memory_mb: Floats
    changes: Floats  # (parts,): when VMs fail or come back, after a first 0
    up_before: Ints  # (parts, VMs + 1): of the first VMs, how many are up; one 0 without failures
    start: Floats  # NaN until it is known
    finish: Floats
    head: Ints  # the batch that each class is at
    left: Floats  # VM-seconds of it that are left
    done: Floats  # tasks of each class
    totals: Floats  # by Total
    class_totals: Floats  # (classes, Total)
    cluster_of: Ints  # the virtual cluster of each class
    cluster_vms: Ints  # the VMs of each virtual cluster
    cluster_first: Ints  # the number of its first VM
    largest_work: Floats  # scratch: of each virtual cluster, the work of the class with the most
    next_vm: Ints  # scratch: of each virtual cluster, the first VM that no class has so far
    clock: NDArray[np.void]  # (1,) of CLOCK
    plans: NDArray[np.void]  # (room,) of PLAN
    plan_shares: Ints  # (room, classes)
    stages: NDArray[np.void]  # (room,) of STAGE
    stage_done: Floats  # (room, classes): what was done when a stage began
    works: Floats  # (Works, classes): what candidates are made of,
    rule_shares: Ints  # (rules, classes): the shares of the rules among them,
    rule_has: Ints  # (rules,): and whether there are any
