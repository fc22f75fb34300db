"""Comparisons made by hand: no simulation runs here."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import cloudarena
from cloudarena.experiments.compare import Comparison

TICKS = 2500


@pytest.fixture(scope="session")
def scenario():
    return cloudarena.load("vm/azure-like-10k")


@pytest.fixture(scope="session")
def made(scenario):
    """Makes a comparison: profit falls, and failures rise, from policy to policy."""

    def make(policies=("best-fit", "first-fit", "worst-fit"), replications=4, scenario=scenario):
        rng = np.random.default_rng(7)
        place = np.arange(len(policies))[:, None]
        noise = rng.standard_normal((1, replications))
        own = rng.standard_normal((len(policies), replications))
        values = {m.name: np.zeros((len(policies), replications)) for m in scenario.kind.metrics}
        values["requests"][:] = 10_000
        values["failed"][:] = np.round(20 + 100 * place + 5 * noise + own)
        values["allocated"] = values["requests"] - values["failed"]
        values["energy_kwh_per_core_hour_served"] = 9_400 + 10 * noise + own
        values["profit_usd"] = 170_000 - 5_000 * place + 2_000 * noise + 50 * own
        tick = np.arange(TICKS)
        samples = {
            policy: {
                "series": pa.table(
                    {
                        "tick": tick,
                        "used_cores": 300.0 + k + np.sin(tick / 20),
                        "allocated_cores": 2_000.0 + k + 0 * tick,
                        "power_w": 13_000.0 + tick / 7,
                        "live_vms": 900 + k + 0 * tick,
                    }
                )
            }
            for k, policy in enumerate(policies)
        }
        return Comparison(scenario, tuple(policies), 3, values, samples)

    return make
