"""Proximal policy optimisation for candidate-scoring networks, in NumPy.

After Schulman et al., "Proximal policy optimization algorithms", 2017, with advantages after
Schulman et al., "High-dimensional continuous control using generalized advantage estimation", 2016.
A policy draws candidates by the softmax of their scores; candidates that are not there have no
part in it. The value net reads the context and the mean of the candidates.
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
from cloudarena.learn.decisions import Decisions, Replayed
from cloudarena.learn.network import (
    Adam,
    Batch,
    Network,
    batch_of,
    batch_of_means,
    entropy_slope,
    log_softmax,
    sampled,
)

Array = NDArray[np.float32]
BLOCK = 128
"""Decisions whose gradient is computed at a time: what is kept of them fits the cache."""


class PpoOptions(Options):
    """The options of proximal policy optimisation."""

    environments: int = Field(16, ge=1, le=4096)
    """Episodes that are played side by side."""
    horizon: int = Field(128, ge=1, le=100_000)
    """Decisions of each environment between two updates."""
    epochs: int = Field(4, ge=1, le=100)
    """How often an update goes through what was played."""
    batches: int = Field(4, ge=1, le=10_000)
    """The number of parts that it is cut into each time."""
    clip: float = Field(0.2, gt=0, lt=1)
    """How far the probability of a choice may move in an update before it stops to pay."""
    entropy: float = Field(0.01, ge=0)
    """What a unit of entropy is worth, in standard deviations of the advantage."""
    discount: float = Field(0.995, gt=0, le=1)
    """What a reward is worth a decision later."""
    trace: float = Field(0.95, ge=0, le=1)
    """The lambda of generalised advantages: 0 trusts the value net, 1 what was earned."""
    learning_rate: float = Field(1e-3, gt=0)
    """The rate of Adam at the start; it falls to zero."""
    fresh: int = Field(200, ge=1)
    """Updates after which all environments begin new episodes."""


class Rollout:
    """What was seen, chosen and earned in the environments between two updates."""

    def __init__(self, steps: int, first: Decisions) -> None:
        n, most, width = first.features.shape
        self.features = np.empty((steps + 1, n, most, width), np.float32)
        self.context = np.empty((steps + 1, n, first.context.shape[1]), np.float32)
        self.count = np.empty((steps + 1, n), np.int64)
        self.choices = np.empty((steps, n), np.int64)
        self.logs = np.empty((steps, n), np.float32)
        self.rewards = np.empty((steps, n))
        self.ended = np.empty((steps, n), np.bool_)

    def see(self, t: int, decisions: Decisions) -> None:
        """Notes what is to be decided at a step."""
        self.features[t], self.context[t], self.count[t] = decisions

    def decisions(self, steps: int) -> Decisions:
        """The decisions of the first steps, one after the other."""
        features, context, count = self.features[:steps], self.context[:steps], self.count[:steps]
        size = count.size
        return Decisions(
            features.reshape(size, *features.shape[2:]), context.reshape(size, -1), count.ravel()
        )


class Ppo:
    """Learns round by round; a round plays ``horizon`` decisions of each environment.

    Args:
        shape: of the network of scores; that of values has the same.
        make_vector: gives the environments for a part of the training, from 0 to 1.
        seed: decides everything.
        steps: decisions in all.
        options: see ``PpoOptions``.
        start: weights to begin with, such as those of imitation.
    """

    def __init__(
        self,
        shape: Shape,
        make_vector: MakeVector,
        seed: int,
        steps: int,
        options: PpoOptions | None = None,
        start: Array | None = None,
    ) -> None:
        self.options = options or PpoOptions()
        self.shape, self.seed, self.steps, self.all_steps = shape, seed, 0, steps
        self.note = ""
        self._make_vector = make_vector
        self._round = self._began = 0
        self.policy = Network.drawn(shape, stream(seed, "ppo policy"))
        if start is not None:
            self.policy.weights[:] = start
        self.value = Network.drawn(shape, stream(seed, "ppo value"), last=1.0)
        rate = self.options.learning_rate
        self._adams = Adam(shape.size, rate), Adam(shape.size, rate)
        self._vector: Replayed
        self._returns: Floats = np.zeros(0)
        self._spread = np.zeros(3)  # count, mean, squared deviations of discounted returns

    def weights(self) -> Array:
        """The weights of the policy as it stands."""
        return self.policy.weights.copy()

    def finalists(self) -> list[Array]:
        """There are none besides."""
        return []

    def iterate(self) -> None:
        """Plays, then improves the policy by what came of it."""
        if self._round % self.options.fresh == 0:
            self._begin()
        rng = stream(self.seed, f"ppo {self._round}")
        rollout = self._play(rng)
        self._learn(rollout, rng)
        self._round += 1

    def _begin(self) -> None:
        """Begins new episodes, as hard as this part of the training is."""
        self._began = self.steps
        self._vector = Replayed(self._make_vector(self._began / self.all_steps))
        decisions = self._vector.reset(self._vector_seed())
        self._returns = np.zeros(len(decisions.count))

    def _vector_seed(self) -> int:
        return training_seed(self.seed, f"ppo episodes from {self._began}")

    def _play(self, rng: np.random.Generator) -> Rollout:
        """Takes ``horizon`` decisions in each environment, by the policy as it stands."""
        decisions = self._vector.decisions
        rollout = Rollout(self.options.horizon, decisions)
        for t in range(self.options.horizon):
            rollout.see(t, decisions)
            scores = self.policy.scores(decisions)
            rollout.choices[t], rollout.logs[t] = sampled(scores, decisions.count, rng)
            decisions, rollout.rewards[t], rollout.ended[t] = self._vector.step(rollout.choices[t])
        rollout.see(self.options.horizon, decisions)
        self.steps += rollout.choices.size
        return rollout

    def _learn(self, rollout: Rollout, rng: np.random.Generator) -> None:
        """Goes through what was played, several times, in random parts."""
        size = rollout.choices.size
        values = self.value.forward(batch_of_means(rollout.decisions(len(rollout.count)))).scores
        values = values.reshape(rollout.count.shape)
        rewards = self._scaled(rollout)
        gains = advantages(
            rewards, values, rollout.ended, self.options.discount, self.options.trace
        )
        targets = (gains + values[:-1]).ravel()
        gains = gains.ravel()
        gains = ((gains - gains.mean()) / (gains.std() + 1e-8)).astype(np.float32)
        decisions = rollout.decisions(self.options.horizon)
        means = batch_of_means(decisions)
        choices, logs = rollout.choices.ravel(), rollout.logs.ravel()
        part = 1.0 - min(1.0, (self.steps - size) / self.all_steps)
        for _ in range(self.options.epochs):
            order = rng.permutation(size)
            for chosen in np.array_split(order, min(self.options.batches, size)):
                gradient = np.zeros(self.shape.size, np.float32)
                for begin in range(0, len(chosen), BLOCK):
                    few = chosen[begin : begin + BLOCK]
                    gradient += self._policy_gradient(
                        decisions.at(few), choices[few], logs[few], gains[few], len(chosen)
                    )
                self._adams[0].step(self.policy.weights, gradient, part)
                own = np.arange(len(chosen))
                batch = Batch(means.features[chosen], means.context[chosen], own, own)
                done = self.value.forward(batch)
                miss = (done.scores - targets[chosen]) / np.float32(len(chosen))
                self._adams[1].step(self.value.weights, self.value.backward(done, miss), part)

    def _policy_gradient(
        self, few: Decisions, choices: Ints, before: Array, gains: Array, size: int
    ) -> Array:
        """The part of some decisions in the gradient of the mean over ``size`` of them.

        It is that of the clipped loss less its bonus for entropy.
        """
        batch = batch_of(few)
        done = self.policy.forward(batch)
        logs, entropy = log_softmax(done.scores, batch)
        self.note = f"entropy {float(entropy.mean()):.3f}"
        chosen = batch.begin + choices
        ratio = np.exp(logs[chosen] - before)
        clip = np.float32(self.options.clip)
        too_far = np.where(gains > 0, ratio > 1 + clip, ratio < 1 - clip)
        pull = np.where(too_far, np.float32(0), -gains * ratio)
        slope = -np.exp(logs) * pull[batch.owner]
        slope[chosen] += pull
        slope -= np.float32(self.options.entropy) * entropy_slope(logs, entropy, batch)
        slope /= np.float32(size)
        return self.policy.backward(done, slope)

    def _scaled(self, rollout: Rollout) -> Floats:
        """The rewards in standard deviations of discounted returns, so that units do not matter."""
        for t, rewards in enumerate(rollout.rewards):
            self._returns = self._returns * self.options.discount + rewards
            count, mean, squares = self._spread
            n = len(rewards)
            own = self._returns.mean()
            gap = own - mean
            self._spread = np.array(
                (
                    count + n,
                    mean + gap * n / (count + n),
                    squares
                    + ((self._returns - own) ** 2).sum()
                    + gap * gap * count * n / (count + n),
                )
            )
            self._returns = np.where(rollout.ended[t], 0.0, self._returns)
        spread = float(np.sqrt(self._spread[2] / self._spread[0]))
        return rollout.rewards / (spread if spread > 0.0 else 1.0)

    def state(self) -> State:
        """What a checkpoint keeps: no state of a cloud, but what was chosen in it."""
        return {
            "counts": np.array((self._round, self.steps, self._began)),
            "policy": self.policy.weights,
            "value": self.value.weights,
            "returns": self._returns,
            "spread": self._spread,
            "log": self._vector.log(),
            **prefixed("adam0", self._adams[0].state()),
            **prefixed("adam1", self._adams[1].state()),
        }

    def restore(self, state: State) -> None:
        """Goes on from a checkpoint; episodes that were under way are played again to there."""
        self._round, self.steps, self._began = (int(value) for value in state["counts"])
        self.policy.weights[:], self.value.weights[:] = state["policy"], state["value"]
        self._returns, self._spread = state["returns"], state["spread"]
        for place, adam in enumerate(self._adams):
            adam.restore(part_of(f"adam{place}", state))
        if self._round % self.options.fresh:
            self._vector = Replayed(self._make_vector(self._began / self.all_steps))
            self._vector.replay(self._vector_seed(), state["log"])


def advantages(
    rewards: Floats, values: Array, ended: NDArray[np.bool_], discount: float, trace: float
) -> Array:
    """How much better each choice was than the value net had it, (T, N): generalised advantages.

    ``values`` has a row more: what follows the last decision. Beyond an end nothing follows.
    """
    gains = np.empty(rewards.shape)
    later = np.zeros(rewards.shape[1])
    for t in range(len(rewards) - 1, -1, -1):
        goes_on = 1.0 - ended[t]
        surprise = rewards[t] + discount * values[t + 1] * goes_on - values[t]
        later = surprise + discount * trace * goes_on * later
        gains[t] = later
    return gains.astype(np.float32)
