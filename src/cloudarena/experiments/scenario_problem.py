"""The designs of a scenario as a problem for the optimisers.

Replication r of every design has the seed ``seed + r``, as in a comparison, so all designs see the
same work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.limits import Limit
from cloudarena.base.parallel import check_workers, in_parallel, slots_of, worker_count
from cloudarena.contract import Metric, Run, Scenario
from cloudarena.engine.streams import stream
from cloudarena.experiments.designs import (
    Design,
    DesignSpace,
    design_text,
    policy_text,
    spec_changes,
)
from cloudarena.experiments.evaluations import (
    Evaluations,
    Row,
    compared_value,
    design_digest,
    evaluation_key,
    measured,
)
from cloudarena.experiments.objectives import DIRECTIONS
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.simulate import played
from cloudarena.optimizers import Encoding, Objective, Problem
from cloudarena.optimizers.problem import Direction
from cloudarena.optimizers.spaces.regions import Region

CHECKED = 100
"""Designs that are looked at before the first run, so that mistakes are found early."""
CHUNKS = 4
"""Parts of the work for each process, so that none waits long for the others."""
FIRST_KEPT = 8
"""Runs of a part whose rows are kept, before it is known how long a run takes."""
KEPT_S = 0.5
"""Seconds that such a part takes: so much is lost when all is killed."""


class ScenarioProblem(Problem):
    """Designs of a scenario, measured by simulation.

    Args:
        scenario_of: the scenario as a design has it.
        space: the designs.
        objectives: metrics of the scenario.
        seed: of replication 0; replication r has ``seed + r``.
        workers: processes; -1 is one for each core. The result does not depend on it.
        common_random_numbers: whether all designs see the same work in a replication.
        executor: runs them instead of processes of this machine, such as that of a cluster.
        limits: on metrics of the scenario, which are measured as they are.
        evaluations: keeps all that is run, and has what was run before.
        name: of the study, for rows that are kept.
    """

    def __init__(
        self,
        scenario_of: Callable[[Design], Scenario],
        space: DesignSpace,
        objectives: Sequence[Objective],
        seed: int = 0,
        workers: int = -1,
        common_random_numbers: bool = True,
        executor: Executor | None = None,
        limits: Sequence[Limit] = (),
        evaluations: Evaluations | None = None,
        name: str = "",
    ) -> None:
        self._scenario_of = scenario_of
        self.space = space
        self.size = len(space)
        self.sampled_of = space.combinations if space.is_sampled else None
        self.objectives = tuple(objectives)
        self.limits = tuple(limits)
        self.seed = seed
        self.workers = check_workers(workers)
        self.executor = executor
        self.common_random_numbers = common_random_numbers
        self.evaluations = evaluations
        self.name = name
        self._scenarios: dict[str, Scenario] = {}
        self._digests: dict[int, bytes] = {}
        self._seconds: float | None = None
        self._is_checked = False
        self._repeats: dict[int, Floats | None] = {}
        self.repeated = 0
        """Evaluations that were not run, since all runs of such a design are the same."""

    def design(self, index: int) -> Design:
        """A design as its policy, parameters and keys of the spec."""
        return self.space[int(index)]

    @property
    def encoding(self) -> Encoding:
        """A gene for each key, if there is a single policy."""
        return self.space.encoding or super().encoding

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions of the space, a policy each."""
        return self.space.regions or super().regions

    def all_designs(self) -> Ints:
        """The indices of all designs, if they are not too many to know which keep the rules."""
        self.space.check_each()
        return super().all_designs()

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
        """Runs each design in each replication; on a trace that is the same in all, only twice.

        The second run tells whether the policy draws something: by all that is measured, since two
        runs may have the same objectives by chance. If not, further ones would be the same.
        """
        may_repeat = np.array(
            [self.scenario(self.space[design]).draws_nothing for design in designs.tolist()], bool
        )
        if not may_repeat.any():
            return self._run(designs, replications)
        for design in designs[may_repeat].tolist():
            if design not in self._repeats:
                self._repeats[design] = self._repeated(design)
        known = [self._repeats.get(design) for design in designs.tolist()]
        values = np.empty((len(designs), len(replications), len(self._names)))
        others = np.array([one is None for one in known], bool)
        if others.any():
            values[others] = self._run(designs[others], replications)
        for row in np.flatnonzero(~others).tolist():
            values[row] = known[row]
        self.repeated += int((~others).sum()) * len(replications)
        return values

    def _repeated(self, design: int) -> Floats | None:
        """What is measured in each replication of a design; None if two of them differ."""
        pair, whole = np.array([design]), list[dict[str, float]]()
        values = self._run(pair, np.arange(2), whole)
        names = sorted({name for one in whole for name in one})
        first, second = ([one.get(name, np.nan) for name in names] for one in whole)
        is_same = np.array_equal(first, second, equal_nan=True)
        self.repeated -= 2 if is_same else 0
        return np.asarray(values[0, 0]) if is_same else None

    def _run(
        self, designs: Ints, replications: Ints, measures: list[dict[str, float]] | None = None
    ) -> Floats:
        """Runs each design in each replication; a process takes designs of one replication.

        Args:
            designs: their numbers.
            replications: their numbers.
            measures: takes up all that is measured of each run, of a single design.
        """
        self._check()
        names = self._names
        slots = worker_count(self.workers)
        if self.executor is not None:
            slots = slots_of(self.executor, self.workers)
        parts = -(-CHUNKS * slots // len(replications))
        jobs: list[tuple[Any, ...]] = []
        runs: dict[int, tuple[Scenario, str]] = {}
        values = np.empty((len(designs), len(replications), len(names)))
        for column, replication in enumerate(replications.tolist()):
            wanted = self._unknown(designs, column, replication, values, measures)
            if not len(wanted):
                continue
            for row in wanted.tolist():
                if row not in runs:
                    design = self.space[int(designs[row])]
                    runs[row] = (self.scenario(design), policy_text(design))
            for rows in np.array_split(wanted, self._parts(len(wanted), parts)):
                seeds = self._seeds(designs[rows], replication)
                chosen = [runs[row] for row in rows.tolist()]
                keeps = self.evaluations is not None or measures is not None
                jobs.append((chosen, seeds, names, rows, column, keeps))
        for rows, column, found, whole, seconds in in_parallel(
            _measure, jobs, self.workers, self.executor
        ):
            values[rows, column] = found
            self._keep(designs[rows], int(replications[column]), whole, seconds)
            if measures is not None:
                measures.extend(whole)
        if self.evaluations is not None:
            self.evaluations.write()
        return values

    @property
    def _names(self) -> list[tuple[str, Direction | None]]:
        """What is measured, each with the way that it goes; a limit is on the metric as it is."""
        return [
            *((one.name, one.direction) for one in self.objectives),
            *((one.metric, None) for one in self.limits),
        ]

    def _parts(self, runs: int, parts: int) -> int:
        """The number of parts that some runs are cut into: what is kept comes in short ones."""
        if self.evaluations is None:
            return min(parts, runs)
        each = FIRST_KEPT if self._seconds is None else max(1, int(KEPT_S / self._seconds))
        return min(max(parts, -(-runs // each)), runs)

    def _unknown(
        self,
        designs: Ints,
        column: int,
        replication: int,
        values: Floats,
        found_measures: list[dict[str, float]] | None,
    ) -> Ints:
        """The rows of designs that must be run; the values of the others are filled in."""
        if self.evaluations is None:
            return np.arange(len(designs))
        seeds = self._seeds(designs, replication)
        unknown = []
        for row, (design, seed) in enumerate(zip(designs.tolist(), seeds, strict=True)):
            found = self.evaluations.values(evaluation_key(self._digest(design), seed))
            if found is None:
                unknown.append(row)
                continue
            if found_measures is not None:
                found_measures.append(dict(found))
            measures = self.scenario(self.space[design]).kind.metric
            values[row, column] = [
                compared_value(found, measures[name], way == DIRECTIONS.get(str(one.better)))
                for name, way in self._names
                for one in (measures[name],)
            ]
        return np.array(unknown, np.int64)

    def _keep(
        self, designs: Ints, replication: int, whole: list[dict[str, float]], seconds: float
    ) -> None:
        """Puts what was run into the store."""
        if self.evaluations is None:
            return
        each = max(seconds / len(designs), 1e-6)
        self._seconds = each
        seeds = self._seeds(designs, replication)
        rows = []
        for design, seed, values in zip(designs.tolist(), seeds, whole, strict=True):
            chosen = self.space[design]
            scenario = self.scenario(chosen)
            columns = {
                "cell": self._digest(design).hex(),
                "scenario": self.name or scenario.name or scenario.kind.name,
                "case": "",
                "policy": policy_text(chosen),
                **spec_changes(chosen),
            }
            key = evaluation_key(self._digest(design), seed)
            rows.append(Row(key, columns, seed, values, each))
        self.evaluations.add(rows)

    def _digest(self, design: int) -> bytes:
        if design not in self._digests:
            chosen = self.space[design]
            self._digests[design] = design_digest(self.scenario(chosen), policy_text(chosen))
        return self._digests[design]

    def _check(self) -> None:
        """Looks at some of the designs before the first run, and compiles their policies."""
        if self._is_checked:
            return
        for index in self.space.some(CHECKED).tolist():
            design = self.space[index]
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
    runs: list[tuple[Scenario, str]],
    seeds: list[int],
    names: list[tuple[str, Direction | None]],
    indices: Ints,
    column: int,
    is_kept: bool,
) -> tuple[Ints, int, list[list[float]], list[dict[str, float]], float]:
    """The objectives of some designs in one replication; all metrics too, if they are kept."""
    begin = time.perf_counter()
    rows, whole = [], []
    for (scenario, policy), seed in zip(runs, seeds, strict=True):
        run = played(scenario, policy, seed, "none")
        rows.append([_objective(scenario.kind.metric[name], way, run) for name, way in names])
        if is_kept:
            whole.append(measured(run))
    return indices, column, rows, whole, time.perf_counter() - begin


def _objective(metric: Metric, direction: Direction | None, run: Run[Any]) -> float:
    """What is compared of a run: the metric, with work left undone, unless it is turned round.

    A limit is on the metric as it is.
    """
    own = DIRECTIONS.get(str(metric.better))
    return metric.objective(run) if direction == own else metric(run)
