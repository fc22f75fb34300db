"""Which nodes may take a replica, and how well each would do: predicates and priorities.

A function may have several images, ranked; a node takes the first of them that it can. Each
priority gives every valid node a score from 0 to 10. Those that look at a quantity (seconds,
joules, watts, load) give 10 to the least and 0 to the most among the valid nodes, and 0 to all if
it is the same everywhere.

Energy is what a placement adds, not what is drawn anyway. An invocation adds

    (power of its claims) (mean time) + (energy of its data) + T (kept power)

with T the seconds from one invocation of the replica to the next: the replicas that the function
should have over its requests a second so far, and at least what its workers take; without requests
so far, the mean time. The kept power is what the replica adds however little it does: idle power
where the node has no replica and would be switched off without one, and the energy of its cold
start (booting, pulling, starting, setting up) over the spec's ``horizon_s``.
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.kernel.energy import dynamic_power_w
from cloudarena.scenarios.faas.kernel.supplies import has_charge, show_supplies
from cloudarena.scenarios.faas.state import (
    NONE,
    POWERED,
    SLOWING,
    WHOLE,
    Accelerator,
    ImageState,
    NodeState,
    Predicate,
    Priority,
    Record,
    Replica,
    Resource,
    Tier,
    World,
)

ROUNDING_W = 1e-9
"""Watts by which a node may exceed its budget, since sums are rounded."""
QUANTITIES = (
    *(Priority.IMAGE_LOCALITY, Priority.DATA_LOCALITY, Priority.EXECUTION_TIME),
    *(Priority.CONTENTION, Priority.ENERGY_EFFICIENCY, Priority.LEAST_POWER),
)
"""Priorities that look at a quantity, of which less is better."""


@jit_inline
def may_run(rules: Record, node: Record, variant: Record, fit: Record) -> bool:
    """Whether the predicates let an image run on a node."""
    if fit.distribution == NONE:
        return False
    if rules.predicates[Predicate.FITS_RESOURCES] and (
        variant.cpu > node.free_cpu or variant.memory > node.free_memory
    ):
        return False
    if variant.accelerator == Accelerator.NONE:
        return True
    if rules.predicates[Predicate.HAS_ACCELERATOR] and node.accelerator != variant.accelerator:
        return False
    return not (
        rules.predicates[Predicate.FREE_ACCELERATOR_MEMORY]
        and variant.accelerator_memory > node.free_accelerator_memory
    )


@jit_inline
def has_place(world: World, function: Record, node: Record, which: int) -> bool:
    """Whether those on a node let a function join them, and are those that it wants near."""
    there, avoided, count = 0, 0, 0
    following = node.first_replica
    while following != NONE:
        replica = world.replicas[following]
        other = world.functions[replica.function]
        there |= other.bit
        avoided |= other.apart
        count += replica.function == which
        following = replica.next
    if function.near != 0 and (there & function.near) == 0:
        return False
    if (there & function.apart) != 0 or (avoided & function.bit) != 0:
        return False
    return count < function.per_node


@jit_call
def find_valid(world: World, which: int) -> bool:
    """Finds for each node the first image of a function that may run there; whether any does."""
    function, found = world.functions[which], False
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        node.variant = NONE
        first = function.first_variant
        if world.rules[0].neighbours and not has_place(world, function, node, which):
            first = function.end_variant
        if node.state == NodeState.FAILED or not has_charge(world.extras, node):
            first = function.end_variant
        for variant in range(first, function.end_variant):
            fit = world.fits[variant, node.device_type]
            if may_run(world.rules[0], node, world.variants[variant], fit):
                node.variant = variant
                break
        node.valid = node.variant != NONE
        found |= node.valid
    return found


@jit_call
def expect_energy(world: World, which: int, index: int) -> None:
    """What a replica of a function, and an invocation of it, would add on a node.

    How long its image and data take to get there has been found.
    """
    node, rules, function = world.nodes[index], world.rules[0], world.functions[which]
    fit, variant = world.fits[node.variant, node.device_type], world.variants[node.variant]
    added, alone = 0.0, 0.0
    for resource in range(POWERED):
        claim, load = fit.claim[resource], node.load[resource]
        before = dynamic_power_w(node, resource, load)
        added += dynamic_power_w(node, resource, load + claim) - before
        alone += dynamic_power_w(node, resource, claim)
    idle = 0.0
    if node.replicas == 0 and rules.off_after_s < np.inf:
        idle = max(0.0, node.idle_w - node.off_w)
    per_invocation = fit.mean_s
    if function.arrived > 0 and world.clock[0].now > 0.0:
        gap = max(function.wanted, 1) * world.clock[0].now / function.arrived
        per_invocation = max(gap, fit.mean_s / function.workers)
    data = (variant.input_bytes + variant.output_bytes) * node.byte_j
    kept = idle + cold_start_j(world, which, index) / rules.horizon_s
    node.execution_s = fit.mean_s
    node.invocation_j = alone * fit.mean_s + data + per_invocation * kept
    node.worker_w, node.added_w = added, added + idle


@jit_inline
def cold_start_j(world: World, which: int, index: int) -> float:
    """The energy of a cold start on a node: booting, its CPU claims as it stands, its bytes."""
    node, function = world.nodes[index], world.functions[which]
    fit, variant = world.fits[node.variant, node.device_type], world.variants[node.variant]
    missing = world.images[index, variant.image].state == ImageState.ABSENT
    amount = variant.setup_bytes + (fit.image_bytes if missing else 0.0)
    energy = amount * node.byte_j
    if node.state == NodeState.OFF:
        energy += max(0.0, node.boot_w - node.off_w) * node.boot_s
    idle = dynamic_power_w(node, Resource.CPU, node.load[Resource.CPU])
    for phase in range(3):
        seconds = node.pull_s
        if phase == 1:
            seconds = fit.start_s if np.isnan(function.start_s) else function.start_s
        elif phase == 2:
            seconds = variant.setup_bytes * node.data_byte_s + fit.setup_s
        claimed = dynamic_power_w(
            node, Resource.CPU, node.load[Resource.CPU] + fit.cold_claim[phase]
        )
        energy += (claimed - idle) * seconds
    return energy


@jit_inline
def expect_transfers(world: World, which: int, index: int) -> None:
    """How long the image and the data of a function would take to get to a node."""
    node, rules = world.nodes[index], world.rules[0]
    variant = world.variants[node.variant]
    missing = world.images[index, variant.image].state == ImageState.ABSENT
    pull = world.fits[node.variant, node.device_type].image_bytes if missing else 0.0
    data = variant.setup_bytes + variant.input_bytes + variant.output_bytes
    if rules.network:
        bucket = world.functions[which].bucket
        node.data_byte_s = world.paths.holders[bucket, index].byte_s
        node.pull_s = pull * node.pull_byte_s
    else:
        node.data_byte_s = 1.0 / rules.bandwidth
        node.pull_s = pull / rules.bandwidth
    node.data_s = data * node.data_byte_s


@jit_call
def score_less_is_better(world: World, priority: int) -> None:
    """Turns quantities in a row of the scores into scores from 0 to 10."""
    nodes, scores = world.nodes, world.scores[priority]
    least, most = np.inf, -np.inf
    for node in range(len(nodes)):
        if nodes[node].valid:
            least, most = min(least, scores[node]), max(most, scores[node])
    for node in range(len(nodes)):
        if nodes[node].valid and most > least:
            scores[node] = 10.0 * (most - scores[node]) / (most - least)
        else:
            scores[node] = 0.0


@jit_inline
def keeps_limits(rules: Record, node: Record) -> bool:
    """Whether a node may take a replica of which it is known what it would add there.

    Its budget of power holds with one more invocation, the limit of energy for each of them. A
    node that is off or boots will be on by then.
    """
    watts = node.power_w if node.state == NodeState.ON else node.idle_w
    within = watts + node.worker_w <= node.most_w + ROUNDING_W
    return within and node.invocation_j <= rules.most_invocation_j


@jit_call
def score(world: World, which: int) -> bool:
    """Fills in what a placer sees of the valid nodes, and their scores; whether any is valid.

    Nodes beyond a limit of power or energy are no longer.
    """
    scores, found = world.scores, False
    grams = world.carbon[world.clock[0].carbon_row].g_per_j
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        node.g_per_kwh = grams[node.grid] * JOULES_PER_KWH
        if node.valid:
            expect_transfers(world, which, index)
            expect_energy(world, which, index)
            node.valid = keeps_limits(world.rules[0], node)
            found |= node.valid
        if not node.valid:
            node.execution_s = node.invocation_j = node.added_w = np.inf
            node.pull_s = node.data_s = np.inf
            for priority in range(len(scores)):
                scores[priority, index] = 0.0
            continue
        variant = world.variants[node.variant]
        cpu = 1.0 - (node.free_cpu - variant.cpu) / (node.cores * 1000.0)
        memory = 1.0 - (node.free_memory - variant.memory) / node.memory
        scores[Priority.BALANCED_RESOURCES, index] = 10.0 * max(0.0, 1.0 - abs(cpu - memory))
        scores[Priority.LEAST_REQUESTED, index] = 10.0 * max(0.0, 1.0 - (cpu + memory) / 2.0)
        scores[Priority.IMAGE_LOCALITY, index] = node.pull_s
        scores[Priority.DATA_LOCALITY, index] = node.data_s
        scores[Priority.LOCALITY_TYPE, index] = 10.0 if node.tier == Tier.EDGE else 0.0
        scores[Priority.CAPABILITY, index] = (
            10.0 if variant.accelerator != Accelerator.NONE else 0.0
        )
        scores[Priority.EXECUTION_TIME, index] = node.execution_s
        scores[Priority.CONTENTION, index] = expected_load(world, which, node)
        scores[Priority.ENERGY_EFFICIENCY, index] = node.invocation_j
        scores[Priority.LEAST_POWER, index] = node.added_w
    for priority in QUANTITIES:
        score_less_is_better(world, priority)
    show_supplies(world, world.extras)
    return found


@jit_inline
def expected_load(world: World, which: int, node: Record) -> float:
    """The load of a node's CPU, GPU, disk and network if all workers there were busy."""
    claims, variant, following = 0, node.variant, node.first_replica
    workers = world.functions[which].workers
    while True:
        fit = world.fits[variant, node.device_type]
        for resource in range(SLOWING):
            claims += workers * fit.claim[resource]
        if following == NONE:
            return claims / WHOLE
        replica = world.replicas[following]
        variant, workers = replica.variant, world.functions[replica.function].workers
        following = replica.next


@register_jitable  # references are counted: it hands out an array
def replica_of(world: World, weights: NDArray[np.float64]) -> Replica:
    """The replica that is to be placed, with the weights of the spec's scheduler."""
    clock = world.clock[0]
    function = world.functions[clock["function"]]
    return Replica(
        int(clock["function"]),
        int(clock["placed"]),
        int(function["placed"]),
        int(function["wanted"]),
        float(clock["now"]),
        weights,
    )
