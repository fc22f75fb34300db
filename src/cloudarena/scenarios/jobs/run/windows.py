"""Thousands of runs of windows of one workload: for learners, which try many parameters."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import ArrayLike

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import PolicyError, SpecError
from cloudarena.engine.compiled import jit_for_signature
from cloudarena.engine.interrupts import make_flag, run_interruptibly
from cloudarena.engine.status import ENDED, FULL
from cloudarena.policies import ArrayPolicy
from cloudarena.scenarios.jobs.kernel.windows import Fresh, sweep
from cloudarena.scenarios.jobs.metrics.times import BOUND_S
from cloudarena.scenarios.jobs.run import JobsRun
from cloudarena.scenarios.jobs.spec import JobsScenario


@cache
def _compiled_sweep(types: tuple[Any, ...], policy: Any) -> Any:
    """The kernel for the types of its arguments and the signature of policies."""
    function = numba.types.FunctionType(policy)
    return jit_for_signature(sweep, numba.int64(*types, function, policy.args[-1]), nogil=True)


class WindowMeans(NamedTuple):
    """Means over the jobs of each window, and its makespan: (rows of parameters, windows)."""

    wait_mean_s: Floats
    completion_mean_s: Floats
    bounded_slowdown_mean: Floats
    makespan_s: Floats
    """The time from the first submission of the window to its last finish."""


class WindowRuns:
    """Runs of windows of a workload under an array policy, each on an empty cluster.

    All are on one state, in one compiled call: a run of 512 jobs takes well under a millisecond,
    where one by ``simulate`` takes several. Times count from the first job of the whole workload.

    Args:
        scenario: whose workload the windows are of; its machines do not fail.
        policy: its name, or a function of arrays or a score; it runs compiled.
        seed: draws the workload, if it is drawn, and what the policy draws.
    """

    def __init__(self, scenario: JobsScenario, policy: Any, seed: int = 0) -> None:
        if scenario.failures is not None:
            raise SpecError("failures: is not allowed: windows are of machines that do not fail")
        if scenario.warmup_s > 0:
            raise SpecError("warmup_s: is not allowed: windows count from their first job on")
        chosen = scenario.kind.policies.resolve(policy)
        if not isinstance(chosen, ArrayPolicy) or chosen.machine_code is None:
            raise PolicyError(f"policy {policy}: is not allowed: windows need one that compiles")
        self.policy = chosen
        self._run = JobsRun(scenario, seed, "none")
        self._run.prepare(chosen)
        workload = self._run.workload
        self._parents = np.diff(workload.first_parent)
        self._tasks = np.diff(workload.first_task)

    @property
    def jobs(self) -> int:
        """How many jobs the workload has."""
        return len(self._run.workload.submit)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the columns of parameters; a learned policy has its own ``values_of``."""
        return tuple(self.policy.parameters)

    def measure(
        self, firsts: ArrayLike, jobs: int, parameters: ArrayLike | None = None
    ) -> WindowMeans:
        """The means of windows of so many jobs, from each of these on, under rows of parameters."""
        starts = np.ascontiguousarray(firsts, np.int64)
        if starts.ndim != 1 or jobs < 1 or (starts < 0).any() or (starts + jobs > self.jobs).any():
            raise SpecError(
                f"firsts: windows of {jobs} jobs are not allowed from there on: from 0 to "
                f"{self.jobs - jobs}"
            )
        given = self.policy.values if parameters is None else parameters
        rows = np.array(given, np.float64, ndmin=2, order="C")
        wanted = len(self.policy.values)
        if rows.shape[1] != wanted:
            raise PolicyError(
                f"policy {self.policy.name}: {rows.shape[1]} parameters are not allowed: "
                f"{', '.join(self.parameters) or wanted or 'none'}"
            )
        rows.flags.writeable = False
        means = np.empty((len(rows), len(starts), len(WindowMeans._fields)))
        self._sweep(starts, jobs, rows, means)
        return WindowMeans(*(np.ascontiguousarray(means[:, :, k]) for k in range(means.shape[2])))

    def _sweep(self, firsts: Any, jobs: int, rows: Any, means: Floats) -> None:
        """Lets the kernel run all of them, with more room whenever it is full."""
        run, status = self._run, FULL
        fresh = Fresh(self._parents, self._tasks, np.zeros(2, np.int64))
        while status == FULL:
            stop = make_flag()
            given = (run.world, *run.shown(), fresh, BOUND_S, firsts, jobs, means, stop, rows)
            types = tuple(numba.typeof(part) for part in given)
            compiled = _compiled_sweep(types, run.scenario.kind.policies.signature())
            code = self.policy.machine_code
            status = int(run_interruptibly(lambda: compiled(*given, code, run.rng), stop))  # noqa: B023
            if status == FULL:
                run.grow()
        if status != ENDED:
            raise PolicyError(f"policy {self.policy.name}: {run.why_not(status)}")
