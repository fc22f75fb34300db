"""Few metrics instead of many: chosen on a sample of strategies, applied to all others.

The score of a strategy is the weighted sum of all its metrics. On a sample for which all metrics
are known, a few are chosen from which the score follows by least squares; of all other strategies
only these are measured, and the best by prediction are then evaluated in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import (
    check_not_negative,
    check_probability,
    check_shape,
    check_table,
    check_whole,
)
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.engine.streams import stream
from cloudarena.reduction.ecga import ecga
from cloudarena.reduction.information import (
    at_least_so_high,
    information_bits,
    metric_alignment,
)
from cloudarena.reduction.regression import (
    PARTS,
    Fit,
    by_f_tests,
    check_exhaustive,
    cross_validated,
    exchange,
    exhaustive,
    fit,
    forward,
)

Method = Literal["stepwise", "f-tests", "exhaustive", "ecga"]
Correlation = Literal["cross_validated", "adjusted"]


class Step(NamedTuple):
    """The best choice of so many metrics."""

    fit: Fit
    correlation: float
    """The correlation of score and prediction.

    Information follows from it and, if it is cross-validated, alignment from its lower limit."""
    residual_sd: float
    """The deviation of the score that is left, in standard deviations of the score."""
    information_bits: float
    alignment: float
    """Probability that the best by prediction hold enough of the truly best."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """Metrics to measure, and what they promise."""

    metrics: Ints
    """The chosen columns, in ascending order."""
    step: Step
    """What they promise."""
    steps: tuple[Step, ...]
    """The best choices of 1, 2, ... metrics, up to where the search ended."""
    weights: Floats
    mean: Floats
    scale: Floats
    intercept: float
    coefficients: Floats
    """The coefficients of the chosen metrics in their own units."""

    @property
    def alignment(self) -> float:
        """The probability that the best by prediction hold enough of the truly best."""
        return self.step.alignment

    def score(self, table: ArrayLike) -> Floats:
        """The true scores of strategies, from all their metrics."""
        values = check_table("table", table, "strategies", "metrics")
        self._check_columns(values, len(self.weights))
        return np.asarray(((values - self.mean) / self.scale) @ self.weights)

    def predict(self, chosen: ArrayLike) -> Floats:
        """Scores of strategies from the chosen metrics alone, in the order of ``metrics``."""
        values = check_table("chosen", chosen, "strategies", "chosen metrics")
        self._check_columns(values, len(self.metrics))
        return np.asarray(self.intercept + values @ self.coefficients)

    def ranks(self, table: ArrayLike) -> tuple[Ints, Ints]:
        """The places of strategies by score and by prediction, 1 for the best."""
        values = check_table("table", table, "strategies", "metrics")
        both = self.score(values), self.predict(values[:, self.metrics])
        first, second = (
            np.argsort(np.argsort(-one, kind="stable"), kind="stable") + 1 for one in both
        )
        return first, second

    def hits(self, table: ArrayLike, selected: int, good: int) -> int:
        """How many of the ``good`` best by score are among the ``selected`` best by prediction.

        All metrics of the strategies are known.
        """
        values = check_table("table", table, "strategies", "metrics")
        check_whole("selected", selected, 1, len(values))
        check_whole("good", good, 1, len(values))
        by_score = np.argsort(-self.score(values), kind="stable")[:good]
        predicted = self.predict(values[:, self.metrics])
        by_prediction = np.argsort(-predicted, kind="stable")[:selected]
        return len(np.intersect1d(by_score, by_prediction))

    def _check_columns(self, values: Floats, wanted: int) -> None:
        if values.shape[1] != wanted:
            raise SpecError(f"table: {values.shape[1]} metrics are not allowed: {wanted}")


def reduce_metrics(
    table: ArrayLike,
    *,
    keep: int | None = None,
    alignment: float = 0.95,
    selected: int = 15,
    good: int = 15,
    at_least: int = 10,
    strategies: int | None = None,
    weights: ArrayLike | None = None,
    better: Sequence[Literal["higher", "lower"]] | None = None,
    standardise: bool = True,
    method: Method = "stepwise",
    correlation: Correlation = "cross_validated",
    most: int = 30,
    seed: int = 0,
) -> Reduction:
    """Chooses as few metrics as reach an alignment probability, or the best ``keep``.

    Args:
        table: a sample of strategies (rows) with all their metrics (columns).
        keep: how many metrics to choose; without it, as few as reach ``alignment``.
        alignment: without ``keep``, the wanted probability that the ``selected`` best by
            prediction hold at least ``at_least`` of the ``good`` truly best.
        selected: s.
        good: g.
        at_least: k.
        strategies: n, among how many strategies they are to be found; by default as many as the
            sample has.
        weights: of the metrics in the score, 0 for those that only predict it; equal by default.
        better: whether a higher or a lower value of each metric is better; higher by default.
        standardise: whether metrics are divided by their standard deviation before they are
            weighed, so that units do not matter.
        method: ``stepwise`` with exchange, ``f-tests``, which stops when no other metric is
            significant, ``exhaustive`` for few metrics, or ``ecga``.
        correlation: ``cross_validated``, by the method that is used, holds for strategies that are
            not in the sample, and is taken at its lower 95 % limit: the fewest metrics that reach
            a probability are those that had luck; ``adjusted``, by the adjusted R^2, for those
            that are.
        most: metrics to choose at most when no number is given.
        seed: of ``ecga``, and of how strategies are dealt for cross-validation.
    """
    values = check_table("table", table, "strategies", "metrics")
    sample, columns = values.shape
    check_choice("method", method, get_args(Method))
    check_choice("correlation", correlation, ("cross_validated", "adjusted"))
    population = sample if strategies is None else check_whole("strategies", strategies, 2)
    check_whole("table", sample, PARTS, why="rows, one for each strategy")
    largest = min(columns, sample * 9 // 10 - 3)
    if keep is not None:
        check_whole("keep", keep, 1, largest)
        if method == "exhaustive":
            check_exhaustive(columns, keep)
    check_probability("alignment", alignment)
    # The score's weights carry the directions: what is better when lower weighs negatively.
    signed = _weights(weights, better, columns)
    mean = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1)
    scale = np.where(spread > 0.0, spread, 1.0) if standardise else np.ones(columns)
    centred = (values - mean) / scale
    score = centred @ signed
    if not np.ptp(score) > 0.0:
        raise SpecError("table: all strategies have the same score: there is nothing to choose by")

    most = min(most, largest) if keep is None else keep
    is_unseen = correlation == "cross_validated"
    steps: list[Step] = []
    for count in range(1, most + 1):
        chosen = _choose(centred, score, count, method, seed)
        if len(chosen) < count:
            if not steps:
                raise SpecError(f"method: {method} finds no metric that tells of the score")
            break
        found = fit(centred, score, np.sort(chosen))
        rho = found.correlation
        if is_unseen:
            rho = cross_validated(
                centred,
                score,
                partial(_choose, count=count, method=method, seed=seed),
                stream(seed, "cross-validation"),
            )
        steps.append(
            Step(
                found,
                rho,
                math.sqrt(max(found.residual_variance, 0.0) / float(score.var(ddof=1))),
                information_bits(rho, population),
                metric_alignment(
                    at_least_so_high(rho, sample) if is_unseen else rho,
                    population,
                    selected,
                    good,
                    at_least,
                ),
            )
        )
        if keep is None and steps[-1].alignment >= alignment:
            break
    # Where the wanted probability is out of reach, what comes nearest to it.
    step = steps[-1] if keep is not None else max(steps, key=lambda step: step.alignment)
    chosen = step.fit.metrics
    coefficients = step.fit.coefficients / scale[chosen]
    return Reduction(
        metrics=chosen,
        step=step,
        steps=tuple(steps),
        weights=signed,
        mean=mean,
        scale=scale,
        intercept=-float(coefficients @ mean[chosen]),
        coefficients=coefficients,
    )


def _choose(metrics: Floats, score: Floats, count: int, method: Method, seed: int) -> Ints:
    if method == "exhaustive":
        return exhaustive(metrics, score, count)
    if method == "ecga":
        return ecga(metrics, score, count, stream(seed, f"ecga {count}"))
    if method == "f-tests":
        return by_f_tests(metrics, score, count)
    return exchange(metrics, score, forward(metrics, score, count))


def _weights(
    weights: ArrayLike | None,
    better: Sequence[Literal["higher", "lower"]] | None,
    columns: int,
) -> Floats:
    weighed = np.ones(columns)
    if weights is not None:
        weighed = np.atleast_1d(check_not_negative("weights", weights))
        check_shape("weights", weighed, (columns,), f"{columns} numbers")
        if not weighed.any():
            raise SpecError("weights[0]: 0.0 is not allowed: some weight must be more than 0")
    if better is None:
        return weighed
    if len(better) != columns:
        raise SpecError(f"better: {len(better)} directions are not allowed: {columns}")
    for index, direction in enumerate(better):
        check_choice(f"better[{index}]", direction, ("higher", "lower"))
    return weighed * np.where(np.array(better) == "higher", 1.0, -1.0)
