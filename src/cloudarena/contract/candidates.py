"""A decision as learners see it: a few candidates, each a legal action, with their features.

A kind gives at most K candidates at a decision, a row of features for each, and a vector of what
they all share. A learned policy scores rows, so that one policy serves five machines or 50,000.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cloudarena.base.errors import CloudarenaError, SpecError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEWEST = 4
"""Fewer candidates would leave no room beside waiting and refusing."""
MOST = 128
"""More candidates would make a decision cost more than a look at all machines."""


@dataclass(frozen=True)
class Feature:
    """One number of a candidate or of a decision, and between which bounds it lies."""

    name: str
    description: str
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Candidates:
    """How one kind of decision is shown to learners.

    ``fill(*shown, features, context, actions)`` takes what array policies of the kind are shown,
    without parameters and generator, and returns how many candidates there are, at least 1. It
    writes a row of ``features`` (K, F) and of ``actions`` (K, A) for each, zeros to the rows of
    ``features`` behind them, and ``context`` (C,). It is a plain function that compiled code may
    call (``engine.compiled.jitable``), and gives the same bits both ways.
    """

    decides: str
    """What is decided, which also names the environment, such as ``vm`` or ``faas-scale``."""
    features: tuple[Feature, ...]
    """The features of each candidate."""
    context: tuple[Feature, ...]
    """The features of the decision."""
    version: int
    """Is raised whenever a feature changes its meaning."""
    most: int
    """How many candidates there are at most, unless a learner says otherwise."""
    fill: Callable[..., int]
    numbers: int = 1
    """How many whole numbers an action is: the columns of ``actions``; 0 where that differs from
    scenario to scenario, which say it by ``action_numbers``."""
    look: Callable[..., int] | None = None
    """``look(world, features, context, actions)`` does the same from the state of a run,
    compiled, without a decision being made for it."""
    take: Callable[..., int] | None = None
    """``take(world, numbers)`` takes a candidate in the state of a run, as the kernel's ``act``
    does; compiled code calls it."""
    options: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What may follow the name of a learned policy, with the words that are allowed, the default
    first. Their numbers are in the first places of the context before ``fill`` is called."""
    makes_arrays: bool = False
    """Whether ``fill`` makes arrays, so that its compiled code must count references."""
    early: bool = False
    """Whether learned policies are asked as soon as work waits, also where none could start."""
    as_action: Callable[[Any], Any] | None = None
    """Makes an action of a row of ``actions``, where it is no tuple of whole numbers."""
    of_state: bool = False
    """Whether ``fill`` takes the state of a run, of which it reads no more than a decision shows:
    so in kinds that have no policies of arrays."""

    def __post_init__(self) -> None:
        for features in (self.features, self.context):
            names = [feature.name for feature in features]
            if not names or len(set(names)) < len(names):
                raise CloudarenaError(f"candidates of {self.decides}: names {names} are not unique")
            for feature in features:
                if not feature.low < feature.high:
                    raise CloudarenaError(f"candidates of {self.decides}: bounds of {feature}")
        self.check_most(self.most)

    def check_most(self, most: int) -> int:
        """The number of candidates that someone asks for, if it is allowed."""
        if isinstance(most, bool) or not isinstance(most, int) or not FEWEST <= most <= MOST:
            raise SpecError(f"most: {most!r} is not allowed: {FEWEST} to {MOST} candidates")
        return most

    def numbers_of(self, scenario: Any) -> int:
        """How many whole numbers an action of a scenario, or of one of its decisions, is."""
        return self.numbers or int(scenario.action_numbers)

    def make_arrays(
        self, most: int | None = None, numbers: int | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
        """What ``fill`` writes to: features, context and actions.

        Args:
            most: how many rows, if not as many as the kind has by default.
            numbers: how many numbers an action is, where scenarios differ in that.
        """
        import numpy as np

        rows = self.most if most is None else self.check_most(most)
        return (
            np.zeros((rows, len(self.features)), np.float32),
            np.zeros(len(self.context), np.float32),
            np.zeros((rows, self.numbers or numbers or 0), np.int64),
        )

    @cached_property
    def compiled(self) -> Any:
        """``fill`` as compiled code."""
        from cloudarena.engine.compiled import jit, jit_uncounted

        return (jit if self.makes_arrays else jit_uncounted)(self.fill)

    @cached_property
    def compiled_look(self) -> Any:
        """``look`` as compiled code."""
        from cloudarena.engine.compiled import jit_uncounted

        assert self.look is not None
        return jit_uncounted(self.look)

    def action(self, numbers: Any) -> Any:
        """The action that a row of ``actions`` stands for, as a run takes it."""
        if self.as_action is not None:
            return self.as_action(numbers)
        return int(numbers[0]) if self.numbers == 1 else tuple(int(number) for number in numbers)

    def table(self) -> str:
        """The features as a table of Markdown, for the documentation."""
        lines = ["| of | feature | from | to | what it is |", "| --- | --- | --- | --- | --- |"]
        for of, features in (("candidate", self.features), ("decision", self.context)):
            lines += [
                f"| {of} | `{one.name}` | {one.low:g} | {one.high:g} | {one.description} |"
                for one in features
            ]
        return "\n".join(lines)
