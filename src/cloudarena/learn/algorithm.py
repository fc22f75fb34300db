"""What a learning algorithm is to who drives it: rounds, weights, and a state that can be kept.

A round is a function of the state before it and of nothing else: random numbers are those of
``stream(seed, "... round")``. So who was stopped goes on from a state to the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, ValidationError

from cloudarena.base.errors import SpecError, explain
from cloudarena.contract.spec import Spec
from cloudarena.engine.scoring import Shape
from cloudarena.engine.streams import stream
from cloudarena.learn.decisions import DecisionVector

State = dict[str, NDArray[Any]]
"""Arrays by name."""
MakeVector = Callable[[float], DecisionVector]
"""Gives environments for a part of the training, from 0, its beginning, to 1."""
TRAINING_SEEDS = 2**30
"""The seeds of training are from here to twice as much; others are for tests."""

OptionsT = TypeVar("OptionsT", bound="Options")


class Options(Spec):
    """What an algorithm may be told; the docstring of a field is its help."""

    model_config = ConfigDict(use_attribute_docstrings=True)


def read_options(options: type[OptionsT], given: Mapping[str, Any]) -> OptionsT:
    """The options of an algorithm, checked."""
    try:
        return options.model_validate(dict(given))
    except ValidationError as error:
        raise SpecError(explain(error.errors(include_url=False))) from None


class Algorithm(Protocol):
    """Something that learns round by round."""

    shape: Shape
    steps: int
    """How many steps it has taken: decisions, or whole runs where those are what it asks for."""
    all_steps: int
    """How many it is to take."""
    note: str
    """What it has to say about the last round."""

    def iterate(self) -> None:
        """Does a round."""

    def weights(self) -> NDArray[np.float32]:
        """The weights of the policy as it stands."""

    def finalists(self) -> list[NDArray[np.float32]]:
        """Further weights that may turn out to be the best."""

    def state(self) -> State:
        """What a checkpoint keeps."""

    def restore(self, state: State) -> None:
        """Goes on from a checkpoint."""


def training_seed(seed: int, purpose: str) -> int:
    """A seed for work to train on, which is none of those that tests use."""
    return TRAINING_SEEDS + int(stream(seed, purpose).integers(TRAINING_SEEDS))


def prefixed(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """A state as a part of another."""
    return {f"{prefix}.{name}": value for name, value in state.items()}


def part_of(prefix: str, state: Mapping[str, NDArray[Any]]) -> State:
    """The part of a state under a prefix."""
    begin = f"{prefix}."
    return {
        name.removeprefix(begin): value
        for name, value in state.items()
        if begin == name[: len(begin)]
    }
