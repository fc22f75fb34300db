"""Pairs of policies, metric by metric: which of the two has the larger number, and how sure.

All tests of a comparison are one family: every pair of policies in every metric that has a
direction. Holm's procedure (1979, in its weighted form) keeps the probability that any verdict of
the family is wrong below 5 %. Half of these 5 % are for the headline and for the share of work
left undone, so that the answer does not become weaker with each further metric.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.statistics import (
    CONFIDENCE,
    Estimate,
    differences,
    interval,
    is_constant,
    student_quantile,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Basis = Literal["test", "constant", "every run", "none"]
RISK = 1 - CONFIDENCE
"""The probability that any verdict of a family is wrong, at most."""
ENOUGH = 5
"""Equal numbers of random work that are no accident; two or three may be equal by chance."""
SMALL = 0.01
"""A difference that is surely no more than this part of the numbers is called none."""
Key = tuple[str, int, int]
"""A metric and the indices of two policies, of which the one listed later comes first."""


class Pair(NamedTuple):
    """One policy against another in one metric."""

    difference: Estimate
    """What the first has more than the second, over the replications in which both have a value."""
    replications: int
    """How many these are."""
    basis: Basis
    """What a verdict rests on: a paired test; the same numbers in all replications; or something
    that needs no test, such as one that does nothing in every single run."""
    sign: int
    """1 if the first is the larger, -1 if it is the smaller, 0 if nobody can tell."""

    def turned(self) -> Pair:
        """The second against the first."""
        mean, low, high = self.difference
        difference = Estimate(0.0 - mean, 0.0 - high, 0.0 - low)
        return self._replace(difference=difference, sign=-self.sign)


class Decisive(NamedTuple):
    """What needs no test if every run shows it."""

    difference: float
    """A difference as large as this one."""
    nothing: float
    """The value of who does nothing at all; if one policy always has it, and the other never."""

    def shows(self, x: Floats, y: Floats) -> bool:
        """Whether every run shows it; not where one of the two has no value."""
        idle = [values >= self.nothing for values in (x, y)]
        if any(one.all() and not other.any() for one, other in (idle, idle[::-1])):
            return not np.isnan([x, y]).any()
        return bool(np.abs(x - y).min() >= self.difference)


class PairedTest(NamedTuple):
    """Student's test of the mean of differences."""

    mean: float
    standard_error: float
    freedom: int

    @property
    def p(self) -> float:
        """The probability of a mean so far from zero, or farther, if there were no difference."""
        from scipy.special import stdtr

        if self.standard_error == 0:
            return 1.0
        return float(2 * stdtr(self.freedom, -abs(self.mean) / self.standard_error))

    def interval(self, level: float) -> Estimate:
        """The mean with the interval that misses the truth with a probability of ``level``."""
        half = float(student_quantile(self.freedom, level / 2)) * self.standard_error
        return Estimate(self.mean, self.mean - half, self.mean + half)


def paired_test(change: Floats) -> PairedTest:
    """The test of differences, of which there are at least two.

    Differences that are all the same have no spread by which to judge them. They are taken as if
    one more replication had shown no difference: two of them say little, ten say much.
    """
    count = len(change)
    if is_constant(change):
        # With one zero more, the mean over its standard error is the number of replications.
        return PairedTest(float(change[0]), abs(float(change[0])) / count, count)
    return PairedTest(float(change.mean()), float(change.std(ddof=1)) / count**0.5, count - 1)


def holm(
    p: Sequence[float], weights: Sequence[float], risk: float = RISK
) -> tuple[list[bool], list[float]]:
    """Which hypotheses Holm's procedure rejects, and the level at which it tested each.

    From the smallest p over its weight on, each is tested at its part of what is left of the risk,
    by default 5 %. The first that is not rejected ends it: the others are not rejected at the level
    of that step.
    """
    shares = np.asarray(weights, np.float64)
    order = np.argsort(np.asarray(p, np.float64) / shares, kind="stable")
    left = np.cumsum(shares[order][::-1])[::-1]
    rejected, levels = [False] * len(order), [0.0] * len(order)
    step = 0
    for k in order.tolist():
        levels[k] = float(risk * shares[k] / left[step])
        rejected[k] = p[k] <= levels[k]
        step += rejected[k]  # once one is not rejected, no later one is: their p are higher
    return rejected, levels


@dataclass(frozen=True)
class Family:
    """All pairs of a comparison."""

    pairs: dict[Key, Pair]
    tests: int
    """How many paired tests there are: pairs whose numbers never change need none."""

    def pair(self, metric: str, first: int, second: int) -> Pair:
        """One policy against another, by their indices."""
        if first > second:
            return self.pairs[metric, first, second]
        return self.pairs[metric, second, first].turned()


