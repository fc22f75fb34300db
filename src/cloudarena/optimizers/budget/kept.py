"""How probable it is that a mean keeps a limit, and between which ends the mean surely lies.

By how much a replication breaks a limit is its excess, which is to be at most 0 on average. What n
replications say of its mean depends on how they look:

- they are 0 or 1, such as whether a run failed: Jeffreys' posterior of the share, and Clopper's and
  Pearson's ends, which hold whatever the share is;
- they **seldom** differ from one value, in fewer than ten replications: how often they do is such a
  share, and by how much is what was seen of it, at worst in any replication of any design;
- none ever differed, in no design: if the designs differ from each other, the metric follows from
  the design and is known; so it is where nothing at all is random, not even the objectives. If
  not, something rare may not have shown yet. Of a share, which lies
  between 0 and 1, a replication can then differ up to the end of that range; of anything else
  nobody can say by how much it would, so there is no probability and nothing is sure;
- they vary: Student's posterior of the mean, which has a flat prior, and his interval, both with
  the term of Edgeworth's expansion for skewness.

A **probability** is one over means: of limits of which as much is seen, and whose true means lie
about their bounds as widely as can be told or wider, so many are kept. It says nothing of a mean
that lies a hair beyond its bound: that looks as if it were kept in half of all checks. **Ends** are
for each mean as it is. They leave out an error on either side with the probability ``chance``, but
for what has not been seen: a tail so heavy that no replication hit it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.limits import Limit
from cloudarena.optimizers.budget.feasibility import posterior_below
from cloudarena.optimizers.budget.moments import Moments

SELDOM = 10
"""What differs from the usual value in fewer replications is judged by how often it does."""
EXACT = 1e-9
"""A value that is so near to 0 or 1 is that."""


class Kept(NamedTuple):
    """What is known of the mean excess of some designs, by limit."""

    probability: Floats  # (designs, limits): that the limit is kept; NaN if nobody can tell
    low: Floats  # (designs, limits): between these ends, in the unit of the metric,
    high: Floats  # the mean surely lies


class Seen(NamedTuple):
    """What was seen of the excesses of all designs, by limit."""

    skewness: Floats
    widest: Floats
    """The most by which two replications of a design differed; 0 if none ever did."""
    means: Floats
    """The mean excesses of all designs, (designs, limits)."""
    is_random: bool = True
    """Whether any two replications of a design differed in anything at all."""


class Ends(NamedTuple):
    """Student's ends of the mean excess, (designs, limits)."""

    low: Floats
    high: Floats


def keeping(
    limits: tuple[Limit, ...],
    excess: Moments,
    values: Floats | None,
    seen: Seen,
    student: Ends,
    chance: float,
) -> Kept:
    """What is known of the mean of each limit's metric for each design.

    Args:
        limits: bounds of means.
        excess: the moments of excesses, of (designs, limits).
        values: the excesses themselves, of (designs, replications, limits), if they are at hand.
        seen: what other replications have shown of them.
        student: the ends of what varies.
        chance: of an error beyond either end.
    """
    shape = excess.mean.shape
    found = Kept(*(np.full(shape, np.nan) for _ in range(3)))
    varying = posterior_below(excess, seen.skewness)
    for k, limit in enumerate(limits):
        column = None if values is None else limit.bound + limit.sign * values[:, :, k]
        widest = float(seen.widest[k])
        follows = not seen.is_random or bool(np.ptp(seen.means[:, k]) > 0.0)
        is_share = _looks_like_a_share(limit, seen.means[:, k], column)
        # What differs by less than 1 in another design is no event that comes or does not.
        are_bits = is_share and column is not None and _are_bits(column)
        are_bits = are_bits and (widest == 0.0 or widest >= 1.0 - EXACT)
        for design in range(shape[0]):
            count, own = int(excess.counts[design]), None
            if count < 2:
                continue
            if column is not None and values is not None:
                own = _Usual(values[design, :, k])
            ends = _in_unit(limit, student.low[design, k], student.high[design, k])
            one = (float(varying[design, k]), *ends)
            if are_bits and column is not None and seen.is_random:
                one = _of_bits(limit, round(float(column[design].sum())), count, chance)
            elif excess.squares[design, k] == 0.0 or (own is not None and own.is_seldom_other):
                own = own or _Usual(np.full(count, excess.mean[design, k]))
                room = (widest, follows, is_share)
                one = _of_seldom(limit, own, chance, *room)
            for array, value in zip(found, one, strict=True):
                array[design, k] = value
    return found


