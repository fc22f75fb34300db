"""Small decision problems whose best policy is known."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.scoring import Shape
from cloudarena.learn.decisions import Decisions
from cloudarena.learn.imitate import Lesson
from cloudarena.learn.network import Network

TRUTH = np.array([1.0, -2.0, 0.5, 0.0])


class Bandit:
    """One decision an episode; the reward is ``TRUTH`` times the features of what is chosen."""

    shape = Shape(4, 2)

    def __init__(self, environments=32, most=6):
        self.n, self.most = environments, most

    def reset(self, seed):
        self._rng = np.random.default_rng(seed)
        return self._next()

    def _next(self):
        count = self._rng.integers(2, self.most + 1, self.n)
        features = self._rng.uniform(-1, 1, (self.n, self.most, 4)).astype(np.float32)
        features[np.arange(self.most) >= count[:, None]] = 0.0
        context = self._rng.uniform(-1, 1, (self.n, 2)).astype(np.float32)
        self.now = Decisions(features, context, count)
        return self.now

    def step(self, choices):
        assert (choices < self.now.count).all()
        rewards = self.now.features[np.arange(self.n), choices] @ TRUTH
        return self._next(), 1000.0 * rewards, np.ones(self.n, bool)

    def best(self):
        scores = np.where(
            np.arange(self.most) < self.now.count[:, None], self.now.features @ TRUTH, -np.inf
        )
        return scores.argmax(axis=1)

    def share_right(self, shape, weights, steps=20):
        """How often a network chooses the best candidate."""
        network, right = Network(shape, weights), []
        decisions = self.reset(999)
        for _ in range(steps):
            choices = network.best(decisions)
            right.append(choices == self.best())
            decisions = self.step(choices)[0]
        return float(np.mean(right))

    def scores(self, weights, windows):
        """The mean reward of greedy play by each network, for the evaluator's protocol."""
        values = np.empty((len(weights), len(windows)))
        for j, window in enumerate(windows):
            for i, row in enumerate(weights):
                network = Network(self.shape, row.astype(np.float32))
                decisions = self.reset(window.seed)
                values[i, j] = self.step(network.best(decisions))[1].mean()
        return values


class Patience:
    """Eight decisions an episode: to cash in (1 at once) or to save (nothing now, 3 at the end).

    Who is greedy earns 8; who always saves earns 24.
    """

    shape = Shape(2, 1, (8,))
    LENGTH, LATER = 8, 3.0

    def __init__(self, environments=32):
        self.n = environments

    def reset(self, seed):
        self._rng = np.random.default_rng(seed)
        self._t = np.zeros(self.n, np.int64)
        self._saved = np.zeros(self.n, np.int64)
        return self._next()

    def _next(self):
        features = np.zeros((self.n, 3, 2), np.float32)
        self._save_is = self._rng.integers(0, 2, self.n)  # either may come first
        features[np.arange(self.n), self._save_is, 0] = 1.0
        features[np.arange(self.n), 1 - self._save_is, 1] = 1.0
        context = (self._t / self.LENGTH)[:, None].astype(np.float32)
        return Decisions(features, context, np.full(self.n, 2))

    def step(self, choices):
        saves = choices == self._save_is
        self._saved += saves
        self._t += 1
        ended = self._t == self.LENGTH
        rewards = np.where(saves, 0.0, 1.0) + np.where(ended, self.LATER * self._saved, 0.0)
        self._saved[ended], self._t[ended] = 0, 0
        return self._next(), rewards, ended

    def earned(self, shape, weights):
        """The mean reward of an episode of greedy play."""
        network, total = Network(shape, weights), np.zeros(self.n)
        decisions = self.reset(1)
        for _ in range(self.LENGTH):
            decisions, rewards, _ = self.step(network.best(decisions))
            total += rewards
        return float(total.mean())


def bandit_teacher(seed, count):
    """A lesson by who knows the truth; in a tenth of the decisions it did something else."""
    bandit = Bandit(count)
    decisions = bandit.reset(seed)
    kept = np.arange(count) % 10 != 0
    return Lesson(Decisions(*(part[kept] for part in decisions)), bandit.best()[kept], count)
