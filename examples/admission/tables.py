"""The tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from admission.state import Outcome
from cloudarena.base.arrow import pa
from cloudarena.engine.recorder import recorded

if TYPE_CHECKING:
    from admission.run import AdmissionRun

OUTCOMES = np.array([outcome.name.lower().replace("_", " ") for outcome in Outcome])


def make_tables(run: AdmissionRun) -> dict[str, pa.Table]:
    """One row per customer who came, and one per decision."""
    world, arrived = run.world, int(run.world.clock[0]["arrived"])
    customer, action = recorded(world.decisions).T
    return {
        "customers": pa.table(
            {
                "customer": np.arange(arrived),
                "arrival_s": world.arrival_s[:arrived],
                "service_s": world.service_s[:arrived],
                "found": world.found[:arrived],
                "outcome": OUTCOMES[world.outcome[:arrived]],
            }
        ),
        "decisions": pa.table({"customer": customer, "action": action}),
    }
