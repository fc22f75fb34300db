"""What is optimised of a scenario or a model: metrics, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.contract import Model, Scenario
from cloudarena.optimizers.problem import Direction, Objective

Objectives = Sequence[str] | Mapping[str, Direction]


def scenario_objectives(objectives: Objectives, scenario: Scenario) -> tuple[Objective, ...]:
    """Metrics of a scenario, each with its own direction unless another is said."""
    measures = {metric.name: metric for metric in scenario.kind.metrics}
    given = objectives if isinstance(objectives, Mapping) else dict(map(_split, objectives))
    if not isinstance(objectives, Mapping) and len(given) < len(objectives):
        raise SpecError(f"objectives: {', '.join(objectives)} is not allowed: each once")
    found = []
    for name, direction in given.items():
        check_choice("objectives", name, measures)
        better = measures[name].better
        if not direction and better is None:
            raise SpecError(
                f"objectives: {name!r} is not allowed: it is neither better when higher nor when "
                f"lower; say {name}:minimise or {name}:maximise"
            )
        found.append(Objective(name, direction or _DIRECTIONS[str(better)]))
    return tuple(found)


def model_objectives(objectives: Objectives, model: Model) -> tuple[Objective, ...]:
    """Objectives of a model, each of which goes one way only; all by default."""
    known = {objective.name: objective for objective in model.objectives}
    given = objectives if isinstance(objectives, Mapping) else dict(map(_split, objectives))
    if len(given) < len(objectives):
        raise SpecError(f"objectives: {', '.join(objectives)} is not allowed: each once")
    for name, direction in given.items():
        if name not in known or direction not in ("", known[name].direction):
            wrong = f"{name}:{direction}" if name in known else name
            allowed = ", ".join(f"{one.name}:{one.direction}" for one in known.values())
            raise SpecError(
                f"objectives: {wrong!r} is not allowed: one of {allowed}.{nearest(name, known)}"
            )
    return tuple(known[name] for name in given or known)


_DIRECTIONS: dict[str, Direction] = {"higher": "maximise", "lower": "minimise"}


def _split(text: str) -> tuple[str, Any]:
    """A metric's name, and its direction if one is said: ``NAME:maximise``."""
    name, _, direction = text.partition(":")
    if direction not in ("", "minimise", "maximise"):
        raise SpecError(
            f"objectives: {text!r} is not allowed: NAME, NAME:minimise or NAME:maximise"
        )
    return name, direction
