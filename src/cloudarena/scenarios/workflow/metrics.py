"""What a run of workflows measures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats
from cloudarena.base.measures import AtLeast, censored_mean, censored_quantiles, ratio
from cloudarena.contract.metric import metric, shared

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.run import WorkflowRun


class Makespans(NamedTuple):
    """How long the workflows that have arrived took, or have taken so far, in seconds."""

    finished: Floats
    so_far: Floats
    finished_path: Floats
    """The critical paths of those that have finished."""
    so_far_path: Floats
    """The critical paths of the others."""


@shared
def _makespans(run: WorkflowRun) -> Makespans:
    """The makespans at this moment."""
    world, now = run.world, run.now
    arrived = int(world.clock[0]["arrived"])
    since = world.demand.arrival[:arrived]
    completion = world.progress.completion[:arrived]
    path = world.demand.critical_path[:arrived]
    done = np.isfinite(completion)
    return Makespans((completion - since)[done], (now - since)[~done], path[done], path[~done])


@shared
def _quantiles(run: WorkflowRun) -> tuple[float, ...]:
    """The median of the makespans, and their 95th percentile."""
    makespans = _makespans(run)
    return censored_quantiles(makespans.finished, makespans.so_far, (0.5, 0.95))


def _bounded(run: WorkflowRun, value: float) -> float:
    """A sum, which is a lower bound while workflows that it counts have not finished."""
    return AtLeast(value) if len(_makespans(run).so_far) else value


def _total(run: WorkflowRun, name: str) -> float:
    """One of the sums that the kernel keeps."""
    return float(run.world.totals[0][name])


def _count(run: WorkflowRun, name: str) -> int:
    """One of the sums that the kernel keeps as a whole number."""
    return int(run.world.totals[0][name])


def _weighed(run: WorkflowRun, seconds: float) -> float:
    """Seconds of unfinished workflows and dollars of rent, weighed by the spec's objective."""
    objective = run.scenario.objective
    rent = (1 - objective.weight) * objective.rent_scale * _total(run, "rent")
    return objective.weight * seconds + rent


def _slowdown(run: WorkflowRun) -> float:
    """The mean of makespans over critical paths."""
    makespans = _makespans(run)
    return censored_mean(
        makespans.finished / makespans.finished_path, makespans.so_far / makespans.so_far_path
    )


def _utilisation(run: WorkflowRun) -> float:
    """The share of what all cores could have done up to now."""
    sharing = run.world.nodes.sharing
    capacity = float(sharing.cores.sum()) * sharing.core_speed
    return ratio(float(sharing.work.sum()), capacity * run.now)


def _or_zero(value: float) -> float:
    """A value for learning, which needs a number also where nothing has arrived or begun."""
    return 0.0 if math.isnan(value) else value


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: WorkflowRun) -> float:
    """Workflows that have not finished / workflows that have arrived; 0 if nothing arrived.

    It is 0 when a run has ended, since every function must be placed.
    """
    unfinished = len(_makespans(run).so_far)
    return unfinished / max(1, int(run.world.clock[0]["arrived"]))


@metric(better="higher")
def workflows(run: WorkflowRun) -> float:
    """Workflows that have finished."""
    return _count(run, "workflows")


@metric(better="higher")
def functions(run: WorkflowRun) -> float:
    """Functions that have completed."""
    return _count(run, "functions")


@metric(
    better="lower",
    label="Sum of makespans, s",
    reward=lambda run: -_total(run, "active_s"),
)
def makespan_sum_s(run: WorkflowRun) -> float:
    """The sum over workflows of last completion - arrival; one that has not finished counts so far.

    As a reward it is the integral of the number of unfinished workflows, which comes to the same.
    """
    makespans = _makespans(run)
    return _bounded(run, float(makespans.finished.sum() + makespans.so_far.sum()))


@metric(
    better="lower",
    highlight=True,
    label="Mean makespan, s",
    reward=lambda run: -_total(run, "active_s") / len(run.workload.arrival),
)
def makespan_mean_s(run: WorkflowRun) -> float:
    """The mean over workflows of last completion - arrival; one not finished counts so far.

    As a reward it is the integral of the number of unfinished workflows over all that will arrive.
    """
    makespans = _makespans(run)
    return censored_mean(makespans.finished, makespans.so_far)


@metric(
    better="lower", label="Median makespan, s", reward=lambda run: -_or_zero(_quantiles(run)[0])
)
def makespan_p50_s(run: WorkflowRun) -> float:
    """The median over workflows of last completion - arrival."""
    return _quantiles(run)[0]


@metric(
    better="lower",
    highlight=True,
    label="95th percentile of makespans, s",
    reward=lambda run: -_or_zero(_quantiles(run)[1]),
)
def makespan_p95_s(run: WorkflowRun) -> float:
    """The 95th percentile over workflows of last completion - arrival."""
    return _quantiles(run)[1]


@metric(
    better="lower",
    highlight=True,
    label="Mean slowdown",
    reward=lambda run: -_or_zero(_slowdown(run)),
)
def slowdown_mean(run: WorkflowRun) -> float:
    """The mean over workflows of makespan / critical path on idle cores, without transfers."""
    return _slowdown(run)


@metric(better="lower", highlight=True)
def cost_usd(run: WorkflowRun) -> float:
    """What was paid: rent_usd, all that a workflow costs."""
    return rent_usd(run)


@metric(better="lower")
def rent_usd(run: WorkflowRun) -> float:
    """The hours for which servers were rented times their hourly rates."""
    return _total(run, "rent")


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -_weighed(run, _total(run, "active_s")),
)
def weighted_cost(run: WorkflowRun) -> float:
    """The objective: weight * makespan_sum_s + (1 - weight) * objective.rent_scale * rent_usd."""
    return _bounded(run, _weighed(run, makespan_sum_s(run)))


@metric(
    better="higher",
    highlight=True,
    reward=lambda run: _or_zero(_utilisation(run)),
)
def mean_cpu_utilisation(run: WorkflowRun) -> float:
    """Operations done / what all cores could do, from 0 to the last completion."""
    return _utilisation(run)


@metric(better="lower", label="Waits for memory, s")
def memory_wait_s(run: WorkflowRun) -> float:
    """The sum over functions of start - creation: how long containers waited for memory."""
    return _total(run, "memory_wait_s")


@metric(better="lower", label="Transfers, s")
def transfer_s(run: WorkflowRun) -> float:
    """The sum over functions of the time that their data took."""
    return _total(run, "transfer_s")


@metric(better="lower", highlight=True)
def cold_starts(run: WorkflowRun) -> float:
    """Servers that were booted."""
    return _count(run, "cold_starts")
