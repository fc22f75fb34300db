"""What can be said of the cells of a store: means, comparisons, and what would settle them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrow import pc
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.names import UNSERVED
from cloudarena.base.statistics import Estimate, differences, interval, student_quantile
from cloudarena.catalogue import load
from cloudarena.contract import Kind, Metric, Scenario
from cloudarena.experiments.comparison import NEGLIGIBLE_SHARE, Comparison
from cloudarena.experiments.conclusion import plain_estimate
from cloudarena.experiments.pairs import RISK
from cloudarena.experiments.sweep.results import Results
from cloudarena.scenarios import kind_named

MOST_COMPARED = 40
"""Cells that are compared at a time: all pairs of them in all metrics are tested."""
MOST_NAMED = 4
"""Cells that are named in a sentence."""
MANY = 10_000
"""More replications than anyone will wait for."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CellRows:
    """The replications of a cell."""

    number: int
    """The number by which users name it: its place among the cells of its kind."""
    kind: str
    scenario: str
    case: str
    policy: str
    settings: Mapping[str, Any]
    seeds: NDArray[np.int64]
    values: Mapping[str, Floats]
    """Values of each metric, by replication; NaN where there is no value."""
    bounds: tuple[str, ...]
    """The metrics that are lower bounds, for each replication."""
    told: tuple[str, ...]
    """The keys by which the cells of the store differ."""

    @property
    def text(self) -> str:
        """What people call it: the policy, the case, the keys of the spec."""
        words = [self.policy, *([self.case] if self.case else [])]
        owner = self.policy.partition(":")[0]
        for key, value in self.settings.items():
            if value is not None and key in self.told and not key.startswith(f"{owner}."):
                words.append(f"{key}={_written(value)}")
        return " ".join(words)

    def estimate(self, metric: str) -> Estimate:
        """The mean of a metric, with its interval."""
        row = self.values[metric]
        return interval(row[~np.isnan(row)])

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "cell": self.number,
            "scenario": self.scenario,
            "case": self.case,
            "policy": self.policy,
            "set": {key: value for key, value in self.settings.items() if value is not None},
            "replications": len(self.seeds),
            "metrics": {name: plain_estimate(self.estimate(name)) for name in self.values},
        }


def cells_of(found: Results, kind: str) -> list[CellRows]:
    """The cells of a kind, in the order of their rows."""
    table = found.arrow(kind)
    if not table.num_rows:
        return []
    settings, metrics = found.settings(kind), found.metrics(kind)
    grouped = ["scenario", "case", "policy", *settings, "cell"]
    is_first = np.zeros(table.num_rows, np.bool_)
    is_first[:1] = True
    for name in grouped:
        codes = pc.fill_null(table[name].combine_chunks().dictionary_encode().indices, -1)
        is_first[1:] |= np.diff(codes.to_numpy(zero_copy_only=False)) != 0
    starts = np.flatnonzero(is_first)
    ends = [*starts[1:].tolist(), table.num_rows]
    seeds = table["seed"].to_numpy()
    columns = {name: np.asarray(table[name].to_numpy(), np.float64) for name in metrics}
    heads = table.select(grouped).take(starts).to_pylist()
    bounds = table["at_least"].to_pylist()
    told = tuple(name for name in settings if len({repr(head[name]) for head in heads}) > 1)
    return [
        CellRows(
            number,
            kind,
            head["scenario"],
            head["case"],
            head["policy"],
            {name: head[name] for name in settings},
            seeds[start:end],
            {name: column[start:end] for name, column in columns.items()},
            tuple(bounds[start:end]),
            told,
        )
        for number, (start, end, head) in enumerate(
            zip(starts.tolist(), ends, heads, strict=True), start=1
        )
    ]


def metric_of(kind: str, name: str | None) -> Metric:
    """A metric of a kind, by default its headline."""
    holder: Kind = kind_named(kind)
    check_choice("metric", name or holder.headline, holder.metric)
    return holder.metric[name or holder.headline]


def compare_cells(
    found: Results, numbers: Sequence[str] | None = None, metric: str | None = None
) -> Comparison:
    """Cells side by side, on the seeds that all of them have, by the tests of ``compare``.

    Args:
        found: the store.
        numbers: of the cells, the first of which the others are compared with; all by default. With
            several kinds, ``KIND:NUMBER``.
        metric: by which they are ranked; by default the headline.
    """
    kind = found.kinds[0] if found.kinds else ""
    if numbers and ":" in numbers[0]:
        kind = numbers[0].partition(":")[0]
    elif len(found.kinds) > 1:
        raise SpecError(f"compare: KIND:NUMBER is required: there are {', '.join(found.kinds)}")
    cells = cells_of(found, kind) if kind else []
    chosen = cells if numbers is None else [_named(cells, one) for one in numbers]
    if len(chosen) > MOST_COMPARED:
        raise SpecError(
            f"compare: {len(chosen):,} cells are not allowed: at most {MOST_COMPARED}; name some"
        )
    return comparison_of(chosen, metric)


