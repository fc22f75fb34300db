"""Input uncertainty: how much of what is not sure comes from the trace, which is one sample.

The trace is drawn again in blocks (``resample`` of its source), and each of these traces is run
several times with other random numbers. A random-effects analysis of variance parts the variance
of a run into what the trace does and what chance within the simulation does. Assumed are normal
effects, and blocks that are exchangeable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.errors import SpecError
from cloudarena.base.parallel import in_parallel
from cloudarena.base.results import number_or_null
from cloudarena.contract import Scenario
from cloudarena.experiments.simulate import simulate

RUNS = 5
"""Runs of each trace."""
APART = 1_000_003
"""What the seeds of traces and those of runs are apart by, so that they share none."""


class InputUncertainty(NamedTuple):
    """The parts of the variance of a run, by metric."""

    traces: int
    runs: int
    """Runs of each trace."""
    drawn: str
    """What was drawn again, in words."""
    names: tuple[str, ...]
    figures: Floats
    """The mean, the variances by the trace and within the simulation, the share of the first in
    both, and the ends of its interval, in a row for each metric."""
    level: float

    def plain(self) -> dict[str, Any]:
        """Plain values for JSON."""
        keys = ("mean", "input_variance", "simulation_variance", "input_share", "low", "high")
        return {
            "traces": self.traces,
            "runs_of_each": self.runs,
            "metrics": {
                name: dict(zip(keys, map(number_or_null, row), strict=True))
                for name, row in zip(self.names, self.figures.tolist(), strict=True)
            },
        }

    def words(self) -> str:
        """The shares in a sentence."""
        parts = []
        for name, row in zip(self.names, self.figures.tolist(), strict=True):
            share, low, high = row[3:]
            if not np.isfinite(share):
                parts.append(f"{name} does not vary")
            else:
                parts.append(f"{share:.0%} of that of {name} ({low:.0%} to {high:.0%})")
        return (
            f"Input uncertainty: over {self.traces} draws of {self.drawn}, {self.runs} runs each, "
            f"the variance of a run comes from the trace to so much ({self.level:g}): "
            f"{', '.join(parts)}."
        )


def input_uncertainty(
    scenario: Scenario,
    metrics: Sequence[str],
    traces: int,
    level: float,
    seed: int = 0,
    workers: int = -1,
    executor: Executor | None = None,
    runs: int = RUNS,
) -> InputUncertainty:
    """Parts the variance of a run of a scenario, under its own policy.

    Args:
        scenario: whose trace is drawn again by the seed.
        metrics: what is looked at.
        traces: how often the trace is drawn.
        level: of the intervals.
        seed: decides the draws and the runs.
        workers: processes; -1 is one for each core. The result does not depend on it.
        executor: runs them instead of processes of this machine.
        runs: of each trace.
    """
    check_resampled(scenario)
    if traces < 2:
        raise SpecError(f"input_traces: {traces} is not allowed: at least 2 traces")
    jobs = [(scenario, tuple(metrics), seed, k, runs) for k in range(traces)]
    values = np.empty((traces, runs, len(metrics)))
    for k, rows in in_parallel(_runs_of_trace, jobs, workers, executor):
        values[k] = rows
    figures = np.array([parts_of_variance(values[:, :, k], level) for k in range(len(metrics))])
    return InputUncertainty(traces, runs, scenario.resampled, tuple(metrics), figures, level)


def check_resampled(scenario: Scenario) -> None:
    """Raises unless the scenario has a recorded trace that is drawn again by the seed."""
    if not scenario.resampled:
        raise SpecError(
            "input_traces: is not allowed: the scenario draws no recorded trace again; set "
            "resample: {blocks: day} of the source of its trace"
        )


def parts_of_variance(values: Floats, level: float) -> tuple[float, ...]:
    """The mean, the variances between and within groups, and the share of the first.

    The interval of the share is exact for normal effects (Searle, Casella and McCulloch, "Variance
    Components", 1992, section 3.5).

    Args:
        values: an array of (groups, values of each).
        level: of the interval of the share.
    """
    from scipy.special import fdtri

    groups, each = values.shape
    means = values.mean(axis=1)
    between = each * float(means.var(ddof=1))
    within = float(((values - means[:, None]) ** 2).sum()) / (groups * (each - 1))
    of_input = max(0.0, (between - within) / each)
    mean, total = float(values.mean()), of_input + within
    if total == 0.0:
        return mean, 0.0, 0.0, np.nan, np.nan, np.nan
    share = of_input / total
    if within == 0.0:
        return mean, of_input, within, share, share, share
    ratio = between / within
    tail = (1.0 - level) / 2.0
    freedom = groups - 1, groups * (each - 1)
    ends = []
    for quantile in (float(fdtri(*freedom, 1.0 - tail)), float(fdtri(*freedom, tail))):
        scaled = ratio / quantile
        ends.append(min(1.0, max(0.0, (scaled - 1.0) / (scaled + each - 1.0))))
    return mean, of_input, within, share, ends[0], ends[1]


def _runs_of_trace(
    scenario: Scenario, metrics: tuple[str, ...], seed: int, trace: int, runs: int
) -> tuple[int, list[list[float]]]:
    """The metrics of runs on one and the same trace."""
    work = scenario.load_workload(seed + trace)
    if isinstance(work, Iterator):  # window by window; a trace that is drawn again is one window
        (work,) = work
    fixed = scenario.model_copy()
    fixed.__dict__["load_workload"] = lambda _: work
    rows = []
    for k in range(runs):
        found = simulate(fixed, seed=seed + APART + trace * runs + k, record="none").metrics
        rows.append([float(found[name]) for name in metrics])
    return trace, rows
