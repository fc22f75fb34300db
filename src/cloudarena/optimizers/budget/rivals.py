"""How surely no design is better than the chosen one, or none by more than a margin.

Each rival i of the chosen design b has a p-value p_i: that of the hypothesis that i is better, on
one side, by Welch's test, or with common random numbers by Student's test of the differences.

**Without a margin** the claim is ``product over the rivals of 1 - 2 p_i``. b was chosen for its low
mean, which p_i does not know: of two equal designs ``1 - p_i`` is 3/4 on average, where 1/2 are
right; ``1 - 2 p_i`` is 1/2. Where m of the best are equal, 1/m are right; the product is then 0.50,
0.32, 0.22 and 0.06 on average for m = 2, 3, 4 and 10. Where replications were allocated by what was
seen before and designs err independently, a rival that was unlucky early stays so; there the claim
is ``1 - sum of 2 p_i``, which is less (0.24 for three equals without allocation).

Where designs err unequally, that is not enough by a single objective: if the best one is known well
and m equals of it are noisy, the luckiest of these is chosen, in all but 1 of 2^m cases. So each
p_i is multiplied by ``N_i^w``: N_i is the number of designs that luck might have put before rival i
(the sum of ``min(2 p, 1)`` over the p-values of those), and w is ``(v_b - v) / (v_b + v)`` with the
variance v_b of the mean of the chosen one and that of the rival that is known best, v, at its upper
99 % limit: 0 where designs err alike, as far as can be told, and 1 where a rival is known exactly.

**With a margin** that is not enough either: if a thousand designs are a little worse than the
margin allows, the luckiest of them is chosen again and again, and no rival looks better. But the
best design is one, and whichever j is chosen, the test of the best against j errs with probability
``p``: by Bonferroni's inequality over the T - 1 possible choices the chosen one is good enough with
the probability ``confidence`` if ``(T - 1) max p_i <= 1 - confidence`` (multiple comparisons with
the best: Hsu, "Simultaneous confidence intervals for all distances from the 'best'", 1981). So
much is claimed then, or the claim without a margin if that is more. ``1 - (T - 1) max p_i`` itself
would be a claim at a level that was chosen after looking: of two designs a standard error apart, a
shade more than the margin, it is 0.92 on average where 0.76 are right.

**With several objectives** rival i is better if it is so in all of them, so one in which it is not
is enough; that with the least p_i is taken, which is paid for by a factor, the number of
objectives.

``docs/optimize-methods.md`` has the shares of runs in which these claims come true.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.statistics import student_quantile
from cloudarena.optimizers.budget.moments import Moments, independent_squares
from cloudarena.optimizers.budget.rounds import ties_of
from cloudarena.optimizers.ordinal.within import Within

NEGLIGIBLE = 0.05
"""Chances times designs, that need not be corrected for luck."""
SURELY = 0.99
"""How surely a rival is known better than the chosen design before that counts."""


class Evidence(NamedTuple):
    """What was seen of all designs."""

    moments: Moments
    losses: Sequence[Floats] | None
    """The losses of each design, (replications, objectives), if random numbers are common.

    Differences are then as noisy as they are."""
    allocated: bool = False
    """Whether replications were given by what was seen before."""

    def at(self, indices: Ints) -> Evidence:
        """The evidence on some of the designs."""
        kept = None if self.losses is None else [self.losses[index] for index in indices.tolist()]
        return Evidence(self.moments.at(indices), kept, self.allocated)


def distinct(seen: Evidence, chosen: int, objectives: slice = slice(None)) -> tuple[Evidence, int]:
    """Designs that differ by some objectives, and the index of the chosen one or of its equal.

    With independent noise equal means do not say that designs behave alike, unless nothing varies.
    """
    counts, mean, squares = seen.moments
    moments = Moments(counts, mean[:, objectives], squares[:, objectives])
    kept = None if seen.losses is None else [losses[:, objectives] for losses in seen.losses]
    some = Evidence(moments, kept, seen.allocated)
    if kept is None and moments.squares.any():
        return some, chosen
    ties = ties_of(moments)
    return some.at(ties.first), int(ties.group[chosen])


def never_differed(seen: Evidence, chosen: int, objectives: slice = slice(None)) -> int:
    """How many designs gave what the chosen one did, in all replications that both had.

    They count as equal to it. With independent noise there are none, unless nothing varies.
    """
    _, mean, squares = seen.moments
    if seen.losses is None:
        if squares[:, objectives].any():
            return 0
        return int((mean[:, objectives] == mean[chosen, objectives]).all(axis=1).sum()) - 1
    same = 0
    for index, losses in enumerate(seen.losses):
        fewer = min(len(losses), len(seen.losses[chosen]))
        mine = seen.losses[chosen][:fewer, objectives]
        same += index != chosen and np.array_equal(losses[:fewer, objectives], mine)
    return same


class Gaps(NamedTuple):
    """Gaps by which designs are worse than the chosen one, and how well they are known."""

    gap: Floats  # (designs, objectives)
    error: Floats
    freedom: Floats
    unseen: Floats
    """How much the two may differ in replications that nobody has seen.

    It is 0 where both vary, or where nothing does; where neither ever varied and others do, as much
    as these."""


def probability_of_best(
    seen: Evidence, chosen: int, within: Within | None = None, confidence: float = 0.95
) -> float:
    """A lower bound of the probability that no design is better than the chosen one.

    Args:
        seen: of all designs; of designs that never differed, one.
        chosen: the index of the chosen one.
        within: by more than this, if at all.
        confidence: with a margin, the probability at which it is tested.
    """
    chances = better_chances(seen, chosen)
    if seen.moments.mean.shape[1] == 1:
        chances = chances * times_lucky(seen, chosen, chances)
    chances = 2.0 * chances
    if seen.allocated and seen.losses is None:
        claim = 1.0 - float(chances.sum())
    else:
        claim = float(np.prod(1.0 - np.minimum(chances, 1.0)))
    if within is not None and within.is_open:
        least = float(better_chances(seen, chosen, within).max())
        if (len(chances) - 1) * least <= 1.0 - confidence:
            claim = max(claim, confidence)
    return min(max(claim, 0.0), 1.0)


def times_lucky(seen: Evidence, chosen: int, chances: Floats) -> Floats:
    """The factor of each rival's p-value, if one is known better than the chosen one."""
    from scipy.special import fdtri, ndtr

    times = np.ones(len(chances))
    rivals = np.flatnonzero(len(chances) * chances > NEGLIGIBLE)
    variance = _own_variance(seen)
    freedom = np.maximum(seen.moments.counts - 1.0, 1.0)
    at_most = variance[rivals] * fdtri(freedom[chosen], freedom[rivals], SURELY)
    both = variance[chosen] + at_most
    apart = np.divide(variance[chosen] - at_most, both, out=np.zeros_like(both), where=both > 0.0)
    power = float(apart.max(initial=0.0))
    if power <= 0.0:
        return times
    mean = seen.moments.mean[:, 0]
    for index in rivals.tolist():
        error = np.sqrt(variance + variance[index])
        gap = mean - mean[index]
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.where(error > 0.0, np.minimum(2.0 * ndtr(-gap / error), 1.0), gap < 0.0)
        before[index] = 0.0
        times[index] = max(float(before.sum()), 1.0) ** power
    return times


