"""An index for policies that rank machines."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.ordered_rooms import KEYS, ordered_rooms, plain_rooms
from cloudarena.engine.segment_tree import LOWEST
from cloudarena.engine.shape_counts import make_shape_counts
from cloudarena.scenarios.vm.state import ANY, OF_USE, Column, Ranking, Ranks, Sharing, World

INDEX_FROM = 256
"""How many machines there must be for an index to pay."""
CHECKED_PER_MACHINE = 8
"""How many choices, of as many as there are machines, are compared with the policy's own: what
that takes does not grow with the machines."""


def with_index(world: World, ranks_by: tuple[str, ...], is_checked: bool) -> World:
    """The state with an index for a policy that ranks machines, where that pays.

    ``is_checked`` says whether the policy's own choices are looked at now and then.

    On few machines a scan is as quick, and an index knows nothing of nodes and GPUs. What
    depends on use changes on all machines in each tick where VMs have readings: an index would cost
    more than the scans that it saves.
    """
    columns = tuple(column.removeprefix("-") for column in ranks_by)
    by_use = len(world.ahead) > 0 and any(column in OF_USE for column in columns)
    has_parts = world.nodes is not None or world.gpus is not None
    if not ranks_by or by_use or has_parts or len(world.used) < INDEX_FROM:
        return world
    ranking = np.zeros(len(Ranks), np.int64)
    if is_checked:
        ranking[Ranks.CHECKED_EVERY] = max(1, len(world.used) // CHECKED_PER_MACHINE)
    if columns == (ANY,):
        ranking[Ranks.RANKING] = Ranking.ANY
        return world._replace(ranking=ranking, shapes=make_shape_counts(len(world.used)))
    fleet, sharing = world.fleet, world.machines.sharing
    room = (
        (fleet.cores, world.allocated_cores, Sharing.SHARED),
        (fleet.memory, world.allocated_memory, Sharing.SHARED),
        (fleet.cores_limit, world.allocated_cores, Sharing.SEPARATE),
        (fleet.memory_limit, world.allocated_memory, Sharing.SEPARATE),
    )
    rooms = [np.where(sharing != closed, limit - held, LOWEST) for limit, held, closed in room]
    amounts = np.stack(rooms, axis=1)
    if columns[0] in ("index", "next"):
        ranking[Ranks.RANKING] = Ranking.FIRST if columns[0] == "index" else Ranking.NEXT
        return world._replace(ranking=ranking, rooms=plain_rooms(amounts))
    ranking[Ranks.RANKING] = Ranking.KEY
    keys = np.zeros((len(sharing), KEYS))
    for k, column in enumerate(columns):
        sign = -1 if ranks_by[k].startswith("-") else 1
        ranking[Ranks.FIRST_COLUMN + 2 * k] = Column[column.upper()]
        ranking[Ranks.FIRST_SIGN + 2 * k] = sign
        keys[:, k] = sign * getattr(world.machines, column)
    return world._replace(ranking=ranking, rooms=ordered_rooms(keys, amounts))
