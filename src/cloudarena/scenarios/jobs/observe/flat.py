"""A jobs run as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.scenarios.jobs.state import Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.decision import JobsDecision
    from cloudarena.scenarios.jobs.run import JobsRun
    from cloudarena.scenarios.jobs.spec import JobsScenario

SLOTS = 16
"""Ready tasks that are shown: the first one that could start, then the others in order."""
TASK_FEATURES = 11
MACHINE_FEATURES = 5
CLUSTER_FEATURES = 2
SECONDS = 100.0
"""A time t is shown as t / (t + 100 s)."""
MANY = 1e6
"""A number n is shown as log(1 + n) / log(1 + 1e6), at most 1."""


class JobsObserver:
    """Features, masks and rewards of the choice of starts.

    Observation (float32, from -1 to 1), for M machines and up to 16 ready tasks, the first one
    that could start now, then the others in order:

    - for each task: its demand of cpu, memory, disk and gpu as shares of the largest machine; its
      known duration, the longest path behind it and its age, each as t / (t + 100 s); the shares
      of its instances that wait and run; 1 where there is a task; the number of its instances that
      wait;
    - for each machine: what is free of each resource as a share of it; 1 if it is up;
    - the number of ready tasks, and of the instances that wait of all of them.

    Numbers n are shown as log(1 + n) / log(1 + 10^6), at most 1.

    Action (discrete, 16 M + 1): one instance of task k on machine m as k M + m; the last one starts
    nothing more at this instant. A gang starts whole. An action that is not allowed starts nothing
    or, where something must start, the first pair that fits.

    Reward: the increase of a metric, negative where lower is better, so that over an episode in
    which all jobs finish the rewards sum to the metric. Means are earned as integrals:
    ``makespan_s`` is the time that passes, ``completion_mean_s`` the unfinished jobs over the
    number of all jobs, ``slowdown_mean`` the same weighted by 1 / the job's shortest time. When a
    run ends and jobs are left, since a machine is gone for good, each counts as if it ended after
    twice the time that all work of the workload takes one instance after the other on the slowest
    machine: nobody earns by leaving work undone.
    """

    def __init__(self, scenario: JobsScenario, reward: str) -> None:
        from gymnasium.spaces import Box, Discrete  # learned policies need features without it

        self.value = scenario.kind.reward(reward)
        self._machines = scenario.machine_count
        length = SLOTS * TASK_FEATURES + self._machines * MACHINE_FEATURES
        length += CLUSTER_FEATURES
        self.observation_space = Box(-1.0, 1.0, (length,), np.float32)
        self.action_space = Discrete(SLOTS * self._machines + 1)

    def features(self, run: JobsRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        decision = run.decision
        if decision is None:
            return observation
        tasks, machines = decision.tasks, decision.machines
        shown = _shown(decision)
        largest = np.maximum(machines.capacity.max(axis=0), 1)
        split = SLOTS * TASK_FEATURES
        slots = observation[:split].reshape(SLOTS, TASK_FEATURES)[: len(shown)]
        slots[:, :4] = tasks.demand[shown] / largest
        slots[:, 4] = _squashed(np.nan_to_num(tasks.duration[shown]))
        slots[:, 5] = _squashed(np.nan_to_num(tasks.path[shown]))
        slots[:, 6] = _squashed(decision.now - tasks.submit[shown])
        slots[:, 7] = tasks.waiting[shown] / tasks.instances[shown]
        slots[:, 8] = tasks.running[shown] / tasks.instances[shown]
        slots[:, 9] = 1.0
        slots[:, 10] = _many(tasks.waiting[shown])
        hosts = observation[split:-CLUSTER_FEATURES].reshape(self._machines, MACHINE_FEATURES)
        hosts[:, :4] = np.maximum(machines.free, 0) / np.maximum(machines.capacity, 1)
        hosts[:, 4] = machines.up
        waiting = tasks.waiting[decision.ready].sum()
        observation[-CLUSTER_FEATURES:] = _many(np.array([len(decision.ready), waiting]))
        return observation

    def mask(self, run: JobsRun) -> NDArray[np.bool_]:
        """The pairs that fit, and starting nothing more."""
        allowed = np.zeros(SLOTS * self._machines + 1, bool)
        decision = run.decision
        if decision is None:
            allowed[-1] = True
            return allowed
        pairs = decision.fits[np.searchsorted(decision.ready, _shown(decision))]
        allowed[: pairs.size] = pairs.ravel()
        allowed[-1] = decision.may_wait
        return allowed

    def action(self, run: JobsRun, choice: int) -> tuple[int, int] | None:
        """The scenario's action for a choice."""
        allowed = self.mask(run)
        if not allowed[choice]:
            choice = len(allowed) - 1 if allowed[-1] else int(np.argmax(allowed))
        if choice == len(allowed) - 1:
            return None
        decision = run.decision
        assert decision is not None
        slot, machine = divmod(int(choice), self._machines)
        return int(_shown(decision)[slot]), machine


def _shown(decision: JobsDecision) -> NDArray[np.int64]:
    """The ready tasks in the slots, so that at least one of them could start."""
    first = decision.tasks.first
    others = decision.ready[:SLOTS]
    return np.concatenate(([first], others[others != first]))[:SLOTS]


def _many(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.minimum(np.log1p(numbers) / np.log1p(MANY), 1.0)


def _squashed(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return seconds / (seconds + SECONDS)


def picture(run: JobsRun) -> Picture:
    """What is held of each machine's resources, and the instances that wait."""
    machines, clock = run.world.machines, run.world.clock[0]
    shares = {}
    for resource in Resource:
        capacity, free = machines.capacity[:, resource], np.maximum(machines.free[:, resource], 0)
        if capacity.any():
            shares[resource.name.lower()] = (capacity - free) / np.maximum(capacity, 1)
    waiting = int(run.world.tasks.waiting[run.world.ready[: clock["ready"]]].sum())
    title = f"{run.now:,.1f} s, {int(run.world.totals[0]['completed']):,} jobs done"
    return Picture(title, "machine", shares, waiting, "instances wait")
