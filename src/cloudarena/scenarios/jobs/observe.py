"""A jobs run as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from cloudarena.errors import check_choice

if TYPE_CHECKING:
    from cloudarena.scenarios.jobs.simulation import JobsSimulation
    from cloudarena.scenarios.jobs.spec import JobsScenario

SLOTS = 16
"""Ready tasks that are shown: the first one that could start, then the others in order."""
TASK_FEATURES = 10
MACHINE_FEATURES = 5
SECONDS = 100.0
"""A time t is shown as t / (t + 100 s)."""

INTEGRALS = {
    "completion_mean_s": "job_s",
    "slowdown_mean": "job_weight_s",
    "task_completion_mean_s": "task_s",
    "task_slowdown_mean": "task_weight_s",
}
"""The metrics that are integrals over time of what is unfinished, over the number of it."""
REWARDS = ("makespan_s", *INTEGRALS)


class JobsObserver:
    """Features, masks and rewards of the choice of starts.

    Observation (float32, from -1 to 1), for M machines and up to 16 ready tasks, the first one
    that could start now, then the others in order:

    - for each task: its demand of cpu, memory, disk and gpu as shares of the largest machine; its
      duration, the longest path behind it and its age, each as t / (t + 100 s); the shares of its
      instances that wait and run; 1 where there is a task;
    - for each machine: what is free of each resource as a share of it; 1 if it is up;
    - the number n of ready tasks as n / (n + 16).

    Action (discrete, 16 M + 1): one instance of task k on machine m as k M + m; the last one starts
    nothing more at this instant. A gang starts whole. An action that is not allowed starts nothing
    or, where something must start, the first pair that fits.

    Reward: minus the increase of a metric's integral, so that over an episode in which all jobs
    finish the rewards sum to minus the metric: ``makespan_s`` is the time that passes,
    ``completion_mean_s`` the unfinished jobs over the number of jobs, ``slowdown_mean`` the same
    weighted by 1 / the job's shortest time; ``task_completion_mean_s`` and ``task_slowdown_mean``
    are the same for tasks, with 1 / duration.
    """

    def __init__(self, scenario: JobsScenario, reward: str) -> None:
        check_choice("reward", reward, REWARDS)
        self._reward = reward
        self._machines = scenario.machine_count
        length = SLOTS * TASK_FEATURES + self._machines * MACHINE_FEATURES + 1
        self.observation_space = Box(-1.0, 1.0, (length,), np.float32)
        self.action_space = Discrete(SLOTS * self._machines + 1)

    def features(self, run: JobsSimulation) -> NDArray[np.float32]:
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
        hosts = observation[split:-1].reshape(self._machines, MACHINE_FEATURES)
        hosts[:, :4] = np.maximum(machines.free, 0) / np.maximum(machines.capacity, 1)
        hosts[:, 4] = machines.up
        observation[-1] = len(decision.ready) / (len(decision.ready) + SLOTS)
        return observation

    def mask(self, run: JobsSimulation) -> NDArray[np.bool_]:
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

    def action(self, run: JobsSimulation, choice: int) -> tuple[int, int] | None:
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

    def value(self, run: JobsSimulation) -> float:
        """What has been earned so far."""
        if self._reward == "makespan_s":
            return -run.now
        integral = float(run.world.totals[0][INTEGRALS[self._reward]])
        of_tasks = self._reward.startswith("task_")
        count = len(run.workload.instances if of_tasks else run.workload.submit)
        return -integral / count


def _shown(decision: object) -> NDArray[np.int64]:
    """The ready tasks in the slots, so that at least one of them could start."""
    tasks = decision.tasks  # type: ignore[attr-defined]
    others = tasks.ready[:SLOTS]
    others = others[others != tasks.first]
    return np.concatenate(([tasks.first], others))[:SLOTS]


def _squashed(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    return seconds / (seconds + SECONDS)