def comparison_of(cells: Sequence[CellRows], metric: str | None = None) -> Comparison:
    """The comparison of some cells of a kind, on the seeds that all of them have."""
    common = set(cells[0].seeds.tolist()).intersection(*(cell.seeds.tolist() for cell in cells))
    if not common:
        raise SpecError("compare: these cells are not allowed: they have no seed in common")
    return _side_by_side(cells, sorted(common), metric)


def in_pairs(cells: Sequence[CellRows], *more: Metric, risk: float = RISK) -> Comparison:
    """The comparison of some cells of a kind, each pair on the seeds that both have.

    Args:
        cells: what is compared, of which some may have run less often than others.
        more: metrics that are not among those of the kind, and are compared too.
        risk: the probability that any verdict is wrong.
    """
    seeds = sorted(set().union(*(cell.seeds.tolist() for cell in cells)))
    found = _side_by_side(cells, seeds, None, *more)
    ran = np.array([np.isin(seeds, cell.seeds) for cell in cells])
    return replace(found, ran=None if ran.all() else ran, risk=risk)


def surely_behind(cells: Sequence[CellRows], metric: Metric, risk: float) -> list[bool]:
    """Which cells are surely not the best by a metric; all, if the best is known.

    It is asked of the comparison of all cells. Where they are too many for that, each is compared
    with the one that comes first by its mean, at the level at which that comparison would begin.

    Args:
        cells: of a scenario and case.
        metric: by which they are ranked.
        risk: the probability that any of it is wrong.
    """
    if len(cells) <= MOST_COMPARED:
        found = in_pairs(cells, metric, risk=risk)
        behind = found.behind(metric)
        known = found.winner(metric) is not None
        return [known or one in behind for one in found.policies]
    ranked = _by_mean(cells, metric)
    if not ranked:
        return [False] * len(cells)
    first, pairs = ranked[0], len(cells) * (len(cells) - 1) // 2
    duels = [
        None if cell is first else in_pairs([first, cell], metric, risk=risk / pairs)
        for cell in cells
    ]
    known = all(one is None or one.winner(metric) == one.policies[0] for one in duels)
    return [known or (one is not None and one.policies[1] in one.behind(metric)) for one in duels]


def _side_by_side(
    cells: Sequence[CellRows], seeds: Sequence[int], metric: str | None, *more: Metric
) -> Comparison:
    """Cells on some seeds; a cell has no value on a seed that it has not run."""
    names = [name for name in cells[0].values if all(name in cell.values for cell in cells)]
    at = [np.searchsorted(seeds, cell.seeds) for cell in cells]
    kept = [np.isin(cell.seeds, seeds) for cell in cells]
    shape = len(cells), len(seeds)
    values = {name: np.full(shape, np.nan) for name in names}
    bounds = {name: np.zeros(shape, np.bool_) for name in names}
    for k, (cell, where, some) in enumerate(zip(cells, at, kept, strict=True)):
        for name in names:
            values[name][k, where[some]] = cell.values[name][some]
            flags = np.array([name in words.split(",") for words in cell.bounds], np.bool_)
            bounds[name][k, where[some]] = flags[some]
    scenario = _toy(cells[0].kind)
    scenario = scenario.measuring(*(one for one in more if one.name not in scenario.kind.metric))
    scenario._name = " and ".join(dict.fromkeys(cell.scenario for cell in cells))
    if metric is not None:
        check_choice("metric", metric, names)
    return Comparison(
        scenario,
        tuple(_labels(cells)),
        seeds[0],
        {name: rows for name, rows in values.items() if name in scenario.kind.metric},
        {},
        bounds={name: flags for name, flags in bounds.items() if flags.any()},
    )


@cache
def _toy(kind: str) -> Scenario:
    """A scenario of a kind, for its metrics."""
    return load(kind_named(kind).toy)


def conclusions(found: Results, metric: str | None = None) -> list[str]:
    """A sentence or two for each scenario and case: who wins, or how much more would settle it."""
    lines = []
    for kind in found.kinds:
        judged = metric_of(kind, metric)
        blocks: dict[tuple[str, str], list[CellRows]] = {}
        for cell in cells_of(found, kind):
            blocks.setdefault((cell.scenario, cell.case), []).append(cell)
        for (scenario, case), cells in blocks.items():
            place = f"{scenario}, {case}" if case else scenario
            if len(cells) > 1:
                lines.append(f"{place}: {_answer(cells, judged)}")
    return lines


