"""What is optimised of a scenario or a model: metrics, which way is better, and their limits."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from cloudarena.base.errors import SpecError, check_choice, nearest
from cloudarena.base.limits import Limit, parse_limit
from cloudarena.contract import Model, Scenario
from cloudarena.optimizers.problem import Direction, Objective, Problem
from cloudarena.optimizers.risk import Risk, RiskProblem, split_risk

Objectives = Sequence[str] | Mapping[str, Direction]


def scenario_objectives(objectives: Objectives, scenario: Scenario) -> tuple[Objective, ...]:
    """Metrics of a scenario, each with its own direction unless another is said."""
    measures = {metric.name: metric for metric in scenario.kind.metrics}
    given = objectives if isinstance(objectives, Mapping) else dict(map(_split, objectives))
    if not isinstance(objectives, Mapping) and len(given) < len(objectives):
        raise SpecError(f"objectives: {', '.join(objectives)} is not allowed: each once")
    found = []
    for name, direction in given.items():
        metric, risk = split_risk(name)
        check_choice("objectives", metric, measures)
        better = risk.direction(DIRECTIONS.get(str(measures[metric].better)))
        if not direction and better is None:
            raise SpecError(
                f"objectives: {name!r} is not allowed: it is neither better when higher nor when "
                f"lower; say {name}:minimise or {name}:maximise"
            )
        found.append(Objective(name, direction or cast("Direction", better)))
    return tuple(found)


def model_objectives(objectives: Objectives, model: Model) -> tuple[Objective, ...]:
    """Objectives of a model, each of which goes one way only; all by default."""
    known = {objective.name: objective for objective in model.objectives}
    given = objectives if isinstance(objectives, Mapping) else dict(map(_split, objectives))
    if len(given) < len(objectives):
        raise SpecError(f"objectives: {', '.join(objectives)} is not allowed: each once")
    found = []
    for name, direction in given.items():
        metric, risk = split_risk(name)
        way = risk.direction(known[metric].direction) if metric in known else None
        if way is None or direction not in ("", way):
            wrong = f"{name}:{direction}" if metric in known else name
            allowed = ", ".join(f"{one.name}:{one.direction}" for one in known.values())
            raise SpecError(
                f"objectives: {wrong!r} is not allowed: one of {allowed}.{nearest(metric, known)}"
            )
        found.append(Objective(name, way))
    return tuple(found) or tuple(known.values())


class Measured(NamedTuple):
    """What runs measure for some objectives and limits, and what is taken of it over runs."""

    objectives: tuple[Objective, ...]
    """The metrics of the objectives, and of those limits that are on a statistic."""
    limits: tuple[Limit, ...]
    risks: tuple[Risk, ...]
    signs: tuple[float, ...]
    """1 for each column of which lower values are better, else -1."""

    @property
    def is_of_means(self) -> bool:
        """Whether all is compared by means over runs."""
        return all(risk.kind == "mean" for risk in self.risks)


def measured_for(
    objectives: Sequence[Objective], limits: Sequence[Limit], ways: Mapping[str, Direction]
) -> Measured:
    """The metrics behind objectives and limits, such as ``response_p95_s`` of its quantile.

    Args:
        objectives: by their names, with ``@`` or without.
        limits: likewise.
        ways: the directions of metrics that have one.
    """
    plain, risks, signs = [], [], []
    for one in objectives:
        metric, risk = split_risk(one.name)
        own = one.direction if risk.kind != "probability" else ways.get(metric, "minimise")
        plain.append(Objective(metric, own))
        risks.append(risk)
        signs.append(plain[-1].sign)
    bounds = []
    for limit in limits:
        metric, risk = split_risk(limit.metric, "where")
        bounds.append(limit._replace(metric=metric))
        risks.append(risk)
        signs.append(Objective(metric, ways.get(metric, "minimise")).sign)
    return Measured(tuple(plain), tuple(bounds), tuple(risks), tuple(signs))


def with_risks(
    make: Callable[[Sequence[Objective], Sequence[Limit]], Problem],
    objectives: Sequence[Objective],
    limits: Sequence[Limit],
    ways: Mapping[str, Direction],
) -> Problem:
    """A problem by means over runs, or, if some objective or limit asks for it, over batches.

    Args:
        make: makes the problem that measures metrics.
        objectives: what is compared.
        limits: what is kept.
        ways: the directions of metrics that have one.
    """
    behind = measured_for(objectives, limits, ways)
    if behind.is_of_means:
        return make(objectives, limits)
    problem = make(behind.objectives, behind.limits)
    return RiskProblem(problem, objectives, limits, behind.risks, behind.signs)


class Where(NamedTuple):
    """What ``where`` says: rules that designs keep, and limits that their metrics keep."""

    rules: tuple[str, ...]
    limits: tuple[Limit, ...]


def split_where(texts: Sequence[str], keys: Container[str], metrics: Iterable[str]) -> Where:
    """Tells limits on metrics from rules on designs.

    Args:
        texts: such as ``["low < high", "unserved_share <= 0.001"]``.
        keys: those of designs; what begins with one is a rule.
        metrics: those of the scenario or of the model.
    """
    known = tuple(metrics)
    rules: list[str] = []
    limits: list[Limit] = []
    for text in texts:
        try:
            limit = parse_limit(text)
        except SpecError:
            rules.append(text)  # if it is no rule either, who reads rules says so
            continue
        if limit.metric in keys or _is_number(limit.metric):
            rules.append(text)
        elif split_risk(limit.metric, "where")[0] in known:
            limits.append(limit)
        else:
            raise SpecError(
                f"where: {text!r} is not allowed: {limit.metric!r} is neither a key of designs nor "
                f"a metric.{nearest(limit.metric, known)}"
            )
    return Where(tuple(rules), tuple(dict.fromkeys(limits)))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


DIRECTIONS: dict[str, Direction] = {"higher": "maximise", "lower": "minimise"}


def _split(text: str) -> tuple[str, Any]:
    """A metric's name, and its direction if one is said: ``NAME:maximise``."""
    name, _, direction = text.partition(":")
    if direction not in ("", "minimise", "maximise"):
        raise SpecError(
            f"objectives: {text!r} is not allowed: NAME, NAME:minimise or NAME:maximise"
        )
    return name, direction
