"""How much each key matters for a metric, for one scenario, case and policy at a time.

- Of a design one at a time: what each level changes against the spec as it is, pair by pair.
- Of Sobol's sample: the shares of the variance that a key has alone (first order) and with others
  (total),
  by SALib, with the half-widths of their 95 % intervals.
- Of any other design: the share of the variance of the cells' means that is between the levels of a
  key. On
  a full grid that is the first-order index; else keys that go together share what they explain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cloudarena.base.errors import SpecError
from cloudarena.base.results import number_or_null
from cloudarena.base.statistics import differences, interval
from cloudarena.experiments.study import levels_of
from cloudarena.experiments.sweep.executors import needed
from cloudarena.experiments.sweep.experiment import Experiment
from cloudarena.experiments.sweep.points import sobol_problem, sobol_rows
from cloudarena.experiments.sweep.results import Results
from cloudarena.experiments.sweep.statistics import CellRows, cells_of, metric_of

RESAMPLES = 200
"""Resamples of the bootstrap that gives Sobol's indices their intervals."""


@dataclass(frozen=True)
class Sensitivity:
    """How much keys matter, as a table."""

    title: str
    method: str
    metric: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "of": self.title,
            "method": self.method,
            "metric": self.metric,
            "rows": [
                {
                    head: number_or_null(value) if isinstance(value, float) else value
                    for head, value in zip(self.heads, row, strict=True)
                }
                for row in self.rows
            ],
        }


def sensitivities(found: Results, metric: str | None = None) -> list[Sensitivity]:
    """The tables of a store, one for each scenario, case and policy."""
    tables = []
    for kind in found.kinds:
        name = metric_of(kind, metric).name
        groups: dict[tuple[str, str, str], list[CellRows]] = {}
        for cell in cells_of(found, kind):
            policy = cell.policy.partition(":")[0] if _is_tuned(cell) else cell.policy
            groups.setdefault((cell.scenario, cell.case, policy), []).append(cell)
        for words, cells in groups.items():
            if len(cells) > 1:
                title = ", ".join(word for word in words if word)
                tables.append(_one(found.experiments, title, cells, name))
    if not tables:
        raise SpecError("sensitivity: is not allowed: nothing was varied in this store")
    return tables


def _one(
    experiments: Sequence[Experiment], title: str, cells: Sequence[CellRows], metric: str
) -> Sensitivity:
    for experiment in experiments:
        if experiment.design == "sobol" and (found := _sobol(experiment, title, cells, metric)):
            return found
    base = next((cell for cell in cells if not _set(cell)), None)
    if base is not None and all(len(_set(cell)) <= 1 for cell in cells):
        return _one_at_a_time(title, base, cells, metric)
    return _by_levels(title, cells, metric)


def _one_at_a_time(
    title: str, base: CellRows, cells: Sequence[CellRows], metric: str
) -> Sensitivity:
    rows = []
    reference = base.estimate(metric).mean
    for cell in cells:
        if cell is base:
            continue
        ((key, value),) = _set(cell).items()
        own, other = np.isin(cell.seeds, base.seeds), np.isin(base.seeds, cell.seeds)
        change = differences(cell.values[metric][own], base.values[metric][other])
        found = interval(change[~np.isnan(change)])
        share = found.mean / abs(reference) if reference else math.nan
        rows.append(
            (key, str(value), cell.estimate(metric).mean, found.mean, found.half_width, share)
        )
    rows.sort(key=lambda row: (row[0], -abs(row[3]) if not math.isnan(row[3]) else 0.0))
    heads = ("key", "value", "mean", "difference", "half-width", "part of the mean")
    return Sensitivity(
        title, "one at a time, against the spec as it is", metric, heads, tuple(rows)
    )


def _sobol(
    experiment: Experiment, title: str, cells: Sequence[CellRows], metric: str
) -> Sensitivity | None:
    """Sobol's indices, if all cells of the experiment's sample are there."""
    assert experiment.sample is not None
    levels = {key: levels_of(value, key, "set") for key, value in experiment.set.items()}
    sample = sobol_rows(levels, experiment.sample, experiment.seed)
    means = {_words(_set(cell)): cell.estimate(metric).mean for cell in cells}
    try:
        outcome = np.array([means[_words(row)] for row in sample])
    except KeyError:
        return None
    if np.isnan(outcome).any():
        raise SpecError(f"sensitivity: {metric} is not allowed: some cells have no value of it")
    if np.ptp(outcome) == 0.0:
        indices = {"S1": np.zeros(len(levels)), "ST": np.zeros(len(levels))}
        indices |= {f"{name}_conf": np.zeros(len(levels)) for name in ("S1", "ST")}
    else:
        needed("SALib", "analysis")
        from SALib.analyze import sobol

        indices = sobol.analyze(
            sobol_problem(levels),
            outcome,
            calc_second_order=False,
            num_resamples=RESAMPLES,
            seed=experiment.seed,
        )
    columns = [np.asarray(indices[name]) for name in ("S1", "S1_conf", "ST", "ST_conf")]
    rows: list[tuple[str | float, ...]] = [
        (key, *(float(one[k]) for one in columns)) for k, key in enumerate(levels)
    ]
    rows.sort(key=lambda row: -float(row[3]))
    heads = ("key", "first order", "half-width", "total", "half-width of total")
    method = f"Sobol's indices of {len(sample):,} points"
    return Sensitivity(title, method, metric, heads, tuple(rows))


def _by_levels(title: str, cells: Sequence[CellRows], metric: str) -> Sensitivity:
    """The share of the variance of means that is between the levels of each key."""
    means = np.array([cell.estimate(metric).mean for cell in cells])
    is_known = ~np.isnan(means)
    total = float(np.var(means[is_known])) if is_known.any() else 0.0
    rows: list[tuple[str | float, ...]] = []
    for key in dict.fromkeys(key for cell in cells for key in _set(cell)):
        texts = np.array([_word(_set(cell).get(key)) for cell in cells])[is_known]
        values = means[is_known]
        between, by_level = 0.0, {}
        for level in dict.fromkeys(texts.tolist()):
            here = values[texts == level]
            by_level[level] = float(here.mean())
            between += len(here) * (float(here.mean()) - float(values.mean())) ** 2
        if len(by_level) < 2:
            continue
        low, high = min(by_level, key=by_level.__getitem__), max(by_level, key=by_level.__getitem__)
        share = between / len(values) / total if total else 0.0
        rows.append((key, share, by_level[low], low, by_level[high], high))
    rows.sort(key=lambda row: -float(row[1]))
    heads = ("key", "share of variance", "lowest mean", "at", "highest mean", "at value")
    return Sensitivity(title, "variance between levels", metric, heads, tuple(rows))


def _set(cell: CellRows) -> dict[str, Any]:
    return {key: value for key, value in cell.settings.items() if value is not None}


def _is_tuned(cell: CellRows) -> bool:
    """Whether a parameter of the policy is varied: then its words differ from cell to cell."""
    owner = cell.policy.partition(":")[0]
    return any(key.startswith(f"{owner}.") for key in _set(cell))


def _words(settings: dict[str, Any]) -> str:
    return repr(sorted((key, _word(value)) for key, value in settings.items()))


def _word(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{float(value):.12g}"
    return str(value)
