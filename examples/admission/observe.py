"""The queue as reinforcement learning sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from cloudarena.base.arrays import Flags

if TYPE_CHECKING:
    from admission.run import AdmissionRun
    from admission.spec import AdmissionScenario


class AdmissionObserver:
    """Features, masks and rewards of accepting customers.

    Observation (float32, from 0 to 1): the n customers in the system as n / (n + 10).
    Action (discrete, 2): reject, accept.
    """

    def __init__(self, scenario: AdmissionScenario, reward: str) -> None:
        self.value = scenario.kind.reward(reward)
        self.observation_space = Box(0.0, 1.0, (1,), np.float32)
        self.action_space = Discrete(2)

    def features(self, run: AdmissionRun) -> NDArray[np.float32]:
        """The observation of the current decision; zeros when the run has ended."""
        decision = run.decision
        found = 0 if decision is None else decision.arrival.in_system
        return np.array([found / (found + 10)], np.float32)

    def mask(self, run: AdmissionRun) -> Flags:
        """Both are always allowed."""
        return np.ones(2, bool)

    def action(self, run: AdmissionRun, choice: int) -> int:
        """The scenario's action for a choice."""
        return int(choice)