def _own_variance(seen: Evidence) -> Floats:
    """The variance of each mean by the first objective, without what all have in common."""
    variance = seen.moments.variance[:, 0]
    if seen.losses is not None:
        fewest = int(seen.moments.counts.min())
        values = np.array([losses[:fewest, :1] for losses in seen.losses])
        squares = independent_squares(values - values.mean(axis=1, keepdims=True))
        variance = squares[:, 0] / (fewest - 1)
    return np.asarray(variance / seen.moments.counts)


def shortfall(seen: Evidence, chosen: int, confidence: float) -> float:
    """The most by which a design is better than the chosen one, by a single objective.

    With probability ``confidence``, whatever was chosen: by Bonferroni's inequality, as above.
    """
    if len(seen.moments.mean) == 1:
        return 0.0
    gaps = gaps_to(seen, chosen)
    level = 1.0 - (1.0 - confidence) / (len(gaps.gap) - 1)
    with np.errstate(invalid="ignore"):
        reach = student_quantile(np.maximum(gaps.freedom, 1e-9), 1.0 - level) * gaps.error
    rare = 1.0 - (1.0 - level) ** (1.0 / (gaps.freedom + 1.0))
    reach = np.where(gaps.error > 0.0, reach, rare * gaps.unseen) - gaps.gap
    return float(max(np.delete(reach[:, 0], chosen).max(), 0.0))


