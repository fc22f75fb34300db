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

"Surely" is at 95 % over all pairs and all rounds: round k tests at its part 6 / (pi k)^2 of the
5 %, and Bonferroni's share of that for each pair. Which runs there are depends on the numbers
alone, so it is the same on every executor.
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
from cloudarena.base.statistics import CONFIDENCE, differences, interval
from cloudarena.experiments.comparison import NEGLIGIBLE_SHARE
from cloudarena.experiments.pairs import paired_test

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

Values = Mapping[int, Mapping[int, float]]
"""The values of a metric by replication, for each cell."""


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

    def unsettled(
        self, values: Values, unserved: Values, active: set[int], count: int, look: int
    ) -> set[int]:
        """The cells that need more replications after a round.

        Args:
            values: of all cells so far.
            unserved: the shares of the work that they left undone.
            active: the cells that ran in it.
            count: replications of these.
            look: which round it is, from 1.
        """
        rows, shares = (
            {
                cell: np.array([some.get(cell, {}).get(k, math.nan) for k in range(count)])
                for cell in active
            }
            for some in (values, unserved)
        )
        left: set[int] = set()
        for block in self.blocks:
            here = [cell for cell in block if cell in active]
            if self.drops and self.metric.better:
                level = (1 - CONFIDENCE) * 6 / (math.pi * look) ** 2 / max(1, len(here) - 1)
                here = _not_beaten(here, shares, -1.0, level / 2)
                serving = _serving(here, shares)
                here = _not_beaten(here, rows, self._sign, level / 2, serving)
                if len(here) == 1 and len(block) > 1:
                    continue  # the winner is known
            left.update(cell for cell in here if not self._is_narrow(rows[cell]))
        return left

    def _is_narrow(self, row: Any) -> bool:
        if not self.limit:
            return False
        known = row[~np.isnan(row)]
        if len(known) < 2:
            return len(known) == 0 and len(row) > 0  # it has no value, and will have none
        found = interval(known)
        most = self.limit * abs(found.mean) if self.is_relative else self.limit
        return bool(found.half_width < most or found.half_width == 0.0)

    @property
    def _sign(self) -> float:
        return 1.0 if self.metric.better == "higher" else -1.0


def _serving(cells: list[int], shares: Mapping[int, Any]) -> list[int]:
    """The cells that surely do not leave more of the work undone than the best of them.

    Up to a negligible part, as in a comparison: else the winner would be known here, and not there.
    """
    means = {cell: float(np.nanmean(shares[cell])) for cell in cells if _has(shares[cell])}
    if not means:
        return cells
    least = min(means, key=lambda cell: means[cell])
    return [
        cell
        for cell in cells
        if cell not in means or not _may_serve_less(shares[cell], shares[least])
    ]


def _may_serve_less(shares: Any, least: Any) -> bool:
    """Whether more is left undone on average, and maybe more than a negligible part more."""
    both = ~(np.isnan(shares) | np.isnan(least))
    more = differences(shares[both], least[both])
    if len(more) < 2:
        return bool((more > NEGLIGIBLE_SHARE).any())
    found = interval(more)
    return bool(found.mean > 0.0 and found.high > NEGLIGIBLE_SHARE)


def _not_beaten(
    cells: list[int],
    rows: Mapping[int, Any],
    sign: float,
    level: float,
    rivals: list[int] | None = None,
) -> list[int]:
    """The cells that are not surely worse than the best of their rivals; higher is better by 1."""
    among = [cell for cell in (cells if rivals is None else rivals) if _has(rows[cell])]
    if not among:
        return cells
    best = max(among, key=lambda cell: sign * float(np.nanmean(rows[cell])))
    kept = []
    for cell in cells:
        both = ~(np.isnan(rows[cell]) | np.isnan(rows[best]))
        if cell == best or both.sum() < 2:
            kept.append(cell)
            continue
        test = paired_test(differences(rows[best][both], rows[cell][both]))
        if not (sign * test.mean > 0 and test.p <= level):
            kept.append(cell)
    return kept


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


def replications_needed(change: Any, level: float) -> int | None:
    """How many replications in all would tell a mean difference of this size from zero.

    By Student's test at a level, if mean and spread stay as they are; None if there is no
    difference.
    """
    from cloudarena.base.statistics import student_quantile

    values = np.asarray(change, np.float64)
    if len(values) < 2:
        return None
    mean, spread = abs(float(values.mean())), float(values.std(ddof=1))
    if mean == 0.0:
        return None
    count = len(values)
    low, high = 1, count
    while not _tells(mean, spread, high, level, student_quantile):
        low, high = high, 2 * high
        if high > 10**9:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        if middle > 1 and _tells(mean, spread, middle, level, student_quantile):
            high = middle
        else:
            low = middle
    return max(high, count)


def _tells(mean: float, spread: float, count: int, level: float, quantile: Any) -> bool:
    return float(quantile(count - 1, level / 2)) * spread / math.sqrt(count) < mean


def _has(row: Any) -> bool:
    return bool((~np.isnan(row)).any())
