"""Environments of one cloud for training, stepped in one compiled call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError
from cloudarena.learn.algorithm import training_seed
from cloudarena.learn.clouds import EMPTY_RUNS, Cloud, Clouds
from cloudarena.learn.decisions import Decisions, DecisionVector
from cloudarena.learn.episodes import Episodes
from cloudarena.learn.native import Native
from cloudarena.learn.rewards import weights_of


def side_by_side(cloud: Cloud, count: int, same_work: bool = False) -> DecisionVector:
    """Environments of a cloud side by side: compiled where its decisions can be, else in a loop."""
    default = cloud.scenario.kind.default_policy
    is_default = not cloud.part or (cloud.scenario.policy or default) == default
    kind = NativeClouds if cloud.candidates.take is not None and is_default else Clouds
    return kind(cloud, count, same_work)


class NativeClouds:
    """Environments of one cloud that take a step together, in one compiled call.

    Args:
        cloud: what is learned.
        count: how many environments.
        same_work: whether all play the same work, as REINFORCE's baseline wants it.
    """

    def __init__(self, cloud: Cloud, count: int, same_work: bool = False) -> None:
        self._name, self._count, self._same_work = cloud.scenario.name, count, same_work
        reward = weights_of(cloud.scenario.kind, cloud.reward)
        episodes = Episodes(cloud.scenario, part=cloud.part)
        self._native = Native(episodes, cloud.candidates, count, reward, cloud.most)
        self._episodes = [0] * count
        self._seed = 0

    def reset(self, seed: int) -> Decisions:
        """Begins an episode in each environment."""
        self._seed = seed
        self._episodes = [0] * self._count
        return self._begun(np.arange(self._count))

    def step(self, choices: Ints) -> tuple[Decisions, Floats, NDArray[np.bool_]]:
        """Takes a candidate in each environment."""
        self._native.step(choices)
        rewards, ended = self._native.rewards.copy(), self._native.counts == 0
        return self._begun(np.flatnonzero(ended)), rewards, ended

    def _begun(self, which: Ints) -> Decisions:
        """What is to be decided, after the next episodes of some environments have begun."""
        native = self._native
        for i in which.tolist():
            for _ in range(EMPTY_RUNS):
                number = self._episodes[i]
                self._episodes[i] += 1
                whose = "" if self._same_work else f"environment {i} "
                native.begin(i, training_seed(self._seed, f"{whose}episode {number}"))
                if native.is_deciding(i):
                    break
            else:
                raise CloudarenaError(
                    f"{self._name}: nothing was to be decided in {EMPTY_RUNS} runs"
                )
        if len(which):
            native.show(which)
        return Decisions(native.features, native.context, native.counts)
