"""A* over partial mappings with a bounded number of live nodes, after Braun et al. 2001."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit
from cloudarena.mapping.heuristics import min_min
from cloudarena.mapping.loads import Machines, Times

LIVE_NODES = 1024
EXPANSIONS = 20_000
"""Nodes that are expanded at most."""


@jit
def _estimates(etc: Times, depth: int, finish: Times, work_left: float) -> Times:
    """The estimated makespan f of each child of a node: task ``depth`` on each machine.

    ``work_left`` is the sum of the smallest times of the tasks after ``depth``.
    """
    tasks, machines = etc.shape
    # The largest earliest completion time of the tasks that are left: before task `depth` is
    # mapped, and after it has delayed those whose first machine it takes.
    longest = 0.0
    delayed = np.zeros(machines)
    for task in range(depth + 1, tasks):
        first, first_time, second_time = 0, np.inf, np.inf
        for machine in range(machines):
            time = finish[machine] + etc[task, machine]
            if time < first_time:
                first, first_time, second_time = machine, time, first_time
            elif time < second_time:
                second_time = time
        longest = max(longest, first_time)
        time = min(second_time, first_time + etc[depth, first])
        delayed[first] = max(delayed[first], time)
    estimates = np.empty(machines)
    latest, work = finish.max(), finish.sum()
    for machine in range(machines):
        time = etc[depth, machine]
        makespan = max(latest, finish[machine] + time)
        share = (work + time + work_left) / machines
        estimates[machine] = max(makespan, longest, delayed[machine], share)
    return estimates


@jit
def _is_before(f: Times, depth: Machines, born: Machines, a: int, b: int) -> bool:
    """Whether node a is expanded before node b: smaller f, then deeper, then older."""
    if f[a] != f[b]:
        return f[a] < f[b]
    if depth[a] != depth[b]:
        return depth[a] > depth[b]
    return born[a] < born[b]


@jit
def a_star(
    etc: Times, ready: Times, live_nodes: int = LIVE_NODES, expansions: int = EXPANSIONS
) -> Machines:
    """A*: a node maps the tasks 0 to d - 1; its children map task d to each of the machines.

    The node with the smallest ``f = g + max(0, h1, h2)`` is expanded next, where g is the
    makespan of what is mapped, h1 the largest earliest completion time of a task that is not
    minus g, and ``h2 = (sum of the smallest times of tasks not mapped - sum over machines of (g
    - load)) / machines``. Equal f: the deeper, then the older node first. Both never
    overestimate: if no node was dropped, the first complete node to be expanded is optimal.

    At most 1024 nodes are live: beyond that the one that would be expanded last is dropped.
    After 20,000 expansions the deepest live node, of these the one that would be expanded
    first, is completed by Min-min.
    """
    tasks, machines = etc.shape
    work_left = np.zeros(tasks + 1)
    for task in range(tasks - 1, -1, -1):
        work_left[task] = work_left[task + 1] + etc[task].min()
    assignment = np.empty((live_nodes + 1, tasks), np.int32)
    finish = np.empty((live_nodes + 1, machines))
    f = np.zeros(live_nodes + 1)
    depth = np.zeros(live_nodes + 1, np.int64)
    born = np.zeros(live_nodes + 1, np.int64)
    finish[0] = ready
    live = 1
    births = 1
    # Live nodes are in the slots from 0 to live - 1; the node in expansion is copied out.
    path = np.empty(tasks, np.int32)
    loads = np.empty(machines)
    for _ in range(expansions):
        node = 0
        for other in range(1, live):
            if _is_before(f, depth, born, other, node):
                node = other
        if depth[node] == tasks:
            return assignment[node].astype(np.int64)
        task = depth[node]
        path[:task] = assignment[node, :task]
        loads[:] = finish[node]
        estimates = _estimates(etc, task, loads, work_left[task + 1])
        live -= 1
        assignment[node], finish[node] = assignment[live], finish[live]
        f[node], depth[node], born[node] = f[live], depth[live], born[live]
        worst = -1
        for machine in range(machines):
            slot = live
            f[slot], depth[slot], born[slot] = estimates[machine], task + 1, births
            births += 1
            if live == live_nodes:
                if worst < 0:
                    worst = 0
                    for other in range(1, live):
                        if _is_before(f, depth, born, worst, other):
                            worst = other
                if not _is_before(f, depth, born, slot, worst):
                    continue
                f[worst], depth[worst], born[worst] = f[slot], depth[slot], born[slot]
                slot, worst = worst, -1
            else:
                live += 1
            assignment[slot, :task] = path[:task]
            assignment[slot, task] = machine
            finish[slot] = loads
            finish[slot, machine] += etc[task, machine]
    node = 0
    for other in range(1, live):
        if depth[other] > depth[node] or (
            depth[other] == depth[node] and _is_before(f, depth, born, other, node)
        ):
            node = other
    mapped = depth[node]
    complete = np.empty(tasks, np.int64)
    complete[:mapped] = assignment[node, :mapped]
    complete[mapped:] = min_min(etc[mapped:], finish[node])
    return complete
