"""The points of an experiment: for each a policy, and what is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cloudarena.base.errors import CloudarenaError, SpecError, nearest
from cloudarena.contract import Kind
from cloudarena.engine.streams import stream
from cloudarena.experiments.designs import Design, DesignSpace, policy_text, spec_changes
from cloudarena.experiments.study import levels_of
from cloudarena.experiments.sweep.experiment import Experiment

Point = Design
"""A mapping: ``policy``, the parameters of it as ``NAME.parameter``, and keys of the spec."""


def points_of(experiment: Experiment, kind: Kind, policies: Sequence[str]) -> Sequence[Point]:
    """All points for a kind of scenario and policies, each of which is there once."""
    if experiment.points:
        return [
            {"policy": policy, **point}
            for policy in policies
            for point in experiment.points
            if "policy" not in point
        ] + [dict(point) for point in experiment.points if "policy" in point]
    levels = {"policy": list(policies)}
    for key, value in experiment.set.items():
        _check_owner(key, kind, policies)
        levels[key] = levels_of(value, key, "set")
        is_open = isinstance(value, Mapping) and not {"steps", "step"} & set(value)
        if is_open and experiment.design in ("grid", "one-at-a-time"):
            raise SpecError(f"set.{key}: steps: is required, unless points are drawn")
    if experiment.design == "one-at-a-time":
        return _one_at_a_time(levels)
    if experiment.design == "sobol":
        return _sobol(levels, experiment)
    return DesignSpace(levels, experiment.where, experiment.sample, experiment.seed)


def policy_words(point: Point) -> str:
    """The policy of a point with its parameters."""
    return policy_text(point)


def spec_keys(point: Point) -> dict[str, Any]:
    """The keys of the spec that a point sets."""
    return spec_changes(point)


def unit_sample(levels: Mapping[str, Sequence[Any]], sample: int, seed: int) -> np.ndarray:
    """Saltelli's sample in the unit cube, (points, keys): rows in the order that Sobol's needs."""
    try:
        from SALib.sample import sobol
    except ImportError:
        raise CloudarenaError(
            "design: sobol needs SALib: pip install 'cloudarena[analysis]'"
        ) from None
    problem = sobol_problem(levels)
    drawn = int(stream(seed, "sobol sample").integers(2**31))
    return np.asarray(sobol.sample(problem, sample, calc_second_order=False, seed=drawn))


def sobol_problem(levels: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The keys as SALib wants them."""
    names = list(levels)
    return {"num_vars": len(names), "names": names, "bounds": [[0.0, 1.0]] * len(names)}


def sobol_rows(levels: Mapping[str, Sequence[Any]], sample: int, seed: int) -> list[dict[str, Any]]:
    """What is set in each row of the sample: of its levels, each key has one by its part of 1."""
    drawn = unit_sample(levels, sample, seed)
    return [
        {
            key: values[min(int(part * len(values)), len(values) - 1)]
            for part, (key, values) in zip(row, levels.items(), strict=True)
        }
        for row in drawn
    ]


def _sobol(levels: Mapping[str, Sequence[Any]], experiment: Experiment) -> list[Point]:
    """The points of Saltelli's sample for each policy; each once, in the order drawn."""
    assert experiment.sample is not None
    keys = {key: values for key, values in levels.items() if key != "policy"}
    rows = sobol_rows(keys, experiment.sample, experiment.seed)
    return _each_once([{"policy": one, **row} for one in levels["policy"] for row in rows])


def _one_at_a_time(levels: Mapping[str, Sequence[Any]]) -> list[Point]:
    """Points of each policy: the spec as it is, then each level of each key alone."""
    return _each_once(
        [
            {"policy": policy, **change}
            for policy in levels["policy"]
            for change in (
                {},
                *(
                    {key: one}
                    for key, values in levels.items()
                    if key != "policy"
                    for one in values
                ),
            )
        ]
    )


def _each_once(points: list[Point]) -> list[Point]:
    return list({repr(sorted(point.items(), key=str)): point for point in points}.values())


def _check_owner(key: str, kind: Kind, policies: Sequence[str]) -> None:
    """Raises for a parameter that a policy does not have, or of one that does not run."""
    owner, separator, parameter = key.partition(".")
    if not separator or owner not in set(kind.policies):
        return
    if owner not in policies:
        raise SpecError(f"set: {key!r} is not allowed: {owner} is not among the policies")
    known = kind.policies.parameters(owner)
    if parameter not in known:
        raise SpecError(
            f"set: {key!r} is not allowed: {owner} has {', '.join(known) or 'no parameters'}."
            + nearest(parameter, known)
        )
