"""Heuristics for mapping tasks, over several matrices of each class of heterogeneity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import check_choice
from cloudarena.base.parallel import check_workers, in_parallel
from cloudarena.base.statistics import Estimate, interval
from cloudarena.experiments.conclusion import plain_estimate
from cloudarena.mapping import CLASSES, HEURISTICS, generate_etc, map_tasks

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class MappedClasses:
    """The makespans of heuristics on matrices of some classes."""

    tasks: int
    machines: int
    seed: int
    classes: tuple[str, ...]
    heuristics: tuple[str, ...]
    makespans: Floats
    """The makespans in seconds, an array of (classes, replications, heuristics)."""

    @property
    def replications(self) -> int:
        """Matrices of each class."""
        return self.makespans.shape[1]

    def makespan(self, name: str, heuristic: str) -> Estimate:
        """The mean makespan of a heuristic on matrices of a class."""
        return interval(self._values(name, heuristic, self.makespans))

    def relative(self, name: str, heuristic: str) -> Estimate:
        """The mean of the makespan over that of the best heuristic for the same matrix."""
        best = self.makespans.min(axis=2, keepdims=True)
        return interval(self._values(name, heuristic, self.makespans / best))

    def _values(self, name: str, heuristic: str, values: Floats) -> Floats:
        return values[self.classes.index(name), :, self.heuristics.index(heuristic)]

    def summary(self) -> dict[str, Any]:
        """All of it as plain values for JSON."""
        return {
            "result": "mappings",
            "tasks": self.tasks,
            "machines": self.machines,
            "seed": self.seed,
            "replications": self.replications,
            "classes": {
                name: {
                    heuristic: {
                        "makespan_s": plain_estimate(self.makespan(name, heuristic)),
                        "relative_makespan": plain_estimate(self.relative(name, heuristic)),
                    }
                    for heuristic in self.heuristics
                }
                for name in self.classes
            },
            "tables": ["mappings"],
        }

    def table(self) -> pa.Table:
        """A row for each class, matrix and heuristic."""
        import pyarrow as pa

        indices = [one.ravel() for one in np.indices(self.makespans.shape)]
        return pa.table(
            {
                "class": [self.classes[k] for k in indices[0]],
                "seed": self.seed + indices[1],
                "heuristic": [self.heuristics[k] for k in indices[2]],
                "makespan_s": self.makespans.ravel(),
            }
        )


def map_classes(
    heuristics: Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    tasks: int = 512,
    machines: int = 16,
    replications: int = 10,
    seed: int = 0,
    workers: int = -1,
) -> MappedClasses:
    """Maps matrices of some classes by some heuristics.

    Args:
        heuristics: which; all by default.
        classes: which of the twelve; all by default.
        tasks: of a matrix.
        machines: of a matrix.
        replications: matrices of each class; number r of all classes has the same random numbers.
        seed: of the first matrix of each class.
        workers: processes; -1 is one for each core. The result does not depend on it.
    """
    names, kinds = tuple(heuristics or HEURISTICS), tuple(classes or CLASSES)
    for name in names:
        check_choice("heuristic", name, HEURISTICS)
    for kind in kinds:
        check_choice("class", kind, CLASSES)
    check_whole("replications", replications, 1)
    check_workers(workers)
    jobs = [
        (kind, k, r, names, tasks, machines, seed + r)
        for k, kind in enumerate(kinds)
        for r in range(replications)
    ]
    makespans = np.empty((len(kinds), replications, len(names)))
    for k, r, values in in_parallel(_mapped, jobs, workers):
        makespans[k, r] = values
    return MappedClasses(tasks, machines, seed, kinds, names, makespans)


def _mapped(
    kind: str, k: int, r: int, names: tuple[str, ...], tasks: int, machines: int, seed: int
) -> tuple[int, int, list[float]]:
    """The makespans of heuristics on one matrix."""
    etc = generate_etc(kind, tasks, machines, seed)
    return k, r, [map_tasks(etc.times, name, seed).makespan for name in names]
