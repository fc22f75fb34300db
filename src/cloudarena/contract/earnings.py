"""Rewards at the speed of a kernel: weighted sums of what it counts anyway.

Most metrics that learning earns by are sums over a run, such as energy, income or waiting time. A
kind says what its kernel sums up and with which weights the sums make a metric; then a step is
paid without coming back to Python. Other metrics are asked in Python after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Earnings:
    """What the kernel of a kind sums up, and the metrics that these sums make.

    The weighted sums are what ``Metric.earned`` gives, but for rounding. Where work was left undone
    the metric itself has the last word: ``read`` says so.
    """

    sums: tuple[str, ...]
    """What ``read`` writes, in this order."""
    read: Callable[[Any, NDArray[np.float64]], bool]
    """Writes the sums of a state so far, and says whether that is all; compiled code calls it."""
    weights: Mapping[str, Callable[[Any], Mapping[str, float]]]
    """The weight of each sum in what is earned in a run, by the name of a metric."""
    applies: Callable[[Any], bool] = lambda scenario: True
    """Whether they are what runs of a scenario earn."""

    def weights_of(self, metric: str, run: Any) -> NDArray[np.float64]:
        """The weights of a metric in the order of the sums."""
        import numpy as np

        given = self.weights[metric](run)
        return np.array([given.get(name, 0.0) for name in self.sums])
