"""What a learner earns: a metric, a weighted sum of metrics, or any function of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cloudarena.base.errors import SpecError
from cloudarena.contract import Kind

Reward: TypeAlias = str | Mapping[str, float] | Callable[[Any], float]


def earned_by(kind: Kind, reward: Reward | None) -> Callable[[Any], float]:
    """What has been earned in a run so far; the reward of a step is its increase.

    Args:
        kind: the kind of scenario.
        reward: the name of a metric with a direction, the headline by default; weights by such
            names, each of what that metric alone would earn; or a function of the run.
    """
    if reward is None:
        return kind.reward(kind.headline)
    if isinstance(reward, str):
        return kind.reward(reward)
    if isinstance(reward, Mapping):
        return _weighted(kind, reward)
    if callable(reward):
        return reward
    raise SpecError(
        f"reward: {reward!r} is not allowed: the name of a metric, weights by name, or a function"
    )


def _weighted(kind: Kind, weights: Mapping[str, float]) -> Callable[[Any], float]:
    """The weighted sum of what metrics earn."""
    if not weights:
        raise SpecError("reward: {} is not allowed: at least one metric with its weight")
    parts = []
    for name, weight in weights.items():
        earned = kind.reward(name)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)):
            raise SpecError(f"reward: {name}: {weight!r} is not allowed: a number")
        if not math.isfinite(weight):
            raise SpecError(f"reward: {name}: {weight!r} is not allowed: a finite number")
        parts.append((float(weight), earned))
    return lambda run: math.fsum(weight * earned(run) for weight, earned in parts)


def weights_of(kind: Kind, reward: str) -> dict[str, float]:
    """The metrics of a reward with their weights: ``income_usd``, or ``income_usd=1,failed=2``.

    A metric of which less is better is earned with a minus, so weights are above 0.
    """
    found: dict[str, float] = {}
    for word in reward.split(","):
        name, separator, text = word.strip().partition("=")
        try:
            weight = float(text) if separator else 1.0
        except ValueError:
            weight = 0.0
        if not 0.0 < weight < float("inf"):
            raise SpecError(f"reward: {word.strip()!r} is not allowed: METRIC=WEIGHT, above 0")
        kind.reward(name)
        found[name] = weight
    return found
