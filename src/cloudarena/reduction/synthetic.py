"""Tables of strategies and metrics as a factor model makes them, to test the reduction with.

``x[i, k] = sum over j of f[i, j] decay^j l[k, j] + noise e[i, k]``: factors f and errors e are
standard normal, loadings l normal with a small positive mean, since metrics of which more is
better tend to rise together. Metrics that load on the same factors go together, and a few of them
tell most of the sum of all.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_number, check_whole
from cloudarena.engine.streams import stream


def synthetic_metrics(
    strategies: int,
    metrics: int,
    factors: int = 30,
    decay: float = 0.95,
    noise: float = 1.0,
    agreement: float = 0.2,
    seed: int = 0,
) -> Floats:
    """A table of (strategies, metrics).

    Args:
        strategies: rows.
        metrics: columns.
        factors: how many things vary independently.
        decay: how much less each factor weighs than the one before.
        noise: standard deviation of what is a metric's own.
        agreement: mean of the loadings, whose standard deviation is 1.
        seed: decides all.
    """
    check_whole("strategies", strategies, 2)
    check_whole("metrics", metrics, 1)
    check_whole("factors", factors, 1)
    check_number("decay", decay, 0.0)
    check_number("noise", noise, 0.0)
    check_number("agreement", agreement, 0.0)
    rng = stream(seed, "synthetic metrics")
    scores = rng.standard_normal((strategies, factors)) * decay ** np.arange(factors)
    loadings = agreement + rng.standard_normal((metrics, factors))
    own = rng.standard_normal((strategies, metrics))
    return np.asarray(scores @ loadings.T + noise * own)
