"""The placement of a function as learners see it: a few NUMA nodes, each with enough memory."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable_shared
from cloudarena.engine.leases import HOUR_S
from cloudarena.engine.scratch import scratch_floats
from cloudarena.engine.shortlist import keep, sort_rows, squashed
from cloudarena.scenarios.workflow.kernel import act, finish_forecast, function_of
from cloudarena.scenarios.workflow.policies.placement import (
    enough_memory,
    enough_option,
    extra_rent,
    left_memory,
    left_with,
)
from cloudarena.scenarios.workflow.state import LONGEST_S, Function, Nodes, World

FEATURES = (
    Feature("speed_up", "the function's time on idle cores over that to its forecast completion"),
    Feature("finish_of_first", "the shortest time to completion of the candidates over its own"),
    Feature("rent", "d / (d + 1) of the dollars of rent that it adds"),
    Feature("rents", "1 if it adds rent: a server is rented, or for longer"),
    Feature("cost_of_lowest", "the least weighted cost of time and rent over its own"),
    Feature("rent_left", "h / (h + 1) of the hours for which the server is rented still"),
    Feature("boot", "t / (t + 10 s) of the time for which the server would still boot"),
    Feature("transfer", "t / (t + 1 s) of the time that the data takes to the node"),
    Feature("local", "1 if the data is there"),
    Feature("load", "l / (l + 1) of the threads for a core with this function"),
    Feature("server_load", "the same of its whole server"),
    Feature("balance", "the node's threads for a core less the server's, -1 to 1", -1.0),
    Feature("memory_left", "memory left, when all has come that is on its way, over all; -1 to 1",
            -1.0),
    Feature("fits", "1 if that is not negative"),
    Feature("memory", "the memory it gets over what it asks for; at most 1"),
    Feature("coming", "n / (n + 4) of the containers on their way to the node"),
    Feature("waiting", "n / (n + 4) of those that wait for memory there"),
    Feature("utilisation", "operations that are done over those that could be; at most 1"),
    Feature("cores", "n / (n + 16) of its n cores"),
    Feature("rate", "d / (d + 1) of the server's dollars an hour"),
    Feature("late", "log10(1 + s) / 5 of the s for which it completes after the soonest"),
    Feature("rent_worth", "log10(1 + s) / 5 of the s that its rent is worth by the objective"),
    Feature("rate_worth", "log10(1 + s) / 5 of the s that an hour of its server is worth so"),
)  # fmt: skip
CONTEXT = (
    Feature("alone", "t / (t + 10 s) of its time on idle cores"),
    Feature("elapsed", "t / (t + critical path) of the time since its workflow arrived"),
    Feature("remaining", "its remaining path over the workflow's critical path; at most 1"),
    Feature("threads", "n / (n + 8) of its n threads"),
    Feature("memory", "log2(1 + MB) / 20 of what it asks for; at most 1"),
    Feature("time_weight", "the share of time in the objective's weights of seconds and dollars"),
    Feature("nodes_rented", "the share of nodes whose server is rented"),
    Feature("nodes_fitting", "the share of nodes with memory left for it"),
    Feature("load", "l / (l + 1) of all threads over all cores"),
)


@jitable_shared
def speed_on(nodes: Nodes, function: Function, node: int, memory: int) -> float:
    """Operations a second of the function beside all threads that the node was assigned.

    As the kernel has it, which refuses what would take for ever.
    """
    sharing = nodes.sharing
    threads = nodes.assigned[node] + function.parallelism
    capacity = float(nodes.cores[node] * sharing.core_speed)
    share = capacity / threads
    if sharing.whole:
        share = math.floor(share)
    full = min(float(sharing.core_speed), share) * function.parallelism
    speed = min(memory, function.memory_req) * full / function.memory_req
    return math.floor(speed) if sharing.whole else speed


@jitable_shared
def cost_of(nodes: Nodes, function: Function, node: int, finish: float) -> float:
    """Time and added rent, weighted as in the spec's objective."""
    rent = extra_rent(nodes, function, node, finish)
    return function.time_weight * (finish - function.now) + function.rent_weight * rent


@jitable_shared
def worth_s(function: Function, dollars: float) -> float:
    """The seconds that the spec's objective gives for some dollars; for ever if it has no time."""
    if dollars <= 0.0 or function.rent_weight <= 0.0:
        return 0.0
    if function.time_weight <= 0.0:
        return LONGEST_S
    return min(LONGEST_S, function.rent_weight * dollars / function.time_weight)


