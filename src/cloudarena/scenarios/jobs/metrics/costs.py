"""What machines and broken promises of a run cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.contract.metric import shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.rewards import overtime_s
from cloudarena.scenarios.jobs.metrics.times import jobs_left, waits

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


def length_s(run: JobsRun) -> float:
    """How long the run lasted after the warm-up: to the makespan or, if jobs are left, to now."""
    end = run.now if jobs_left(run) else float(run.world.totals[0]["makespan"])
    return warm_up.since(run, end)


def _used_s(run: JobsRun) -> Floats:
    """How long each machine has had something to run, so far."""
    if warm_up.warms_up(run):
        return warm_up.used_s(run)
    world = run.world
    now = np.where(world.occupants > 0, run.now - world.used_since, 0.0)
    return world.used_s + now


@shared
def _hourly_usd(run: JobsRun) -> tuple[Floats, Floats]:
    """The price of an hour of each machine: of those that are paid for at all times, and by use."""
    kinds = run.scenario.machines
    counts = [kind.count for kind in kinds]
    hourly = np.repeat([kind.price.hourly_usd for kind in kinds], counts)
    by_use = np.repeat([kind.price.is_by_use for kind in kinds], counts)
    return np.where(by_use, 0.0, hourly), np.where(by_use, hourly, 0.0)


def _penalties_usd(run: JobsRun) -> float:
    """What jobs cost that waited too long, and that are left when a run has ended."""
    prices, spans = run.scenario.prices, waits(run)
    late = int((spans.until(run.now) > prices.late_after_s).sum()) if prices.late_usd else 0
    left = 0 if run.is_deciding else jobs_left(run)
    return late * prices.late_usd + left * prices.unserved_usd


def cost_so_far_usd(run: JobsRun) -> float:
    """The cost so far."""
    always, by_use = _hourly_usd(run)
    used = float(by_use @ _used_s(run)) if by_use.any() else 0.0
    return (float(always.sum()) * length_s(run) + used) / 3600.0 + _penalties_usd(run)


def all_hours_usd(run: JobsRun) -> float:
    """The price of all machines for the overtime of what is left undone; 0 if nothing is."""
    always, by_use = _hourly_usd(run)
    return float((always + by_use).sum()) * overtime_s(run) / 3600.0
