"""What array policies see of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.scenarios.faas.state.records import NODE


class Replica(NamedTuple):
    """The replica that is to be placed."""

    function: int
    number: int
    """How many replicas were placed before, of all functions."""
    replicas: int
    """Replicas that the function has, without those that drain."""
    wanted: int
    """Replicas that it should have."""
    now: float
    weights: NDArray[np.float64]  # (priorities,): of the spec's scheduler


class Nodes(NamedTuple):
    """What a placer sees of the nodes: one entry each, where nothing else is said."""

    valid: NDArray[np.bool_]
    """Whether the spec's predicates let the replica run there."""
    variant: NDArray[np.int64]
    """The variant of the function that would run there: the first of its ranking that may; -1."""
    device_type: NDArray[np.int64]
    tier: NDArray[np.int64]
    """A ``Tier``: 0 edge, 1 fog, 2 cloud."""
    accelerator: NDArray[np.int64]
    """An ``Accelerator``: 0 none, 1 GPU, 2 TPU."""
    cores: NDArray[np.int64]
    free_cpu: NDArray[np.int64]
    """Millicores that no replica has asked for."""
    memory: NDArray[np.int64]
    free_memory: NDArray[np.int64]
    accelerator_memory: NDArray[np.int64]
    """Bytes; a TPU has room for one replica."""
    free_accelerator_memory: NDArray[np.int64]
    state: NDArray[np.int64]
    """A ``NodeState``: 0 on, 1 off, 2 booting."""
    replicas: NDArray[np.int64]
    running: NDArray[np.int64]
    """Invocations that execute."""
    load: NDArray[np.int64]  # (nodes, resources): claims of what executes or starts, millionths
    power_w: NDArray[np.float64]
    """What it draws now, without transfers over its interface."""
    idle_w: NDArray[np.float64]
    execution_s: NDArray[np.float64]
    """The mean time of an invocation there, alone on the node; infinity if it cannot run."""
    invocation_j: NDArray[np.float64]
    """Energy that an invocation adds there: see ``expect_energy`` in the kernel's scheduling."""
    added_w: NDArray[np.float64]
    """Power that a busy worker adds there; with idle power where the node would else be off."""
    pull_s: NDArray[np.float64]
    """The least time for the image to get there; 0 if it is there."""
    data_s: NDArray[np.float64]
    """The least time for the function's data to get there and back."""
    g_per_kwh: NDArray[np.float64]
    """The intensity of its grid now; 0 while it runs on its battery or its panels."""
    scores: NDArray[np.float64]  # (priorities, nodes): 0 to 10, higher is better


class Scaling(NamedTuple):
    """The function whose scaler is due."""

    function: int
    suggested: int
    """What the spec's scaler would do."""
    replicas: int
    """Replicas that it should have, as decided last."""
    ready: int
    """Replicas that take requests."""
    minimum: int
    maximum: int
    rate: float
    """Requests a second that arrived in the window of the scaler."""
    queue: float
    """Waiting requests on average in the window."""
    cpu: float
    """CPU that was used in the window, over what its replicas asked for."""
    running: int
    """Invocations that hold a worker."""
    waiting: int
    """Requests that wait, now."""
    since_change: float
    """Seconds since the number of replicas was changed."""
    now: float


def seen_nodes(scores: NDArray[np.float64]) -> Nodes:
    """Arrays for what a placer sees of nodes, beside the scores that the kernel keeps."""
    columns: dict[str, Any] = {
        name: np.zeros(scores.shape[1], NODE[name]) for name in Nodes._fields if name != "scores"
    }
    return Nodes(**columns, scores=scores)
