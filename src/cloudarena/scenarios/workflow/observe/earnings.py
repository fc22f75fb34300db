"""The rewards of workflows that are sums of what the kernel counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_inline
from cloudarena.scenarios.workflow.state import World

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.run import WorkflowRun


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes the integral of unfinished workflows, and the rent."""
    sums[0] = world.totals[0].active_s
    sums[1] = world.totals[0].rent
    return True


def _weighted_cost(run: WorkflowRun) -> Mapping[str, float]:
    objective = run.scenario.objective
    rent = (1 - objective.weight) * objective.rent_scale
    return {"active_s": -objective.weight, "rent": -rent}


EARNINGS = Earnings(
    ("active_s", "rent"),
    read,
    {
        "makespan_sum_s": lambda run: {"active_s": -1.0},
        "makespan_mean_s": lambda run: {"active_s": -1.0 / len(run.workload.arrival)},
        "rent_usd": lambda run: {"rent": -1.0},
        "weighted_cost": _weighted_cost,
    },
)
