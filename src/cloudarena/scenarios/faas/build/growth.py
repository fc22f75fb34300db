"""More room in the state of a run, where something is full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.flows import FREE_SLOTS, with_slots
from cloudarena.engine.indexed_heap import with_entries
from cloudarena.scenarios.faas.state import FLOW_MARGIN, NONE, REPLICA, Paths, Records, World

ROOM = 64
"""Response times for which there is more room than needed."""


def free_list(slots: NDArray[np.void], first: int) -> NDArray[np.void]:
    """Links all rows from the first on into a list of what is free, the lowest index first."""
    slots["next"][first:] = np.arange(first + 1, len(slots) + 1)
    slots["next"][-1] = NONE
    return slots


def empty_replica_rows(count: int) -> NDArray[np.void]:
    """Rows of replicas for which nothing has happened."""
    rows = np.zeros(count, REPLICA)
    for name in REPLICA.names or ():
        if REPLICA[name].kind == "f":
            rows[name] = np.nan
    return rows


def with_room(world: World) -> World:
    """Returns the same world with twice the room of whatever is nearly full."""
    clock, rules = world.clock[0], world.rules[0]
    margin = int(rules["most_workers"] + clock["replicas"]) + FLOW_MARGIN
    if world.extras is not None:
        margin += int(clock["in_system"])
        if clock["completed"] >= len(world.responses):
            more = 2 * len(world.responses) + ROOM
            responses, responded = _longer(world.responses, more), _longer(world.responded, more)
            world = world._replace(responses=responses, responded=responded)
    if clock["free_slot"] == NONE:
        world = with_request_slots(world, 2 * len(world.slots))
    if clock["free_replica"] == NONE:
        old = len(world.replicas)
        world = world._replace(
            replicas=free_list(_longer(world.replicas, 2 * old), old),
            members=np.concatenate((world.members, np.zeros_like(world.members)), axis=1),
            idle=np.concatenate((world.idle, np.zeros_like(world.idle)), axis=1),
            due=world.due._replace(replicas=with_entries(world.due.replicas, 2 * old)),
        )
        clock["free_replica"] = old
        if world.extras is not None:
            shown = _longer(world.extras.shown, 2 * old)
            world = world._replace(extras=world.extras._replace(shown=shown))
    if rules["network"] and world.paths.flows.counters[FREE_SLOTS] < margin:
        world = world._replace(paths=_with_flows(world.paths, margin))
    records = _with_rows(world.records, clock, rules["all_rows"], margin)
    if world.extras is not None and len(world.extras.charges) < len(records.nodes):
        charges = _longer(world.extras.charges, len(records.nodes))
        world = world._replace(extras=world.extras._replace(charges=charges))
    return world._replace(records=records)


def with_request_slots(world: World, size: int) -> World:
    """Returns the same world with more slots for requests, which are taken up after the others."""
    clock, old = world.clock[0], len(world.slots)
    slots = free_list(_longer(world.slots, size), old)
    last, following = NONE, int(clock["free_slot"])
    while following != NONE:
        last, following = following, int(slots["next"][following])
    if last == NONE:
        clock["free_slot"] = old
    else:
        slots["next"][last] = old
    due = world.due._replace(
        finishes=with_entries(world.due.finishes, size),
        timeouts=with_entries(world.due.timeouts, size),
    )
    return world._replace(slots=slots, due=due)


def _longer(values: Any, size: int) -> Any:
    """Returns the same array with room for more rows."""
    more = np.zeros((size, *values.shape[1:]), values.dtype)
    more[: len(values)] = values
    return more


def _with_flows(paths: Paths, margin: int) -> Paths:
    size = 2 * len(paths.purposes) + margin
    return paths._replace(
        flows=with_slots(paths.flows, size),
        purposes=_longer(paths.purposes, size),
        asked=_longer(paths.asked, size),
    )


def _with_rows(records: Records, clock: Any, all_rows: bool, margin: int) -> Records:
    grown: dict[str, Any] = {}
    if 0 < len(records.replicas) <= clock["placed"]:
        old = len(records.replicas)
        grown["replicas"] = np.concatenate((records.replicas, empty_replica_rows(old)))
    if 0 < len(records.changes) <= clock["changes"] + 2:
        grown["changes"] = _longer(records.changes, 2 * len(records.changes))
    if 0 < len(records.samples) <= clock["samples"]:
        size = 2 * len(records.samples)
        grown["samples"] = _longer(records.samples, size)
        if all_rows:
            grown["nodes"] = _longer(records.nodes, size)
            grown["functions"] = _longer(records.functions, size)
            grown["uses"] = _longer(records.uses, size)
    for name, used in (("invocations", "invocations"), ("moved", "moved")):
        rows = getattr(records, name)
        if all_rows and clock[used] + margin >= len(rows):
            grown[name] = _longer(rows, 2 * len(rows) + margin)
    return records._replace(**grown)
