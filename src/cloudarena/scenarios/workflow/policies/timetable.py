"""Plans of workflows: upward ranks, and gaps in what nodes have promised; compiled functions."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit, jit_inline, jit_uncounted
from cloudarena.engine.dag_paths import longest_paths
from cloudarena.engine.leases import HOUR_S, periods_needed


class Transfer(IntEnum):
    """When the data of a function's parents comes.

    After all parents have completed, one after the other or all at once, as the simulation has it;
    or from each parent when it completes, as in Topcuoglu et al. (2002).
    """

    ONE_BY_ONE = 0
    AT_ONCE = 1
    EACH_WHEN_READY = 2


class Timetable(NamedTuple):
    """What the nodes have promised, and until when the servers are rented, as planned.

    The time of a node is in pieces: piece k lasts from ``begin[node, k]`` to the next one's begin,
    the last one for ever.
    """

    pieces: NDArray[np.int64]  # (nodes,): how many there are
    begin: NDArray[np.float64]  # (nodes, pieces)
    cores: NDArray[np.int64]  # (nodes, pieces): held
    memory: NDArray[np.int64]  # (nodes, pieces): MB held
    rented: NDArray[np.float64]  # (servers,): the start of the lease
    up: NDArray[np.float64]  # (servers,): when it has booted
    expiry: NDArray[np.float64]  # (servers,): the end of the lease


class Machines(NamedTuple):
    """What functions are planned on."""

    server: NDArray[np.int64]  # (nodes,)
    cores: NDArray[np.int64]  # (nodes,)
    memory: NDArray[np.int64]  # (nodes,): MB
    latency: NDArray[np.float64]  # (servers,): seconds to boot
    here: float
    """Bytes a second within a node."""
    near: float
    """Bytes a second between nodes of a server."""
    far: float
    """Bytes a second between servers."""
    transfer: int
    """How data comes, a ``Transfer``."""


class Tasks(NamedTuple):
    """The functions of a workflow, numbered from 0, and what each takes on each node."""

    seconds: NDArray[np.float64]  # (functions, nodes)
    cores: NDArray[np.int64]  # (functions, nodes)
    memory: NDArray[np.int64]  # (functions, nodes): MB
    first_parent: NDArray[np.int64]  # (functions + 1,): offsets in the next two
    parents: NDArray[np.int64]
    parent_bytes: NDArray[np.int64]


def empty_timetable(nodes: int, servers: int, capacity: int = 64) -> Timetable:
    """Nothing promised, nothing rented."""
    begin = np.full((nodes, capacity), np.inf)
    begin[:, 0] = 0.0
    return Timetable(
        np.ones(nodes, np.int64),
        begin,
        np.zeros((nodes, capacity), np.int64),
        np.zeros((nodes, capacity), np.int64),
        *(np.zeros(servers) for _ in range(3)),
    )


def with_pieces(table: Timetable, more: int) -> Timetable:
    """Returns the same timetable with room for so many more pieces of each node."""
    return table._replace(
        begin=np.pad(table.begin, ((0, 0), (0, more)), constant_values=np.inf),
        cores=np.pad(table.cores, ((0, 0), (0, more))),
        memory=np.pad(table.memory, ((0, 0), (0, more))),
    )


@jit
def upward_ranks(tasks: Tasks, machines: Machines) -> NDArray[np.float64]:
    """The longest way from the start of each function to the end of the workflow, in seconds.

    With the mean time of a function over all nodes, and of a transfer over all pairs of nodes.
    """
    functions, nodes = tasks.seconds.shape
    per_byte = 0.0
    for one in range(nodes):
        for other in range(nodes):
            if one != other:
                per_byte += 1.0 / _bandwidth(machines, one, other)
    per_byte /= max(1, nodes * (nodes - 1))
    mean = np.empty(functions)
    for index in range(functions):
        mean[index] = tasks.seconds[index].mean()
    transfers = tasks.parent_bytes * per_byte
    return longest_paths(tasks.first_parent, tasks.parents, mean, transfers)


@jit_inline
def _bandwidth(machines: Machines, source: int, node: int) -> float:
    if source == node:
        return machines.here
    return machines.near if machines.server[source] == machines.server[node] else machines.far


@jit
def plan_workflow(
    table: Timetable, machines: Machines, tasks: Tasks, order: NDArray[np.int64], now: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Gives each function, in order, the node on which it ends first, in a gap that is long enough.

    Returns the nodes and the times of start; the timetable has them too then.
    """
    functions, nodes = tasks.seconds.shape
    chosen, starts, ends = np.full(functions, -1), np.zeros(functions), np.zeros(functions)
    for index in order:
        submission = now
        for k in range(tasks.first_parent[index], tasks.first_parent[index + 1]):
            submission = max(submission, ends[tasks.parents[k]])
        best, start, end = -1, np.inf, np.inf
        for node in range(nodes):
            ready = _data_ready(table, machines, tasks, chosen, ends, index, node, submission)
            seconds = tasks.seconds[index, node]
            if ready + seconds >= end:
                continue
            begin = _earliest(table, machines, tasks, index, node, ready)
            if begin + seconds < end:
                best, start, end = node, begin, begin + seconds
        chosen[index], starts[index], ends[index] = best, start, end
        _reserve(table, best, start, end, tasks.cores[index, best], tasks.memory[index, best])
        _rent(table, machines, machines.server[best], submission, end)
    return chosen, starts


