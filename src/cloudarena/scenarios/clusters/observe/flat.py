"""A clusters run as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.scenarios.clusters.decision import Plan
from cloudarena.scenarios.clusters.policies.shares import by_weight

if TYPE_CHECKING:
    from cloudarena.scenarios.clusters.run import ClustersRun
    from cloudarena.scenarios.clusters.spec import ClustersScenario

LENGTHS = (0.5, 1.0, 2.0, 4.0)
"""The lengths of a stage, as multiples of the spec's ``stage_s``."""
LEVELS = 21
"""The levels of the weight of a class, from 0 to 20."""
CLASS_FEATURES = 4


class ClustersObserver:
    """Features, masks and rewards of shares and lengths.

    Observation (float32, from 0 to 1): the backlog's seconds of work w as w / (w + what all VMs do
    in a stage); 1 if all batches have arrived; for each class its part of the
    backlog's work, of the work that arrived since the last decision, of the work that is expected
    for the next stage, and of the VMs in force.

    Action (multi-discrete): a weight for each class (a VM each, the others of its virtual cluster
    in proportion; if all of these are 0, equally), and the length of the stage: 0.5, 1, 2 or 4
    times ``stage_s``. So every action is allowed, whatever sums the virtual clusters keep.

    Reward: minus the seconds that pass, which sum to ``makespan_s`` (the default), or the change of
    another metric so far, negative where lower is better; of the backlog the task-seconds.
    """

    def __init__(self, scenario: ClustersScenario, reward: str) -> None:
        from gymnasium.spaces import Box, MultiDiscrete  # learned policies need features without it

        self.value = scenario.kind.reward(reward)
        self._scenario = scenario
        classes = len(scenario.classes)
        self.observation_space = Box(0.0, 1.0, (2 + CLASS_FEATURES * classes,), np.float32)
        self.action_space = MultiDiscrete([LEVELS] * classes + [len(LENGTHS)])

    def features(self, run: ClustersRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        decision = run.decision
        if decision is None:
            return observation
        backlog = decision.backlog * decision.mean_seconds
        total = float(backlog.sum())
        observation[0] = total / (total + decision.vms * decision.stage_s)
        observation[1] = float(decision.all_arrived)
        columns = observation[2:].reshape(-1, CLASS_FEATURES)
        works = backlog, decision.arrivals * decision.mean_seconds, decision.load(decision.stage_s)
        for column, work in enumerate(works):
            columns[:, column] = work / max(float(work.sum()), 1e-300)
        columns[:, 3] = decision.shares / decision.vms
        return np.clip(observation, 0.0, 1.0)

    def mask(self, run: ClustersRun) -> NDArray[np.bool_]:
        """All weights and lengths, one after the other."""
        return np.ones(int(self.action_space.nvec.sum()), bool)

    def action(self, run: ClustersRun, choice: Any) -> Plan:
        """The scenario's action for a choice."""
        *weights, length = np.asarray(choice, np.int64)
        weight, shares = np.array(weights, np.float64), np.empty(len(weights), np.int64)
        for one in self._scenario.groups:
            own = list(one.classes)
            parts = weight[own] if weight[own].any() else np.ones(len(own))
            shares[own] = by_weight(parts, one.vms)
        seconds = LENGTHS[int(length)] * self._scenario.stage_s
        return Plan(shares, max(seconds, self._scenario.least_stage_s))


def picture(run: ClustersRun) -> Picture:
    """The VMs of each class and its part of the backlog's work."""
    backlog = run.backlog()
    work = backlog * run.world.mean_seconds
    parts = {
        "VMs": run.shares / run.scenario.vms,
        "backlog": work / max(float(work.sum()), 1e-300),
    }
    title = f"{run.now:,.1f} s, stage {int(run.world.clock[0]['stages'])}"
    return Picture(title, "class", parts, round(float(backlog.sum())), "tasks wait or run")
