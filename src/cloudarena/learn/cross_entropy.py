"""The cross-entropy method over the weights of a score, by whole runs.

After Rubinstein and Kroese, "The cross-entropy method", 2004: weights are drawn from a normal
distribution with independent parts, each draw plays the same windows, and the distribution moves
to the best of them. The reward is what whole runs earn, so no credit needs to be assigned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cloudarena.engine.scoring import Shape
from cloudarena.engine.streams import stream
from cloudarena.learn.algorithm import Options, State, training_seed
from cloudarena.learn.decisions import Evaluator, Window
from cloudarena.learn.network import Network, unflatten

Array = NDArray[np.float32]
FINALISTS = 4
"""Draws of the last round that may turn out to be the best, besides the mean."""


class CrossEntropyOptions(Options):
    """The options of the cross-entropy method."""

    population: int = Field(48, ge=4, le=100_000)
    """Draws of weights in a round."""
    windows: int = Field(8, ge=1, le=100_000)
    """Windows that each draw plays in a round: the same for all, others in each round."""
    elite: float = Field(0.2, gt=0, lt=1)
    """The share of a round's draws that the distribution moves to."""
    keep: float = Field(0.3, ge=0, lt=1)
    """How much of the former distribution stays."""
    spread: float = Field(1.0, gt=0)
    """The standard deviation at the start; 0.3 of it where the start is a learned policy."""
    least_spread: float = Field(0.05, ge=0)
    """What is added to the standard deviation at the start; it falls to zero."""


class CrossEntropy:
    """Learns round by round; a round plays ``population`` times ``windows`` whole runs.

    Args:
        shape: of the network.
        evaluator: gives what plays runs, for a part of the training, from 0 to 1.
        seed: decides everything.
        steps: whole runs in all.
        options: see ``CrossEntropyOptions``.
        start: weights to begin with, such as those of imitation.
    """

    def __init__(
        self,
        shape: Shape,
        evaluator: Callable[[float], Evaluator],
        seed: int,
        steps: int,
        options: CrossEntropyOptions | None = None,
        start: Array | None = None,
    ) -> None:
        self.options = options or CrossEntropyOptions()
        self.shape, self.seed, self.steps, self.all_steps = shape, seed, 0, steps
        self.note = ""
        self._evaluator = evaluator
        self._round = 0
        decides = decisive(shape)
        if start is not None:
            self.mean = start.astype(np.float64)
            spread = 0.3 * self.options.spread
        elif shape.hidden:
            drawn = Network.drawn(shape, stream(seed, "cross-entropy start"), last=1.0)
            self.mean = drawn.weights.astype(np.float64)
            spread = self.options.spread
        else:
            self.mean = np.zeros(shape.size)
            spread = self.options.spread
        self.spread = np.where(decides, spread, 0.0) * _scale(shape)
        self._decides = decides
        self._best = np.zeros((0, shape.size), np.float32)

    def weights(self) -> Array:
        """The mean of the distribution."""
        return self.mean.astype(np.float32)

    def finalists(self) -> list[Array]:
        """The best draws of the last round."""
        return list(self._best)

    def iterate(self) -> None:
        """Draws weights, plays them all on common windows, and moves to the best."""
        options = self.options
        rng = stream(self.seed, f"cross-entropy {self._round}")
        shape = (options.population, len(self.mean))
        draws = self.mean + self.spread * rng.standard_normal(shape)
        draws[0] = self.mean
        draws = draws.astype(np.float32).astype(np.float64)  # as they are played
        part = min(1.0, self.steps / self.all_steps)
        windows = [
            Window(training_seed(self.seed, f"cross-entropy {self._round} window {k}"))
            for k in range(options.windows)
        ]
        scores = self._evaluator(part).scores(draws, windows).mean(axis=1)
        count = max(2, round(options.elite * options.population))
        order = np.argsort(-scores, kind="stable")
        elite = draws[order[:count]]
        self.mean = options.keep * self.mean + (1.0 - options.keep) * elite.mean(axis=0)
        wide = elite.std(axis=0) + np.where(self._decides, options.least_spread * (1 - part), 0.0)
        self.spread = options.keep * self.spread + (1.0 - options.keep) * wide
        self._best = draws[order[:FINALISTS]].astype(np.float32)
        self.note = f"elite {scores[order[:count]].mean():.6g}, all {scores.mean():.6g}"
        self.steps += scores.size * options.windows
        self._round += 1

    def state(self) -> State:
        """What a checkpoint keeps."""
        return {
            "counts": np.array((self._round, self.steps)),
            "mean": self.mean,
            "spread": self.spread,
            "best": self._best,
        }

    def restore(self, state: State) -> None:
        """Goes on from a checkpoint."""
        self._round, self.steps = (int(value) for value in state["counts"])
        self.mean, self.spread, self._best = state["mean"], state["spread"], state["best"]


def decisive(shape: Shape) -> NDArray[np.bool_]:
    """Which weights can change a choice: what is added to all candidates alike cannot."""
    flags = np.ones(shape.size, np.bool_)
    flags[-1] = False
    if not shape.hidden:
        flags[shape.features :] = False
    return flags


def _scale(shape: Shape) -> NDArray[np.float64]:
    """What a standard deviation of 1 is for each weight: less where more inputs are added up."""
    scale = np.ones(shape.size)
    for (rows, _), (matrix, _) in zip(shape.layers, unflatten(shape, scale), strict=True):
        if shape.hidden:
            matrix[:] = 1.0 / np.sqrt(rows)
    return scale