@jit_inline
def _data_ready(
    table: Timetable,
    machines: Machines,
    tasks: Tasks,
    chosen: NDArray[np.int64],
    ends: NDArray[np.float64],
    index: int,
    node: int,
    submission: float,
) -> float:
    """When a function could begin on a node, were all cores free."""
    server = machines.server[node]
    is_cold = not table.rented[server] <= submission < table.expiry[server]
    up = submission + machines.latency[server] if is_cold else max(submission, table.up[server])
    total, slowest, latest = 0.0, 0.0, up
    for k in range(tasks.first_parent[index], tasks.first_parent[index + 1]):
        parent = tasks.parents[k]
        seconds = tasks.parent_bytes[k] / _bandwidth(machines, chosen[parent], node)
        total += seconds
        slowest = max(slowest, seconds)
        latest = max(latest, ends[parent] + seconds)
    if machines.transfer == Transfer.EACH_WHEN_READY:
        return latest
    return up + (total if machines.transfer == Transfer.ONE_BY_ONE else slowest)


@jit_inline
def _earliest(
    table: Timetable, machines: Machines, tasks: Tasks, index: int, node: int, ready: float
) -> float:
    """The first time from ``ready`` on from which the function has its cores and memory."""
    seconds = tasks.seconds[index, node]
    free_cores = machines.cores[node] - tasks.cores[index, node]
    free_memory = machines.memory[node] - tasks.memory[index, node]
    start = ready
    for k in range(table.pieces[node]):
        end = table.begin[node, k + 1] if k + 1 < table.pieces[node] else np.inf
        if end <= start:
            continue
        if table.cores[node, k] > free_cores or table.memory[node, k] > free_memory:
            start = end
        elif end >= start + seconds:
            break
    return start


@jit_inline
def _reserve(
    table: Timetable, node: int, start: float, end: float, cores: int, memory: int
) -> None:
    """Promises cores and memory of a node from one time to another."""
    first = _cut(table, node, start)
    last = _cut(table, node, end)
    for k in range(first, last):
        table.cores[node, k] += cores
        table.memory[node, k] += memory


@jit_inline
def _cut(table: Timetable, node: int, time: float) -> int:
    """The piece of a node that begins at a time; the one that holds the time is cut in two."""
    pieces = table.pieces[node]
    k = pieces
    while k > 0 and table.begin[node, k - 1] >= time:
        k -= 1
    if k < pieces and table.begin[node, k] == time:
        return k
    for j in range(pieces, k, -1):
        table.begin[node, j] = table.begin[node, j - 1]
        table.cores[node, j] = table.cores[node, j - 1]
        table.memory[node, j] = table.memory[node, j - 1]
    table.begin[node, k] = time
    table.cores[node, k] = table.cores[node, k - 1] if k > 0 else 0
    table.memory[node, k] = table.memory[node, k - 1] if k > 0 else 0
    table.pieces[node] = pieces + 1
    return k


@jit_inline
def _rent(table: Timetable, machines: Machines, server: int, submission: float, end: float) -> None:
    """Rents a server from the submission of a function to its end, in whole hours."""
    if not table.rented[server] <= submission < table.expiry[server]:
        if not submission < table.rented[server]:
            table.expiry[server] = submission
        table.rented[server] = submission
        table.up[server] = submission + machines.latency[server]
    if end > table.expiry[server]:
        hours = periods_needed(table.expiry[server], end, HOUR_S)
        table.expiry[server] += hours * HOUR_S


@jit_uncounted
def forget_before(table: Timetable, now: float) -> None:
    """Leaves out the pieces that are over."""
    for node in range(len(table.pieces)):
        gone = 0
        while gone + 1 < table.pieces[node] and table.begin[node, gone + 1] <= now:
            gone += 1
        kept = table.pieces[node] - gone
        for k in range(kept):
            table.begin[node, k] = table.begin[node, k + gone]
            table.cores[node, k] = table.cores[node, k + gone]
            table.memory[node, k] = table.memory[node, k + gone]
        table.pieces[node] = kept
