"""How surely limits are kept, and how surely no design that keeps them is better.

By how much a replication breaks a limit is its excess, which is to be at most 0 on average. Each
limit of a design has two p-values: that of the hypothesis that it is broken, and that of the
hypothesis that it is kept, by Student's test of the mean excess. Where excesses are skewed, as
shares of work left undone are, a mean and its error are small together; the term of Edgeworth's
expansion counts (``selection.py``). Who never varied while others do may not have shown yet how.

A rival of the chosen design is better if it is so by the objective and keeps every limit, so one of
these that is surely not so is enough; that with the least p-value is taken, which is paid for by a
factor, the number of tests (as with several objectives in ``rivals.py``).
"""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.budget.rivals import Evidence, better_chances, times_lucky


def broken_chances(excess: Moments, skewness: Floats, widest: Floats) -> Floats:
    """The p-value of each limit of each design: that it is broken, whatever was seen.

    Args:
        excess: the moments of excesses, of (designs, limits).
        skewness: of excesses, by limit.
        widest: by how much, at most, two replications of a design differed, by limit.
    """
    return _beyond(excess, np.maximum(skewness, 0.0), widest)


def kept_chances(excess: Moments, skewness: Floats, widest: Floats) -> Floats:
    """The p-value of each limit of each design: that it is kept, whatever was seen."""
    turned = excess._replace(mean=-excess.mean)
    return _beyond(turned, np.maximum(-skewness, 0.0), widest)


def posterior_below(seen: Moments, skewness: Floats) -> Floats:
    """The probability that each true mean is at most 0, of what varies: Student's posterior.

    It has a flat prior of the mean, and the term of Edgeworth's expansion for skewness.
    """
    chance, _ = _student_beyond(seen, skewness)
    return np.asarray(1.0 - np.clip(chance, 0.0, 1.0))


def _student_beyond(seen: Moments, skewness: Floats) -> tuple[Floats, Floats]:
    """Student's tail beyond 0, of what varies, and the standard error of the mean."""
    from scipy.special import stdtr

    counts = seen.counts[:, None]
    error = np.nan_to_num(seen.standard_error, nan=0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = -seen.mean / error
        chance = stdtr(np.maximum(counts - 1.0, 1.0), -score)
    squared = np.clip(np.nan_to_num(score), -40.0, 40.0) ** 2
    density = np.exp(-0.5 * squared) / math.sqrt(2.0 * math.pi)
    lean = skewness * (2.0 * squared + 1.0) * density
    return np.asarray(chance + lean / (6.0 * np.sqrt(np.maximum(counts, 1)))), error


def _beyond(seen: Moments, skewness: Floats, widest: Floats) -> Floats:
    """The p-value of the hypothesis that a true mean is above 0."""
    counts = seen.counts[:, None]
    chance, error = _student_beyond(seen, skewness)
    # To be above 0, what never varied would have to differ in such a share of the replications.
    share = np.divide(-seen.mean, widest, out=np.ones_like(error), where=widest > 0.0)
    unseen = np.clip(1.0 - share, 0.0, 1.0) ** counts
    constant = np.where(seen.mean > 0.0, 1.0, np.where(counts > 1, unseen, 1.0))
    return np.minimum(np.where(error > 0.0, chance, constant), 1.0)


def probability_of_best_kept(seen: Evidence, keeps: Floats, chosen: int) -> float:
    """A lower bound of the probability that no design that keeps the limits is better.

    Args:
        seen: of all designs, by the objective alone.
        keeps: the p-value of each design's limits, (designs, limits): that it is kept.
        chosen: the index of the chosen one.
    """
    better = better_chances(seen, chosen)
    better = better * times_lucky(seen, chosen, better)
    tests = 1 + keeps.shape[1]
    least = np.minimum(tests * np.minimum(better, keeps.min(axis=1)), 1.0)
    least[chosen] = 0.0
    if seen.allocated and seen.losses is None:
        return max(1.0 - 2.0 * float(least.sum()), 0.0)
    return float(np.prod(1.0 - np.minimum(2.0 * least, 1.0)))
