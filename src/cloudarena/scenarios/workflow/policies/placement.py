"""The built-in policies: which NUMA node runs the function, with how much memory.

Each is one function of arrays that gives ``(node, memory in MB)``. Ties go to the node with the
lowest index, or, with ``ties=random``, to any of the equals.
All allocate the smallest memory option that is enough, or the largest one.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from cloudarena.base.arrays import locked
from cloudarena.engine.compiled import jit_uncounted, jitable
from cloudarena.engine.leases import HOUR_S, periods_needed
from cloudarena.engine.ties import TIES, random_index
from cloudarena.policies import Parameters, PolicyBook
from cloudarena.scenarios.workflow.decision import WorkflowDecision
from cloudarena.scenarios.workflow.kernel import finish_forecast
from cloudarena.scenarios.workflow.replay import Replay
from cloudarena.scenarios.workflow.state import (
    Function,
    Nodes,
    empty_nodes,
    with_room_for_forecasts,
)

Placement = tuple[int, int]
"""A node, and MB."""
YEAR_S = 365 * 24 * HOUR_S


def shown() -> tuple[Nodes, Function]:
    """An example of what a policy is shown."""
    nodes = empty_nodes(1, 1, 1, True)
    function = Function(0, 0, 0, 1, 1, 1, 0.0, 0.0, 0.0, 0.0, -1, 0.0, 0.0)
    return with_room_for_forecasts(locked(nodes), nodes), function


POLICIES = PolicyBook("workflow", shown, returns=2)
POLICIES.replay(Replay)

# Where several nodes are equally good, helpers take a ``draw`` from 0 to 1, since code that counts
# no references cannot take a Generator from Python; with 0 they take the first.


@jitable
def enough_option(nodes: Nodes, function: Function) -> int:
    """The smallest memory option that is enough for the function; else the largest."""
    options = nodes.memory_options
    chosen = options[len(options) - 1]
    for k in range(len(options)):
        if options[k] >= function.memory_req:
            chosen = options[k]
            break
    return int(chosen)


@jitable
def enough_memory(nodes: Nodes, function: Function, node: int) -> int:
    """The smallest memory option that is enough for the function, at most what the node has."""
    return int(min(enough_option(nodes, function), nodes.memory[node]))


@jitable
def left_with(nodes: Nodes, node: int, memory: int) -> int:
    """What would be left of a node's memory, if all that is on its way or waits had its own."""
    promised = nodes.coming_memory[node] + nodes.waiting_memory[node]
    return nodes.free_memory[node] - promised - memory


@jitable
def left_memory(nodes: Nodes, function: Function, node: int) -> int:
    """What would be left of a node's memory with the function, which gets enough."""
    return left_with(nodes, node, enough_memory(nodes, function, node))


@jitable
def placed(nodes: Nodes, function: Function, node: int) -> Placement:
    """The function on a node, with enough memory."""
    return node, enough_memory(nodes, function, node)


@jit_uncounted
def least_loaded_node(nodes: Nodes, draw: float) -> int:
    """The node with the fewest threads for a core, of all that run, come or wait."""
    best, least, equals = 0, np.inf, 0
    for node in range(len(nodes.server)):
        load = nodes.assigned[node] / nodes.cores[node]
        if load < least:
            best, least, equals = node, load, 1
        elif load == least:
            equals += 1
    for _ in range(int(draw * equals)):
        best += 1
        while nodes.assigned[best] / nodes.cores[best] != least:
            best += 1
    return best


@jit_uncounted
def finish_on(nodes: Nodes, function: Function, node: int) -> float:
    """When the function would complete on a node, as it stands."""
    return finish_forecast(nodes, function, node, enough_memory(nodes, function, node))


@jit_uncounted
def earliest_on(nodes: Nodes, function: Function, node: int) -> float:
    """When the function would complete on a node on which nothing else ran: no forecast is less."""
    speed = min(function.parallelism, nodes.cores[node]) * float(nodes.sharing.core_speed)
    begin = function.now + nodes.boot[node] + nodes.transfer[node]
    return begin + function.computation / speed


@jit_uncounted
def extra_rent(nodes: Nodes, function: Function, node: int, finish: float) -> float:
    """What the lease of a node's server would cost more to cover a completion, in dollars."""
    if finish <= nodes.expiry[node]:
        return 0.0
    begin = max(function.now, nodes.expiry[node])
    return periods_needed(begin, finish, HOUR_S) * nodes.hourly_rate[node]


