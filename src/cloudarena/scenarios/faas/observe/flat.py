"""A run of functions as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.scenarios.faas.decision import PlaceDecision, ScaleDecision
from cloudarena.scenarios.faas.state import NONE, WHOLE, Priority, Resource

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun
    from cloudarena.scenarios.faas.spec import FaasScenario

COMMON = 8
NODE_FEATURES = 5 + len(Priority)


class FaasObserver:
    """Features, masks and rewards of placing and scaling.

    Observation (float32, from 0 to 1), for N nodes: whether a replica is to be placed or a function
    to be scaled; the function's index over that of all; its replicas, those that are wanted, its
    waiting requests and running invocations, each as n / (n + 10); the share of the run that is
    over; what the spec's scaler suggests over the function's maximum (0 when placing). Then for
    each node, when placing: whether it is valid, its free CPU and memory over all of it, its CPU
    load l as l / (1 + l), whether it has replicas, and its scores over 10; zeros when scaling.

    Action (discrete, max(N, most replicas) + 1): placing, node n, or N to wait; scaling, that many
    replicas. An action that the mask excludes places on the first valid node, or takes the nearest
    number that is allowed.

    Reward: the increase of the metric, negative where lower is better, so that serving nothing
    never pays. Energy is divided by the completed requests, or by 1 before the first. The totals
    (energy_wh, carbon_g, cost_usd, nodes_used) are multiplied by requests over completed: as if the
    others were served at the same price. Response times count requests in the system as long as
    they have waited, and those that were rejected or timed out as long as the run.
    """

    def __init__(self, scenario: FaasScenario, reward: str) -> None:
        from gymnasium.spaces import Box, Discrete  # learned policies need features without it

        self.value = scenario.kind.reward(reward)
        self._scenario = scenario
        self._nodes = scenario.node_count
        most = max(function.scaling.maximum for function in scenario.functions)
        length = COMMON + self._nodes * NODE_FEATURES
        self.observation_space = Box(0.0, 1.0, (length,), np.float32)
        self.action_space = Discrete(max(self._nodes, most) + 1)

    def features(self, run: FaasRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        decision = run.decision
        if decision is None:
            return observation
        placing = isinstance(decision, PlaceDecision)
        index = int(run.world.clock[0]["function"])
        function = run.world.functions[index]
        counts = np.array(
            [
                function["placed"],
                function["wanted"],
                function["waiting"] + function["queued"],
                function["held"],
            ],
            np.float64,
        )
        observation[0] = float(placing)
        observation[1] = (index + 1) / len(run.world.functions)
        observation[2:6] = counts / (counts + 10.0)
        observation[6] = run.now / self._scenario.duration_s
        if isinstance(decision, ScaleDecision):
            observation[7] = decision.suggested / decision.scaling.maximum
            return observation
        nodes = decision.nodes
        load = nodes.load[:, Resource.CPU] / WHOLE
        columns = observation[COMMON:].reshape(self._nodes, NODE_FEATURES)
        columns[:, 0] = nodes.valid
        columns[:, 1] = np.clip(nodes.free_cpu / (nodes.cores * 1000), 0.0, 1.0)
        columns[:, 2] = np.clip(nodes.free_memory / nodes.memory, 0.0, 1.0)
        columns[:, 3] = load / (1.0 + load)
        columns[:, 4] = nodes.replicas > 0
        columns[:, 5:] = nodes.scores.T / 10.0
        return observation

    def mask(self, run: FaasRun) -> NDArray[np.bool_]:
        """Valid nodes and waiting; or the numbers that the function may have."""
        decision, allowed = run.decision, np.zeros(int(self.action_space.n), bool)
        if decision is None:
            return np.ones(len(allowed), bool)
        allowed[: len(decision.valid)] = decision.valid
        if isinstance(decision, PlaceDecision):
            allowed[self._nodes] = True
        return allowed

    def action(self, run: FaasRun, choice: int) -> int:
        """The scenario's action for a choice."""
        decision, chosen = run.decision, int(choice)
        if isinstance(decision, ScaleDecision):
            scaling = decision.scaling
            return min(max(chosen, scaling.minimum), scaling.maximum)
        assert decision is not None
        if chosen == self._nodes:
            return NONE
        if chosen < self._nodes and decision.valid[chosen]:
            return chosen
        return int(decision.valid.argmax())


def picture(run: FaasRun) -> Picture:
    """What replicas have asked for of each node, its load, and the requests that wait."""
    nodes, functions = run.world.nodes, run.world.functions
    shares = {
        "cpu": 1.0 - nodes["free_cpu"] / (nodes["cores"] * 1000.0),
        "memory": 1.0 - nodes["free_memory"] / nodes["memory"],
        "load": nodes["load"][:, Resource.CPU] / WHOLE,
    }
    waiting = int((functions["waiting"] + functions["queued"]).sum())
    title = f"{run.now:,.1f} s, {int(functions['placed'].sum()):,} replicas"
    return Picture(title, "node", shares, waiting, "requests wait")
