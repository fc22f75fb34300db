"""The plan of a training: all that decides what comes out, checked before anything runs."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError, check_choice
from cloudarena.catalogue import override
from cloudarena.contract import Scenario
from cloudarena.engine.scoring import ACTIVATIONS, MOST_HIDDEN, MOST_LAYERS, Shape
from cloudarena.learn.algorithm import Options, read_options
from cloudarena.learn.clouds import Cloud, cloud_of
from cloudarena.learn.cross_entropy import CrossEntropyOptions
from cloudarena.learn.curriculum import Curriculum
from cloudarena.learn.imitate import ImitateOptions
from cloudarena.learn.ppo import PpoOptions
from cloudarena.learn.reinforce import ReinforceOptions

ALGORITHMS: dict[str, type[Options]] = {
    "cross-entropy": CrossEntropyOptions,
    "ppo": PpoOptions,
    "reinforce": ReinforceOptions,
    "imitate": ImitateOptions,
}
"""The algorithms by name, with their options."""
STEPS = {"cross-entropy": 6000, "ppo": 200_000, "reinforce": 100_000, "imitate": 40_000}
"""Whole runs of cross-entropy, decisions of the others, when nobody says how many."""
REPLICATIONS = 20
"""Runs of each policy in the last comparison."""
WINDOW = "workload.window"
"""The key of a spec that makes each run a part of the work."""


@dataclass(frozen=True)
class Plan:
    """All that decides what comes out of a training."""

    scenario: Scenario
    cloud: Cloud
    algorithm: str
    steps: int
    seed: int
    shape: Shape
    options: Options
    imitate: str = ""
    curriculum: Curriculum | None = None
    window: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    """What was changed of the spec."""
    curve_windows: int = 16
    replications: int = REPLICATIONS

    @cached_property
    def said(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "command": self.command,
            "scenario": _without_folder(self.scenario.name),
            "spec": hashlib.sha256(self.scenario.to_yaml().encode()).hexdigest()[:16],
            "decides": self.cloud.decides,
            "reward": self.cloud.reward,
            "metric": self.cloud.metric,
            "algorithm": self.algorithm,
            "steps": self.steps,
            "seed": self.seed,
            "hidden": list(self.shape.hidden),
            "activation": self.shape.activation,
            "most": self.cloud.most,
            "imitate": self.imitate,
            "curriculum": str(self.curriculum or ""),
            "window": dict(self.window),
            "options": self.options.model_dump(),
            "curve_windows": self.curve_windows,
            "replications": self.replications,
        }

    @property
    def command(self) -> str:
        """The command that trains it again, but for where it is written."""
        words = [_without_folder(self.scenario.name), "--algorithm", self.algorithm]
        words += ["--reward", self.cloud.reward, "--steps", str(self.steps)]
        words += ["--seed", str(self.seed)]
        if len(self.scenario.kind.candidates) > 1:
            words += ["--decides", self.cloud.decides]
        if self.shape.hidden:
            words += ["--hidden", ",".join(map(str, self.shape.hidden))]
            words += ["--activation", self.shape.activation]
        if self.imitate:
            words += ["--imitate", self.imitate]
        if self.curriculum:
            words += ["--curriculum", str(self.curriculum)]
        for key, value in self.window.items():
            words += ["--window", f"{key}={value:g}"]
        if self.cloud.most != self.cloud.candidates.most:
            words += ["--candidates", str(self.cloud.most)]
        if self.replications != REPLICATIONS:
            words += ["--replications", str(self.replications)]
        for key, value in self.changes.items():
            words += ["--set", f"{key}={json.dumps(value)}"]
        given = self.options.model_dump(exclude_defaults=True)
        for key, value in given.items():
            words += ["--option", f"{key}={value}"]
        return f"cloudarena train {shlex.join(words)}"


def make_plan(
    scenario: Scenario,
    algorithm: str,
    reward: str | None,
    steps: int | None,
    seed: int,
    hidden: Sequence[int],
    activation: str,
    imitate: str | None,
    curriculum: str | None,
    window: Mapping[str, float] | None,
    decides: str | None,
    most: int | None,
    replications: int,
    options: Mapping[str, Any] | None,
    changes: Mapping[str, Any],
) -> Plan:
    """The plan of ``cloudarena.train``'s arguments, all checked before anything runs."""
    check_choice("algorithm", algorithm, ALGORITHMS)
    steps = STEPS[algorithm] if steps is None else steps
    check_whole("steps", steps, 1)
    check_whole("replications", replications, 2)
    scenario = windowed(scenario, window or {})
    cloud = cloud_of(scenario, reward, decides, most)
    if algorithm == "imitate" and not imitate:
        imitate = scenario.policy or scenario.kind.default_policy
    if imitate:
        scenario.kind.policies.resolve(imitate)
    plan = Plan(
        scenario,
        cloud,
        algorithm,
        steps,
        seed,
        cloud.shape(_hidden(hidden), _activation(activation)),
        read_options(ALGORITHMS[algorithm], options or {}),
        imitate or "",
        Curriculum.parse(curriculum) if curriculum else None,
        window or {},
        changes,
        replications=replications,
    )
    if plan.curriculum is not None:
        plan.curriculum.scenario(scenario, 0.0)
    return plan


def windowed(scenario: Scenario, window: Mapping[str, float]) -> Scenario:
    """The scenario whose runs are parts of its work, drawn by the seed: ``workload.window``."""
    if not window:
        return scenario
    data = scenario.model_dump(mode="json")
    whole = {key: int(value) if value == int(value) else value for key, value in window.items()}
    override(data, WINDOW, whole)
    try:
        found = scenario.kind.scenario.parse(data, scenario.name)
    except SpecError as error:
        if "unknown key 'window'" not in str(error):
            raise
        words = ", ".join(f"{key}={value:g}" for key, value in window.items())
        raise SpecError(
            f"window: {words} is not allowed: the work of {scenario.name} has no windows"
        ) from None
    return found.measuring(*scenario.kind.own_metrics)


def _hidden(sizes: Sequence[int]) -> tuple[int, ...]:
    if len(sizes) > MOST_LAYERS:
        raise SpecError(
            f"hidden: {len(sizes)} layers are not allowed: at most {MOST_LAYERS}, such as 32,32"
        )
    for size in sizes:
        check_whole("hidden", size, 1, MOST_HIDDEN)
    return tuple(int(size) for size in sizes)


def _activation(name: str) -> str:
    check_choice("activation", name, ACTIVATIONS[1:])
    return name


def _without_folder(name: str) -> str:
    """The name of a scenario; of a file of the user's, without the folder of this machine."""
    return Path(name).name if name.endswith((".yaml", ".yml")) else name
