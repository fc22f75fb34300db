"""What policies may know about how long tasks will run."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import PolicyError

ESTIMATES, DURATIONS = "estimates", "durations"
"""What a policy may need: some statement about how long tasks run, or the truth."""


def is_oracle(name: str) -> bool:
    """Whether the name of a policy says that it sees what nobody could know."""
    return "oracle" in name


def check_needs(
    name: str, needs: str, known: Collection[str], estimate: NDArray[np.float64]
) -> None:
    """Raises when a policy needs more than the spec and the workload let be known."""
    if not needs or DURATIONS in known:
        return
    if needs == DURATIONS:
        if not is_oracle(name):
            raise PolicyError(
                f"policy {name}: needs known: [durations] in the spec, or oracle in its name: "
                "nobody knows beforehand how long tasks will run"
            )
    elif ESTIMATES not in known:
        raise PolicyError(f"policy {name}: needs known: [estimates] or [durations] in the spec")
    elif np.isnan(estimate).any():
        raise PolicyError(
            f"policy {name}: needs estimates, and the workload has none: workload.estimates: "
            "factor or modal draws some, known: [durations] shows the truth"
        )
