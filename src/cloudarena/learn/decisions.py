"""What training asks of a cloud: decisions of many environments, and scores of whole runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints


class Decisions(NamedTuple):
    """What is to be decided in each of N environments."""

    features: NDArray[np.float32]
    """Shape (N, K, F); rows behind the last candidate are zero."""
    context: NDArray[np.float32]
    """Shape (N, C)."""
    count: NDArray[np.int64]  # type: ignore[assignment]
    """How many candidates are real in each, at least 1."""

    def at(self, places: NDArray[Any] | slice) -> Decisions:
        """Some of the decisions."""
        return Decisions(self.features[places], self.context[places], self.count[places])

    def copy(self) -> Decisions:
        """Gives the same in arrays of its own."""
        return Decisions(self.features.copy(), self.context.copy(), self.count.copy())


def joined(parts: Sequence[Decisions]) -> Decisions:
    """Decisions one after the other."""
    features, context, count = zip(*parts, strict=True)
    return Decisions(np.concatenate(features), np.concatenate(context), np.concatenate(count))


class DecisionVector(Protocol):
    """Many environments that take a step together."""

    def reset(self, seed: int) -> Decisions:
        """Begins an episode in each environment; the seed decides which ones come."""

    def step(self, choices: Ints) -> tuple[Decisions, Floats, NDArray[np.bool_]]:
        """Takes a candidate in each environment: what is next, the rewards, and what has ended.

        Where an episode has ended the next one has begun: the decision is its first.
        """


class Window(NamedTuple):
    """The work of a seed: what arrives, or which part of a trace."""

    seed: int


class Evaluator(Protocol):
    """Plays whole runs under candidate networks, on common windows."""

    def scores(self, weights: Floats, windows: Sequence[Window]) -> Floats:
        """The score of each row of weights in each window, (P, windows); higher is better."""


class Replayed:
    """A vector that can go back to where it was: it keeps all choices since its last reset.

    An episode in an environment is its seed and what was chosen, so a checkpoint needs no state of
    a simulation, of whatever kind.
    """

    def __init__(self, vector: DecisionVector) -> None:
        self.vector = vector
        self.decisions: Decisions
        self._choices: list[NDArray[np.int16]] = []

    def reset(self, seed: int) -> Decisions:
        """Begins anew and forgets what was."""
        self._choices = []
        self.decisions = self.vector.reset(seed).copy()
        return self.decisions

    def step(self, choices: Ints) -> tuple[Decisions, Floats, NDArray[np.bool_]]:
        """Takes a step and keeps what was chosen."""
        self._choices.append(choices.astype(np.int16))
        decisions, rewards, ended = self.vector.step(choices)
        self.decisions = decisions.copy()
        return self.decisions, rewards, ended

    def log(self) -> NDArray[np.int16]:
        """The choices since the reset, (steps, N)."""
        return np.array(self._choices, np.int16).reshape(len(self._choices), -1)

    def replay(self, seed: int, log: NDArray[np.int16]) -> Decisions:
        """Goes to where a log of choices leads."""
        self.reset(seed)
        for choices in log:
            self.step(choices.astype(np.int64))
        return self.decisions
