"""Replications in rounds, until a rule says of a cell that it has had enough.

``ci(METRIC) < 1%``
    A cell has had enough when the half-width of its 95 % interval is below 1 % of its mean (or
    below a number, ``ci(METRIC) < 5``), and when it is surely not the best among those of its
    scenario and case. When one is left, the winner is known, and that is enough. Service comes
    first: a cell that leaves more of the work undone than another is not the best, whatever it
    saves.
``every ci(METRIC) < 1%``
    The same, but a cell that is surely not the best goes on too.
``winner(METRIC)``
    Only the second: until the winner is known.

"Surely" is what a comparison of the cells would say, at 95 % over all rounds: round k is compared
at its part 6 / (pi k)^2 of the 5 %, so where the rule knows a winner the comparison does too. A
cell that has stopped goes on if a later round is less sure of it. Which runs there are depends on
the numbers alone, so it is the same on every executor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import interval
from cloudarena.experiments.pairs import RISK
from cloudarena.experiments.sweep.statistics import CellRows, surely_behind

if TYPE_CHECKING:
    from cloudarena.experiments.sweep.plan import Plan

FIRST = 10
"""Replications before the first look: fewer say too little of the spread."""
GROWTH = 1.5
"""How many times as many there are at the next look."""
RULE = re.compile(
    r"\s*(?:(every)\s+)?(ci|winner)\(\s*(\w+)\s*\)\s*(?:<\s*([0-9.eE+-]+)\s*(%?))?\s*"
)
ALLOWED = '"ci(METRIC) < 1%", "ci(METRIC) < 5", "every ci(METRIC) < 1%" or "winner(METRIC)"'


@dataclass(frozen=True)
class Until:
    """A rule, and the cells that compete."""

    metric: Any
    limit: float
    """0 if there is none."""
    is_relative: bool
    drops: bool
    """Whether a cell stops that is surely not the best."""
    blocks: tuple[range, ...]
    """The cells of each scenario and case."""

    def unsettled(self, cells: Mapping[int, CellRows], look: int) -> set[int]:
        """The cells that need more replications after a round.

        Args:
            cells: what there is of each so far, by its number in the plan.
            look: which round it is, from 1.
        """
        left: set[int] = set()
        for block in self.blocks:
            here = set(block)
            rivals = [cell for cell in block if cell in cells]
            if self.drops and self.metric.better and len(rivals) > 1:
                rows = [cells[cell] for cell in rivals]
                behind = surely_behind(rows, self.metric, RISK * 6 / (math.pi * look) ** 2)
                here -= {cell for cell, is_behind in zip(rivals, behind, strict=True) if is_behind}
            left.update(cell for cell in here if not self._is_narrow(cells.get(cell)))
        return left

    def _is_narrow(self, cell: CellRows | None) -> bool:
        if not self.limit:
            return False
        if cell is None:
            return True  # all of its runs have failed
        row = cell.values[self.metric.name]
        known = row[~np.isnan(row)]
        if len(known) < 2:
            return len(known) == 0 and len(row) > 0  # it has no value, and will have none
        found = interval(known)
        most = self.limit * abs(found.mean) if self.is_relative else self.limit
        return bool(found.half_width < most or found.half_width == 0.0)


def read_until(text: str, plan: Plan) -> Until:
    """The rule of a text."""
    found = RULE.fullmatch(text)
    limit = math.nan
    if found and found[4]:
        try:
            limit = float(found[4])
        except ValueError:
            limit = math.nan
    is_right = found is not None and (
        limit > 0 if found[2] == "ci" else found[4] is None and not found[1]
    )
    if found is None or not is_right:
        raise SpecError(f"--until: {text!r} is not allowed: {ALLOWED}")
    metric = plan.metric(found[3])
    if found[2] == "winner" and metric.better is None:
        raise SpecError(f"--until: {text!r} is not allowed: {metric.name} has no direction")
    starts = np.cumsum([0, *(len(points) for _, _, points in plan.blocks)]).tolist()
    blocks = tuple(range(a, b) for a, b in pairwise(starts))
    is_relative = found[5] == "%"
    number = 0.0 if found[2] == "winner" else limit / 100 if is_relative else limit
    return Until(metric, number, is_relative, found[1] is None, blocks)


def next_round(count: int, most: int) -> int:
    """How many replications there are after the next round."""
    return min(most, FIRST if count == 0 else math.ceil(count * GROWTH))