def make_family(
    values: Mapping[str, Floats],
    bounds: Mapping[str, Bools],
    judged: Sequence[str],
    important: Sequence[str],
    decisive: Mapping[str, Decisive] | None = None,
    ran: Bools | None = None,
    risk: float = RISK,
) -> Family:
    """Compares all pairs of policies in all metrics.

    Args:
        values: for each metric an array of (policies, replications).
        bounds: which of them are lower bounds; a metric that is not there has none.
        judged: the metrics that have a direction, and so verdicts.
        important: those of them that have half of the 5 %.
        decisive: for some metrics, what needs no test if every run shows it.
        ran: which replications each policy ran, all by default; a pair is compared in those that
            both did.
        risk: the probability that any verdict is wrong.
    """
    shape = next(iter(values.values())).shape
    done = np.ones(shape, np.bool_) if ran is None else ran
    fixed = [
        is_fixed({name: rows[:, done[k]] for name, rows in values.items()}, k)
        for k in range(shape[0])
    ]
    pairs: dict[Key, Pair] = {}
    tests: dict[Key, PairedTest] = {}
    for name, rows in values.items():
        constant = [is_constant(row[some]) for row, some in zip(rows, done, strict=True)]
        for first in range(len(rows)):
            for second in range(first):
                x, y = rows[[first, second]][:, done[first] & done[second]]
                both = ~(np.isnan(x) | np.isnan(y))
                change = differences(x[both], y[both])
                few = len(change) < ENOUGH and not (fixed[first] and fixed[second])
                key = name, first, second
                if len(change) < 2:
                    pairs[key] = Pair(interval(change), len(change), "none", 0)
                elif constant[first] and constant[second] and not few:
                    same = Estimate(*change[:1].repeat(3).tolist())
                    pairs[key] = Pair(same, len(change), "constant", int(np.sign(change[0])))
                elif decisive and name in decisive and decisive[name].shows(x, y):
                    pairs[key] = _in_every_run(change)
                else:
                    pairs[key] = Pair(interval(change), len(change), "none", 0)
                    tests[key] = paired_test(change)
    in_family = [
        key
        for key in tests
        if key[0] in judged and pairs[key].replications == (done[key[1]] & done[key[2]]).sum()
    ]
    weights = _weights([key[0] for key in in_family], important)
    rejected, levels = holm([tests[key].p for key in in_family], weights, risk)
    outcome = dict(zip(in_family, zip(rejected, levels, strict=True), strict=True))
    single = risk / max(1, len(in_family))
    for key, test in tests.items():
        is_rejected, level = outcome.get(key, (False, single))
        basis: Basis = "test" if key in outcome else "none"
        sign = int(np.sign(test.mean)) if is_rejected else 0
        pairs[key] = Pair(test.interval(level), pairs[key].replications, basis, sign)
    for key, pair in pairs.items():
        if key[0] in bounds:
            pairs[key] = _bounded(pair, *(bool(bounds[key[0]][k].any()) for k in key[1:]))
    return Family(pairs, len(in_family))


def is_small(difference: Estimate, *means: float) -> bool:
    """Whether the whole interval of a difference is small, compared with the means themselves."""
    reach = max(abs(difference.low), abs(difference.high))
    return bool(reach <= SMALL * max(abs(mean) for mean in means))


def is_fixed(values: Mapping[str, Floats], policy: int) -> bool:
    """Whether all replications of a policy gave the same numbers, in every metric."""
    rows = [one[policy] for one in values.values()]
    return len(rows[0]) > 1 and all(is_constant(row) or np.isnan(row).all() for row in rows)


def _in_every_run(change: Floats) -> Pair:
    """A pair whose difference is large in every run, and counts if it always has the same sign."""
    sign = int(np.sign(change[0])) if (np.sign(change) == np.sign(change[0])).all() else 0
    estimate = Estimate(float(change.mean()), float(change.min()), float(change.max()))
    return Pair(estimate, len(change), "every run", sign)


def _weights(metrics: Sequence[str], important: Sequence[str]) -> list[float]:
    """The part of the 5 % that is for each test: half of them for the important metrics."""
    is_important = [name in important for name in metrics]
    groups = len(set(is_important))
    return [1 / (groups * is_important.count(one)) for one in is_important]


def _bounded(pair: Pair, first: bool, second: bool) -> Pair:
    """The pair when one or both are known as lower bounds only: none is called the smaller."""
    mean, low, high = pair.difference
    if first and second:
        return pair._replace(difference=Estimate(math.nan, math.nan, math.nan), sign=0)
    if first:
        return pair._replace(difference=Estimate(mean, low, math.inf), sign=max(0, pair.sign))
    if second:
        return pair._replace(difference=Estimate(mean, -math.inf, high), sign=min(0, pair.sign))
    return pair
