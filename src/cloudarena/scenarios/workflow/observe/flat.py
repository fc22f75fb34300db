"""A workflow run as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.picture import Picture
from cloudarena.engine.leases import HOUR_S

if TYPE_CHECKING:
    from cloudarena.scenarios.workflow.run import WorkflowRun
    from cloudarena.scenarios.workflow.spec import WorkflowScenario

FUNCTION_FEATURES = 7
NODE_FEATURES = 9


class WorkflowObserver:
    """Features, masks and rewards of the placement of functions.

    Observation (float32, from 0 to 1), for N nodes and K memory options:

    - for the function: its time on idle cores and the time since its workflow arrived, both as
      t / (t + critical path); its remaining path over the critical path; its threads over the
      cores of the largest node (at most 1); its memory over the largest option (at most 1), and
      whether it is more; the number n of unfinished workflows as n / (n + 10);
    - for each node: free memory, memory of what comes or waits (at most 1), each over the node's;
      load l as l / (1 + l); utilisation; hours of lease left h as h / (1 + h); seconds to boot and
      to transfer, and to its first and last completion, each as t / (1 + t).

    Action (discrete, N K): node n with memory option k as n K + k. The mask allows what
    ``decision.valid`` does. Another action takes as much memory as the node has, if that is
    allowed, or else the first action that is.

    Reward: the increase of a metric since the last decision, negative where lower is better. Over
    an episode the rewards sum to the metric. ``weighted_cost`` (the default) is
    ``w * integral of unfinished workflows + (1 - w) * scale * rent`` with the spec's objective;
    over an episode the integral is the sum of the makespans.
    """

    def __init__(self, scenario: WorkflowScenario, reward: str) -> None:
        from gymnasium.spaces import Box, Discrete  # learned policies need features without it

        self.value = scenario.kind.reward(reward)
        self._nodes = scenario.node_count
        self._options = np.array(scenario.memory_options, np.int64)
        length = FUNCTION_FEATURES + self._nodes * NODE_FEATURES
        self.observation_space = Box(0.0, 1.0, (length,), np.float32)
        self.action_space = Discrete(self._nodes * len(self._options))

    def features(self, run: WorkflowRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        observation = np.zeros(self.observation_space.shape, np.float32)
        decision = run.decision
        if decision is None:
            return observation
        function, nodes, now = decision.function, decision.nodes, decision.now
        alone = function.computation / (function.parallelism * float(nodes.sharing.core_speed))
        path = max(function.critical_path, 1e-300)
        active = int(run.world.totals[0]["active"])
        observation[:FUNCTION_FEATURES] = (
            alone / (alone + path),
            function.elapsed / (function.elapsed + path),
            function.remaining_path / path,
            min(1.0, function.parallelism / nodes.cores.max()),
            min(1.0, function.memory_req / self._options[-1]),
            float(function.memory_req > self._options[-1]),
            active / (active + 10),
        )
        columns = observation[FUNCTION_FEATURES:].reshape(self._nodes, NODE_FEATURES)
        columns[:, 0] = nodes.free_memory / nodes.memory
        promised = (nodes.coming_memory + nodes.waiting_memory) / nodes.memory
        columns[:, 1] = np.minimum(promised, 1.0)
        columns[:, 2] = _squashed(nodes.parallelism / nodes.cores)
        columns[:, 3] = np.minimum(nodes.utilisation, 1.0)
        columns[:, 4] = _squashed((nodes.expiry - now) / HOUR_S)
        columns[:, 5] = _squashed(nodes.boot)
        columns[:, 6] = _squashed(nodes.transfer)
        first = decision.first_completion
        columns[:, 7] = _squashed(np.where(np.isfinite(first), first - now, 0.0))
        columns[:, 8] = _squashed(decision.last_completion - now)
        return observation

    def mask(self, run: WorkflowRun) -> NDArray[np.bool_]:
        """The memory options that each node allows; all, where none does."""
        if run.decision is None:
            return np.ones(self.action_space.n, bool)
        allowed: NDArray[np.bool_] = run.decision.valid.ravel()
        return allowed if allowed.any() else np.ones(len(allowed), bool)

    def action(self, run: WorkflowRun, choice: int) -> tuple[int, int]:
        """The scenario's action for a choice."""
        node, option = divmod(int(choice), len(self._options))
        decision = run.decision
        if decision is None or decision.valid[node, option]:
            return node, int(self._options[option])
        whole = decision.nodes.memory
        if not decision.allows(whole[:, None])[node] and decision.valid.any():
            return self.action(run, int(np.argmax(decision.valid)))
        return node, int(whole[node])


def _squashed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Numbers from 0 on as x / (1 + x)."""
    values = np.maximum(values, 0.0)
    return values / (1.0 + values)


def picture(run: WorkflowRun) -> Picture:
    """The threads over cores and the held memory of each node, and the containers that wait."""
    nodes = run.world.nodes
    shares = {
        "threads": nodes.parallelism / nodes.cores,
        "memory": 1.0 - nodes.free_memory / nodes.memory,
    }
    active, waiting = int(run.world.totals[0]["active"]), int(nodes.waiting.sum())
    title = f"{run.now:,.1f} s, {active:,} workflows under way"
    return Picture(title, "node", shares, waiting, "containers wait for memory")