@jit_uncounted
def lowest_cost_node(
    nodes: Nodes, function: Function, time_weight: float, rent_weight: float, draw: float
) -> int:
    """The node with room and the lowest weighted sum of time and rent; else the least loaded.

    Among equals the one on which it completes first. A forecast does not see how long a function
    waits for memory, so it says nothing of full nodes.
    """
    best, lowest, soonest, equals, skipped = -1, np.inf, np.inf, 0, 0
    for chooses in (False, True):  # the second time one of the equals that the first has found
        for node in range(len(nodes.server)):
            if left_memory(nodes, function, node) < 0:
                continue
            # A forecast costs more than a bound, which mostly is enough.
            finish = earliest_on(nodes, function, node)
            for exactly in (False, True):
                cost = time_weight * (finish - function.now)
                cost += rent_weight * extra_rent(nodes, function, node, finish)
                if cost > lowest or (cost == lowest and finish > soonest):
                    break
                is_equal = cost == lowest and finish == soonest
                if is_equal and draw == 0.0:
                    break
                if not exactly:
                    finish = finish_on(nodes, function, node)
                elif not is_equal:
                    best, lowest, soonest, equals = node, cost, finish, 1
                elif not chooses:
                    equals += 1
                elif skipped == int(draw * equals):
                    return node
                else:
                    skipped += 1
        if equals <= 1 or int(draw * equals) == 0:
            break
    return best if best >= 0 else least_loaded_node(nodes, draw)


@POLICIES.register("random")
def random(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """Any node, each with the same chance."""
    return placed(nodes, function, random_index(len(nodes.server), rng))


@POLICIES.register("round-robin")
def round_robin(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node after the one that was chosen last, in a circle."""
    return placed(nodes, function, (function.last_node + 1) % len(nodes.server))


@POLICIES.register("least-loaded", parameters=TIES)
def least_loaded(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node with the fewest threads for a core, of all that run, come or wait."""
    return placed(nodes, function, least_loaded_node(nodes, rng.random() if p.ties else 0.0))


@POLICIES.register("first-fit")
def first_fit(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The first node with memory left for the function; the least loaded one if there is none."""
    for node in range(len(nodes.server)):
        if left_memory(nodes, function, node) >= 0:
            return placed(nodes, function, node)
    return placed(nodes, function, least_loaded_node(nodes, 0.0))


@POLICIES.register("best-fit", parameters=TIES)
def best_fit(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node that is left with the least memory; the least loaded one if none has enough."""
    draw = rng.random() if p.ties else 0.0
    best, least, equals = -1, np.inf, 0
    for node in range(len(nodes.server)):
        left = left_memory(nodes, function, node)
        if 0 <= left < least:
            best, least, equals = node, float(left), 1
        elif left == least:
            equals += 1
    if best < 0:
        return placed(nodes, function, least_loaded_node(nodes, draw))
    for _ in range(int(draw * equals)):
        best += 1
        while left_memory(nodes, function, best) != least:
            best += 1
    return placed(nodes, function, best)


@POLICIES.register("data-local", parameters=TIES)
def data_local(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node to which the data takes the least time; among equals the least loaded."""
    best, least, lightest, equals = 0, np.inf, np.inf, 0
    for node in range(len(nodes.server)):
        load = nodes.assigned[node] / nodes.cores[node]
        transfer = nodes.transfer[node]
        if transfer < least or (transfer == least and load < lightest):
            best, least, lightest, equals = node, transfer, load, 1
        elif p.ties and transfer == least and load == lightest:
            equals += 1
            if random_index(equals, rng) == 0:
                best = node
    return placed(nodes, function, best)


@POLICIES.register("earliest-finish", parameters=TIES)
def earliest_finish(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node with memory left on which it completes first; the least loaded if there is none."""
    draw = rng.random() if p.ties else 0.0
    return placed(nodes, function, lowest_cost_node(nodes, function, 1.0, 0.0, draw))


@POLICIES.register("cheapest", parameters=TIES)
def cheapest(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node that adds the least rent, so leased servers first; among equals the earliest."""
    draw = rng.random() if p.ties else 0.0
    return placed(nodes, function, lowest_cost_node(nodes, function, 0.0, 1.0, draw))


@POLICIES.register("weighted", parameters={"rent": 1.0, **TIES})
def weighted(nodes: Nodes, function: Function, p: Parameters, rng: Generator) -> Placement:
    """The node with the lowest sum of time and rent as the spec's objective weighs them.

    ``rent`` multiplies the objective's weight of a dollar: a decision sees only the rent that it
    adds itself, not that of the functions that come after it.
    """
    draw = rng.random() if p.ties else 0.0
    rent_weight = function.rent_weight * p.rent
    node = lowest_cost_node(nodes, function, function.time_weight, rent_weight, draw)
    return placed(nodes, function, node)


@POLICIES.register("critical-path-first", parameters={"slack": 1.0, **TIES})
def critical_path_first(
    nodes: Nodes, function: Function, p: Parameters, rng: Generator
) -> Placement:
    """Functions without slack where they complete first, others where they add the least rent.

    A function has slack if its workflow can still end within ``slack`` times its critical path,
    counted from its arrival.
    """
    draw = rng.random() if p.ties else 0.0
    limit = p.slack * function.critical_path * (1.0 - 1e-12)
    time_weight = 1.0 if function.elapsed + function.remaining_path >= limit else 0.0
    node = lowest_cost_node(nodes, function, time_weight, 1.0 - time_weight, draw)
    return placed(nodes, function, node)


def idle(decision: WorkflowDecision) -> tuple[int, int, float]:
    """Serves nothing for a year, which is as little as it may: what no comparison may crown."""
    return 0, int(decision.nodes.memory[0]), decision.now + YEAR_S
