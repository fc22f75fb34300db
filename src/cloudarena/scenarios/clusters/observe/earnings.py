"""The rewards of clusters that are sums of what the kernel counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_inline
from cloudarena.scenarios.clusters.state import Total, World

SUMS = ("seconds", "backlog_s", "decisions")


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes the time, the task-seconds of backlog and the decisions of a run so far."""
    sums[0] = world.clock[0].now
    sums[1] = world.totals[Total.BACKLOG]
    sums[2] = world.clock[0].plans
    return True


EARNINGS = Earnings(
    SUMS,
    read,
    {
        "makespan_s": lambda run: {"seconds": -1.0},
        "backlog_mean_tasks": lambda run: {"backlog_s": -1.0},
        "decisions": lambda run: {"decisions": -1.0},
    },
)
