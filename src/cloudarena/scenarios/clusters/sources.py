"""Where the tasks of a clusters scenario come from, and how their times and memory vary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from cloudarena.base.arrays import Floats
from cloudarena.base.numpy import np
from cloudarena.contract.source import sources_of
from cloudarena.contract.spec import Spec
from cloudarena.workloads.clusters.batches import Batches
from cloudarena.workloads.clusters.files import BatchFile, write_batches
from cloudarena.workloads.clusters.generated import Generated
from cloudarena.workloads.clusters.inline import Inline

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


Workload = Annotated[Inline | BatchFile | Generated, Field(discriminator="source")]
SOURCES = sources_of(Workload)


def describe(batches: Batches, scenario: Any = None) -> dict[str, Any]:
    """The figures by which batches are known; ``work_s`` is all work on one VM."""
    count, classes = batches.tasks.shape
    names = [one.name for one in scenario.classes] if scenario else batches.names
    figures: dict[str, Any] = {
        "batches": count,
        "classes": classes,
        "tasks": int(batches.tasks.sum()),
        "span_s": float(batches.times[-1] - batches.times[0]),
        "tasks_per_batch_mean": float(batches.tasks.sum(axis=1).mean()),
        "tasks_per_batch_max": int(batches.tasks.sum(axis=1).max()),
        "tasks_of": dict(zip(names, batches.tasks.sum(axis=0).tolist(), strict=True)),
    }
    if scenario is not None:
        mean = np.array([one.seconds.mean for one in scenario.classes])
        figures["work_s"] = float((batches.tasks * mean).sum())
    return figures


def write(batches: Batches, folder: Path, texts: Mapping[str, str]) -> dict[str, int]:
    """Writes a trace in the canonical format, and texts beside it; says what was written."""
    write_batches(batches, folder, texts)
    return {"written_batches": len(batches.times), "written_tasks": int(batches.tasks.sum())}
