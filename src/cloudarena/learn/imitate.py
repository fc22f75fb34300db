"""Imitation: a network learns to choose what another policy chose, a heuristic or an oracle.

The loss is the cross-entropy of the teacher's candidate under the softmax of scores. Each round
asks for new decisions of the teacher, so the accuracy that is told is on what was not yet learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cloudarena.base.arrays import Ints
from cloudarena.base.errors import CloudarenaError
from cloudarena.engine.scoring import Shape
from cloudarena.engine.streams import stream
from cloudarena.learn.algorithm import Options, State, part_of, prefixed, training_seed
from cloudarena.learn.decisions import Decisions
from cloudarena.learn.network import Adam, Network, batch_of, log_softmax

Array = NDArray[np.float32]


class Lesson(NamedTuple):
    """Decisions, and which candidate the teacher took."""

    decisions: Decisions
    choices: Ints
    asked: int
    """Decisions of the teacher in all; where none of the candidates is what it did, none is here.
    """


Teacher = Callable[[int, int], Lesson]
"""Gives a lesson of about so many decisions, for a seed."""


class ImitateOptions(Options):
    """The options of imitation."""

    lesson: int = Field(4096, ge=1, le=10_000_000)
    """Decisions of the teacher that are learned at a time."""
    epochs: int = Field(8, ge=1, le=1000)
    """How often each lesson is gone through."""
    batch: int = Field(256, ge=1)
    """Decisions of a step of the gradient."""
    learning_rate: float = Field(3e-3, gt=0)
    """The rate of Adam at the start; it falls to zero."""


class Imitate:
    """Learns lesson by lesson.

    Args:
        shape: of the network.
        teacher: gives lessons.
        seed: decides everything.
        steps: decisions of the teacher in all.
        options: see ``ImitateOptions``.
        start: weights to begin with.
    """

    def __init__(
        self,
        shape: Shape,
        teacher: Teacher,
        seed: int,
        steps: int,
        options: ImitateOptions | None = None,
        start: Array | None = None,
    ) -> None:
        self.options = options or ImitateOptions()
        self.shape, self.seed, self.steps, self.all_steps = shape, seed, 0, steps
        self.note = ""
        self.accuracy = 0.0
        self._teacher = teacher
        self._round = 0
        self.policy = Network.drawn(shape, stream(seed, "imitate policy"), last=0.1)
        if start is not None:
            self.policy.weights[:] = start
        self._adam = Adam(shape.size, self.options.learning_rate, longest=5.0)

    def weights(self) -> Array:
        """The weights of the policy as it stands."""
        return self.policy.weights.copy()

    def finalists(self) -> list[Array]:
        """There are none besides."""
        return []

    def iterate(self) -> None:
        """Takes a lesson: looks how much of it is known already, then learns it."""
        options = self.options
        seed = training_seed(self.seed, f"imitate lesson {self._round}")
        lesson = self._teacher(seed, min(options.lesson, max(1, self.all_steps - self.steps)))
        if not len(lesson.choices):
            raise CloudarenaError(
                f"imitate: nothing can be learned: in {lesson.asked:,} decisions the teacher took "
                "none of the candidates"
            )
        right = self.policy.best(lesson.decisions) == lesson.choices
        self.accuracy = float(right.mean())
        self.note = f"as the teacher in {self.accuracy:.1%} of new decisions"
        part = 1.0 - min(1.0, self.steps / self.all_steps)
        rng = stream(self.seed, f"imitate {self._round}")
        for _ in range(options.epochs):
            order = rng.permutation(len(right))
            for begin in range(0, len(order), options.batch):
                few = order[begin : begin + options.batch]
                decisions = lesson.decisions.at(few)
                gradient = self._gradient(decisions, lesson.choices[few])
                self._adam.step(self.policy.weights, gradient, part)
        self.steps += lesson.asked
        self._round += 1

    def _gradient(self, decisions: Decisions, choices: Ints) -> Array:
        """The gradient of the mean of ``-log p`` of the teacher's candidates."""
        batch = batch_of(decisions)
        done = self.policy.forward(batch)
        logs, _ = log_softmax(done.scores, batch)
        slope = np.exp(logs)
        slope[batch.begin + choices] -= np.float32(1)
        slope /= np.float32(len(choices))
        return self.policy.backward(done, slope)

    def state(self) -> State:
        """What a checkpoint keeps."""
        return {
            "counts": np.array((self._round, self.steps)),
            "accuracy": np.array(self.accuracy),
            "policy": self.policy.weights,
            **prefixed("adam", self._adam.state()),
        }

    def restore(self, state: State) -> None:
        """Goes on from a checkpoint."""
        self._round, self.steps = (int(value) for value in state["counts"])
        self.accuracy = float(state["accuracy"])
        self.policy.weights[:] = state["policy"]
        self._adam.restore(part_of("adam", state))
