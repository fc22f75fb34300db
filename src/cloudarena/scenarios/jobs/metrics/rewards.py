"""What learning earns: minus spans of time, finite at every moment of a run.

What is left when a run has ended counts as if it took ``overtime_s`` more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cloudarena.contract.metric import shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.spans import Spans
from cloudarena.scenarios.jobs.metrics.times import (
    all_completions,
    all_waits,
    jobs_left,
    of_jobs,
    told_of,
    waits,
)

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


@shared
def overtime_s(run: JobsRun) -> float:
    """How much longer what is left when a run has ended counts as unfinished.

    Twice the time, on the slowest machine, of all work of the workload, one instance after the
    other: longer than who works on would need. 0 while the run goes on, and when all jobs finished.
    """
    if run.is_deciding or jobs_left(run) == 0:
        return 0.0
    work = float(told_of(run).instances @ told_of(run).duration)
    return 2.0 * work / float(run.world.machines.speed.min())


def waits_and_left(run: JobsRun) -> Spans:
    """Waits in which jobs that are left when a run has ended count as if they had not begun."""
    if overtime_s(run) == 0.0:
        return waits(run)
    spans = all_waits(run)
    end = np.where(np.isfinite(all_completions(run).end), spans.end, np.inf)
    return of_jobs(run, spans._replace(end=end))


def minus_mean(of: Callable[[JobsRun], Spans]) -> Callable[[JobsRun], float]:
    """The reward of a mean: minus the sum of the spans so far over how many there are in all."""

    def earned(run: JobsRun) -> float:
        spans = of(run)
        return -float(spans.until(run.now + overtime_s(run)).sum()) / spans.total

    return earned


def minus_integral(
    integral: str, unfinished: str, of: Callable[[JobsRun], Spans]
) -> Callable[[JobsRun], float]:
    """The reward of a mean by the integral of what was unfinished, so far and in overtime.

    With a warm-up it is made of the spans.
    """

    def earned(run: JobsRun) -> float:
        if warm_up.warms_up(run):
            return minus_mean(of)(run)
        totals, count = run.world.totals[0], of(run).total
        return -float(totals[integral] + overtime_s(run) * totals[unfinished]) / count

    return earned


def minus_quantile(of: Callable[[JobsRun], Spans], level: float) -> Callable[[JobsRun], float]:
    """The reward of a quantile: minus that of the spans so far."""

    def earned(run: JobsRun) -> float:
        values = of(run).until(run.now + overtime_s(run))
        return -float(np.quantile(values, level)) if len(values) else 0.0

    return earned


def left_undone(run: JobsRun) -> int:
    """The instances that have not finished when a run has ended; 0 while it goes on."""
    if run.is_deciding:
        return 0
    return int(told_of(run).instances.sum()) - int(run.world.totals[0]["completed"])
