"""The designs of a scenario as a problem for the optimisers.

Replication r of every design has the seed ``seed + r``, as in a comparison, so all designs see the
same work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.parallel import check_workers, in_parallel, worker_count
from cloudarena.contract import Scenario
from cloudarena.engine.streams import stream
from cloudarena.experiments.designs import (
    Design,
    DesignSpace,
    design_text,
    policy_text,
    spec_changes,
)
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.simulate import simulate
from cloudarena.optimizers import Encoding, Objective, Problem

CHECKED = 100
"""Designs that are looked at before the first run, so that mistakes are found early."""
CHUNKS = 4
"""Parts of the work for each process, so that none waits long for the others."""


class ScenarioProblem(Problem):
    """Designs of a scenario, measured by simulation.

    Args:
        scenario_of: the scenario as a design has it.
        space: the designs.
        objectives: metrics of the scenario.
        seed: of replication 0; replication r has ``seed + r``.
        workers: processes; -1 is one for each core. The result does not depend on it.
        common_random_numbers: whether all designs see the same work in a replication.
    """

    def __init__(
        self,
        scenario_of: Callable[[Design], Scenario],
        space: DesignSpace,
        objectives: Sequence[Objective],
        seed: int = 0,
        workers: int = -1,
        common_random_numbers: bool = True,
    ) -> None:
        self._scenario_of = scenario_of
        self.space = space
        self.size = len(space)
        self.objectives = tuple(objectives)
        self.seed = seed
        self.workers = check_workers(workers)
        self.common_random_numbers = common_random_numbers
        self._scenarios: dict[str, Scenario] = {}
        self._is_checked = False

    def design(self, number: int) -> Design:
        """Its policy, parameters and keys of the spec."""
        return self.space[int(number)]

    @property
    def encoding(self) -> Encoding:
        """A gene for each key, if there is a single policy."""
        return self.space.encoding or super().encoding

    def scenario(self, design: Design) -> Scenario:
        """The scenario as the design has it."""
        key = repr(spec_changes(design))
        if key not in self._scenarios:
            try:
                self._scenarios[key] = self._scenario_of(design)
            except CloudarenaError as error:
                raise SpecError(f"design {design_text(design)}: {error}") from None
        return self._scenarios[key]

    def simulate(self, designs: Ints, replications: Ints) -> Floats:
        """Runs each design in each replication; a process takes designs of one replication."""
        self._check()
        chosen = [self.space[int(number)] for number in designs]
        runs = [(self.scenario(design), policy_text(design)) for design in chosen]
        names = [objective.name for objective in self.objectives]
        parts = -(-CHUNKS * worker_count(self.workers) // len(replications))
        jobs = [
            (
                [runs[place] for place in places],
                self._seeds(designs[places], replication),
                names,
                places,
                column,
            )
            for column, replication in enumerate(replications.tolist())
            for places in np.array_split(np.arange(len(runs)), min(parts, len(runs)))
        ]
        values = np.empty((len(runs), len(replications), len(names)))
        for places, column, rows in in_parallel(_measure, jobs, self.workers):
            values[places, column] = rows
        return values

    def _check(self) -> None:
        """Before the first run: looks at some of the designs and compiles their policies."""
        if self._is_checked:
            return
        for number in np.unique(np.linspace(0, self.size - 1, CHECKED).astype(np.int64)):
            design = self.space[int(number)]
            compile_once(self.scenario(design), policy_text(design))
        self._is_checked = True

    def _seeds(self, designs: Ints, replication: int) -> list[int]:
        if self.common_random_numbers:
            return [self.seed + replication] * len(designs)
        return [
            int(stream(self.seed, f"design {design} replication {replication}").integers(2**31))
            for design in designs.tolist()
        ]


def _measure(
    runs: list[tuple[Scenario, str]], seeds: list[int], names: list[str], places: Ints, column: int
) -> tuple[Ints, int, list[list[float]]]:
    """The objectives of some designs in one replication."""
    rows = []
    for (scenario, policy), seed in zip(runs, seeds, strict=True):
        metrics = simulate(scenario, policy, seed, "none").metrics
        rows.append([metrics[name] for name in names])
    return places, column, rows
