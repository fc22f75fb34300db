"""The rewards of a cluster that are sums of what its kernel counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_inline
from cloudarena.scenarios.jobs.state import World


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes the time and the integrals of unfinished jobs; not all, if jobs are left for good."""
    clock, totals = world.clock[0], world.totals[0]
    sums[0] = clock.now
    sums[1] = totals.job_s
    sums[2] = totals.job_weight_s
    return clock.jobs_left == 0


EARNINGS = Earnings(
    ("now", "job_s", "job_weight_s"),
    read,
    {
        "makespan_s": lambda run: {"now": -1.0},
        "completion_mean_s": lambda run: {"job_s": -1.0 / run.all_jobs},
        "slowdown_mean": lambda run: {"job_weight_s": -1.0 / run.all_jobs},
    },
    applies=lambda scenario: scenario.warmup_s == 0.0,
)
