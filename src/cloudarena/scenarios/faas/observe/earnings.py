"""The rewards of functions that are sums of what the kernel counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.scenarios.faas.metrics.energies import peak_w
from cloudarena.scenarios.faas.state import (
    NONE,
    Extras,
    Outcome,
    RequestState,
    World,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun

SUMS = ("energy_j", "energy_j_per_invocation", "completed", "unserved", "unserved_of_a_request")


@jit_call
def flows_j(world: World) -> float:
    """What flows under way have used, at the nodes at both ends, that is in no meter yet."""
    flows, now, total = world.paths.flows, world.clock[0].now, 0.0
    for slot in range(len(flows.slots)):
        if flows.slots[slot].route == NONE:
            continue
        what, route = world.paths.purposes[slot], flows.routes[flows.slots[slot].route]
        if what.node == what.other:
            continue
        left = 0.0
        if route.rate < np.inf:
            served = route.served + route.rate * (now - route.clock)
            left = max(0.0, flows.slots[slot].target - served)
        amount = what.bytes - left - what.metered
        if what.node < len(world.nodes):
            total += amount * world.nodes[what.node].byte_j
        if what.other < len(world.nodes):
            total += amount * world.nodes[what.other].byte_j
    return total


@jit_call
def to_come(world: World, extras: Extras | None) -> int:
    """Requests that have not come yet, since those that call them are in the system."""
    total = 0
    if extras is not None and len(extras.calls) > 0:
        for index in range(len(world.slots)):
            slot = world.slots[index]
            if slot.state != RequestState.UNUSED and not slot.again:
                for row in range(slot.reached, world.functions[slot.function].end_call):
                    total += extras.calls[row].requests
    return total


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes energy, requests that were answered, and the share that was not.

    That is all but for a run that answered nobody.
    """
    clock, energy = world.clock[0], 0.0
    for index in range(len(world.nodes)):
        node = world.nodes[index]
        energy += node.energy_j + node.power_w * (clock.now - node.since)
        energy += node.transfers * node.transfer_w * (clock.now - node.transfers_since)
    if world.rules[0].network:
        energy += flows_j(world)
    wanted = to_come(world, world.extras)
    undone, arrived, completed = clock.in_system + wanted, 0, 0
    for index in range(len(world.functions)):
        function = world.functions[index]
        arrived += function.arrived - function.early - function.late
        completed += function.outcomes[Outcome.COMPLETED] - function.late
        wanted += function.arrived - function.again + function.uncalled
        undone += function.missed + function.uncalled - function.again + function.again_done
        undone += function.outcomes[Outcome.REJECTED] + function.outcomes[Outcome.TIMED_OUT]
        undone += function.outcomes[Outcome.FAILED]
    share = undone / max(wanted, 1)
    sums[0] = energy
    sums[1] = energy / max(completed, 1)
    sums[2] = completed
    sums[3] = share
    sums[4] = share / max(arrived, 1)
    return share < 1.0


def _peak_j(run: FaasRun) -> float:
    """The energy of all nodes if each drew all it can for the whole run."""
    return float(peak_w(run.world).sum()) * run.scenario.duration_s


def _per_invocation(run: FaasRun) -> Mapping[str, float]:
    return {"energy_j_per_invocation": -1.0, "unserved_of_a_request": -_peak_j(run)}


def _energy_wh(run: FaasRun) -> Mapping[str, float]:
    return {"energy_j": -1.0 / 3600.0, "unserved": -_peak_j(run) / 3600.0}


EARNINGS = Earnings(
    SUMS,
    read,
    {
        "energy_j_per_invocation": _per_invocation,
        "energy_wh": _energy_wh,
        "completed": lambda run: {"completed": 1.0},
        "unserved_share": lambda run: {"unserved": -1.0},
    },
)