def better_chances(seen: Evidence, chosen: int, within: Within | None = None) -> Floats:
    """The p-value of each design: that it is better than the chosen one by more than a margin."""
    from scipy.special import stdtr

    gaps = gaps_to(seen, chosen, within)
    objectives = gaps.gap.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = stdtr(gaps.freedom, -gaps.gap / gaps.error)
    # To be better than it looks by the gap, a design would have to differ by what others do, at
    # most, in at least such a share of the replications; it never did.
    share = np.divide(gaps.gap, gaps.unseen, out=np.ones_like(gaps.gap), where=gaps.unseen > 0.0)
    unseen = np.maximum(1.0 - share, 0.0) ** (gaps.freedom + 1.0)
    chance = np.where(gaps.error > 0.0, chance, np.where(gaps.gap < 0.0, 1.0, unseen))
    # A design that is equal in one objective, always, may still be better in all others.
    equal = (gaps.error == 0.0) & (gaps.gap == 0.0)
    chance = np.where(equal & ~equal.all(axis=1)[:, None], 1.0, chance)
    least = np.minimum(objectives * chance.min(axis=1), 1.0)
    least[chosen] = 0.0
    return np.asarray(least)


def gaps_to(seen: Evidence, chosen: int, within: Within | None = None) -> Gaps:
    """Gaps: the losses of each design, with the margin added, less those of the chosen one."""
    margin = within or Within()
    if seen.losses is None:
        return _independent(seen.moments, chosen, margin)
    return _paired(seen.moments, seen.losses, chosen, margin)


def _independent(seen: Moments, chosen: int, within: Within) -> Gaps:
    """Gaps of independent designs, with Welch's degrees of freedom."""
    factor = within.factor(seen.mean)
    of_mean = seen.variance / seen.counts[:, None]
    own = factor**2 * of_mean
    squared_error = own + of_mean[chosen]
    freedom = (seen.counts - 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = squared_error**2 / (own**2 / freedom + of_mean[chosen] ** 2 / freedom[chosen])
    gap = factor * seen.mean + within.amount - seen.mean[chosen]
    welch = np.where(squared_error > 0.0, welch, np.minimum(freedom, freedom[chosen]))
    return Gaps(gap, np.sqrt(squared_error), welch, _unseen(seen, chosen))


def _unseen(seen: Moments, chosen: int) -> Floats:
    """What two designs may differ by that were never seen to vary, while others did."""
    widest = np.sqrt(2.0 * seen.squares.max(axis=0))
    constant = (seen.squares == 0.0) & (seen.squares[chosen] == 0.0)
    return np.asarray(np.where(constant, widest, 0.0))


def _paired(seen: Moments, losses: Sequence[Floats], chosen: int, within: Within) -> Gaps:
    """Gaps of paired designs: differences of means, or mean differences where both have some.

    Whichever errs less. The variance of the first, with n replications of the one and m >= n of the
    other, is ``var(difference) / m + var(the one) (1 / n - 1 / m)``.
    """
    counts, best = seen.counts, losses[chosen]
    factor = within.factor(seen.mean)
    gap = factor * seen.mean + within.amount - seen.mean[chosen]
    squared_error, freedom = np.zeros(gap.shape), np.ones(gap.shape)
    for count in np.unique(counts).tolist():
        some = np.flatnonzero(counts == count)
        fewer, more = sorted((count, len(best)))
        theirs = np.array([losses[index][:fewer] for index in some.tolist()])
        pairs = factor[some][:, None, :] * theirs + within.amount - best[:fewer]
        spread = pairs.var(axis=1, ddof=1)
        alone = factor[some] ** 2 * seen.variance[some] if count == fewer else seen.variance[chosen]
        whole = spread / more + alone * (1.0 / fewer - 1.0 / more)
        by_pairs = spread / fewer < whole
        squared_error[some] = np.where(by_pairs, spread / fewer, whole)
        gap[some] = np.where(by_pairs | (spread == 0.0), pairs.mean(axis=1), gap[some])
        freedom[some] = fewer - 1
    unseen = _unseen(seen, chosen)
    unseen[gap == 0.0] = 0.0  # what never differed counts as equal
    return Gaps(gap, np.sqrt(squared_error), freedom, unseen)
