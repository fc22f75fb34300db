"""Laws of task times and of memory: positive random numbers with a mean and a variation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cloudarena.contract import Spec

Positive = Annotated[float, Field(gt=0, le=1e9)]
Variation = Annotated[float, Field(ge=0, le=10)]
"""A coefficient of variation; 0 is no variation at all."""


class Gamma(Spec):
    """Gamma with this mean and coefficient of variation."""

    kind: Literal["gamma"]
    mean: Positive
    cv: Variation = 0.3

    def factors(self, rng: np.random.Generator, shape: Any) -> NDArray[np.float64]:
        """Random numbers with mean 1; times the mean they are of this law."""
        if self.cv < 1e-9:  # no number could tell it from 0, and its square may have no inverse
            return np.ones(shape)
        return rng.gamma(self.cv**-2.0, self.cv**2.0, shape)


class LogNormal(Spec):
    """Log-normal with this mean and coefficient of variation."""

    kind: Literal["log-normal"]
    mean: Positive
    cv: Variation = 0.3

    def factors(self, rng: np.random.Generator, shape: Any) -> NDArray[np.float64]:
        """Random numbers with mean 1."""
        square = np.log1p(self.cv**2)
        return rng.lognormal(-square / 2.0, np.sqrt(square), shape)


class Empirical(Spec):
    """One of these values, each as likely."""

    kind: Literal["empirical"]
    values: tuple[Positive, ...] = Field(min_length=1)

    @property
    def mean(self) -> float:
        """Of the values."""
        return float(np.mean(self.values))

    @property
    def cv(self) -> float:
        """Of the values."""
        return float(np.std(self.values)) / self.mean

    def factors(self, rng: np.random.Generator, shape: Any) -> NDArray[np.float64]:
        """Random numbers with mean 1."""
        return rng.choice(np.array(self.values) / self.mean, shape)


Law = Annotated[Gamma | LogNormal | Empirical, Field(discriminator="kind")]
LAWS = ("gamma", "log-normal", "empirical")
