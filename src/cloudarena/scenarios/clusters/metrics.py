"""What a clusters run measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloudarena.base.measures import AtLeast, ratio
from cloudarena.contract.metric import metric
from cloudarena.scenarios.clusters.state import Total

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.run import ClustersRun


def _total(run: ClustersRun, name: Total) -> float:
    """One of the sums that the kernel keeps."""
    return float(run.world.totals[name])


@metric(better="lower", highlight=True, label="Unserved")
def unserved_share(run: ClustersRun) -> float:
    """Tasks that are not done / tasks that have arrived."""
    left = 0.0 if run.ended else float(run.backlog().sum())
    return left / (tasks(run) + left) if left else 0.0


@metric()
def tasks(run: ClustersRun) -> float:
    """Tasks that were done; parts of a task count."""
    # The sum of parts of tasks is only nearly whole.
    return int(run.batches.tasks.sum()) if run.ended else float(run.world.done.sum())


@metric(
    better="higher",
    highlight=True,
    label="Throughput, tasks/s",
    unit="tasks/s",
    reward=lambda run: tasks(run) / run.now if run.now > 0 else 0.0,
)
def throughput_per_s(run: ClustersRun) -> float:
    """The rate of finished tasks: tasks / makespan_s."""
    return ratio(tasks(run), run.now)


@metric(better="lower", highlight=True, reward=lambda run: -run.now)
def makespan_s(run: ClustersRun) -> float:
    """The time when the last task ended; the time so far, while there are others."""
    return run.now if run.ended else AtLeast(run.now)


def _cost_usd(run: ClustersRun) -> float:
    """The price of all VMs so far."""
    return run.scenario.vms * run.now / 3600.0 * run.scenario.prices.vm_hour_usd


@metric(better="lower", highlight=True, reward=lambda run: -_cost_usd(run))
def cost_usd(run: ClustersRun) -> float:
    """The price of all VMs, idle ones too, until the last task ends: vms * makespan_s * price."""
    return _cost_usd(run) if run.ended else AtLeast(_cost_usd(run))


@metric(
    better="lower",
    label="Mean backlog, tasks",
    unit="tasks",
    reward=lambda run: -_total(run, Total.BACKLOG),
)
def backlog_mean_tasks(run: ClustersRun) -> float:
    """Tasks that have arrived and are not done, mean over time.

    As a reward it is minus the sum over time, in task-seconds: a mean would fall as long as a run
    is drawn out with little left to do.
    """
    return ratio(_total(run, Total.BACKLOG), run.now)


@metric(
    better="lower",
    highlight=True,
    reward=lambda run: -_total(run, Total.MEMORY) / run.now if run.now > 0 else 0.0,
)
def memory_mb(run: ClustersRun) -> float:
    """The VMs of a class times the memory of one, summed over classes, mean over time."""
    return ratio(_total(run, Total.MEMORY), run.now)


@metric(
    better="higher",
    highlight=True,
    reward=lambda run: _total(run, Total.BUSY) / (run.scenario.vms * run.now) if run.now else 0.0,
)
def utilisation(run: ClustersRun) -> float:
    """VM-seconds of service / (vms * makespan_s)."""
    return ratio(_total(run, Total.BUSY), run.scenario.vms * run.now)


@metric()
def stages(run: ClustersRun) -> float:
    """Stages that there were."""
    return int(run.world.clock[0]["stages"])


@metric(better="lower", highlight=True)
def decisions(run: ClustersRun) -> float:
    """Decisions that were taken."""
    return int(run.world.clock[0]["plans"])


@metric(better="lower")
def evaluations(run: ClustersRun) -> float:
    """Evaluations of shares that the decider spent, without those of a first stage before time 0.

    Where thinking takes time, the first stage is thought out beforehand.
    """
    first = 1 if run.scenario.pipelined else 0
    return int(run.world.plans["evaluations"][first : int(decisions(run))].sum())


@metric(
    better="lower",
    highlight=True,
    label="Share of time spent deciding",
    reward=lambda run: -_thinking_s(run) / run.now if run.now > 0 else 0.0,
)
def deciding_share(run: ClustersRun) -> float:
    """The share of makespan_s in which the decider was thinking."""
    return ratio(_thinking_s(run), run.now)


def _thinking_s(run: ClustersRun) -> float:
    """The seconds in which the decider was thinking."""
    return sum(run.world.stages["thinking_s"][: int(stages(run))].tolist())
