"""Scenarios as training asks for them: environments side by side, whole runs, a teacher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import CloudarenaError, SpecError
from cloudarena.base.parallel import in_parallel
from cloudarena.contract import Candidates, Policy, Run, Scenario
from cloudarena.contract.learned import Learned, LearnedPolicy, policy_of
from cloudarena.engine.scoring import Shape
from cloudarena.learn.algorithm import training_seed
from cloudarena.learn.decisions import Decisions, Window
from cloudarena.learn.imitate import Lesson
from cloudarena.learn.rewards import earned_by, weights_of
from cloudarena.policies import begin
from cloudarena.policies.blame import asked

EMPTY_RUNS = 100
"""Runs in which there was nothing to decide; after so many there never will be."""


@dataclass(frozen=True)
class Cloud:
    """A scenario, what is learned of it, and by which reward."""

    scenario: Scenario
    decides: str
    reward: str
    """A metric with a direction, or several with weights, such as ``income_usd=1,failed=2``."""
    most: int
    """How many candidates are looked at."""

    @cached_property
    def candidates(self) -> Candidates:
        """How its decisions are shown."""
        return self.scenario.kind.candidates[self.decides]

    def make_arrays(self) -> tuple[NDArray[np.float32], NDArray[np.float32], Ints]:
        """What candidates are written to: features, context and actions."""
        return self.candidates.make_arrays(self.most, self.candidates.numbers_of(self.scenario))

    def earned(self, run: Run[Any]) -> float:
        """What has been earned in a run so far."""
        return float(self._value(run))

    @cached_property
    def _value(self) -> Callable[[Any], float]:
        return earned_by(self.scenario.kind, weights_of(self.scenario.kind, self.reward))

    @property
    def metric(self) -> str:
        """The first metric of the reward, by which policies are compared."""
        return next(iter(weights_of(self.scenario.kind, self.reward)))

    def shape(self, hidden: tuple[int, ...] = (), activation: str = "tanh") -> Shape:
        """The shape of a network over its candidates."""
        candidates = self.candidates
        return Shape(len(candidates.features), len(candidates.context), hidden, activation)

    def policy(self, shape: Shape, weights: NDArray[Any], name: str = "learned") -> LearnedPolicy:
        """The policy with these weights."""
        learned = Learned.of(self.scenario.kind.name, self.candidates, shape, weights, self.most)
        return policy_of(learned, name)

    @cached_property
    def looker(self) -> LearnedPolicy:
        """A policy by whose eyes decisions are looked at."""
        shape = self.shape()
        return self.policy(shape, np.zeros(shape.size, np.float32))

    @cached_property
    def part(self) -> str:
        """Which of its kinds of decision is learned, such as ``place``; nothing where all are."""
        kind = self.scenario.kind.name
        return self.decides.removeprefix(kind).removeprefix("-")

    def start(self, window: Window) -> Run[Any]:
        """Begins a run on a window."""
        return self.scenario.start(window.seed, "none")

    def to_decision(self, run: Run[Any], other: Policy) -> Any:
        """Moves on to a decision that is learned; None at the end. Others are another policy's."""
        while (decision := run.decision) is not None:
            if not self.part or decision.kind == self.part:
                return decision
            run.apply(asked(other, decision))
        return None

    def default(self) -> Policy:
        """The policy that decides what is not learned."""
        scenario = self.scenario
        return scenario.kind.policies.resolve(scenario.policy or scenario.kind.default_policy)

    def __getstate__(self) -> dict[str, Any]:
        """The fields; what is made of them is made anew in another process."""
        return {name: self.__dict__[name] for name in ("scenario", "decides", "reward", "most")}