def _answer(cells: Sequence[CellRows], metric: Metric) -> str:
    if metric.better is None:
        raise SpecError(f"metric: {metric.name!r} is not allowed: it has no direction")
    if len(cells) > MOST_COMPARED:
        return _first_of_many(cells, metric)
    comparison = in_pairs(cells)
    words = comparison.conclusion(metric.name)
    if any(cell.told for cell in cells):
        words = words.replace(" the policies", " the cells")
    leaders = comparison.leaders(metric)
    if len(leaders) > MOST_NAMED:
        way = "highest" if metric.better == "higher" else "lowest"
        words = (
            f"{leaders[0]} has the {way} {metric.name} of {len(cells)} cells, but cannot be told "
            f"from {len(leaders) - 1} others."
        )
        if out := comparison.out_of_the_running:
            words += f" {len(out)} leave more of the work undone and are out of the running."
    more = settling(comparison, metric)
    return f"{words} {more}".strip()


def _first_of_many(cells: Sequence[CellRows], metric: Metric) -> str:
    """Who is first by the mean of cells that are too many to test; service comes first here too."""
    words = f"{len(cells):,} cells, too many to test each pair"
    serve, ranked = _serving(cells), _by_mean(cells, metric)
    if not ranked:
        return f"{words}; those that leave the least undone have no {metric.name}"
    places = [f"{cell.text} (cell {cell.number})" for cell in ranked[:2]]
    words += f"; by the mean {metric.name} the first is {', then '.join(places)}"
    if out := len(cells) - len(serve):
        words += f", {out:,} that leave more of the work undone left out"
    return f"{words}: compare some of them"


def _serving(cells: Sequence[CellRows]) -> list[CellRows]:
    """The cells that leave hardly more undone on average than the one that leaves the least."""
    left = [_unserved(cell) for cell in cells]
    most = min(left) + NEGLIGIBLE_SHARE
    return [cell for cell, share in zip(cells, left, strict=True) if share <= most]


def _by_mean(cells: Sequence[CellRows], metric: Metric) -> list[CellRows]:
    """The serving cells that have a value of a metric, the best one first."""
    sign = 1.0 if metric.better == "higher" else -1.0
    means = [(cell.estimate(metric.name).mean, cell) for cell in _serving(cells)]
    known = [one for one in means if not math.isnan(one[0])]
    return [cell for _, cell in sorted(known, key=lambda one: -sign * one[0])]


def _unserved(cell: CellRows) -> float:
    """The mean part of the work that a cell leaves undone; all of it where that is not known."""
    share = cell.estimate(UNSERVED).mean if UNSERVED in cell.values else 0.0
    return 1.0 if math.isnan(share) else share


def settling(comparison: Comparison, metric: Metric) -> str:
    """How many more replications would tell the leader from those that it cannot be told from."""
    leaders = comparison.leaders(metric)
    if len(leaders) < 2 or comparison.replications < 2:
        return ""
    rows = comparison.values[metric.name]
    first = comparison.policies.index(leaders[0])
    most = 0
    for other in leaders[1:]:
        row = rows[comparison.policies.index(other)]
        both = ~(np.isnan(rows[first]) | np.isnan(row))
        change = differences(rows[first][both], row[both])
        level = _level(comparison, leaders[0], other, metric.name, change)
        if not np.any(change) or level is None:
            continue
        needed = replications_needed(change, level)
        most = max(most, MANY + 1 if needed is None else needed - len(change))
    if most <= 0:
        return ""
    if most > MANY:
        return f"Even {MANY:,} more replications would not settle it."
    many = "replication" if most == 1 else "replications"
    return f"About {most:,} more {many} would settle it."


def replications_needed(change: Any, level: float) -> int | None:
    """How many replications in all would tell a mean difference of this size from zero.

    By Student's test at a level, if mean and spread stay as they are; None if there is no
    difference.
    """
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


def _level(
    comparison: Comparison, one: str, other: str, metric: str, change: Floats
) -> float | None:
    """The level at which a pair was tested, from the width of its interval."""
    from scipy.special import stdtr

    half = comparison.difference(one, metric, other).half_width
    spread = float(np.std(change, ddof=1)) if len(change) > 1 else 0.0
    if not spread or not math.isfinite(half) or half == 0:
        return None
    return float(2 * stdtr(len(change) - 1, -half / (spread / math.sqrt(len(change)))))


def _named(cells: Sequence[CellRows], words: str) -> CellRows:
    number = words.rpartition(":")[2]
    if not number.isdigit() or not 1 <= int(number) <= len(cells):
        raise SpecError(f"compare: {words!r} is not allowed: a number of a cell, 1 to {len(cells)}")
    return cells[int(number) - 1]


def _labels(cells: Sequence[CellRows]) -> list[str]:
    """The words of cells, with their scenario where that is needed to tell them apart."""
    texts = [cell.text for cell in cells]
    if len(set(texts)) == len(texts):
        return texts
    return [f"{cell.text} ({cell.scenario}, cell {cell.number})" for cell in cells]


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
