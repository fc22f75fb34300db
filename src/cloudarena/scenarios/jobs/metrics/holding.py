"""What jobs held of the machines of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cloudarena.base.arrays import Floats
from cloudarena.contract.metric import shared
from cloudarena.scenarios.jobs.metrics import warm_up
from cloudarena.scenarios.jobs.metrics.costs import length_s
from cloudarena.scenarios.jobs.metrics.rewards import overtime_s
from cloudarena.scenarios.jobs.state import Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.run import JobsRun


def utilisation(run: JobsRun, resource: Resource, overtime: float = 0.0) -> float:
    """What was held over what there is, up to the makespan; while jobs are left, up to now."""
    capacity = max(int(run.world.machines.total[resource]), 1)
    return float(_held_s(run)[resource]) / (capacity * max(length_s(run) + overtime, 1e-300))


@shared
def _held_s(run: JobsRun) -> Floats:
    """What was held of each resource of all machines, times how long."""
    return warm_up.held_s(run) if warm_up.warms_up(run) else run.world.held_s


def utilisation_earned(resource: Resource) -> Callable[[JobsRun], float]:
    """The reward of a utilisation: up to the end of overtime, where something is left."""
    return lambda run: utilisation(run, resource, overtime_s(run))
