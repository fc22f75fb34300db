"""The built-in policies: which NUMA node runs the function, with how much memory.

Each is one function of arrays that gives ``(node, memory in MB)``. Ties go to the lower number.
All but HEFT allocate the smallest memory option that is enough, or the largest one.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from cloudarena.base.arrays import locked
from cloudarena.engine.compiled import lean, plain
from cloudarena.engine.leases import HOUR_S, periods_needed
from cloudarena.engine.sharing import make_sharing
from cloudarena.policies import PolicyBook
from cloudarena.scenarios.workflow.kernel import finish_forecast
from cloudarena.scenarios.workflow.state import Function, Nodes

Placement = tuple[int, int]
"""A node, and MB."""


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


def signature() -> Any:
    """The Numba signature of a policy: ``(int64, int64)(Nodes, Function, Generator)``."""
    function = Function(0, 0, 0, 1, 1, 1, 0.0, 0.0, 0.0, 0.0, -1, 0.0, 0.0)
    nodes = empty_nodes(1, 1, 1, True)
    return numba.types.UniTuple(numba.int64, 2)(
        numba.typeof(with_room_for_forecasts(locked(nodes), nodes)),
        numba.typeof(function),
        numba.typeof(np.random.default_rng(0)),
    )


policy = PolicyBook("workflow", signature, arguments=3)


@plain
def enough_memory(nodes: Nodes, function: Function, node: int) -> int:
    """The smallest memory option that is enough for the function, at most what the node has."""
    options = nodes.memory_options
    chosen = options[len(options) - 1]
    for k in range(len(options)):
        if options[k] >= function.memory_req:
            chosen = options[k]
            break
    return int(min(chosen, nodes.memory[node]))


@plain
def left_memory(nodes: Nodes, function: Function, node: int) -> int:
    """What would be left of a node's memory, if all that is on its way or waits had its own."""
    promised = nodes.coming_memory[node] + nodes.waiting_memory[node]
    return nodes.free_memory[node] - promised - enough_memory(nodes, function, node)


@plain
def placed(nodes: Nodes, function: Function, node: int) -> Placement:
    """The function on a node, with enough memory."""
    return node, enough_memory(nodes, function, node)


@lean
def least_loaded_node(nodes: Nodes) -> int:
    """The node with the fewest threads for a core, of all that run, come or wait."""
    best, least = 0, np.inf
    for node in range(len(nodes.server)):
        load = nodes.assigned[node] / nodes.cores[node]
        if load < least:
            best, least = node, load
    return best


@lean
def finish_on(nodes: Nodes, function: Function, node: int) -> float:
    """When the function would complete on a node, as it stands."""
    return finish_forecast(nodes, function, node, enough_memory(nodes, function, node))


@lean
def earliest_on(nodes: Nodes, function: Function, node: int) -> float:
    """When the function would complete on a node on which nothing else ran: no forecast is less."""
    speed = min(function.parallelism, nodes.cores[node]) * float(nodes.sharing.core_speed)
    begin = function.now + nodes.boot[node] + nodes.transfer[node]
    return begin + function.computation / speed


@lean
def extra_rent(nodes: Nodes, function: Function, node: int, finish: float) -> float:
    """What the lease of a node's server would cost more to cover a completion, in dollars."""
    if finish <= nodes.expiry[node]:
        return 0.0
    begin = max(function.now, nodes.expiry[node])
    return periods_needed(begin, finish, HOUR_S) * nodes.hourly_rate[node]


@lean
def lowest_cost_node(
    nodes: Nodes, function: Function, time_weight: float, rent_weight: float
) -> int:
    """The node with room and the lowest weighted sum of time and rent; else the least loaded.

    A forecast does not see how long a function waits for memory, so it says nothing of full nodes.
    """
    best, lowest, soonest = -1, np.inf, np.inf
    for node in range(len(nodes.server)):
        if left_memory(nodes, function, node) < 0:
            continue
        # A forecast costs more than a bound, which mostly is enough.
        finish = earliest_on(nodes, function, node)
        for exactly in (False, True):
            cost = time_weight * (finish - function.now)
            cost += rent_weight * extra_rent(nodes, function, node, finish)
            if cost > lowest or (cost == lowest and finish >= soonest):
                break
            if exactly:
                best, lowest, soonest = node, cost, finish
            else:
                finish = finish_on(nodes, function, node)
    return best if best >= 0 else least_loaded_node(nodes)


@policy("random")
def random(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """Any node, each with the same chance."""
    return placed(nodes, function, rng.integers(0, len(nodes.server)))


@policy("round-robin")
def round_robin(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node after the one that was chosen last, in a circle."""
    return placed(nodes, function, (function.last_node + 1) % len(nodes.server))


@policy("least-loaded")
def least_loaded(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node with the fewest threads for a core, of all that run, come or wait."""
    return placed(nodes, function, least_loaded_node(nodes))


@policy("first-fit")
def first_fit(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The first node with memory left for the function; the least loaded one if there is none."""
    for node in range(len(nodes.server)):
        if left_memory(nodes, function, node) >= 0:
            return placed(nodes, function, node)
    return placed(nodes, function, least_loaded_node(nodes))


@policy("best-fit")
def best_fit(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node that is left with the least memory; the least loaded one if none has enough."""
    best, least = -1, np.inf
    for node in range(len(nodes.server)):
        left = left_memory(nodes, function, node)
        if 0 <= left < least:
            best, least = node, float(left)
    return placed(nodes, function, best if best >= 0 else least_loaded_node(nodes))


@policy("data-local")
def data_local(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node to which the data takes the least time; among equals the least loaded."""
    best, least, lightest = 0, np.inf, np.inf
    for node in range(len(nodes.server)):
        load = nodes.assigned[node] / nodes.cores[node]
        transfer = nodes.transfer[node]
        if transfer < least or (transfer == least and load < lightest):
            best, least, lightest = node, transfer, load
    return placed(nodes, function, best)


@policy("earliest-finish")
def earliest_finish(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node with memory left on which it completes first; the least loaded if there is none."""
    return placed(nodes, function, lowest_cost_node(nodes, function, 1.0, 0.0))


@policy("cheapest")
def cheapest(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node that adds the least rent, so leased servers first; among equals the earliest."""
    return placed(nodes, function, lowest_cost_node(nodes, function, 0.0, 1.0))


@policy("weighted")
def weighted(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """The node with the lowest sum of time and rent as the spec's objective weighs them."""
    node = lowest_cost_node(nodes, function, function.time_weight, function.rent_weight)
    return placed(nodes, function, node)


@policy("critical-path-first")
def critical_path_first(nodes: Nodes, function: Function, rng: np.random.Generator) -> Placement:
    """Functions without slack where they complete first, others where they add the least rent.

    A function has slack if its workflow can still end after its critical path, counted from its
    arrival.
    """
    late = function.elapsed + function.remaining_path >= function.critical_path * (1.0 - 1e-12)
    time_weight = 1.0 if late else 0.0
    return placed(
        nodes, function, lowest_cost_node(nodes, function, time_weight, 1.0 - time_weight)
    )
