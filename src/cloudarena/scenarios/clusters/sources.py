"""Where the tasks of a clusters scenario come from, and how their times and memory vary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.contract.source import SpecPath
from cloudarena.contract.spec import Spec
from cloudarena.workloads.clusters.batches import (
    MOST_SECONDS,
    MOST_TASKS,
    Batches,
    check_batches,
    generate_batches,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.spec import ClustersScenario

Positive = Annotated[float, Field(gt=0, le=1e9)]
Variation = Annotated[float, Field(ge=0, le=10)]
"""A coefficient of variation; 0 is no variation at all."""


class Gamma(Spec):
    """Gamma with this mean and coefficient of variation."""

    kind: Literal["gamma"]
    mean: Positive
    cv: Variation = 0.3

    def factors(self, rng: np.random.Generator, shape: Any) -> Floats:
        """Random numbers with mean 1; times the mean they have this distribution."""
        if self.cv < 1e-9:  # no number could tell it from 0, and its square may have no inverse
            return np.ones(shape)
        return rng.gamma(self.cv**-2.0, self.cv**2.0, shape)


class LogNormal(Spec):
    """Log-normal with this mean and coefficient of variation."""

    kind: Literal["log-normal"]
    mean: Positive
    cv: Variation = 0.3

    def factors(self, rng: np.random.Generator, shape: Any) -> Floats:
        """Random numbers with mean 1."""
        square = np.log1p(self.cv**2)
        return rng.lognormal(-square / 2.0, np.sqrt(square), shape)


class Empirical(Spec):
    """One of these values, each as likely."""

    kind: Literal["empirical"]
    values: tuple[Positive, ...] = Field(min_length=1)

    @property
    def mean(self) -> float:
        """The mean of the values."""
        return float(np.mean(self.values))

    @property
    def cv(self) -> float:
        """The coefficient of variation of the values."""
        return float(np.std(self.values)) / self.mean

    def factors(self, rng: np.random.Generator, shape: Any) -> Floats:
        """Random numbers with mean 1."""
        return np.asarray(rng.choice(np.array(self.values) / self.mean, shape))


Distribution = Annotated[Gamma | LogNormal | Empirical, Field(discriminator="kind")]


class Batch(Spec):
    """Tasks of each class that arrive together."""

    time_s: float = Field(0.0, ge=0, le=MOST_SECONDS)
    tasks: tuple[Annotated[int, Field(ge=0, le=MOST_TASKS)], ...] = Field(min_length=1)


class Inline(Spec):
    """Batches that stand in the spec."""

    source: Literal["inline"]
    batches: tuple[Batch, ...] = Field(min_length=1)

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches."""
        return check_batches(
            [batch.time_s for batch in self.batches], [batch.tasks for batch in self.batches]
        )


class File(Spec):
    """Batches from a file with the columns time_s, class and tasks."""

    source: Literal["file"]
    path: SpecPath

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches."""
        from cloudarena.workloads.clusters.batch_files import read_batches

        return read_batches(self.path, [one.name for one in scenario.classes])


class Generated(Spec):
    """Batches at equal distances whose mix of classes varies little or much."""

    source: Literal["generated"]
    batches: int = Field(ge=1, le=1_000_000)
    """The number of batches in all; they arrive from 0 to horizon_s."""
    horizon_s: float = Field(3600.0, gt=0, le=MOST_SECONDS)
    variance: Literal["low", "high"] = "high"
    load: float = Field(0.9, gt=0, le=100)
    """The mean work over what all VMs can do in horizon_s."""
    regime_s: float = Field(600.0, ge=0.001)
    """The mean length of a regime, a time in which batches are alike, with high variance."""
    concentration: float = Field(0.25, gt=0, le=100)
    """The parameter of the Dirichlet distribution of the mix of a regime."""

    def arrivals(self, scenario: ClustersScenario, seed: int) -> Batches:
        """The batches under a seed."""
        return generate_batches(
            self.batches,
            self.horizon_s,
            self.load * scenario.vms * self.horizon_s,
            [one.seconds.mean for one in scenario.classes],
            self.variance,
            self.regime_s,
            self.concentration,
            seed,
        )


Workload = Annotated[Inline | File | Generated, Field(discriminator="source")]