def cloud_of(
    scenario: Scenario, reward: str | None, decides: str | None, most: int | None
) -> Cloud:
    """What is learned of a scenario; raises if there is no such thing."""
    kind = scenario.kind
    if not kind.candidates:
        raise SpecError(
            f"scenario: {scenario.name} is not allowed: {kind} has nothing to learn yet"
        )
    if decides is None and len(kind.candidates) > 1:
        raise SpecError(f"decides: is required: one of {', '.join(kind.candidates)}")
    chosen = decides or next(iter(kind.candidates))
    if chosen not in kind.candidates:
        raise SpecError(f"decides: {chosen!r} is not allowed: one of {', '.join(kind.candidates)}")
    candidates = kind.candidates[chosen]
    count = candidates.most if most is None else candidates.check_most(most)
    weights_of(kind, reward or kind.headline)
    return Cloud(scenario, chosen, reward or kind.headline, count)


class Clouds:
    """Environments of one cloud that take a step together: a loop over runs.

    Args:
        cloud: what is learned.
        count: how many environments.
        same_work: whether all play the same work, as REINFORCE's baseline wants it.
    """

    def __init__(self, cloud: Cloud, count: int, same_work: bool = False) -> None:
        self._cloud, self._count, self._same_work = cloud, count, same_work
        features, context, actions = cloud.make_arrays()
        self._features = np.zeros((count, *features.shape), np.float32)
        self._context = np.zeros((count, *context.shape), np.float32)
        self._actions = np.zeros((count, *actions.shape), np.int64)
        self._candidates = np.zeros(count, np.int64)
        self._runs: list[Run[Any]] = []
        self._episodes: list[int] = []
        self._earned: Floats = np.zeros(count)
        self._seed = 0

    def reset(self, seed: int) -> Decisions:
        """Begins an episode in each environment."""
        self._seed = seed
        self._episodes = [0] * self._count
        self._runs = [self._begun(i) for i in range(self._count)]
        return self._decisions()

    def step(self, choices: Ints) -> tuple[Decisions, Floats, NDArray[np.bool_]]:
        """Takes a candidate in each environment."""
        cloud = self._cloud
        rewards, ended = np.empty(self._count), np.zeros(self._count, np.bool_)
        for i, choice in enumerate(choices.tolist()):
            run = self._runs[i]
            if not choice < self._candidates[i]:
                raise CloudarenaError(
                    f"choice: {choice} is not allowed: 0 to {self._candidates[i] - 1}"
                )
            run.apply(cloud.candidates.action(self._actions[i, choice]))
            decision = cloud.to_decision(run, self._default)
            value = cloud.earned(run)
            rewards[i], self._earned[i] = value - self._earned[i], value
            if decision is None:
                ended[i] = True
                self._runs[i] = self._begun(i)
            else:
                self._look(i, decision)
        return self._decisions(), rewards, ended

    @cached_property
    def _default(self) -> Policy:
        return self._cloud.default()

    def _decisions(self) -> Decisions:
        return Decisions(self._features, self._context, self._candidates)

    def _begun(self, i: int) -> Run[Any]:
        """The next run of an environment, at its first decision."""
        for _ in range(EMPTY_RUNS):
            number = self._episodes[i]
            self._episodes[i] += 1
            which = "" if self._same_work else f"environment {i} "
            seed = training_seed(self._seed, f"{which}episode {number}")
            run = self._cloud.start(Window(seed))
            decision = self._cloud.to_decision(run, self._default)
            if decision is not None:
                self._earned[i] = 0.0
                self._look(i, decision)
                return run
        raise CloudarenaError(
            f"{self._cloud.scenario.name}: nothing was to be decided in {EMPTY_RUNS} runs"
        )

    def _look(self, i: int, decision: Any) -> None:
        """Writes the candidates of a decision."""
        arrays = self._features[i], self._context[i], self._actions[i]
        self._candidates[i] = self._cloud.looker.fill(
            *decision.arguments(self._cloud.looker), *arrays
        )


