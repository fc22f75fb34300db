"""Objectives that are more than a mean over replications: quantiles, CVaR, probabilities.

``NAME@q90`` is the quantile of a metric over replications below which nine of ten are,
``NAME@cvar90`` the mean of the worst tenth, and ``NAME@p(<=2)`` the probability that it is at most
2. The methods compare means of independent values, so an evaluation is a batch of runs with one
value: its sample quantile, the mean of its worst runs, or for a probability a single run that
counts 1 or 0. What a method claims is then of means over batches; a batch has so many runs that
two of them are beyond the quantile on average, and what is left of bias is seen from the value over
all runs, which is given beside it with an interval that assumes no distribution.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.base.limits import Limit
from cloudarena.base.statistics import Estimate, student_quantile
from cloudarena.optimizers.problem import Direction, Objective, Problem, WrappedProblem
from cloudarena.optimizers.selection import Estimates, Selection

BEYOND = 2.0
"""Runs of a batch that are beyond its quantile, on average."""
_PERCENT = re.compile(r"(q|cvar)(\d{1,2}(?:\.\d+)?)")
_CHANCE = re.compile(r"p\((<=|>=|<|>)([^<>=()]+)\)")
FORMS = "NAME@q90, NAME@cvar90 or NAME@p(<=2)"


class Risk(NamedTuple):
    """What is taken of the values of a metric over replications."""

    kind: Literal["mean", "quantile", "cvar", "probability"] = "mean"
    number: float = 0.0
    """The level of a quantile or of CVaR, or the bound of a probability."""
    order: str = ""
    """How a probability compares with its bound."""

    @property
    def batch(self) -> int:
        """Runs that an evaluation takes."""
        if self.kind in ("mean", "probability"):
            return 1
        tail = 1.0 - self.number
        tail = min(tail, self.number) if self.kind == "quantile" else tail
        return math.ceil(BEYOND / tail - 1e-9)

    def direction(self, of_metric: Direction | None) -> Direction | None:
        """Which way is better, for a metric that goes one way; None if it goes none."""
        if of_metric is None or self.kind != "probability":
            return of_metric
        is_below = self.order in ("<=", "<")
        return "maximise" if is_below == (of_metric == "minimise") else "minimise"

    def value(self, values: Floats, sign: float) -> Floats:
        """The statistic of values along the last axis.

        Args:
            values: of the metric.
            sign: 1 if lower values are better, -1 if higher ones are: CVaR is of the worse ones.
        """
        if self.kind == "mean":
            return np.asarray(values.mean(axis=-1))
        if self.kind == "probability":
            return np.asarray(_compared(values, self.order, self.number).mean(axis=-1))
        if self.kind == "quantile":
            return np.asarray(np.quantile(values, self.number, axis=-1, method="median_unbiased"))
        return sign * _worst_mean(sign * values, 1.0 - self.number)

    def estimate(self, values: Floats, sign: float, level: float) -> Estimate:
        """The statistic over all runs of a design, with an interval.

        That of a quantile is between order statistics and that of a probability is Clopper's and
        Pearson's: both hold whatever the distribution is. That of CVaR is Student's over batches.
        An end that so few runs do not tell is infinite.
        """
        from scipy.special import betaincinv
        from scipy.stats import binom

        count = len(values)
        found = float(self.value(values, sign))
        tail = (1.0 - level) / 2.0
        if self.kind == "probability":
            hits = round(found * count)
            low = 0.0 if hits == 0 else float(betaincinv(hits, count - hits + 1, tail))
            high = 1.0 if hits == count else float(betaincinv(hits + 1, count - hits, 1.0 - tail))
            return Estimate(found, low, high)
        if self.kind == "quantile":
            ordered = np.sort(values)
            below = int(binom.ppf(tail, count, self.number))  # P(fewer are below) <= tail
            above = int(binom.ppf(1.0 - tail, count, self.number)) + 1
            low = float(ordered[below - 1]) if below >= 1 else -math.inf
            high = float(ordered[above - 1]) if above <= count else math.inf
            return Estimate(found, low, high)
        batches = count // self.batch
        if batches < 2:
            return Estimate(found, math.nan, math.nan)
        parts = self.value(values[: batches * self.batch].reshape(batches, -1), sign)
        error = float(parts.std(ddof=1)) / math.sqrt(batches)
        half = float(student_quantile(batches - 1, tail)) * error
        return Estimate(found, found - half, found + half)

    def words(self) -> str:
        """What the statistic is, for people."""
        if self.kind == "quantile":
            return f"the {100 * self.number:g} % quantile over runs"
        if self.kind == "cvar":
            return f"the mean of the worst {100 * (1 - self.number):g} % of runs"
        return f"the probability of a value {self.order} {self.number:g}"


def split_risk(text: str, field: str = "objectives") -> tuple[str, Risk]:
    """A metric's name and what is taken of it, from text such as ``response_p95_s@q90``."""
    name, mark, rest = text.partition("@")
    if not mark:
        return name, Risk()
    if found := _PERCENT.fullmatch(rest):
        level = float(found[2]) / 100.0
        if 0.0 < level < 1.0:
            return name, Risk("quantile" if found[1] == "q" else "cvar", level)
    if found := _CHANCE.fullmatch(rest):
        try:
            return name, Risk("probability", float(found[2]), found[1])
        except ValueError:
            pass
    raise SpecError(f"{field}: {text!r} is not allowed: {FORMS}")