@jitable_shared
def decades(seconds: float) -> float:
    """Seconds as log10(1 + s) / 5, from 0 to 1."""
    return min(1.0, math.log10(1.0 + seconds) / 5.0) if seconds > 0.0 else 0.0


@jitable_shared
def server_threads(nodes: Nodes, node: int) -> tuple[int, int]:
    """The threads that the server of a node was assigned, and its cores."""
    first, last = node, node
    while first > 0 and nodes.server[first - 1] == nodes.server[node]:
        first -= 1
    while last + 1 < len(nodes.server) and nodes.server[last + 1] == nodes.server[node]:
        last += 1
    threads, cores = 0, 0
    for k in range(first, last + 1):
        threads += nodes.assigned[k]
        cores += nodes.cores[k]
    return threads, cores


@jitable_shared
def alike(nodes: Nodes, function: Function, this: int, other: int) -> bool:
    """Whether two nodes without containers are in equal state; others always differ."""
    if nodes.assigned[this] != 0 or nodes.assigned[other] != 0:
        return False
    equal = (
        nodes.cores[this] == nodes.cores[other]
        and nodes.memory[this] == nodes.memory[other]
        and nodes.hourly_rate[this] == nodes.hourly_rate[other]
        and nodes.boot[this] == nodes.boot[other]
        and nodes.transfer[this] == nodes.transfer[other]
        and max(function.now, nodes.expiry[this]) == max(function.now, nodes.expiry[other])
    )
    if not equal or nodes.server[this] == nodes.server[other]:
        return bool(equal)
    return server_threads(nodes, this) == server_threads(nodes, other)


@jitable_shared
def describe(
    nodes: Nodes,
    function: Function,
    node: int,
    memory: int,
    finish: float,
    server: tuple[int, int],
    row: NDArray[np.float32],
) -> None:
    """Writes the features of a node, but for those that compare it with others.

    Of its server the threads and cores are given.
    """
    seconds = max(finish - function.now, 1e-9)
    alone = function.computation / (function.parallelism * float(nodes.sharing.core_speed))
    rent = extra_rent(nodes, function, node, finish)
    threads = nodes.assigned[node] + function.parallelism
    load = threads / nodes.cores[node]
    server_load = (server[0] + function.parallelism) / server[1]
    row[0] = min(1.0, alone / seconds)
    row[2] = squashed(rent, 1.0)
    row[3] = 1.0 if rent > 0.0 else 0.0
    row[5] = squashed((nodes.expiry[node] - function.now) / HOUR_S, 1.0)
    row[6] = squashed(nodes.boot[node], 10.0)
    row[7] = squashed(nodes.transfer[node], 1.0)
    row[8] = 1.0 if nodes.transfer[node] <= 0.0 else 0.0
    row[9] = squashed(load, 1.0)
    row[10] = squashed(server_load, 1.0)
    row[11] = min(1.0, max(-1.0, load - server_load))
    left = left_memory(nodes, function, node)
    row[12] = min(1.0, max(-1.0, left / nodes.memory[node]))
    row[13] = 1.0 if left >= 0 else 0.0
    row[14] = min(1.0, memory / function.memory_req)
    row[15] = squashed(float(nodes.coming[node]), 4.0)
    row[16] = squashed(float(nodes.waiting[node]), 4.0)
    row[17] = min(1.0, max(0.0, nodes.utilisation[node]))
    row[18] = squashed(float(nodes.cores[node]), 16.0)
    row[19] = squashed(nodes.hourly_rate[node], 1.0)
    row[21] = decades(worth_s(function, rent))
    row[22] = decades(worth_s(function, nodes.hourly_rate[node]))


@jitable_shared
def compare(
    nodes: Nodes,
    function: Function,
    features: NDArray[np.float32],
    actions: NDArray[np.int64],
    held: int,
) -> None:
    """Writes the features of all candidates, with those that compare them."""
    soonest, lowest = np.inf, np.inf
    seconds, costs = scratch_floats(), scratch_floats()
    server, last = (0, 0), -1
    for k in range(held):
        node, memory = actions[k, 0], actions[k, 1]
        if nodes.server[node] != last:
            server, last = server_threads(nodes, node), nodes.server[node]
        finish = finish_forecast(nodes, function, node, memory)
        seconds[k] = max(finish - function.now, 1e-9)
        costs[k] = max(cost_of(nodes, function, node, finish), 1e-12)
        soonest, lowest = min(soonest, seconds[k]), min(lowest, costs[k])
        describe(nodes, function, node, memory, finish, server, features[k])
    for k in range(held):
        features[k, 1] = min(1.0, soonest / seconds[k])
        features[k, 4] = min(1.0, lowest / costs[k])
        features[k, 20] = decades(seconds[k] - soonest)


