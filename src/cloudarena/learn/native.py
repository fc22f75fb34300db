"""N runs that take their steps in one compiled call: actions, rewards, candidates and features."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import InvalidAction
from cloudarena.contract import Candidates, Scenario
from cloudarena.contract.earnings import Earnings
from cloudarena.contract.kernel_run import KernelRun
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.engine.worlds import Snapshot, Worlds, world_at
from cloudarena.learn.episodes import Episodes
from cloudarena.learn.rewards import Reward, earned_by


class Native:
    """N runs side by side, and what a learner sees of them.

    A reward that the kernel sums up (``Earnings``) is paid in the compiled call; any other is
    asked of each run in Python after it.

    Args:
        episodes: where runs begin.
        candidates: what is decided, and how it is shown.
        count: how many runs there are.
        reward: as an environment takes it.
        most: at most how many candidates there are.
    """

    def __init__(
        self,
        episodes: Episodes,
        candidates: Candidates,
        count: int,
        reward: Reward | None = None,
        most: int | None = None,
    ) -> None:
        scenario = episodes.scenario
        kind, rows = scenario.kind, candidates.most if most is None else candidates.check_most(most)
        self.episodes, self.candidates, self.count = episodes, candidates, count
        self.features = np.zeros((count, rows, len(candidates.features)), np.float32)
        self.context = np.zeros((count, len(candidates.context)), np.float32)
        self.actions = np.zeros((count, rows, candidates.numbers_of(scenario)), np.int64)
        self.counts = np.zeros(count, np.int64)
        """How many candidates each run has; 0 where it has ended."""
        self.rewards = np.zeros(count)
        self.status = np.zeros(count, np.int64)
        self.earned = np.zeros(count)
        """What each run has earned since its episode began."""
        self.earnings = kind.earnings or NO_EARNINGS
        self._earned_in = earned_by(kind, reward)
        self._summed = summed(scenario, reward)
        sums = len(self.earnings.sums) if self._summed else 0
        self._weights = np.zeros((count, sums))
        self._sums = np.zeros(sums)
        self._is_all = np.ones(count, bool)
        self._worlds: Worlds | None = None
        self._beginnings: list[Any] = [None] * count
        self._runs: list[Any] = [None] * count
        self._look: Any = None
        self._step: Any = None

    def begin(self, which: int, number: int) -> None:
        """Begins an episode in a run; ``show`` writes what is seen of it."""
        beginning = self.episodes.begin(number)
        if self._worlds is None:
            self._worlds = Worlds(self.count, beginning.snapshot)
            of = type(beginning.run), self.candidates, self.earnings
            self._look, self._step = compiled_look(*of), compiled_step(*of)
            for other in range(self.count):
                self._worlds.put(other, beginning.snapshot)
        self._worlds.put(which, beginning.snapshot)
        self._beginnings[which] = beginning
        self._runs[which] = None
        self._weights[which] = 0.0
        self.status[which] = DECIDE if beginning.is_deciding else ENDED
        self.earned[which] = beginning.earned(self._earned_in)
        for name, weight in self._summed.items():
            self._weights[which] += weight * self.earnings.weights_of(name, beginning.run)

    def is_deciding(self, which: int) -> bool:
        """Whether something is to be decided in a run."""
        return bool(self.status[which] == DECIDE)

    def show(self, which: Ints) -> None:
        """Writes the candidates of runs that have begun."""
        assert self._worlds is not None
        self._look(
            self._worlds.layout,
            self._worlds.rows,
            which,
            self.status,
            self.actions,
            self.features,
            self.context,
            self.counts,
        )

    def write_anew(self) -> None:
        """Writes what is seen from now on to new arrays: who has the old ones may keep them."""
        self.features, self.context = np.empty_like(self.features), np.empty_like(self.context)

    def step(self, choices: Ints) -> None:
        """Takes a candidate in each run that has not ended."""
        found = self._take(choices)
        if found < 0:
            one = -1 - found
            raise InvalidAction(
                f"choice {int(choices[one])} of run {one} is not allowed: "
                f"0 to {int(self.counts[one]) - 1}, its candidates"
            )
        if found > 0:
            for one in np.flatnonzero((self.status != DECIDE) & (self.status != ENDED)).tolist():
                self._go_on(one, choices)
        if self._summed and self._is_all.all():
            return
        asked = np.flatnonzero(~self._is_all) if self._summed else np.arange(self.count)
        for one in asked.tolist():
            earned = self._earned_in(self.run(one))
            self.rewards[one] += earned - self.earned[one]
            self.earned[one] = earned

    def run(self, which: int) -> Any:
        """A run as Python sees it, as it stands."""
        assert self._worlds is not None
        if self._runs[which] is None:
            run = copy.copy(self._beginnings[which].run)
            run.move_to(self._worlds[which])
            self._runs[which] = run
        run = self._runs[which]
        run.stands(int(self.status[which]))
        return run

    def _take(self, choices: Ints, part: slice | None = None) -> int:
        """Takes the choices of all runs, or of some next to each other: see ``compiled_step``."""
        worlds = self._worlds
        assert worlds is not None
        of_runs = (
            worlds.rows,
            choices,
            self.actions,
            self.features,
            self.context,
            self.counts,
            self.earned,
            self._weights,
            self.rewards,
            self.status,
            self._is_all,
        )
        if part is not None:
            of_runs = tuple(array[part] for array in of_runs)  # type: ignore[assignment]
        return int(self._step(worlds.layout, self._sums, *of_runs))

    def _go_on(self, which: int, choices: Ints) -> None:
        """Makes room where a run has no more, as often as need be, and takes the choice again."""
        assert self._worlds is not None
        while self.status[which] == FULL:
            run = self.run(which)
            run.grow()
            self.episodes.room = max(self.episodes.room, run.room)
            self._worlds.take_in(which, Snapshot(run.world))
            run.move_to(self._worlds[which])  # it keeps what it knows besides the state
            self._take(choices, slice(which, which + 1))
        if self.status[which] not in (DECIDE, ENDED):
            why = self.run(which).why_not(int(self.status[which]))
            raise InvalidAction(f"a candidate of {self.candidates.decides} is not allowed: {why}")


def summed(scenario: Scenario, reward: Reward | None) -> dict[str, float]:
    """The metrics of a reward with their weights, if the kernel sums up all of them; else none."""
    kind = scenario.kind
    if kind.earnings is None or not kind.earnings.applies(scenario) or callable(reward):
        return {}
    named = dict(reward) if isinstance(reward, Mapping) else {reward or kind.headline: 1.0}
    return named if all(name in kind.earnings.weights for name in named) else {}


def _read_nothing(world: Any, sums: Floats) -> bool:
    """Reads no sums."""
    return True


NO_EARNINGS = Earnings((), jit_uncounted(_read_nothing), {})


@cache
def compiled_look(run: type[KernelRun[Any]], candidates: Candidates, earnings: Earnings) -> Any:
    """Compiled code that writes the candidates of some of N runs."""
    of_candidates = _inlined(candidates.look)

    def look(
        layout: Any,
        rows: Ints,
        which: Ints,
        status: Ints,
        actions: Ints,
        features: NDArray[np.float32],
        context: NDArray[np.float32],
        counts: Ints,
    ) -> None:
        for k in range(len(which)):
            one = which[k]
            world = world_at(layout, rows[one].ctypes.data)
            if status[one] == DECIDE:
                counts[one] = of_candidates(world, features[one], context[one], actions[one])
            else:
                counts[one], features[one], context[one] = 0, 0.0, 0.0

    return jit_uncounted(_named(look, run, candidates))


@cache
def compiled_step(run: type[KernelRun[Any]], candidates: Candidates, earnings: Earnings) -> Any:
    """Compiled code that takes a candidate in each of N runs, and shows where they stand then.

    It returns how many runs cannot go on before Python has made room, which their status tells; or
    ``-1 - run`` and has changed nothing if the choice of a run is none. A run that has ended stands
    still and earns nothing.
    """
    take, of_candidates = _inlined(candidates.take), _inlined(candidates.look)
    read = earnings.read

    def step(
        layout: Any,
        sums: Floats,
        rows: Ints,
        choices: Ints,
        actions: Ints,
        features: NDArray[np.float32],
        context: NDArray[np.float32],
        counts: Ints,
        earned: Floats,
        weights: Floats,
        rewards: Floats,
        status: Ints,
        is_all: NDArray[np.bool_],
    ) -> int:
        for one in range(len(rows)):
            if status[one] != ENDED and (choices[one] < 0 or choices[one] >= counts[one]):
                return -1 - one
        waiting = 0
        for one in range(len(rows)):
            rewards[one] = 0.0
            if status[one] == ENDED:
                continue
            world = world_at(layout, rows[one].ctypes.data)
            status[one] = take(world, actions[one, choices[one]])
            if status[one] != DECIDE and status[one] != ENDED:
                waiting += 1
                continue
            if weights.shape[1] > 0:
                is_all[one] = read(world, sums) or status[one] == DECIDE
                total = 0.0
                for k in range(weights.shape[1]):
                    total += weights[one, k] * sums[k]
                rewards[one] = total - earned[one]
                earned[one] = total
            if status[one] == DECIDE:
                counts[one] = of_candidates(world, features[one], context[one], actions[one])
            else:
                counts[one] = 0
        return waiting

    return jit_uncounted(_named(step, run, candidates))


@cache
def _inlined(function: Callable[..., Any]) -> Any:
    return jit_inline(function)


def _named(function: Any, run: type[Any], candidates: Candidates) -> Any:
    """A function made at run time, with a name of its own for the cache of compiled code."""
    name = f"{function.__name__}_{run.__name__}_{candidates.decides}".replace("-", "_")
    function.__name__ = function.__qualname__ = name
    return function