def _looks_like_a_share(limit: Limit, means: Floats, column: Floats | None) -> bool:
    """Whether nothing of a metric that is at hand, and not its bound, is below 0 or above 1."""
    at_hand = [np.array([limit.bound]), limit.bound + limit.sign * means]
    at_hand += [] if column is None else [column]
    return all(((one >= -EXACT) & (one <= 1.0 + EXACT)).all() for one in at_hand)


def _are_bits(column: Floats) -> bool:
    """Whether all values are 0 or 1."""
    return bool((np.minimum(np.abs(column), np.abs(column - 1.0)) <= EXACT).all())


def _of_bits(limit: Limit, ones: int, count: int, chance: float) -> tuple[float, float, float]:
    """The probability, and the ends, of a share of which every replication is a trial."""
    from scipy.special import betainc

    low, high = _shares(ones, count, chance)
    if ones == limit.bound * count and ones in (0, count):
        return math.nan, low, high  # the bound is the end of the range: nobody can tell
    below = float(betainc(ones + 0.5, count - ones + 0.5, limit.bound))
    return below if limit.sign > 0.0 else 1.0 - below, low, high


def _shares(seen: int, count: int, chance: float) -> tuple[float, float]:
    """Clopper's and Pearson's ends of a share."""
    from scipy.special import betaincinv

    low = float(betaincinv(seen, count - seen + 1, chance)) if seen else 0.0
    high = float(betaincinv(seen + 1, count - seen, 1.0 - chance)) if seen < count else 1.0
    return low, high


class _Usual:
    """The usual value among some, how many differ from it, and by how much all together."""

    def __init__(self, values: Floats) -> None:
        found, counts = np.unique(values, return_counts=True)
        self.value = float(found[np.argmax(counts)])
        self.count = len(values)
        apart = values[values != self.value] - self.value
        self.differing = len(apart)
        self.apart = float(apart.sum())

    @property
    def is_seldom_other(self) -> bool:
        """Whether values differ so seldom that they are counted."""
        return self.differing < SELDOM and 2 * self.differing < self.count


def _of_seldom(
    limit: Limit,
    own: _Usual,
    chance: float,
    widest: float,
    follows_from_design: bool,
    is_share: bool,
) -> tuple[float, float, float]:
    """The probability, and the ends, of the mean of what seldom or never differs."""
    value = float(limit.bound + limit.sign * own.value)
    if widest == 0.0 and follows_from_design:
        return float(limit.holds(np.array(value))), value, value
    if widest == 0.0 and not is_share:
        return math.nan, -math.inf, math.inf
    # A share may differ up to the ends of its range, whatever was seen elsewhere.
    seen = widest or math.inf
    worse = min(seen, abs((1.0 if limit.sign > 0.0 else 0.0) - value) if is_share else math.inf)
    better = min(seen, abs((0.0 if limit.sign > 0.0 else 1.0) - value) if is_share else math.inf)
    _, often = _shares(own.differing, own.count, chance)
    kept = _seldom_below(own, worse)
    return (kept, *_in_unit(limit, own.value - often * better, own.value + often * worse))


def _seldom_below(own: _Usual, worst: float) -> float:
    """The probability that a mean is at most 0 that differs from the usual value now and then.

    How often is Jeffreys' posterior of a share. By how much, on average, is as it was seen with one
    more that is the worst of all: few that were small may have been so by luck.
    """
    from scipy.special import betainc

    if own.value == 0.0 and not own.differing:
        return math.nan  # the bound is the usual value itself: a single other one may break it
    size = (own.apart + worst) / (own.differing + 1)
    if size == 0.0:
        return float(own.value <= 0.0)
    share = min(max(-own.value / size, 0.0), 1.0)
    below = float(betainc(own.differing + 0.5, own.count - own.differing + 0.5, share))
    return below if size > 0.0 else 1.0 - below


def _in_unit(limit: Limit, low: float, high: float) -> tuple[float, float]:
    """The ends of an excess as those of the metric."""
    ends = sorted((limit.bound + limit.sign * low, limit.bound + limit.sign * high))
    return ends[0], ends[1]
