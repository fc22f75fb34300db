"""One Gymnasium environment for every scenario: a run is an episode, a step takes one decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.catalogue import load
from cloudarena.contract import Kind, Observer, Policy, Run, Scenario
from cloudarena.learn.episodes import Episodes, to_part
from cloudarena.learn.lazily import Lazily
from cloudarena.learn.native import Native
from cloudarena.learn.render import MODES, RATE, drawn
from cloudarena.learn.rewards import Reward, earned_by
from cloudarena.learn.views import CandidateView, NativeView, view_of
from cloudarena.policies import begin
from cloudarena.scenarios import kind_named, kinds

FIRST = np.zeros(1, np.int64)


class CloudEnv(gymnasium.Env[Any, Any]):
    """A run as an episode: each step takes one decision.

    ``info`` has ``action_mask``, as ``action_space.sample`` takes it; ``step``, what the step did:
    the action as the run took it, the seconds from and to which it led, and by how much each total
    of the run rose; and after the last step ``metrics``. The last two are made when they are read.
    ``action_masks()`` gives the mask to sb3-contrib. A choice that is none raises InvalidAction and
    changes nothing.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        decides: which decisions are taken, such as ``vm`` or ``faas-scale``.
        overrides: changes of the spec, as ``["ticks=288"]`` or a dict.
        reward: what is earned: the name of a metric with a direction (the headline by default),
            weights by such names, or a function of the run; a reward is its increase.
        observation: ``candidates`` (the default, where the kind has them) or ``flat``.
        most: at most how many candidates there are.
        observer: one of your own, in place of ``observation``: an object, or what makes one of
            the scenario and the name of a metric.
        others: the policy that takes the decisions of other kinds; that of the spec by default.
        window: a part of the workload for each episode, such as ``{"jobs": 256}`` or
            ``{"hours": 24}``; it begins at a random place.
        render_mode: ``ansi`` or ``rgb_array``.
    """

    metadata: dict[str, Any] = {"render_modes": MODES, "render_fps": RATE}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any] | None = None,
        decides: str | None = None,
        overrides: Sequence[str] | Mapping[str, Any] = (),
        reward: Reward | None = None,
        observation: str | None = None,
        most: int | None = None,
        observer: Observer | Callable[[Scenario, str], Observer] | None = None,
        others: str | Policy | None = None,
        window: Mapping[str, Any] | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            check_choice("render_mode", render_mode, MODES)
        self.scenario = scenario_of(scenario, decides, overrides)
        kind = self.scenario.kind
        self.decides = decides or kind.name
        self._part = part_of(kind, self.decides)
        self.view = view_of(self.scenario, self.decides, observation, most, observer)
        self._episodes = Episodes(self.scenario, window, part=self._part)
        self._native: Native | None = None
        takes = isinstance(self.view, CandidateView) and self.view.candidates.take is not None
        if takes and others in (None, kind.default_policy):
            assert isinstance(self.view, CandidateView)
            self._native = Native(self._episodes, self.view.candidates, 1, reward, most)
            self.view = NativeView(self._native)
        self.observation_space = self.view.observation_space
        self.action_space = self.view.action_space
        self.render_mode = render_mode
        self._earned_in = earned_by(kind, reward)
        if others is not None and not self._part:
            raise SpecError(f"others: {others!r} is not allowed: {self.decides} is all there is")
        self._others: Policy | None = None
        if self._part and self._native is None:
            self._others = kind.policies.resolve(others or kind.default_policy)
        self._run: Run[Any] | None = None
        self._deciding = False
        self._earned = 0.0
        self._before: Any = None

    @property
    def run(self) -> Run[Any]:
        """The run of this episode."""
        if self._run is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._run

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        A given seed is the seed of the run; else the next random one. With a window the seed
        draws where it begins, or ``options={"start": k}`` says it.
        """
        super().reset(seed=seed)
        number = self._episodes.choose(seed, (options or {}).get("start"), self.np_random)
        if self._native is not None:
            self._native.begin(0, number)
            self._native.show(FIRST)
            run = self._native.run(0)
        else:
            run = self._episodes.start(number)
        if self._others is not None:
            begin(self._others, run.scenario, run.seed)
            self._let_others_decide(run)
        self._run, self._deciding = run, run.is_deciding
        # What is earned before the first decision belongs to the first step.
        self._earned = self._earned_in(run) if self._episodes.is_warm else 0.0
        self._before = run.now, run.totals()
        return self.view.observe(run, self._deciding), {"action_mask": self.view.mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes a decision; the reward is what is earned up to the next one."""
        run = self._run
        if run is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        taken, deciding = None, self._deciding
        if deciding:
            taken, deciding = self.view.take(run, action)
            if self._others is not None:
                deciding = self._let_others_decide(run)
            self._deciding = deciding
        if self._native is not None:
            run = self._run = self._native.run(0)
            reward = float(self._native.rewards[0]) if taken is not None else 0.0
        else:
            earned = self._earned_in(run)
            reward = earned - self._earned
            self._earned = earned
        observation = self.view.observe(run, deciding)
        before, after = self._before, (run.now, run.totals())
        self._before = after
        info: dict[str, Any] = {
            "action_mask": self.view.mask(),
            "step": Lazily(lambda: _what_happened(run, taken, before, after)),
        }
        if not deciding:
            info["metrics"] = Lazily(run.metrics)
        return observation, reward, not deciding, False, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, under the name that sb3-contrib looks for."""
        self.run  # noqa: B018 - says that reset is missing
        return self.view.flags()

    def render(self) -> Any:
        """The cloud as it stands: text, or an image of shape (height, width, 3)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render without render_mode: ansi or rgb_array")
            return None
        return drawn(self.run, self.render_mode)

    def _let_others_decide(self, run: Run[Any]) -> bool:
        """Lets the other policy decide what is not decided here; whether something is left."""
        assert self._others is not None
        return to_part(run, self._part, self._others)


def part_of(kind: Kind, decides: str) -> str:
    """Which of the kinds of decision is taken, such as ``place``; nothing where all are."""
    return decides.removeprefix(kind.name).removeprefix("-")


def scenario_of(scenario: Any, decides: str | None, overrides: Any) -> Scenario:
    """The scenario of an environment, which fits what is decided."""
    homes = {name: kind for kind in kinds().values() for name in (kind.name, *kind.decides)}
    if decides is not None:
        check_choice("decides", decides, homes)
    if scenario is None:
        if decides is None:
            raise SpecError("scenario: is required")
        scenario = kind_named(homes[decides].name).example
    if isinstance(scenario, Scenario):
        if overrides:
            raise SpecError("overrides: are not allowed with a scenario that is loaded already")
        found = scenario
    else:
        found = load(scenario, overrides)
    if decides is not None and homes[decides].name != found.kind.name:
        raise SpecError(f"scenario: {found.name} is not of the kind {homes[decides].name}")
    return found


def _what_happened(run: Run[Any], taken: Any, before: Any, after: Any) -> dict[str, Any]:
    """The action, from when to when it led, and by how much each total rose."""
    happened = {"action": _plain(taken), "from_s": before[0], "to_s": after[0]}
    return {**happened, **run.risen(before[1], after[1])}


def _plain(action: Any) -> Any:
    """An action as lists and numbers."""
    if isinstance(action, np.ndarray):
        return action.tolist()
    if hasattr(action, "_asdict"):
        return {name: _plain(value) for name, value in action._asdict().items()}
    return action
