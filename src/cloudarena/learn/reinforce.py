"""REINFORCE as CloudSimPy has it: parallel episodes on the same work are each other's baseline.

After Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement
learning", 1992. What a choice is worth is the reward from it to the end of its episode, less the
mean of that over the parallel episodes at the same step. No value net is needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cloudarena.base.arrays import Floats, Ints
from cloudarena.engine.scoring import Shape
from cloudarena.engine.streams import stream
from cloudarena.learn.algorithm import (
    MakeVector,
    Options,
    State,
    part_of,
    prefixed,
    training_seed,
)
from cloudarena.learn.decisions import Decisions, joined
from cloudarena.learn.network import (
    Adam,
    Network,
    batch_of,
    entropy_slope,
    log_softmax,
    sampled,
)

Array = NDArray[np.float32]


class ReinforceOptions(Options):
    """The options of REINFORCE."""

    environments: int = Field(12, ge=2, le=4096)
    """Episodes on the same work, side by side."""
    entropy: float = Field(0.01, ge=0)
    """What a unit of entropy is worth, in standard deviations of the advantage."""
    discount: float = Field(1.0, gt=0, le=1)
    """What a reward is worth a decision later."""
    learning_rate: float = Field(3e-3, gt=0)
    """The rate of Adam at the start; it falls to zero."""
    batch: int = Field(4096, ge=1)
    """Decisions whose gradient is computed at a time; it changes rounding only."""


class Reinforce:
    """Learns round by round; a round plays each environment to the end of an episode.

    Args:
        shape: of the network.
        make_vector: gives the environments, on the same work in all, for a part of the training.
        seed: decides everything.
        steps: decisions in all.
        options: see ``ReinforceOptions``.
        start: weights to begin with, such as those of imitation.
    """

    def __init__(
        self,
        shape: Shape,
        make_vector: MakeVector,
        seed: int,
        steps: int,
        options: ReinforceOptions | None = None,
        start: Array | None = None,
    ) -> None:
        self.options = options or ReinforceOptions()
        self.shape, self.seed, self.steps, self.all_steps = shape, seed, 0, steps
        self.note = ""
        self._make_vector = make_vector
        self._round = 0
        self.policy = Network.drawn(shape, stream(seed, "reinforce policy"))
        if start is not None:
            self.policy.weights[:] = start
        self._adam = Adam(shape.size, self.options.learning_rate)

    def weights(self) -> Array:
        """The weights of the policy as it stands."""
        return self.policy.weights.copy()

    def finalists(self) -> list[Array]:
        """There are none besides."""
        return []

    def iterate(self) -> None:
        """Plays an episode in each environment, then takes one step along the gradient."""
        part = min(1.0, self.steps / self.all_steps)
        seen, choices, rewards, goes_on = self._play(part)
        earned = rewards_to_go(rewards, self.options.discount)
        gains = (earned - baseline(earned, goes_on))[goes_on]
        gains = ((gains - gains.mean()) / (gains.std() + 1e-8)).astype(np.float32)
        decisions = joined(seen)
        gradient = np.zeros(self.shape.size, np.float64)
        entropy = 0.0
        for begin in range(0, len(gains), self.options.batch):
            here = slice(begin, begin + self.options.batch)
            few = decisions.at(here)
            slope, heat = self._gradient(few, choices[here], gains[here])
            gradient += slope
            entropy += heat
        self.note = f"entropy {entropy / len(gains):.3f}"
        gradient /= len(gains)
        self._adam.step(self.policy.weights, gradient.astype(np.float32), 1.0 - part)
        self._round += 1

    def _play(self, part: float) -> tuple[list[Decisions], Ints, Floats, NDArray[np.bool_]]:
        """The decisions and choices of all episodes, step by step; rewards, and who was deciding.

        Rewards and flags are (T, N), with zeros where an episode has ended before the others.
        """
        rng = stream(self.seed, f"reinforce {self._round}")
        vector = self._make_vector(part)
        decisions = vector.reset(training_seed(self.seed, f"reinforce episodes {self._round}"))
        seen, choices, rewards, flags = [], [], [], []
        goes_on = np.ones(len(decisions.count), np.bool_)
        while goes_on.any():
            seen.append(decisions.at(goes_on))
            chosen, _ = sampled(self.policy.scores(decisions), decisions.count, rng)
            choices.append(chosen[goes_on])
            flags.append(goes_on)
            decisions, earned, ended = vector.step(np.where(goes_on, chosen, 0))
            rewards.append(np.where(goes_on, earned, 0.0))
            goes_on = goes_on & ~ended
        self.steps += sum(map(len, choices))
        return seen, np.concatenate(choices), np.array(rewards), np.array(flags)

    def _gradient(self, few: Decisions, choices: Ints, gains: Array) -> tuple[Array, float]:
        """The gradient of ``-gain log p`` and of the bonus for entropy, summed over decisions."""
        batch = batch_of(few)
        done = self.policy.forward(batch)
        logs, entropy = log_softmax(done.scores, batch)
        slope = np.exp(logs) * gains[batch.owner]
        slope[batch.begin + choices] -= gains
        slope -= np.float32(self.options.entropy) * entropy_slope(logs, entropy, batch)
        return self.policy.backward(done, slope), float(entropy.sum())

    def state(self) -> State:
        """What a checkpoint keeps."""
        return {
            "counts": np.array((self._round, self.steps)),
            "policy": self.policy.weights,
            **prefixed("adam", self._adam.state()),
        }

    def restore(self, state: State) -> None:
        """Goes on from a checkpoint."""
        self._round, self.steps = (int(value) for value in state["counts"])
        self.policy.weights[:] = state["policy"]
        self._adam.restore(part_of("adam", state))


def rewards_to_go(rewards: Floats, discount: float) -> Floats:
    """What is earned from each step to the end, (T, N)."""
    earned = rewards.copy()
    for t in range(len(rewards) - 2, -1, -1):
        earned[t] += discount * earned[t + 1]
    return earned


def baseline(earned: Floats, goes_on: NDArray[np.bool_]) -> Floats:
    """The mean over the parallel episodes at each step, (T, 1); one that has ended has earned 0.

    Episodes that have ended count: that there is nothing more to earn, or to pay, is a part of
    what the others are held against.
    """
    return np.where(goes_on, earned, 0.0).mean(axis=1, keepdims=True)
