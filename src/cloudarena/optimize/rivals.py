"""How surely no design is better than the chosen one, or none by more than a margin.

Each rival i of the chosen design b has a p-value p_i: that of the hypothesis that i is better, on
one side, by Welch's test, or with common random numbers by Student's test of the differences.

**Without a margin** the claim is ``product over the rivals of 1 - 2 p_i``. b was chosen for its low
mean, which p_i does not know: of two equal designs ``1 - p_i`` is 3/4 on average, where 1/2 are
right; ``1 - 2 p_i`` is 1/2. Where m of the best are equal, 1/m are right; the product is then 0.50,
0.32, 0.22 and 0.06 on average for m = 2, 3, 4 and 10. Where replications were allocated by what was
seen before and designs err independently, a rival that was unlucky early stays so; there the claim
is ``1 - sum of 2 p_i``, which is less (0.24 for three equals without allocation).

**With a margin** that is not enough: if a thousand designs are a little worse than the margin
allows, the luckiest of them is chosen again and again, and no rival looks better. But the best
design is one, and whichever j is chosen, the test of the best against j errs with probability
``p``: by Bonferroni's inequality over the T - 1 possible choices the claim is
``1 - (T - 1) max p_i`` (multiple comparisons with the best: Hsu, "Simultaneous confidence intervals
for all distances from the 'best'", 1981), or the claim without a margin if that is more.

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
from cloudarena.optimize.moments import Moments
from cloudarena.optimize.rounds import ties_of
from cloudarena.optimize.within import Within


class Evidence(NamedTuple):
    """What was seen of all designs."""

    moments: Moments
    losses: Sequence[Floats] | None
    """With common random numbers: of each design in replications 0, 1, ..., an array of
    (replications, objectives); differences are then as noisy as they are."""
    allocated: bool = False
    """Whether replications were given by what was seen before."""

    def at(self, places: Ints) -> Evidence:
        """That of some of the designs."""
        kept = None if self.losses is None else [self.losses[place] for place in places.tolist()]
        return Evidence(self.moments.at(places), kept, self.allocated)


def distinct(seen: Evidence, chosen: int, objectives: slice = slice(None)) -> tuple[Evidence, int]:
    """Designs that differ by some objectives, and the place of the chosen one or of its equal."""
    ties = ties_of(seen.moments, objectives)
    some = seen.at(ties.first)
    counts, mean, squares = some.moments
    moments = Moments(counts, mean[:, objectives], squares[:, objectives])
    kept = None if some.losses is None else [losses[:, objectives] for losses in some.losses]
    return Evidence(moments, kept, seen.allocated), int(ties.group[chosen])


class Gaps(NamedTuple):
    """By how much each design is worse than the chosen one, and how well that is known."""

    gap: Floats  # (designs, objectives)
    error: Floats
    freedom: Floats


def probability_of_best(seen: Evidence, chosen: int, within: Within | None = None) -> float:
    """A lower bound of the probability that no design is better than the chosen one.

    Args:
        seen: of all designs; of designs that never differed, one.
        chosen: the place of the chosen one.
        within: by more than this, if at all.
    """
    chances = 2.0 * better_chances(seen, chosen)
    if seen.allocated and seen.losses is None:
        claim = 1.0 - float(chances.sum())
    else:
        claim = float(np.prod(1.0 - np.minimum(chances, 1.0)))
    if within is not None and within.is_open:
        least = float(better_chances(seen, chosen, within).max())
        claim = max(claim, 1.0 - (len(chances) - 1) * least)
    return min(max(claim, 0.0), 1.0)


def shortfall(seen: Evidence, chosen: int, confidence: float) -> float:
    """By how much, at most, a design is better than the chosen one, by a single objective.

    With probability ``confidence``, whatever was chosen: by Bonferroni's inequality, as above.
    """
    from scipy.special import stdtrit

    if len(seen.moments.mean) == 1:
        return 0.0
    gaps = gaps_to(seen, chosen)
    level = 1.0 - (1.0 - confidence) / (len(gaps.gap) - 1)
    with np.errstate(invalid="ignore"):
        reach = stdtrit(np.maximum(gaps.freedom, 1e-9), level) * gaps.error
    reach = np.where(gaps.error > 0.0, reach, 0.0) - gaps.gap
    return float(max(np.delete(reach[:, 0], chosen).max(), 0.0))


def better_chances(seen: Evidence, chosen: int, within: Within | None = None) -> Floats:
    """The p-value of each design: that it is better than the chosen one by more than a margin."""
    from scipy.special import stdtr

    gaps = gaps_to(seen, chosen, within)
    objectives = gaps.gap.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = stdtr(gaps.freedom, -gaps.gap / gaps.error)
    chance = np.where(gaps.error > 0.0, chance, np.where(gaps.gap < 0.0, 1.0, 0.0))
    # A design that is equal in one objective, always, may still be better in all others.
    equal = (gaps.error == 0.0) & (gaps.gap == 0.0)
    chance = np.where(equal & ~equal.all(axis=1)[:, None], 1.0, chance)
    least = np.minimum(objectives * chance.min(axis=1), 1.0)
    least[chosen] = 0.0
    return np.asarray(least)


def gaps_to(seen: Evidence, chosen: int, within: Within | None = None) -> Gaps:
    """From the losses of each design, with the margin added, those of the chosen one."""
    margin = within or Within()
    if seen.losses is None:
        return _independent(seen.moments, chosen, margin)
    return _paired(seen.moments, seen.losses, chosen, margin)


def _independent(seen: Moments, chosen: int, within: Within) -> Gaps:
    """As Welch has it."""
    factor = within.factor(seen.mean)
    of_mean = seen.variance / seen.counts[:, None]
    own = factor**2 * of_mean
    squared_error = own + of_mean[chosen]
    freedom = (seen.counts - 1.0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = squared_error**2 / (own**2 / freedom + of_mean[chosen] ** 2 / freedom[chosen])
    gap = factor * seen.mean + within.amount - seen.mean[chosen]
    return Gaps(gap, np.sqrt(squared_error), welch)


def _paired(seen: Moments, losses: Sequence[Floats], chosen: int, within: Within) -> Gaps:
    """From the difference of the means, or the mean difference where both have replications.

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
        theirs = np.array([losses[place][:fewer] for place in some.tolist()])
        pairs = factor[some][:, None, :] * theirs + within.amount - best[:fewer]
        spread = pairs.var(axis=1, ddof=1)
        alone = factor[some] ** 2 * seen.variance[some] if count == fewer else seen.variance[chosen]
        whole = spread / more + alone * (1.0 / fewer - 1.0 / more)
        by_pairs = spread / fewer < whole
        squared_error[some] = np.where(by_pairs, spread / fewer, whole)
        gap[some] = np.where(by_pairs | (spread == 0.0), pairs.mean(axis=1), gap[some])
        freedom[some] = fewer - 1
    return Gaps(gap, np.sqrt(squared_error), freedom)
