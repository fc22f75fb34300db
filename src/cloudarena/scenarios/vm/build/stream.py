"""The state of a run whose VMs come into memory as they arrive: what is over makes room."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloudarena.base.arrays import locked
from cloudarena.engine.calendar import Calendar, with_capacity
from cloudarena.engine.timing_wheel import renumbered
from cloudarena.scenarios.vm.build import demand_of, new_vms
from cloudarena.scenarios.vm.state import Demand, Outcome, Vms, World
from cloudarena.workloads.vm.columns import VmWorkload

GOES_ON = (Outcome.WAITING, Outcome.STARTING, Outcome.RUNNING)


def live_vms(world: World) -> np.ndarray:
    """The VMs that are not over, or whose departure is still planned, in order."""
    outcome, tick = world.vms.outcome, int(world.clock[0]["tick"])
    is_planned = (outcome == Outcome.KILLED) & (world.departures.times > tick)
    return np.flatnonzero(np.isin(outcome, GOES_ON) | is_planned)


def with_more(world: World, part: VmWorkload | None) -> World:
    """The state with the next VMs behind those that live; all others are forgotten.

    To be called when all VMs in memory have arrived. Without a part none will come any more.
    """
    clock = world.clock[0]
    if part is None:
        clock["more"] = 0
        return world
    kept, new = live_vms(world), len(part.created)
    rows, arrived = len(kept) + new, int(clock["gone"]) + int(clock["arrived"])
    number = np.full(len(world.vms.outcome), -1, np.int64)
    number[kept] = np.arange(len(kept))
    order = number[world.order[: clock["placed"]]]
    order = order[order >= 0]
    clock["placed"], clock["arrived"] = len(order), len(kept)
    clock["gone"] = arrived - len(kept)
    fresh = demand_of(part, arrived)
    columns = [*_joined(world.demand[:-1], kept, fresh[:-1]), fresh.readings]
    nodes = world.nodes
    if nodes is not None:
        above = world.rules.split_above
        of_vm = np.concatenate((nodes.of_vm[kept], np.full(new, -1, np.int64)))
        is_split = np.concatenate((nodes.is_split[kept], fresh.memory > above))
        nodes = nodes._replace(of_vm=of_vm, is_split=is_split)
    return world._replace(
        nodes=nodes,
        demand=locked(Demand(*columns)),
        vms=Vms(*_joined(world.vms, kept, new_vms(new))),
        order=np.concatenate((order, np.empty(rows - len(order), np.int64)))
        if world.rules.kill
        else world.order,
        departures=renumbered(world.departures, kept, rows),
        retries=_renumbered(world.retries, number, rows if world.rules.budget_ticks > 0 else 0),
        starts=_renumbered(world.starts, number, rows if len(world.switches.times) else 0),
    )


def _joined(before: Any, kept: np.ndarray, after: Any) -> list[np.ndarray]:
    """The columns of those that are kept, then of the new ones."""
    pairs = zip(before, after, strict=True)
    return [np.concatenate((column[kept], more)) for column, more in pairs]


def _renumbered(calendar: Calendar, number: np.ndarray, capacity: int) -> Calendar:
    """Copies the events of VMs under their new numbers, with room for more."""
    held = int(calendar.counters[0])
    made = with_capacity(calendar._replace(**_cut(calendar, held)), max(held, capacity))
    made.payloads[:held] = number[made.payloads[:held]]
    return made


def _cut(calendar: Calendar, held: int) -> dict[str, np.ndarray]:
    """The events that there are, without the room for others."""
    names = ("times", "sequence", "payloads")
    return {name: getattr(calendar, name)[:held] for name in names}