@jitable_shared
def fill(
    nodes: Nodes,
    function: Function,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Nodes in the order of their numbers, each with the smallest memory option that is enough.

    Nodes without containers in equal state are one candidate, the first of them; nodes on which
    the function would take for ever are none. If there are more than room, these come first: the
    least loaded, the first with memory left, the one left with the least memory, the one to which
    data takes the least time, the soonest. The rest are those with the lowest cost of time and
    added rent, by the speed that the function would have now.
    """
    count, room = len(nodes.server), len(actions)
    threads, cores, rented, fitting = 0, 0, 0, 0
    calmest, least_load = -1, np.inf
    first = -1
    tightest, least = -1, np.inf
    nearest, shortest = -1, np.inf
    soonest, earliest = -1, np.inf
    strongest, most = 0, -np.inf
    held, costs = 0, scratch_floats()
    last_idle = -1
    option = enough_option(nodes, function)
    for node in range(count):
        threads += nodes.assigned[node]
        cores += nodes.cores[node]
        rented += nodes.expiry[node] > function.now
        memory = min(option, nodes.memory[node])
        left = left_with(nodes, node, memory)
        fitting += left >= 0
        speed = speed_on(nodes, function, node, memory)
        if speed > most:
            strongest, most = node, speed
        if speed * LONGEST_S < function.computation or speed <= 0.0:
            continue
        if nodes.assigned[node] == 0:
            seen, last_idle = last_idle, node
            if seen >= 0 and alike(nodes, function, node, seen):
                continue
        load = nodes.assigned[node] / nodes.cores[node]
        begin = function.now + nodes.boot[node] + nodes.transfer[node]
        finish = begin + function.computation / speed
        cost = cost_of(nodes, function, node, finish)
        if load < least_load:
            calmest, least_load = node, load
        if left >= 0 and first < 0:
            first = node
        if 0 <= left < least:
            tightest, least = node, float(left)
        if nodes.transfer[node] < shortest:
            nearest, shortest = node, nodes.transfer[node]
        if finish < earliest:
            soonest, earliest = node, finish
        if held == room and cost >= costs[held - 1]:
            continue
        is_new = True
        if nodes.assigned[node] == 0:
            for k in range(held):
                is_new = is_new and not alike(nodes, function, node, actions[k, 0])
        if not is_new:
            continue
        place = held
        while place > 0 and costs[place - 1] > cost:
            place -= 1
        held = min(held + 1, room)
        for k in range(held - 1, place, -1):
            actions[k, 0], costs[k] = actions[k - 1, 0], costs[k - 1]
        actions[place, 0], costs[place] = node, cost
    if held == 0:  # all would take for ever, in the kernel's eyes too
        actions[0, 0] = strongest
        held = 1
    elif held == room:
        kept = (calmest, first, tightest, nearest, soonest)
        for node in kept:
            keep(actions, held, node, kept)
    sort_rows(actions, held)
    for k in range(held):
        actions[k, 1] = enough_memory(nodes, function, actions[k, 0])
    compare(nodes, function, features, actions, held)
    features[held:] = 0.0
    alone = function.computation / (function.parallelism * float(nodes.sharing.core_speed))
    path = max(function.critical_path, 1e-9)
    weights = function.time_weight + function.rent_weight
    context[0] = squashed(alone, 10.0)
    context[1] = squashed(function.elapsed, path)
    context[2] = min(1.0, function.remaining_path / path)
    context[3] = squashed(float(function.parallelism), 8.0)
    context[4] = min(1.0, math.log2(1.0 + function.memory_req) / 20.0)
    context[5] = min(1.0, function.time_weight / weights) if weights > 0.0 else 0.0
    context[6] = rented / count
    context[7] = fitting / count
    context[8] = squashed(threads / max(1, cores), 1.0)
    return held


def look(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Does what ``fill`` does, of the function that a run is at."""
    function = function_of(world.clock, world.demand, world.rules)
    return fill(world.nodes, function, features, context, actions)


TAKE = jit_inline(act.py_func)
"""The kernel's ``act`` as a part of who calls it: a call would copy what a state consists of."""


def take(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate, which is not held back."""
    return TAKE(world, numbers[0], numbers[1], -np.inf)


CANDIDATES = {"workflow": Candidates("workflow", FEATURES, CONTEXT, 2, 16, fill, 2, look, take)}
