"""Power, energy and carbon of nodes: exact integrals of what is constant between events.

A node that is on draws

    P = idle + C(u_cpu) + sum over gpu, disk, network, memory of w_r u_r

with ``u_r = min(1, load_r)``, the load being the sum of the claims of what executes there, and C
the CPU's part: ``w u`` (linear), eleven points from 0 to 100 % joined by lines, or the curve
``w (2u - u^x)`` of Fan et al. So power never falls as load rises.

The dynamic part of each resource is shared by claim: a claim of c millionths draws ``c unit_w``
with ``unit_w = (power of the resource) / load``, and the integral of ``unit_w`` while an invocation
executes, times its claim, is its energy. The idle part is shared alike by the replicas that are
there. So each event costs the same, however many there are, and shares sum to the node's energy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import lean, separate
from cloudarena.scenarios.faas.state import (
    BOOTING,
    CPU,
    CURVE,
    OFF,
    POINTS,
    POWERED,
    WHOLE,
    Rules,
    World,
)


@lean
def carbon_until(rules: Rules, time: float) -> float:
    """The integral of the grid's intensity from 0 on, in grams per watt."""
    rows = rules.carbon
    k = len(rows) - 1
    while rows[k].begin > time:
        k -= 1
    return rows[k].total + rows[k].g_per_j * (time - rows[k].begin)


@lean
def cpu_power_w(meters: NDArray[np.void], node: int, use: float) -> float:
    """What the CPU of a node draws above idle at a utilisation from 0 to 1."""
    if meters[node].model == POINTS:
        step = min(int(use * 10.0), 9)
        low, high = meters[node].points[step], meters[node].points[step + 1]
        return low + (high - low) * (use * 10.0 - step)
    if meters[node].model == CURVE:
        return meters[node].coefficient_w[CPU] * (2.0 * use - use ** meters[node].exponent)
    return meters[node].coefficient_w[CPU] * use


@lean
def dynamic_power_w(meters: NDArray[np.void], node: int, resource: int, load: int) -> float:
    """What a resource of a node draws above idle at a load in millionths."""
    use = min(load, WHOLE) / WHOLE
    if resource == CPU:
        return cpu_power_w(meters, node, use)
    return meters[node].coefficient_w[resource] * use


@separate
def meter(world: World, node: int) -> None:
    """Adds up the energy of a node until now."""
    nodes, meters, now = world.nodes, world.meters, world.clock[0].now
    since = meters[node].since
    seconds = now - since
    if seconds <= 0.0:
        return
    meters[node].since = now
    energy = nodes[node].power_w * seconds
    meters[node].energy_j += energy
    grams = carbon_until(world.rules, now) - carbon_until(world.rules, since)
    meters[node].carbon_g += nodes[node].power_w * grams
    if nodes[node].state != OFF:
        meters[node].on_s += seconds
    if nodes[node].replicas == 0:
        meters[node].spare_j += energy
        return
    meters[node].share_j += meters[node].share_w * seconds
    if nodes[node].running > 0:
        meters[node].busy_s += seconds
        meters[node].cpu_s += min(world.load[node, CPU], WHOLE) / WHOLE * seconds
        for resource in range(POWERED):
            meters[node].unit_j[resource] += meters[node].unit_w[resource] * seconds


@separate
def set_power(world: World, node: int) -> None:
    """Finds what a node draws from now on. It has been metered until now."""
    nodes, meters = world.nodes, world.meters
    idle = nodes[node].idle_w
    if nodes[node].state == OFF:
        idle = meters[node].off_w
    elif nodes[node].state == BOOTING:
        idle = meters[node].boot_w
    meters[node].share_w = idle / max(nodes[node].replicas, 1)
    power = idle
    if nodes[node].running > 0:
        for resource in range(POWERED):
            load = world.load[node, resource]
            if load > 0:
                part = dynamic_power_w(meters, node, resource, load)
                meters[node].unit_w[resource] = part / load
                power += part
            else:
                meters[node].unit_w[resource] = 0.0
    nodes[node].power_w = power


@separate
def invocation_energy_j(world: World, node: int, slot: int, variant: int) -> float:
    """What an invocation has used since it began to execute. Its node has been metered."""
    meters, slots = world.meters, world.slots
    device = world.nodes[node].device_type
    energy = 0.0
    for resource in range(POWERED):
        claim = world.fits.claim[variant, device, resource]
        if claim > 0:
            energy += claim * (meters[node].unit_j[resource] - slots[slot].unit_j[resource])
    return energy
