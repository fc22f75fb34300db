"""Batteries and panels of nodes.

What a node draws comes from its panels first, then from its battery, then from the grid; what its
panels give beyond that charges the battery, and is lost when that is full. Between two events the
power of a node and of its panels is constant, and a battery that runs empty is an event, so that
all of this is exact. What flows over a topology draw is taken when its bytes are counted. A node
without a grid fails when its battery is empty, and works again once it holds enough.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.faas.state import NONE, Extras, Record, World

CLOSE = 1e-9
"""The share of a battery that is rounding."""


@jit_inline
def has_charge(extras: Extras | None, node: Record) -> bool:
    """Whether the battery of a node, if it has one, holds enough for it to take a replica."""
    if extras is not None and node.supply != NONE:
        supply = extras.supplies[node.supply]
        return supply.charge_j >= supply.least_j - CLOSE * supply.battery_j
    return True


@jit_inline
def surplus_w(world: World, extras: Extras, supply: Record) -> float:
    """What the panels of a node give beyond what it draws; less than 0 if that is more."""
    node = world.nodes[supply.node]
    watts = node.power_w
    if not world.rules[0].network:
        watts += node.transfers * node.transfer_w
    return extras.suns[supply.sun].watts - watts


@jit_call
def next_supply(world: World, extras: Extras | None) -> float:
    """When a battery runs empty or holds enough next, or the sun changes; infinity."""
    following = np.inf
    if extras is not None:
        for index in range(len(extras.supplies)):
            supply = extras.supplies[index]
            if supply.sun + 1 < supply.end_sun:
                following = min(following, extras.suns[supply.sun + 1].begin)
            watts = surplus_w(world, extras, supply)
            close = CLOSE * supply.battery_j
            target = 0.0
            if watts > 0.0 and supply.charge_j < supply.least_j - close:
                target = supply.least_j
            if watts > 0.0 and supply.failed:
                target = supply.restart_j
            wanted = target - supply.charge_j
            if (watts > 0.0 and wanted > close) or (watts < 0.0 and wanted < -close):
                following = min(following, extras.progress[0].settled_s + wanted / watts)
    return following


@jit_call
def settle(world: World, extras: Extras | None) -> None:
    """Adds up what batteries have gained and lost until now; nothing has changed since."""
    if extras is not None:
        now = world.clock[0].now
        seconds = now - extras.progress[0].settled_s
        extras.progress[0].settled_s = now
        for index in range(len(extras.supplies)):
            supply = extras.supplies[index]
            node, carbon = world.nodes[supply.node], world.clock[0].carbon[supply.grid]
            gained = surplus_w(world, extras, supply) * seconds
            if world.rules[0].network:
                gained -= node.network_j - supply.network_j
                supply.network_j = node.network_j
            supply.sun_j += extras.suns[supply.sun].watts * seconds
            charge, close = supply.charge_j + gained, CLOSE * supply.battery_j
            if charge > supply.battery_j:
                supply.spilled_j += charge - supply.battery_j
                charge = supply.battery_j
            elif charge < close:
                if charge < -close:
                    supply.grid_j -= charge
                    grams = carbon - supply.carbon
                    node.carbon_g -= charge * (grams / seconds if seconds > 0.0 else 0.0)
                charge = 0.0
            supply.charge_j, supply.carbon = charge, carbon


@jit_inline
def is_empty(supply: Record, watts: float) -> bool:
    """Whether the battery of a node without a grid gives nothing more."""
    return not supply.has_grid and not supply.failed and supply.charge_j <= 0.0 and watts < 0.0


@jit_inline
def is_back(supply: Record) -> bool:
    """Whether a node that had failed holds enough to work again."""
    return supply.failed and supply.charge_j >= supply.restart_j - CLOSE * supply.battery_j


@jit_call
def change_sun(world: World, extras: Extras) -> None:
    """The sun has changed for some panels."""
    for index in range(len(extras.supplies)):
        supply = extras.supplies[index]
        while supply.sun + 1 < supply.end_sun and (
            extras.suns[supply.sun + 1].begin <= world.clock[0].now
        ):
            supply.sun += 1


@jit_call
def show_supplies(world: World, extras: Extras | None) -> None:
    """Shows placers the grid of nodes whose battery is empty."""
    if extras is not None:
        row = world.clock[0].carbon_row
        for index in range(len(extras.supplies)):
            supply = extras.supplies[index]
            empty = supply.charge_j <= 0.0 and surplus_w(world, extras, supply) < 0.0
            grams = world.carbon[row].g_per_j[supply.grid] if empty else 0.0
            world.nodes[supply.node].g_per_kwh = grams * JOULES_PER_KWH


@jit_call
def sample_charges(world: World, extras: Extras | None) -> None:
    """Keeps what batteries hold now, if that is recorded; nothing is settled by it."""
    if extras is not None:
        sample = world.clock[0].samples
        if sample < len(extras.charges):
            seconds = world.clock[0].now - extras.progress[0].settled_s
            for index in range(len(extras.supplies)):
                supply = extras.supplies[index]
                charge = supply.charge_j + surplus_w(world, extras, supply) * seconds
                extras.charges[sample, index] = min(max(charge, 0.0), supply.battery_j)