class RiskProblem(WrappedProblem):
    """A problem whose evaluations are batches of runs of another.

    Args:
        problem: measures the metrics, a column for each of ``risks``.
        objectives: what is compared, by their names with ``@``.
        limits: of the same.
        risks: what is taken of each column.
        signs: of each column, 1 if lower values of the metric are better, else -1.
    """

    def __init__(
        self,
        problem: Problem,
        objectives: Sequence[Objective],
        limits: Sequence[Limit],
        risks: Sequence[Risk],
        signs: Sequence[float],
    ) -> None:
        super().__init__(problem)
        self.objectives = tuple(objectives)
        self.limits = tuple(limits)
        self.risks = tuple(risks)
        self.ways = tuple(signs)
        self.batch = max(risk.batch for risk in self.risks)

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """The statistics of batches; batch r has the runs from r times its size on."""
        runs = (replications[:, None] * self.batch + np.arange(self.batch)).ravel()
        values = self.problem.simulate(designs, runs)
        shape = (len(designs), len(replications), self.batch, values.shape[2])
        parts = values.reshape(shape)
        return np.stack(
            [
                risk.value(parts[:, :, :, k], way)
                for k, (risk, way) in enumerate(zip(self.risks, self.ways, strict=True))
            ],
            axis=2,
        )

    def pooled(self, design: int, batches: int, level: float) -> dict[str, Estimate]:
        """The statistics of a design over all runs of its first batches, by column."""
        values = self.problem.evaluate([design], range(batches * self.batch))[0]
        return {
            name: risk.estimate(values[:, k], way, level)
            for k, (name, risk, way) in enumerate(
                zip(self.columns, self.risks, self.ways, strict=True)
            )
            if risk.kind != "mean"
        }


def in_runs(selection: Selection, batch: int) -> Selection:
    """A selection by batches whose cost is told in runs."""
    if batch == 1:
        return selection

    def scaled(estimates: Estimates) -> Estimates:
        return estimates._replace(replications=estimates.replications * batch)

    kept = selection.feasibility
    return dataclasses.replace(
        selection,
        evaluations=selection.evaluations * batch,
        estimates=scaled(selection.estimates),
        front=scaled(selection.front),
        feasibility=None if kept is None else kept._replace(metrics=scaled(kept.metrics)),
    )


def _compared(values: Floats, order: str, bound: float) -> Floats:
    compare = {"<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater}[order]
    return np.asarray(compare(values, bound), np.float64)


def _worst_mean(losses: Floats, tail: float) -> Floats:
    """The mean of the largest share of values, one of them in part (Acerbi and Tasche, 2002)."""
    ordered = np.sort(losses, axis=-1)[..., ::-1]
    share = tail * losses.shape[-1]
    weights = np.clip(share - np.arange(losses.shape[-1]), 0.0, 1.0)
    return np.asarray((ordered * weights).sum(axis=-1) / share)
