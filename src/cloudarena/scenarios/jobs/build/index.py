"""An index for policies that rank machines."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.ordered_rooms import KEYS, ordered_rooms
from cloudarena.engine.shape_counts import make_shape_counts
from cloudarena.scenarios.jobs.state import ANY, MOST_CPU, Ranking, Resource, World

INDEX_FROM = 256
"""How many machines there must be for an index to pay."""


def with_index(world: World, ranks_by: tuple[str, ...]) -> World:
    """The state with an index for a policy that ranks machines, where there are many.

    An index knows nothing of GPUs as devices.
    """
    free = world.machines.free
    if not ranks_by or len(free) < INDEX_FROM or world.machines.gpu_free.shape[1] > 0:
        return world
    if ranks_by == (ANY,):
        return world._replace(shapes=make_shape_counts(len(free)))
    ranking = np.zeros(len(Ranking), np.int64)
    takes_most = ranks_by == (MOST_CPU,)
    ranking[Ranking.SIGN], ranking[Ranking.ONE] = -1 if takes_most else 1, takes_most
    keys = np.zeros((len(free), KEYS))
    keys[:, 0] = ranking[Ranking.SIGN] * free[:, Resource.CPU]
    return world._replace(ranking=ranking, rooms=ordered_rooms(keys, free))


def without_index(world: World) -> World:
    """The state as it is for any policy."""
    return world._replace(rooms=None, shapes=None)
