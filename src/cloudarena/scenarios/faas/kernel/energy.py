"""Power, energy and carbon of nodes: exact integrals of what is constant between events.

A node that is on draws

    P = idle + C(u_cpu) + sum over gpu, disk, network, memory of w_r u_r

with ``u_r = min(1, load_r)``, the load being the sum of the claims of what executes there and of
the cold starts that go on there, and C the CPU's part: ``w u`` (linear), eleven points from 0 to
100 % joined by lines, or the curve ``w (2u - u^x)`` of Fan et al. So power never falls as load
rises.

The dynamic part of each resource is shared by claim: a claim of c millionths draws ``c unit_w``
with ``unit_w = (power of the resource) / load``, and the integral of ``unit_w`` while an invocation
executes, times its claim, is its energy. The idle part is shared alike by the replicas that are
there. So each event costs the same, however many there are, and shares sum to the node's energy.

Images, data, requests and responses that cross the network draw at the interfaces of the nodes at
both ends: a byte takes ``network_w`` over the bytes that an interface carries in a second, so a
transfer at full rate draws ``network_w`` for each way. That is added apart from the power above:
without a topology by the time that transfers last, else by the bytes that flows have moved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import inner
from cloudarena.scenarios.faas.state import POWERED, WHOLE, NodeState, PowerModel, Record, Resource


@inner
def pass_time(clock: Record, carbon: NDArray[np.void], time: float) -> None:
    """Moves the clock, and with it the integral of the grid's intensity."""
    row = clock.carbon_row
    while row + 1 < len(carbon) and carbon[row + 1].begin <= time:
        row += 1
    clock.carbon_row = row
    clock.carbon = carbon[row].total + carbon[row].g_per_j * (time - carbon[row].begin)
    clock.now = time


@inner
def cpu_power_w(node: Record, use: float) -> float:
    """What the CPU of a node draws above idle at a utilisation from 0 to 1."""
    if node.model == PowerModel.POINTS:
        step = min(int(use * 10.0), 9)
        low, high = node.points[step], node.points[step + 1]
        return low + (high - low) * (use * 10.0 - step)
    if node.model == PowerModel.CURVE:
        return node.coefficient_w[Resource.CPU] * (2.0 * use - use**node.exponent)
    return node.coefficient_w[Resource.CPU] * use


@inner
def dynamic_power_w(node: Record, resource: int, load: int) -> float:
    """What a resource of a node draws above idle at a load in millionths."""
    use = min(load, WHOLE) / WHOLE
    if resource == Resource.CPU:
        return cpu_power_w(node, use)
    return node.coefficient_w[resource] * use


@inner
def meter(node: Record, clock: Record) -> None:
    """Adds up the energy of a node until now, and that of each resource."""
    seconds = clock.now - node.since
    if seconds <= 0.0:
        return
    node.energy_j += node.power_w * seconds
    node.carbon_g += node.power_w * (clock.carbon - node.carbon)
    node.since, node.carbon = clock.now, clock.carbon
    if node.running + node.starting > 0:
        if node.running > 0:
            node.busy_s += seconds
            node.running_s += node.running * seconds
        node.cpu_s += min(node.load[Resource.CPU], WHOLE) * seconds
        for resource in range(POWERED):
            node.unit_j[resource] += node.unit_w[resource] * seconds


@inner
def meter_base(node: Record, clock: Record) -> None:
    """Adds up what a node has drawn with nothing to do, before its state or replicas change."""
    seconds = clock.now - node.base_since
    node.base_since = clock.now
    node.base_j += node.base_w * seconds
    if node.state != NodeState.OFF:
        node.on_s += seconds
    if node.replicas == 0:
        node.empty_j += node.base_w * seconds
    else:
        node.share_j += node.share_w * seconds


@inner
def meter_transfers(node: Record, clock: Record) -> None:
    """Adds up what transfers without a topology have drawn, before one begins or ends."""
    watts = node.transfers * node.transfer_w
    energy = watts * (clock.now - node.transfers_since)
    node.energy_j += energy
    node.network_j += energy
    node.carbon_g += watts * (clock.carbon - node.transfers_carbon)
    node.transfers_since, node.transfers_carbon = clock.now, clock.carbon


@inner
def set_power(node: Record) -> None:
    """Finds what a node draws from now on, after its load has changed. It has been metered."""
    power = node.base_w
    for resource in range(POWERED):
        load, unit = node.load[resource], node.slope_w[resource]
        if resource == Resource.CPU and node.model != PowerModel.LINEAR:
            unit = cpu_power_w(node, min(load, WHOLE) / WHOLE) / max(load, 1)
        elif load > WHOLE:
            unit = node.coefficient_w[resource] / load
        node.unit_w[resource] = unit
        power += unit * load
    node.power_w = power


@inner
def set_base_power(node: Record) -> None:
    """The same after it was switched on or off, or its replicas have changed."""
    node.base_w = node.idle_w
    if node.state == NodeState.OFF:
        node.base_w = node.off_w
    elif node.state == NodeState.BOOTING:
        node.base_w = node.boot_w
    node.share_w = node.base_w / max(node.replicas, 1)
    set_power(node)


@inner
def invocation_energy_j(node: Record, slot: Record, fit: Record) -> float:
    """What an invocation has used since it began to execute. Its node has been metered."""
    energy = 0.0
    for resource in range(POWERED):
        energy += fit.claim[resource] * (node.unit_j[resource] - slot.unit_j[resource])
    return energy
