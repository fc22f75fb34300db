"""How surely no design is better than the one with the least mean.

Each rival i of the best design b has a p-value p_i: that of the hypothesis that their true means
are equal, on both sides, by Welch's test or with common random numbers by Student's test of the
differences. The claim is

    product over the rivals of 1 - p_i

**Why a product.** Given what was seen, rival i is better than b with probability p_i / 2. If
designs err independently, the differences to b share the error of b, so they are positively
correlated, and by Slepian's inequality none is below 0 with at least the product of
``1 - p_i / 2``. Common random numbers may correlate differences either way; but
``product of 1 - p_i <= exp(-sum p_i) <= 1 - sum p_i / 2`` as long as the sum is at most 1.59
(Bonferroni, whatever the correlation), so every claim above 0.21 is a bound with them too. Below
that it is one if differences to b are not negatively correlated: for instance if all that designs
have in common moves them alike.

**Why both sides.** b was chosen for its low mean, which ``p_i / 2`` does not know: of two designs
that hardly differ it claims 3/4 on average, where 1/2 are right. ``1 - p_i`` has the mean 1/2 there
(a p-value is uniform), and less than the share of right choices where they do differ. For more
designs it was tried: over many runs the mean claim is not above the share of those in which it
comes true (``tests/validation/test_optimize.py``). It is a little above only where several of the
best are the same: some 0.4 for three such designs, of which 1/3 are right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.optimize.checks import Floats, Ints


class _Gaps(NamedTuple):
    """By how much each design is worse than the best one, and how well that is known."""

    gap: Floats
    squared_error: Floats
    freedom: Floats


def probability_of_best(
    mean: Floats, variance: Floats, counts: Ints, values: Sequence[Floats] | None = None
) -> float:
    """A lower bound of the probability that no design is better than that with the least mean.

    Args:
        mean: of each design.
        variance: of a replication.
        counts: replications.
        values: with common random numbers, the losses of each design in replications 0, 1, ...:
            differences are then as noisy as they are, not as if designs erred independently.
    """
    from scipy.special import stdtr

    best = int(np.argmin(mean))
    if values is None:
        gaps = _independent(mean, variance, counts, best)
    else:
        gaps = _paired(mean, variance, values, best)
    gap, error = gaps.gap, np.sqrt(gaps.squared_error)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.minimum(2.0 * stdtr(gaps.freedom, -gap / error), 1.0)
    chance = np.where(error > 0.0, chance, np.where(gap < 0.0, 1.0, 0.0))
    chance[best] = 0.0
    return float(np.prod(1.0 - chance))


def _independent(mean: Floats, variance: Floats, counts: Ints, best: int) -> _Gaps:
    """As Welch has it."""
    of_mean = variance / counts
    squared_error = of_mean + of_mean[best]
    with np.errstate(divide="ignore", invalid="ignore"):
        uncertainty = of_mean**2 / (counts - 1)
        freedom = squared_error**2 / (uncertainty + uncertainty[best])
    return _Gaps(mean - mean[best], squared_error, freedom)


def _paired(mean: Floats, variance: Floats, values: Sequence[Floats], best: int) -> _Gaps:
    """From the difference of the means, or the mean difference where both have replications.

    Whichever errs less. The variance of the first, with n replications of the one and m >= n of the
    other, is ``var(difference) / m + var(the one) (1 / n - 1 / m)``.
    """
    gap = mean - mean[best]
    squared_error, freedom = np.zeros((2, len(mean)))
    for rival, losses in enumerate(values):
        if rival == best:
            continue
        fewer, more = sorted((len(losses), len(values[best])))
        differences = losses[:fewer] - values[best][:fewer]
        spread, freedom[rival] = float(differences.var(ddof=1)), fewer - 1
        alone = variance[rival if len(losses) == fewer else best]
        squared_error[rival] = spread / more + alone * (1.0 / fewer - 1.0 / more)
        if spread / fewer < squared_error[rival]:
            gap[rival], squared_error[rival] = differences.mean(), spread / fewer
    return _Gaps(gap, squared_error, freedom)
