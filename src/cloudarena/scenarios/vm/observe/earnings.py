"""The rewards of a data centre that are sums of what its kernel counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import MICRO
from cloudarena.contract.earnings import Earnings
from cloudarena.engine.compiled import jit_inline
from cloudarena.engine.power import JOULES_PER_KWH
from cloudarena.scenarios.vm.state import World

if TYPE_CHECKING:
    from cloudarena.scenarios.vm.run import VmRun

SUMS = (
    "allocated",
    "completed",
    "billed_core_ticks",
    "billed_memory_ticks",
    "watt_ticks",
)


@jit_inline
def read(world: World, sums: NDArray[np.float64]) -> bool:
    """Writes the totals of a run in the order of ``SUMS``."""
    totals = world.totals[0]
    sums[0] = totals.allocated
    sums[1] = totals.completed
    sums[2] = totals.billed_core_ticks
    sums[3] = totals.billed_memory_ticks
    sums[4] = totals.watt_ticks
    return True


def _energy_cost_usd(run: VmRun) -> Mapping[str, float]:
    prices = run.scenario.prices
    per_kwh = prices.kwh_usd * prices.pue
    return {"watt_ticks": -per_kwh * run.scenario.tick_seconds / JOULES_PER_KWH}


def _income_usd(run: VmRun) -> Mapping[str, float]:
    prices, hours = run.scenario.prices, run.scenario.tick_seconds / 3600.0 / MICRO
    return {
        "billed_core_ticks": hours * prices.core_hour_usd,
        "billed_memory_ticks": hours * prices.gb_hour_usd,
    }


EARNINGS = Earnings(
    SUMS,
    read,
    {
        "allocated": lambda run: {"allocated": 1.0},
        "completed": lambda run: {"completed": 1.0},
        "income_usd": _income_usd,
        "profit_usd": lambda run: {**_income_usd(run), **_energy_cost_usd(run)},
    },
    applies=lambda scenario: scenario.warmup_s == 0.0,
)
