"""What a run of workflows holds: arrays that the kernel changes and policies look at.

Functions are numbered workflow by workflow; NUMA nodes server by server, servers as the spec has
them. Memory is in MB, time in seconds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.calendar import Calendar
from cloudarena.engine.sharing import Sharing, make_sharing
from cloudarena.engine.status import FIRST_REASON

LONGEST_S = 1e10
"""No function may take longer, or be held back longer, in seconds: 300 years."""


class NotAllowed(IntEnum):
    """Why an action may not be taken."""

    NO_SUCH_NODE = FIRST_REASON
    BAD_MEMORY = FIRST_REASON + 1
    TOO_SLOW = FIRST_REASON + 2
    BAD_START = FIRST_REASON + 3


class Function(NamedTuple):
    """The function that is to be placed."""

    number: int
    """The index of the function among all, by the arrival of workflows."""
    workflow: int
    """The workflow: the number that tables have, or, where workflows have names of text there,
    the rank of its name among them in alphabetical order."""
    function: int
    """The index of the function in its workflow."""
    computation: int
    """The work of the function, in operations."""
    memory_req: int
    parallelism: int
    now: float
    """When it was submitted: now."""
    elapsed: float
    """Since its workflow arrived."""
    remaining_path: float
    """The least time from its start to the end of its workflow, without transfers."""
    critical_path: float
    """The longest path of the whole workflow from its arrival."""
    last_node: int
    """The node that was chosen last, of all functions; -1 at first."""
    time_weight: float
    """What a second of an unfinished workflow weighs in the spec's objective."""
    rent_weight: float
    """What a dollar of rent weighs in the spec's objective."""


class Nodes(NamedTuple):
    """What a policy sees of the NUMA nodes: one entry each, where nothing else is said."""

    server: NDArray[np.int64]
    cores: NDArray[np.int64]
    memory: NDArray[np.int64]
    free_memory: NDArray[np.int64]
    """Not held by running containers."""
    coming: NDArray[np.int64]
    """Containers on their way, whose data is not there yet."""
    coming_memory: NDArray[np.int64]
    waiting: NDArray[np.int64]
    """Containers that wait for memory."""
    waiting_memory: NDArray[np.int64]
    parallelism: NDArray[np.int64]
    """Threads of the running containers; over the cores this is the load."""
    assigned: NDArray[np.int64]
    """Threads of all containers that run, are on their way, or wait."""
    utilisation: NDArray[np.float64]
    """Operations that are done over those that could be."""
    hourly_rate: NDArray[np.float64]
    expiry: NDArray[np.float64]
    """When the lease of the server ends."""
    boot: NDArray[np.float64]
    """How long the server would still boot if the function were sent to it now."""
    transfer: NDArray[np.float64]
    """How long the function's data would take to the node."""
    memory_options: NDArray[np.int64]  # (options,), rising
    sharing: Sharing
    """The running containers, for forecasts."""
    coming_head: NDArray[np.int64]
    """The first container on its way to each node, for forecasts."""
    begin: NDArray[np.float64]  # (slots,)
    """When each container on its way gets there."""


class Servers(NamedTuple):
    """Servers are rented whole."""

    first_node: NDArray[np.int64]  # (servers + 1,)
    latency: NDArray[np.float64]
    expiry: NDArray[np.float64]
    boot_end: NDArray[np.float64]
    latest: NDArray[np.float64]  # (nodes,): no container of the node runs longer, as far as known


class Demand(NamedTuple):
    """The workflows as the workload has them."""

    arrival: NDArray[np.float64]  # (workflows,)
    shown_id: NDArray[np.int64]  # (workflows,): what policies see as the number of each
    rank: NDArray[np.int64]  # (workflows,): how many functions those before it have
    first_function: NDArray[np.int64]
    workflow: NDArray[np.int64]  # (functions,)
    computation: NDArray[np.int64]
    memory_req: NDArray[np.int64]
    parallelism: NDArray[np.int64]
    first_parent: NDArray[np.int64]
    parents: NDArray[np.int64]
    parent_bytes: NDArray[np.int64]
    first_child: NDArray[np.int64]
    children: NDArray[np.int64]
    remaining_path: NDArray[np.float64]
    critical_path: NDArray[np.float64]  # (workflows,)


class Rules(NamedTuple):
    """The spec's numbers that the kernel needs."""

    memory_bandwidth: float
    numa_bandwidth: float
    network_bandwidth: float
    parallel_transfer: bool
    strict: bool
    """Whether newcomers wait behind those that wait."""
    backfill: bool
    """Whether those behind one that does not fit may start."""
    time_weight: float
    rent_weight: float
    """What the objective weighs a second and a dollar."""


