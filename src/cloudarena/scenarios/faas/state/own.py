"""What functions of users see that kernels call: numbers, all of them floating."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

COLUMNS = 8
"""Numbers in a row of what is shown."""


class Hook(IntEnum):
    """Which function of a user's is asked."""

    ROUTE = 0
    CONTENTION = 1
    KEEP = 2
    EVICT = 3
    START = 4
    SETUP = 5
    EXECUTION = 6


HOOKS: dict[int, str] = {
    Hook.ROUTE: "router",
    Hook.CONTENTION: "contention.model",
    Hook.KEEP: "keep",
    Hook.EVICT: "evict",
    Hook.START: "lifecycle.start",
    Hook.SETUP: "lifecycle.setup",
    Hook.EXECUTION: "lifecycle.execution",
}
"""The keys of a spec that name them."""


class Choices(NamedTuple):
    """The replicas that are ready for a request, oldest first: what a router sees."""

    node: NDArray[np.float64]
    """The index of its node."""
    cores: NDArray[np.float64]
    load: NDArray[np.float64]
    """The share of the node's CPU that is claimed, which may be above 1."""
    work: NDArray[np.float64]
    """Requests that it has or is about to have."""
    workers: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    """The latency from where the request comes; 0 without a topology."""
    power_w: NDArray[np.float64]
    """What its node draws."""
    served: NDArray[np.float64]
    """Requests that it has taken up so far."""


class Load(NamedTuple):
    """What is claimed of a node, as shares that may sum to more than 1."""

    cpu: float
    accelerator: float
    disk: float
    network: float
    memory: float
    bus: float
    """The load of the memory bus: claims of CPU times what is memory-bound, over its saturation."""
    running: float
    """Invocations that execute there."""
    cores: float


class Claim(NamedTuple):
    """What one invocation claims of its node, as shares."""

    cpu: float
    accelerator: float
    disk: float
    network: float
    memory: float
    bus: float
    memory_bound: float


class Idle(NamedTuple):
    """A replica that is idle, of a function that scales per request."""

    now_s: float
    idle_s: float
    """How long it has been idle."""
    memory_mb: float
    cold_s: float
    """How long its cold start took."""
    uses: float
    """Invocations of its function since that had no replica."""
    served: float
    """Requests that it has taken up."""
    replicas: float
    """Replicas of its function that are ready."""
    node: float
    """The index of its node."""


class Step(NamedTuple):
    """A replica that starts or is set up, or serves an invocation that begins to execute."""

    now_s: float
    drawn_s: float
    """What the spec's distribution gives."""
    function: float
    """The index of its function."""
    node: float
    """The index of its node."""
    cores: float
    load: float
    """The share of the node's CPU that is claimed, by an invocation that begins too."""
    replicas: float
    """Replicas on the node, itself too."""
    served: float
    """Requests that it has taken up, the one that begins too; 0 while it is not ready."""
