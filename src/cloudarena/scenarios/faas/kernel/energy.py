"""Power, energy and carbon of nodes: exact integrals of what is constant between events.

A node that is on draws

    P = idle + C(u_cpu) + sum over gpu, disk, network, memory of w_r u_r

with ``u_r = min(1, load_r)``, the load being the sum of the claims of what executes there and of
the cold starts that go on there, and C the CPU's part: ``w u`` (linear), points joined by lines
(eleven from 0 to 100 %, or at any utilisations), or the curve ``w (2u - u^x)`` of Fan et al. So
power never falls as load rises. A node with a cap that would draw more draws the cap, its dynamic
part cut alike for all resources, and what executes there takes as many times longer.

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

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.scenarios.faas.state import POWERED, WHOLE, NodeState, PowerModel, Record, Resource


@jit_inline
def pass_time(clock: Record, carbon: NDArray[np.void], time: float) -> None:
    """Moves the clock, and with it the integrals of the grids' intensities."""
    row = clock.carbon_row
    while row + 1 < len(carbon) and carbon[row + 1].begin <= time:
        row += 1
    clock.carbon_row = row
    seconds = time - carbon[row].begin
    for grid in range(len(clock.carbon)):
        clock.carbon[grid] = carbon[row].total[grid] + carbon[row].g_per_j[grid] * seconds
    clock.now = time


@jit_call  # not inlined: it is rare, and power is asked for in many places
def between_points_w(node: Record, use: float) -> float:
    """What the CPU of a node draws above idle, by points at any utilisations."""
    line = 0
    while line + 1 < node.segments and use >= node.points_at[line + 1]:
        line += 1
    begin, low = node.points_at[line], node.points[line]
    share = (use - begin) / (node.points_at[line + 1] - begin)
    return low + (node.points[line + 1] - low) * share


@jit_inline
def cpu_power_w(node: Record, use: float) -> float:
    """What the CPU of a node draws above idle at a utilisation from 0 to 1."""
    if node.model == PowerModel.POINTS:
        step = min(int(use * 10.0), 9)
        low, high = node.points[step], node.points[step + 1]
        return low + (high - low) * (use * 10.0 - step)
    if node.model == PowerModel.LINES:
        return between_points_w(node, use)
    if node.model == PowerModel.CURVE:
        return node.coefficient_w[Resource.CPU] * (2.0 * use - use**node.exponent)
    return node.coefficient_w[Resource.CPU] * use


@jit_inline
def dynamic_power_w(node: Record, resource: int, load: int) -> float:
    """What a resource of a node draws above idle at a load in millionths."""
    use = min(load, WHOLE) / WHOLE
    if resource == Resource.CPU:
        return cpu_power_w(node, use)
    return node.coefficient_w[resource] * use


@jit_call  # not inlined: it would be in ten places
def meter_work(node: Record, seconds: float) -> None:
    """Adds up what a node with something to do has used of each resource."""
    if node.running > 0:
        node.busy_s += seconds
        node.running_s += node.running * seconds
    for resource in range(POWERED):
        node.use_s[resource] += min(node.load[resource], WHOLE) * seconds
        node.unit_j[resource] += node.unit_w[resource] * seconds


@jit_inline
def meter(node: Record, clock: Record) -> None:
    """Adds up the energy of a node until now, and that of each resource."""
    seconds = clock.now - node.since
    if seconds <= 0.0:
        return
    node.energy_j += node.power_w * seconds
    node.carbon_g += node.power_w * (clock.carbon[node.grid] - node.carbon)
    node.since, node.carbon = clock.now, clock.carbon[node.grid]
    if node.running + node.starting > 0:
        meter_work(node, seconds)


@jit_inline
def meter_base(node: Record, clock: Record) -> None:
    """Adds up what a node has drawn with nothing to do, before its state or replicas change."""
    seconds = clock.now - node.base_since
    node.base_since = clock.now
    node.base_j += node.base_w * seconds
    if node.state == NodeState.ON or node.state == NodeState.BOOTING:
        node.on_s += seconds
    if node.state == NodeState.BOOTING:
        node.boot_j += node.base_w * seconds
    if node.replicas == 0:
        node.empty_j += node.base_w * seconds
    else:
        node.share_j += node.share_w * seconds
        node.used_s += seconds


@jit_inline
def meter_transfers(node: Record, clock: Record) -> None:
    """Adds up what transfers without a topology have drawn, before one begins or ends."""
    watts = node.transfers * node.transfer_w
    energy = watts * (clock.now - node.transfers_since)
    node.energy_j += energy
    node.network_j += energy
    node.carbon_g += watts * (clock.carbon[node.grid] - node.transfers_carbon)
    node.transfers_since, node.transfers_carbon = clock.now, clock.carbon[node.grid]


@jit_inline
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
    node.throttle = 1.0
    if power > node.cap_w and power > node.base_w:
        node.throttle = (power - node.base_w) / (node.cap_w - node.base_w)
        for resource in range(POWERED):
            node.unit_w[resource] /= node.throttle
        power = node.cap_w
    node.power_w = power


@jit_inline
def set_base_power(node: Record) -> None:
    """Finds the base power after a node was switched on or off, or its replicas have changed."""
    node.base_w = node.idle_w
    if node.state == NodeState.OFF:
        node.base_w = node.off_w
    elif node.state == NodeState.BOOTING:
        node.base_w = node.boot_w
    elif node.state == NodeState.FAILED:
        node.base_w = 0.0
    node.share_w = node.base_w / max(node.replicas, 1)
    set_power(node)


@jit_inline
def invocation_energy_j(node: Record, slot: Record, fit: Record) -> float:
    """What an invocation has used since it began to execute. Its node has been metered."""
    energy = 0.0
    for resource in range(POWERED):
        energy += fit.claim[resource] * (node.unit_j[resource] - slot.unit_j[resource])
    return energy
