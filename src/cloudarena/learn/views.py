"""What an environment shows of a decision, and what a choice does: candidates, or a flat vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any, Protocol, TypeAlias

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete
from numpy.typing import NDArray

from cloudarena.base.errors import InvalidAction, SpecError, check_choice
from cloudarena.contract import Candidates, Feature, Observer, Run, Scenario
from cloudarena.learn.native import Native

Mask: TypeAlias = NDArray[np.int8] | tuple[NDArray[np.int8], ...]
FLAT, CANDIDATES = "flat", "candidates"


class View(Protocol):
    """How decisions are shown and taken."""

    observation_space: Any
    action_space: Any

    def observe(self, run: Any, deciding: bool) -> Any:
        """The observation of the decision that a run is at; zeros when the run has ended."""

    def mask(self) -> Mask:
        """What is allowed now, as ``action_space.sample`` takes it."""

    def flags(self) -> NDArray[np.bool_]:
        """What is allowed as sb3-contrib takes it: one vector."""

    def take(self, run: Any, choice: Any) -> tuple[Any, bool]:
        """Takes a choice: the action, and whether something is to be decided then.

        Raises InvalidAction, and changes nothing, if the choice is none.
        """


def view_of(
    scenario: Scenario,
    decides: str,
    observation: str | None,
    most: int | None,
    observer: Observer | Callable[[Scenario, str], Observer] | None,
) -> View:
    """The view that someone asks for; candidates by default, where the kind has them."""
    known = scenario.kind.candidates
    if observer is not None:
        if observation is not None or most is not None:
            raise SpecError("observer: is not allowed together with observation or most")
        made: Any = observer
        if isinstance(made, type) or not hasattr(made, "observation_space"):
            made = made(scenario, scenario.kind.headline)
        return FlatView(made)
    allowed = [CANDIDATES, FLAT] if decides in known else [FLAT]
    observation = observation or allowed[0]
    check_choice("observation", observation, allowed)
    if observation == CANDIDATES:
        return CandidateView(known[decides], scenario, most)
    if most is not None:
        raise SpecError(f"most: {most!r} is not allowed: only for observation='candidates'")
    return FlatView(scenario.observer())


class Choices(Discrete):
    """The rows of candidates. Without a mask it samples among those that are candidates now."""

    def __init__(self, rows: int, now: Callable[[], NDArray[np.int8]]) -> None:
        self._now = now
        super().__init__(rows)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """A random row that is allowed."""
        if mask is None and probability is None:
            mask = self._now()
        return super().sample(mask=mask, probability=probability)

    def __reduce__(self) -> Any:
        return Discrete, (int(self.n),)

    def __deepcopy__(self, memo: Any) -> Discrete:
        return Discrete(int(self.n))


class CandidateView:
    """A view of at most K candidates, each an action that is allowed, and what they share.

    Observation: ``{"candidates": (K, F), "context": (C,)}``, float32; rows behind the last
    candidate are zero. Action (discrete, K): the row of the candidate that is taken; another row
    is refused.
    """

    def __init__(self, candidates: Candidates, scenario: Scenario, most: int | None = None) -> None:
        self.candidates = candidates
        rows = candidates.most if most is None else candidates.check_most(most)
        self.observation_space = Dict(
            {
                "candidates": _box(candidates.features, rows),
                "context": _box(candidates.context),
            }
        )
        self.action_space = Choices(rows, self.mask)
        self.count = 0
        """How many candidates there are now."""
        self._shape = rows, len(candidates.features)
        self._context = len(candidates.context)
        self.actions = np.zeros((rows, candidates.numbers_of(scenario)), np.int64)
        self._flags = np.tri(rows + 1, rows, -1, bool)
        self._flags[0, 0] = True  # after the end, where nothing counts
        self._flags.flags.writeable = False
        self._masks = self._flags.view(np.int8)

    def observe(self, run: Run[Any], deciding: bool) -> dict[str, NDArray[np.float32]]:
        """The candidates of the decision; zeros when the run has ended."""
        features = np.zeros(self._shape, np.float32)
        context = np.zeros(self._context, np.float32)
        self.count = 0
        if deciding:
            self.count = run.fill(self.candidates, features, context, self.actions)
        return {"candidates": features, "context": context}

    def mask(self) -> NDArray[np.int8]:
        """1 for each row that is a candidate."""
        return self._masks[self.count].copy()

    def flags(self) -> NDArray[np.bool_]:
        """True for each row that is a candidate."""
        return self._flags[self.count].copy()

    def take(self, run: Run[Any], choice: Any) -> tuple[Any, bool]:
        """Takes a candidate."""
        numbers = self.actions[self.row_of(choice)].tolist()
        return numbers, run.apply_numbers(numbers)

    def row_of(self, choice: Any) -> int:
        """A choice as the row of a candidate; raises InvalidAction if there is none."""
        try:
            row = index(choice)
        except TypeError:
            raise InvalidAction(f"choice {choice!r} is not allowed: a whole number") from None
        if not 0 <= row < self.count:
            raise InvalidAction(
                f"choice {row} is not allowed: 0 to {self.count - 1}, the candidates of this "
                f"{self.candidates.decides} decision"
            )
        return row


class NativeView(CandidateView):
    """A view of a run whose steps are taken in one compiled call each."""

    def __init__(self, native: Native) -> None:
        super().__init__(native.candidates, native.episodes.scenario, native.features.shape[1])
        self._native = native
        self._choice = np.zeros(1, np.int64)

    def observe(self, run: Run[Any], deciding: bool) -> dict[str, NDArray[np.float32]]:
        """The candidates of the decision; zeros when the run has ended."""
        native = self._native
        self.count = int(native.counts[0])
        if not deciding:
            native.features[0], native.context[0] = 0.0, 0.0
        return {"candidates": native.features[0].copy(), "context": native.context[0].copy()}

    def take(self, run: Run[Any], choice: Any) -> tuple[Any, bool]:
        """Takes a candidate."""
        row = self.row_of(choice)
        numbers = self._native.actions[0, row].tolist()
        self._choice[0] = row
        self._native.step(self._choice)
        return numbers, bool(self._native.counts[0] > 0)


class FlatView:
    """The view of an observer: all machines in one vector, or what a user makes of it."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.observation_space = observer.observation_space
        self.action_space = observer.action_space
        self._allowed: NDArray[np.bool_] | None = None
        self._run: Any = None

    def observe(self, run: Run[Any], deciding: bool) -> Any:
        """The features of the observer."""
        self._run, self._allowed = run, None
        return self._observer.features(run)

    def flags(self) -> NDArray[np.bool_]:
        """The mask of the observer, in one vector."""
        if self._allowed is None:
            self._allowed = np.asarray(self._observer.mask(self._run), bool)
        return self._allowed

    def mask(self) -> Mask:
        """The mask as whole numbers; of a multi-discrete space in parts."""
        whole = self.flags().astype(np.int8)
        if not isinstance(self.action_space, MultiDiscrete):
            return whole
        return tuple(np.split(whole, np.cumsum(self.action_space.nvec)[:-1]))

    def take(self, run: Run[Any], choice: Any) -> tuple[Any, bool]:
        """Takes what the observer makes of a choice."""
        if not self.action_space.contains(choice):
            raise InvalidAction(f"choice {choice!r} is not allowed: one of {self.action_space}")
        action = self._observer.action(run, choice)
        run.apply(action)
        return action, run.is_deciding


def _box(features: Sequence[Feature], rows: int | None = None) -> Box:
    """The space of some features, of so many rows. Rows that are zero lie in it."""
    low = np.array([min(0.0, one.low) for one in features], np.float32)
    high = np.array([max(0.0, one.high) for one in features], np.float32)
    if rows is not None:
        low, high = np.tile(low, (rows, 1)), np.tile(high, (rows, 1))
    return Box(low, high, dtype=np.float32)