class Runs:
    """Scores of networks by whole compiled runs, in several processes.

    Args:
        cloud: what is learned.
        shape: of the networks.
        workers: processes; the scores do not depend on it.
        executor: runs them in their place, such as that of a cluster.
    """

    def __init__(
        self, cloud: Cloud, shape: Shape, workers: int = 1, executor: Executor | None = None
    ) -> None:
        self._cloud, self._shape, self._where = cloud, shape, (workers, executor)

    def scores(self, weights: Floats, windows: Sequence[Window]) -> Floats:
        """What each network earns in each window."""
        cloud = self._cloud
        cloud.looker.compile()
        jobs = [
            (cloud, self._shape, weights, window, column) for column, window in enumerate(windows)
        ]
        found = np.empty((len(weights), len(windows)))
        for column, values in in_parallel(_window_scores, jobs, *self._where):
            found[:, column] = values
        return found

    def of_policy(self, policy: str, windows: Sequence[Window]) -> Floats:
        """What a policy by name earns in each window."""
        jobs = [(self._cloud, policy, window, column) for column, window in enumerate(windows)]
        found = np.empty(len(windows))
        for column, value in in_parallel(_policy_score, jobs, *self._where):
            found[column] = value
        return found


def _window_scores(
    cloud: Cloud, shape: Shape, weights: Floats, window: Window, column: int
) -> tuple[int, Floats]:
    """What several networks earn in a window, whose work is made once."""
    values = np.empty(len(weights))
    for k, row in enumerate(weights):
        policy = cloud.scenario.kind.policies.resolve(cloud.policy(shape, row))
        values[k] = _played(cloud, policy, window)
    return column, values


def _policy_score(cloud: Cloud, policy: str, window: Window, column: int) -> tuple[int, float]:
    return column, _played(cloud, cloud.scenario.kind.policies.resolve(policy), window)


def _played(cloud: Cloud, policy: Policy, window: Window) -> float:
    begin(policy, cloud.scenario, window.seed)
    run = cloud.start(window)
    run.play(policy)
    return cloud.earned(run)


class Taught:
    """Lessons of a policy of the cloud: it plays, and what it does is looked up in the candidates.

    Args:
        cloud: what is learned.
        teacher: a policy, which may look into the future.
    """

    def __init__(self, cloud: Cloud, teacher: str | Policy) -> None:
        self._cloud = cloud
        self._teacher = cloud.scenario.kind.policies.resolve(teacher)

    def __call__(self, seed: int, count: int) -> Lesson:
        """About so many decisions of the teacher."""
        cloud, seen, choices, number = self._cloud, [], [], 0
        asked_for = 0
        while asked_for < count:
            run_seed = training_seed(seed, f"lesson {number}")
            number += 1
            begin(self._teacher, cloud.scenario, run_seed)
            run = cloud.start(Window(run_seed))
            before = asked_for
            while asked_for < count:
                decision = cloud.to_decision(run, self._teacher)
                if decision is None:
                    break
                asked_for += 1
                action = asked(self._teacher, decision)
                arrays = cloud.make_arrays()
                found = cloud.looker.fill(*decision.arguments(cloud.looker), *arrays)
                place = self._place(run, arrays[2][:found], action)
                if place >= 0:
                    seen.append((*arrays[:2], found))
                    choices.append(place)
                run.apply(action)
            if asked_for == before and number >= EMPTY_RUNS:
                raise CloudarenaError(f"{cloud.scenario.name}: nothing is to be decided")
        features, context, counts = zip(*seen, strict=True) if seen else ((), (), ())
        shapes = [array.shape for array in cloud.make_arrays()]
        return Lesson(
            Decisions(
                np.array(features, np.float32).reshape(-1, *shapes[0]),
                np.array(context, np.float32).reshape(-1, *shapes[1]),
                np.array(counts, np.int64),
            ),
            np.array(choices, np.int64),
            asked_for,
        )

    def _place(self, run: Any, actions: Ints, action: Any) -> int:
        """The candidate that does what the teacher did; -1 if there is none."""
        candidates = self._cloud.candidates
        wanted = run.encode(action)
        for place, numbers in enumerate(actions):
            mine = run.encode(candidates.action(numbers))
            if all(map(np.array_equal, mine, wanted)):
                return place
        return -1
