"""Which nodes may take a replica, and how well each would do: predicates and priorities.

A function may have several images, ranked; a node takes the first of them that it can. Each
priority gives every valid node a score from 0 to 10. Those that look at a quantity (seconds,
joules, watts, load) give 10 to the least and 0 to the most among the valid nodes, and 0 to all if
it is the same everywhere.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import compiled, separate
from cloudarena.scenarios.faas.energy import dynamic_power_w
from cloudarena.scenarios.faas.state import (
    BALANCED_RESOURCES,
    CAPABILITY,
    CONTENTION,
    DATA_LOCALITY,
    EDGE,
    ENERGY_EFFICIENCY,
    EXECUTION_TIME,
    FITS_RESOURCES,
    FREE_ACCELERATOR_MEMORY,
    HAS_ACCELERATOR,
    IMAGE_LOCALITY,
    LEAST_POWER,
    LEAST_REQUESTED,
    LOCALITY_TYPE,
    MEMORY,
    NO_ACCELERATOR,
    NONE,
    POWERED,
    WHOLE,
    Replica,
    World,
)


@separate
def may_run(world: World, node: int, variant: int) -> bool:
    """Whether the predicates let an image run on a node."""
    nodes, variants, predicates = world.nodes, world.variants, world.rules.predicates
    if world.fits.law[variant, nodes[node].device_type] == NONE:
        return False
    if predicates[FITS_RESOURCES] and (
        variants[variant].cpu > nodes[node].free_cpu
        or variants[variant].memory > nodes[node].free_memory
    ):
        return False
    needed = variants[variant].accelerator
    if needed == NO_ACCELERATOR:
        return True
    if predicates[HAS_ACCELERATOR] and nodes[node].accelerator != needed:
        return False
    return not (
        predicates[FREE_ACCELERATOR_MEMORY]
        and variants[variant].accelerator_memory > nodes[node].free_accelerator_memory
    )


@separate
def find_valid(world: World, function: int) -> bool:
    """Finds for each node the first image of a function that may run there; whether any does."""
    nodes, functions = world.nodes, world.functions
    first, end = functions[function].first_variant, functions[function].end_variant
    found = False
    for node in range(len(nodes)):
        nodes[node].variant = NONE
        for variant in range(first, end):
            if may_run(world, node, variant):
                nodes[node].variant = variant
                break
        nodes[node].valid = nodes[node].variant != NONE
        found |= nodes[node].valid
    return found


@separate
def expect(world: World, function: int, node: int) -> None:
    """What a replica would take and use on a node."""
    nodes, meters, variants = world.nodes, world.meters, world.variants
    variant, device = nodes[node].variant, nodes[node].device_type
    watts = 0.0
    for resource in range(POWERED):
        claim = world.fits.claim[variant, device, resource]
        load = world.load[node, resource]
        before = dynamic_power_w(meters, node, resource, load)
        watts += dynamic_power_w(meters, node, resource, load + claim) - before
    seconds = world.fits.mean_s[variant, device]
    nodes[node].execution_s = seconds
    alone = 0.0
    for resource in range(POWERED):
        claim = world.fits.claim[variant, device, resource]
        alone += dynamic_power_w(meters, node, resource, claim)
    if nodes[node].replicas == 0:
        watts += nodes[node].idle_w
        alone += nodes[node].idle_w
    nodes[node].invocation_j = alone * seconds
    nodes[node].added_w = watts
    missing = world.images.state[node, variants[variant].image] == 0
    pull = world.fits.image_bytes[variant, device] if missing else 0.0
    data = variants[variant].setup_bytes + variants[variant].input_bytes
    data += variants[variant].output_bytes
    if world.rules.network:
        nodes[node].pull_s = pull * meters[node].pull_byte_s
        bucket = world.functions[function].bucket
        nodes[node].data_s = data * world.paths.holders[bucket, node].byte_s
    else:
        nodes[node].pull_s = pull / world.rules.bandwidth
        nodes[node].data_s = data / world.rules.bandwidth


@separate
def score_less_is_better(world: World, priority: int) -> None:
    """Turns quantities in a row of the scores into scores from 0 to 10."""
    valid, scores = world.nodes["valid"], world.scores[priority]
    least, most = np.inf, -np.inf
    for node in range(len(valid)):
        if valid[node]:
            least, most = min(least, scores[node]), max(most, scores[node])
    for node in range(len(valid)):
        if valid[node] and most > least:
            scores[node] = 10.0 * (most - scores[node]) / (most - least)
        else:
            scores[node] = 0.0


@separate
def score(world: World, function: int) -> None:
    """Fills in what a placer sees of the valid nodes, and their scores."""
    nodes, variants = world.nodes, world.variants
    scores = world.scores
    for node in range(len(nodes)):
        nodes[node].execution_s = np.inf
        nodes[node].invocation_j = np.inf
        nodes[node].added_w = np.inf
        nodes[node].pull_s = np.inf
        nodes[node].data_s = np.inf
        if not nodes[node].valid:
            for priority in range(len(scores)):
                scores[priority, node] = 0.0
            continue
        expect(world, function, node)
        variant = nodes[node].variant
        cpu = 1.0 - (nodes[node].free_cpu - variants[variant].cpu) / (nodes[node].cores * 1000.0)
        memory = 1.0 - (nodes[node].free_memory - variants[variant].memory) / nodes[node].memory
        scores[BALANCED_RESOURCES, node] = 10.0 * max(0.0, 1.0 - abs(cpu - memory))
        scores[LEAST_REQUESTED, node] = 10.0 * max(0.0, 1.0 - (cpu + memory) / 2.0)
        scores[IMAGE_LOCALITY, node] = nodes[node].pull_s
        scores[DATA_LOCALITY, node] = nodes[node].data_s
        scores[LOCALITY_TYPE, node] = 10.0 if nodes[node].tier == EDGE else 0.0
        scores[CAPABILITY, node] = 10.0 if variants[variant].accelerator != NO_ACCELERATOR else 0.0
        scores[EXECUTION_TIME, node] = nodes[node].execution_s
        scores[CONTENTION, node] = expected_load(world, node)
        scores[ENERGY_EFFICIENCY, node] = nodes[node].invocation_j
        scores[LEAST_POWER, node] = nodes[node].added_w
    for priority in (IMAGE_LOCALITY, DATA_LOCALITY, EXECUTION_TIME, CONTENTION):
        score_less_is_better(world, priority)
    score_less_is_better(world, ENERGY_EFFICIENCY)
    score_less_is_better(world, LEAST_POWER)


@separate
def expected_load(world: World, node: int) -> float:
    """The load of a node's CPU, GPU, disk and network if all workers there were busy."""
    nodes, replicas = world.nodes, world.replicas
    device, claims = nodes[node].device_type, 0
    for resource in range(MEMORY):
        claims += world.fits.claim[nodes[node].variant, device, resource]
    replica = world.meters[node].first_replica
    while replica != NONE:
        for resource in range(MEMORY):
            claims += world.fits.claim[replicas[replica].variant, device, resource]
        replica = replicas[replica].next
    return claims / WHOLE


@compiled
def replica_of(world: World) -> Replica:
    """The replica that is to be placed."""
    clock, functions = world.clock[0], world.functions
    function = clock.function
    return Replica(
        function,
        clock.placed,
        functions[function].placed,
        functions[function].wanted,
        clock.now,
        world.rules.weights,
        world.rules.parameters,
    )
