"""What OCBA-CO claims of limits, tested as claims: ``python -m benchmarks.optimize limits``.

100 designs with a cost and two metrics that may be at most 0, 20 evaluations for each. In each run
the truth is drawn again: excesses by chance, the cheaper the worse, or (for most designs) broken by
a hair, which no test can see; where no design keeps the limits at all, every claim is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cloudarena.base.limits import Limit
from cloudarena.engine.streams import stream
from cloudarena.optimizers import ocba_co
from cloudarena.optimizers.synthetic import NormalProblem

DESIGNS = 100
EACH = 20
TRUTHS = ("by chance", "the cheaper the worse", "by a hair", "all by a hair")
HEADER = [
    *("excess", "noise", "common", "best found", "claimed", "kept by the best guess"),
    *("stated so", "called sure", "intervals hold", "a sure one named", "wrongly", "dearer by"),
]


class Limited(NormalProblem):
    """A cost, and metrics that may be at most 0: all columns of the truth but the first."""

    def __init__(self, truth: np.ndarray, noise: float, seed: int, common_share: float) -> None:
        super().__init__(truth, noise, seed, common_share)
        self.objectives = self.objectives[:1]
        self.limits = tuple(Limit(f"metric_{k}", "<=", 0.0) for k in range(truth.shape[1] - 1))


class Outcome(NamedTuple):
    """Of one run."""

    is_best: bool
    claim: float
    kept: bool
    stated: float
    is_called_sure: bool
    is_covered: bool
    is_named: bool
    is_wrong: bool
    dearer: float


def drawn(kind: str, seed: int) -> np.ndarray:
    """Costs and excesses of all designs."""
    rng = stream(seed, f"limits {kind}")
    cost = rng.uniform(0.0, 4.0, (DESIGNS, 1))
    if kind == "by chance":
        return np.hstack((cost, rng.normal(0.0, 1.0, (DESIGNS, 2))))
    if kind == "the cheaper the worse":
        return np.hstack((cost, 2.0 - cost + rng.normal(0.0, 0.3, (DESIGNS, 2))))
    broken = rng.random((DESIGNS, 1)) < (0.7 if kind == "by a hair" else 1.0)
    return np.hstack((cost, np.where(broken, 1e-4, -2.0), np.where(broken, 1e-4, -2.0)))


def outcome(kind: str, noise: float, common: float, seed: int) -> Outcome:
    """A run of OCBA-CO, compared with the truth."""
    truth = drawn(kind, seed)
    cost, keeps = truth[:, 0], truth[:, 1:] <= 0.0
    feasible = keeps.all(axis=1)
    found = ocba_co(Limited(truth, noise, seed, common), evaluations=EACH * DESIGNS)
    kept = found.feasibility
    assert kept is not None
    best = int(np.argmin(np.where(feasible, cost, np.inf)))
    sure, row = kept.sure, found.row(found.best)
    true = truth[found.best, 1:]
    return Outcome(
        found.best == best and bool(feasible[best]),
        float(np.nan_to_num(found.alignment.probability)),
        bool(feasible[found.best]),
        kept.all_kept(row),
        bool(kept.surely[row].all()),
        bool((kept.metrics.low[row] <= true).all() and (true <= kept.metrics.high[row]).all()),
        sure is not None,
        sure is not None and not feasible[sure],
        np.nan if sure is None else float(cost[sure] - cost[best]),
    )


def limit_rows(runs: int, watch: Callable[[str], None]) -> list[list[str]]:
    """A row for each cell: shares of the runs, and means."""
    rows = []
    for kind in TRUTHS:
        for noise in (0.5, 2.0):
            for common in (0.0, 0.8):
                watch(f"{kind} {noise} {common}")
                all_runs = [outcome(kind, noise, common, seed) for seed in range(runs)]
                *means, dearer = (np.array(column, float) for column in zip(*all_runs, strict=True))
                known = dearer[~np.isnan(dearer)]
                rows.append(
                    [kind, f"{noise:g}", f"{common:.0%}"]
                    + [f"{column.mean():.2f}" for column in means[:-1]]
                    + [f"{means[-1].mean():.3f}", f"{known.mean():.2f}" if len(known) else "-"]
                )
    return rows