class Containers(NamedTuple):
    """Containers in the slots of the sharing."""

    function: NDArray[np.int64]
    node: NDArray[np.int64]
    spare: NDArray[np.int64]
    """Slots that are free, as a stack."""
    waiting: NDArray[np.void]  # (nodes,) of ENDS: those that wait for memory, first in first out


class Progress(NamedTuple):
    """How far each function and workflow is."""

    parents_left: NDArray[np.int64]
    node: NDArray[np.int64]  # (functions,): where it runs or ran; -1
    functions_left: NDArray[np.int64]  # (workflows,)
    completion: NDArray[np.float64]  # (workflows,)


PLACEMENT = np.dtype(
    [
        ("memory", np.int64),
        ("submission", np.float64),
        ("not_before", np.float64),  # until when it was held back, at least; minus infinity
        ("cold_start", np.float64),
        ("transfer", np.float64),
        ("creation", np.float64),
        ("start", np.float64),
        ("completion", np.float64),
    ]
)
"""What became of a function."""

LEASE = np.dtype(
    [
        ("server", np.int64),
        ("time", np.float64),  # when it was rented
        ("start", np.float64),
        ("expiry", np.float64),
        ("hours", np.int64),
    ]
)

MOMENT = np.dtype(
    [
        ("node", np.int64),
        ("time", np.float64),
        ("utilisation", np.float64),
        ("free_memory", np.int64),
        ("parallelism", np.int64),
    ]
)
"""A node from a moment on."""

CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("pending", np.int64),  # the function to decide on, or -1
        ("arrived", np.int64),
        ("last_node", np.int64),
        ("spare", np.int64),  # how many slots are free
        ("leases", np.int64),  # how many rows there are
        ("moments", np.int64),
        ("node", np.int64),  # the last action, for the message when it is not allowed
        ("memory", np.int64),
        ("not_before", np.float64),
    ]
)

TOTALS = np.dtype(
    [
        ("active", np.int64),  # workflows that have arrived and not finished
        ("active_s", np.float64),  # its integral over time
        ("rent", np.float64),
        ("cold_starts", np.int64),
        ("transfer_s", np.float64),
        ("memory_wait_s", np.float64),
        ("functions", np.int64),
        ("workflows", np.int64),
    ]
)


class World(NamedTuple):
    """Everything a run holds."""

    rules: Rules
    demand: Demand
    nodes: Nodes
    servers: Servers
    containers: Containers
    progress: Progress
    submissions: Calendar
    """Functions that are submitted now; the time of an entry is the function's position in line."""
    creations: Calendar
    """Containers on their way, by when they get there."""
    clock: NDArray[np.void]  # (1,) of CLOCK
    totals: NDArray[np.void]  # (1,) of TOTALS
    placements: NDArray[np.void]  # (functions,) of PLACEMENT; no rows: not recorded
    leases: NDArray[np.void]  # of LEASE; no rows: not recorded
    moments: NDArray[np.void]  # of MOMENT; no rows: not recorded
    last_moment: NDArray[np.int64]  # (nodes,): the node's last row in `moments`; -1
    bytes_on_node: NDArray[np.int64]  # (nodes,): zero, but for a moment
    bytes_on_server: NDArray[np.int64]  # (servers,): the same


def empty_nodes(count: int, slots: int, core_speed: int, whole: bool) -> Nodes:
    """The arrays of a number of nodes, all zero."""
    real = {"utilisation", "hourly_rate", "expiry", "boot", "transfer"}
    columns: dict[str, Any] = {
        name: np.zeros(count, np.float64 if name in real else np.int64) for name in Nodes._fields
    }
    cores = np.zeros(count, np.int64)
    return Nodes(
        **{
            **columns,
            "cores": cores,
            "coming_head": np.full(count, -1),
            "begin": np.zeros(slots),
            "sharing": make_sharing(cores, core_speed, whole, slots),
        }
    )


def with_room_for_forecasts(locked_nodes: Nodes, nodes: Nodes) -> Nodes:
    """Read-only nodes in which forecasts can still write to their own room, and to nothing else."""
    room = {
        name: value for name, value in nodes.sharing._asdict().items() if name.startswith("trial_")
    }
    return locked_nodes._replace(sharing=locked_nodes.sharing._replace(**room))
