"""Amounts of money that say nothing, since nothing that was used has a price."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract import Kind


def is_unpriced(metric: str, values: NDArray[np.float64]) -> bool:
    """Whether an amount of money is 0 wherever it was measured: no price is part of it."""
    return metric.endswith("_usd") and bool(values.size) and bool((values == 0.0).all())


def unpriced_text(kind: Kind, metrics: Sequence[str]) -> str:
    """Says that these amounts are 0 for want of prices, and which keys set them."""
    if not metrics:
        return ""
    verb = "is" if len(metrics) == 1 else "are"
    keys = f": set {kind.prices}" if kind.prices else ""
    names = " and ".join(metrics)
    return f"{names} {verb} 0 in all runs, since nothing in the spec has a price{keys}."
