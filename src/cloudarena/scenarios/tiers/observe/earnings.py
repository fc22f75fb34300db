"""The rewards of a multi-tier service that are sums of what its kernel counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_inline
from cloudarena.scenarios.tiers import metrics
from cloudarena.scenarios.tiers.state import World

if TYPE_CHECKING:
    from cloudarena.scenarios.tiers.run import TiersRun

SUMS = ("rent_usd", "broken", "unserved", "changes", "served")


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes rent, broken periods, the share of requests not served, changes, and the served.

    That is all but for a run that served nobody.
    """
    clock = world.clock[0]
    sums[0] = clock.rent_usd
    sums[1] = clock.period - clock.kept
    sums[2] = (clock.arrived - clock.done) / max(1, clock.arrived)
    sums[3] = clock.changes
    sums[4] = clock.counted
    return clock.counted > 0


def _total_cost_usd(run: TiersRun) -> Mapping[str, float]:
    most = metrics.total_cost_usd.most
    assert most is not None
    penalty = run.scenario.sla.penalty_usd
    return {"rent_usd": -1.0, "broken": -penalty, "unserved": -most(run)}


def _cost_usd(run: TiersRun) -> Mapping[str, float]:
    most = metrics.cost_usd.most
    assert most is not None
    return {"rent_usd": -1.0, "unserved": -most(run)}


def _changes(run: TiersRun) -> Mapping[str, float]:
    most = metrics.changes.most
    assert most is not None
    return {"changes": -1.0, "unserved": -most(run)}


EARNINGS = Earnings(
    SUMS,
    read,
    {
        "total_cost_usd": _total_cost_usd,
        "cost_usd": _cost_usd,
        "changes": _changes,
        "unserved_share": lambda run: {"unserved": -1.0},
        "served": lambda run: {"served": 1.0},
    },
)
