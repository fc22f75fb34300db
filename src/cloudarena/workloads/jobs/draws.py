"""What the generators of jobs share: checks of parameters, jobs of one task, gamma variates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cloudarena.base.errors import SpecError
from cloudarena.base.numpy import np
from cloudarena.workloads.jobs.columns import MOST_JOBS, JobWorkload, assemble

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_parameters(jobs: int, **positive: float) -> None:
    """Raises unless there are jobs to draw, and all the other parameters are more than 0."""
    if not 1 <= jobs <= MOST_JOBS:
        raise SpecError(f"jobs: {jobs} is not allowed: from 1 to {MOST_JOBS:,}")
    for name, value in positive.items():
        if not (value > 0 and math.isfinite(value)):
            raise SpecError(f"{name}: {value:g} is not allowed: a number more than 0")


def single_task_jobs(
    submit: NDArray[np.float64],
    instances: NDArray[np.int64],
    cpu: NDArray[np.float64],
    memory: NDArray[np.float64],
    duration: NDArray[np.float64],
    gang: NDArray[np.bool_] | None = None,
) -> JobWorkload:
    """Jobs of one task each, numbered from 1, in order of submission, the first at 0 s."""
    from cloudarena.base.arrow import arrow_column

    none = np.zeros(len(submit))
    return assemble(
        job_ids=arrow_column(np.arange(1, len(submit) + 1)),
        submit=submit - submit[0],
        job=np.arange(len(submit)),
        task_ids=arrow_column(np.ones(len(submit), np.int64)),
        instances=instances,
        demand=np.column_stack((cpu, memory, none, none)),
        duration=duration,
        gang=gang,
    )


def gamma_below(
    rng: np.random.Generator,
    shape: NDArray[np.float64],
    scale: NDArray[np.float64],
    limit: float,
) -> NDArray[np.float64]:
    """Draws of gamma distributions; those above the limit are drawn again."""
    draws = rng.gamma(shape, scale)
    while (above := np.flatnonzero(draws > limit)).size:
        draws[above] = rng.gamma(shape[above], scale[above])
    return draws
