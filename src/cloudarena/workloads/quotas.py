"""Drawing by quota: each sample has the wanted mix, in another order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def draw_by_quota(
    rng: np.random.Generator, count: int, shares: Sequence[float]
) -> NDArray[np.int64]:
    """Codes 0, 1, ... in random order, each as often as its share says (largest remainder)."""
    exact = np.asarray(shares) / np.sum(shares) * count
    counts = np.floor(exact).astype(np.int64)
    for code in np.argsort(counts - exact, kind="stable")[: count - counts.sum()]:
        counts[code] += 1
    return rng.permutation(np.repeat(np.arange(len(shares)), counts))
