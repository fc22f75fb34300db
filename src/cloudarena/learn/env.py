"""One Gymnasium environment for every scenario: the contract, with an observer's eyes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from cloudarena.base.errors import SpecError
from cloudarena.catalogue import load
from cloudarena.contract import Run, Scenario
from cloudarena.scenarios import kind_named


class CloudEnv(gymnasium.Env[Any, Any]):
    """A run as an episode: each step takes one decision.

    Observation, action and reward are those of the scenario's ``observe.py``. An action that the
    mask excludes does not end the episode: the observer says what happens instead (for vm the
    request is refused). ``info["action_mask"]`` and ``action_masks()`` give the mask.

    Args:
        scenario: a scenario, a name of the catalogue, a YAML file or a dict.
        kind: the kind of scenario the environment is registered for.
        overrides: changes of the spec, as ``["ticks=288"]`` or a dict.
        reward: the metric whose increase is the reward; the scenario's headline by default.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: Scenario | str | Path | Mapping[str, Any] | None = None,
        kind: str | None = None,
        overrides: Sequence[str] | Mapping[str, Any] = (),
        reward: str | None = None,
    ) -> None:
        if scenario is None:
            if kind is None:
                raise SpecError("scenario: is required")
            scenario = kind_named(kind).example
        self.scenario = scenario if isinstance(scenario, Scenario) else load(scenario, overrides)
        if kind is not None and self.scenario.kind.name != kind:
            raise SpecError(f"scenario: {self.scenario.name} is not of the kind {kind}")
        self.observer = self.scenario.observer(reward)
        self.observation_space = self.observer.observation_space
        self.action_space = self.observer.action_space
        self._run: Run[Any] | None = None
        self._earned = 0.0

    @property
    def run(self) -> Run[Any]:
        """The run of this episode."""
        if self._run is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        return self._run

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode. A given seed is the seed of the run; else the next random one."""
        super().reset(seed=seed)
        run_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        self._run = self.scenario.start(run_seed, record="none")
        self._earned = 0.0
        return self.observer.features(self._run), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Takes a decision; the reward is what is earned up to the next one."""
        if self.run.decision is not None:
            self.run.apply(self.observer.action(self.run, action))
        earned = self.observer.value(self.run)
        reward, self._earned = earned - self._earned, earned
        ended = self.run.decision is None
        return self.observer.features(self.run), reward, ended, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Which actions are allowed now, under the name that sb3-contrib looks for."""
        mask: NDArray[np.bool_] = self.observer.mask(self.run)
        return mask

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"action_mask": self.action_masks()}
        if self.run.decision is None:
            info["metrics"] = self.run.metrics()
        return info
