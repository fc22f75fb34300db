"""The charts of the designs that were tried: by key, all keys at once, where limits are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.experiments.designs import design_text
from cloudarena.experiments.optimization import Optimization
from cloudarena.experiments.tried import LEAST, Tried, is_number, keeps_limits
from cloudarena.report.charts import (
    AnyChart,
    Dot,
    Dots,
    parallel_chart,
    region_chart,
    slice_chart,
)
from cloudarena.report.page import Section

MOST_SLICES = 6
"""Keys that have a chart of their own, the most important ones."""
MOST_AXES = 7
"""Keys in parallel coordinates."""
BEST = 0.1
"""The share of the designs that are drawn as the best."""


def parameters_section(found: Optimization, objective: str) -> Section | None:
    """Slices by key, importance, parallel coordinates and the feasible region; None without keys.

    Args:
        found: what was optimised.
        objective: what people call the first objective.
    """
    tried = found.tried
    if tried is None or not isinstance(found.winner, Mapping) or len(tried.designs) < LEAST:
        return None
    designs = [found.problem.design(number) for number in tried.designs.tolist()]
    ranked = [one.key for one in found.importance]
    numbers = {key: column for key in ranked if (column := _numbers(designs, key)) is not None}
    if not ranked:
        return None
    charts: list[AnyChart] = [_importance(found)]
    if numbers:
        charts += _slices(found, tried, numbers, objective)
    own = [key for key in numbers if key in found.winner]
    if found.problem.limits and len(own) > 1:
        charts.append(_region(found, tried, numbers[own[0]], numbers[own[1]], (own[0], own[1])))
    shared = [key for key in ranked if key in found.winner][:MOST_AXES]
    if len(shared) > 1:
        charts.append(_parallel(found, tried, designs, shared, objective))
    hint = (
        f"The {len(designs):,} designs that were tried, by their means over all replications; "
        "those of few replications are not as sure as those in the table."
    )
    return Section("Parameters", hint, charts)


def _importance(found: Optimization) -> Dots:
    rows = [
        Dot(one.key, f"{one.share:.0%}", (one.share, np.nan, np.nan), (), 0)
        for one in found.importance
    ]
    return Dots(
        "Importance",
        "the share of the variance of the first objective that goes with a key alone",
        rows,
        "share",
        has_zero=True,
    )


def _slices(
    found: Optimization, tried: Tried, numbers: Mapping[str, Floats], objective: str
) -> list[AnyChart]:
    kept, chosen = keeps_limits(found.problem, tried), _chosen(found, tried)
    labels = _labels(found, tried)
    charts: list[AnyChart] = []
    for key, values in list(numbers.items())[:MOST_SLICES]:
        have = np.flatnonzero(np.isfinite(values))
        place = None if chosen is None else int(np.searchsorted(have, chosen))
        if place is not None and (place == len(have) or have[place] != chosen):
            place = None
        words = [labels[row] for row in have.tolist()]
        means = tried.means[have, 0]
        charts.append(slice_chart(key, objective, values[have], means, kept[have], place, words))
    return charts


def _region(
    found: Optimization, tried: Tried, across: Floats, up: Floats, keys: tuple[str, str]
) -> AnyChart:
    have = np.flatnonzero(np.isfinite(across) & np.isfinite(up))
    some = tried.at(have)
    kept = keeps_limits(found.problem, some)
    labels = _labels(found, some)
    return region_chart(keys, (across[have], up[have]), kept, _chosen(found, some), labels)


def _parallel(
    found: Optimization,
    tried: Tried,
    designs: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
    objective: str,
) -> AnyChart:
    have = [row for row, design in enumerate(designs) if all(key in design for key in keys)]
    tried = tried.at(have)
    designs = [designs[row] for row in have]
    keys = [key for key in keys if len({repr(design[key]) for design in designs}) > 1]
    losses = found.selection.objectives[0].sign * tried.means[:, 0]
    losses = np.where(keeps_limits(found.problem, tried), losses, np.inf)
    best = losses <= np.sort(losses)[max(0, int(BEST * len(losses)) - 1)]
    columns = [_numbers(designs, key) for key in keys]
    filled = [
        _codes(designs, key) if column is None else column
        for key, column in zip(keys, columns, strict=True)
    ]
    start = f"{found.winner.get('policy', '')}."
    names = [*(key.removeprefix(start) for key in keys), objective]
    return parallel_chart(names, [*filled, tried.means[:, 0]], best, _chosen(found, tried))


def _numbers(designs: Sequence[Mapping[str, Any]], key: str) -> Floats | None:
    """The values of a key, NaN where a design has none; None if some is no number."""
    values = [design.get(key) for design in designs]
    if not all(value is None or is_number(value) for value in values):
        return None
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _codes(designs: Sequence[Mapping[str, Any]], key: str) -> Floats:
    """The words of a key as 0, 1, ... in the order in which they come."""
    values = [str(design.get(key)) for design in designs]
    order = list(dict.fromkeys(values))
    return np.array([order.index(value) for value in values], np.float64)


def _chosen(found: Optimization, tried: Tried) -> int | None:
    rows = np.flatnonzero(tried.designs == found.selection.best)
    return int(rows[0]) if len(rows) else None


def _labels(found: Optimization, tried: Tried) -> list[str]:
    return [design_text(found.problem.design(number)) for number in tried.designs.tolist()]
