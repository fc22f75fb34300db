"""Numbers of VMs from a file."""

from __future__ import annotations

import math
from collections import deque
from pathlib import Path

import pyarrow as pa

from cloudarena.base.arrays import Ints
from cloudarena.scenarios.replay import DecisionFile
from cloudarena.scenarios.tiers.decision import TiersDecision
from cloudarena.scenarios.tiers.spec import TiersScenario

COLUMNS = {"time_s": pa.float64(), "tier": pa.string(), "fat": pa.int64(), "thin": pa.int64()}


class Replay(DecisionFile):
    """Numbers of VMs from a file: columns time_s, tier, fat, thin.

    The ``decisions`` table of any run is such a file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, COLUMNS)
        self._changes: deque[tuple[float, int, int, int]] = deque()

    def start(self, scenario: TiersScenario, seed: int) -> None:
        """Finds the tiers of the file in the scenario."""
        index_of = {tier.name: k for k, tier in enumerate(scenario.tiers)}
        changes: list[tuple[float, int, int, int]] = []
        for row, values in self._rows():
            if values["tier"] not in index_of:
                raise self._error(f"tier: {values['tier']!r} is not in the scenario", row)
            if not math.isfinite(values["time_s"]):
                raise self._error(f"time_s: {values['time_s']} is not allowed: a number", row)
            change = (values["time_s"], index_of[values["tier"]], values["fat"], values["thin"])
            changes.append(change)
        # Rows of one time in the order of the file, since the last one holds.
        self._changes = deque(sorted(changes, key=lambda change: change[0]))

    def __call__(self, decision: TiersDecision) -> Ints:
        """The VMs in force, with the file's rows up to now."""
        counts = decision.counts.copy()
        while self._changes and self._changes[0][0] <= decision.now:
            _, tier, fat, thin = self._changes.popleft()
            counts[tier] = (fat, thin)
        return counts
