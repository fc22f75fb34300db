"""N environments that step in one compiled call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from cloudarena.base.errors import InvalidAction, SpecError, check_choice
from cloudarena.contract import Scenario
from cloudarena.learn.env import part_of, scenario_of
from cloudarena.learn.episodes import Episodes
from cloudarena.learn.native import Native
from cloudarena.learn.rewards import Reward
from cloudarena.learn.views import CANDIDATES, CandidateView


class CloudVectorEnv(VectorEnv[Any, Any, Any]):
    """N environments of candidates in one: features, masks and rewards come from one call.

    Each is bit for bit what a single environment with its seed would be. When an episode ends, the
    next one begins in the same step: the observation is the first of the new episode, and
    ``infos["episode"]`` has the return ``r`` and length ``l`` of the old one.

    Args:
        num_envs: how many environments there are.
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        decides: which decisions are taken, such as ``vm``.
        overrides: changes of the spec, as ``["ticks=288"]`` or a dict.
        reward: what is earned, as in a single environment.
        most: at most how many candidates there are.
        window: a part of the workload for each episode, such as ``{"vms": 256}``.
        observation: ``candidates``, all there is.
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        scenario: Scenario | str | Path | Mapping[str, Any] | None = None,
        decides: str | None = None,
        overrides: Sequence[str] | Mapping[str, Any] = (),
        reward: Reward | None = None,
        most: int | None = None,
        window: Mapping[str, Any] | None = None,
        observation: str | None = None,
        **more: Any,
    ) -> None:
        super().__init__()
        for name in more:
            raise SpecError(f"{name}: is not allowed: environments side by side have none")
        if observation is not None:
            check_choice("observation", observation, [CANDIDATES])
        if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
            raise SpecError(f"num_envs: {num_envs!r} is not allowed: a whole number from 1")
        self.scenario = scenario_of(scenario, decides, overrides)
        kind = self.scenario.kind
        known = [name for name, one in kind.candidates.items() if one.take is not None]
        decides = decides or kind.name
        check_choice("decides", decides, known)
        self.num_envs = num_envs
        self.native = Native(
            Episodes(self.scenario, window, part=part_of(kind, decides)),
            kind.candidates[decides],
            num_envs,
            reward,
            most,
        )
        view = CandidateView(kind.candidates[decides], self.scenario, most)
        self.single_observation_space = view.observation_space
        self.single_action_space = gymnasium.spaces.Discrete(int(view.action_space.n))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._masks = np.tri(int(view.action_space.n) + 1, int(view.action_space.n), -1, np.int8)
        self._rngs: list[np.random.Generator] = []
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        self._is_ready = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, Any]]:
        """Begins an episode in each; ``options={"start": k}`` says which, one or one for each."""
        seeds: list[int | None]
        if seed is None or isinstance(seed, int):
            seeds = [None if seed is None else seed + k for k in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise SpecError(f"seed: {len(seeds)} seeds are not allowed: {self.num_envs}")
        starts = (options or {}).get("start")
        if not isinstance(starts, (list, tuple, np.ndarray)):
            starts = [starts] * self.num_envs
        if len(starts) != self.num_envs:
            raise SpecError(f"start: {len(starts)} are not allowed: one, or {self.num_envs}")
        episodes = self.native.episodes
        self.native.write_anew()
        for one, given in enumerate(seeds):
            if given is not None or len(self._rngs) <= one:
                self._rngs[one : one + 1] = [np_random(given)[0]]
            self.native.begin(one, episodes.choose(given, starts[one], self._rngs[one]))
        self.native.show(np.arange(self.num_envs))
        self._returns[:], self._lengths[:] = 0.0, 0
        self._is_ready = True
        seen = {"candidates": self.native.features, "context": self.native.context}
        return seen, {"action_mask": self.masks()}

    def step(
        self, actions: Any
    ) -> tuple[
        dict[str, NDArray[np.float32]],
        NDArray[np.float64],
        NDArray[np.bool_],
        NDArray[np.bool_],
        dict[str, Any],
    ]:
        """Takes a candidate in each; where an episode ends, the next begins."""
        if not self._is_ready:
            raise gymnasium.error.ResetNeeded("call reset before step")
        native, choices = self.native, self._choices(actions)
        before = native.features, native.context
        native.write_anew()
        try:
            native.step(choices)
        except InvalidAction:
            native.features, native.context = before
            raise
        rewards, ended = native.rewards.copy(), native.counts == 0
        self._returns += rewards
        self._lengths += 1
        info: dict[str, Any] = {}
        if ended.any():
            which = np.flatnonzero(ended)
            info["episode"] = {
                "r": np.where(ended, self._returns, 0.0),
                "l": np.where(ended, self._lengths, 0),
            }
            info["_episode"] = ended
            for one in which.tolist():
                native.begin(one, native.episodes.choose(None, None, self._rngs[one]))
            native.show(which)
            self._returns[which], self._lengths[which] = 0.0, 0
        info["action_mask"] = self.masks()
        seen = {"candidates": native.features, "context": native.context}
        return seen, rewards, ended, np.zeros(self.num_envs, bool), info

    def _choices(self, actions: Any) -> NDArray[np.int64]:
        """A row for each environment, as compiled code takes it."""
        choices = np.asarray(actions)
        if choices.shape != (self.num_envs,) or not np.issubdtype(choices.dtype, np.integer):
            raise InvalidAction(
                f"choices of shape {choices.shape}, {choices.dtype}, are not allowed: "
                f"{self.num_envs} whole numbers"
            )
        return choices.astype(np.int64)

    def masks(self) -> NDArray[np.int8]:
        """1 for each row that is a candidate, for each environment."""
        found: NDArray[np.int8] = self._masks[self.native.counts]
        return found

    def action_masks(self) -> NDArray[np.bool_]:
        """Masks under the name, and of the type, that sb3-contrib looks for."""
        return self.masks().astype(bool)
