"""What is optimised, as a user writes it: a scenario, a space of designs, objectives.

::

    spec: tiers/rubis-hour            # a name of the catalogue, a file, or the spec itself
    designs:
      policy: utilisation
      utilisation.high: {from: 0.8, to: 0.95, steps: 4}
      utilisation.raised: [0.6, 0.7, 0.8]
    where: [utilisation.raised < utilisation.high]
    objectives: [response_p95_s, cost_usd]

Instead of ``spec`` and ``designs`` it may have ``shares``: the closed-form model of VM clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, check_choice, explain, nearest
from cloudarena.catalogue import (
    load,
    override,
    read_overrides,
    read_spec,
    read_yaml,
    studies,
)
from cloudarena.contract import Scenario, Spec
from cloudarena.experiments.designs import Design, DesignSpace, Range
from cloudarena.experiments.shares import Shares
from cloudarena.optimizers import Problem
from cloudarena.optimizers.problem import Direction, Objective, SomeObjectives
from cloudarena.scenarios.clusters.policies.model import ClusterModel

Objectives = Sequence[str] | Mapping[str, Direction]


class Study(Spec):
    """The file; all keys but ``spec`` or ``shares`` may be left out."""

    spec: str | dict[str, Any] | None = None
    description: str = ""
    designs: dict[str, Any] | None = None
    """For each key its levels; without it, the policies of the scenario."""
    where: tuple[str, ...] = ()
    sample: int | None = Field(None, ge=1, le=1_000_000)
    objectives: tuple[str, ...] | dict[str, Direction] = ()
    shares: Shares | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Study:
        if self.shares is not None and (self.designs or self.where or self.sample):
            raise PydanticCustomError(
                "not_allowed", "shares: is not allowed together with designs, where or sample"
            )
        if self.designs is not None and not self.designs:
            raise PydanticCustomError(
                "not_allowed",
                "designs: an empty mapping is not allowed: at least one key with its levels; "
                "without designs the policies of the scenario are tried",
            )
        return self


class LoadedStudy(NamedTuple):
    """A study whose scenario is there."""

    name: str
    study: Study
    source: str | dict[str, Any]
    """What the scenario is loaded from, again for each design that changes the spec."""
    overrides: dict[str, Any]
    folder: Path | None
    scenario: Scenario | None
    """None for the closed-form model."""

    @property
    def description(self) -> str:
        """In a sentence."""
        fallback = self.scenario.description if self.scenario is not None else ""
        return self.study.description or fallback

    @property
    def note(self) -> str:
        """What a user may not expect: that policies were compared, since nothing else was said."""
        if self.study.shares is not None or self.study.designs is not None:
            return ""
        note = "No designs were given: the policies of the scenario were compared."
        if self.scenario is not None and self.scenario.kind.name == "clusters":
            note += (
                " To search shares of the VMs, write them into a study, as in `shares: {vms: 20, "
                "tasks: [300, 90], seconds: [2, 5], memory: [80, 220]}`: docs/optimize-shares.md."
            )
        return note

    def space(self, seed: int) -> DesignSpace:
        """The designs of a study with a scenario."""
        assert self.scenario is not None
        designs = self.study.designs or {}
        levels = _levels(designs, self.scenario)
        if self.study.sample is None:
            for key, value in designs.items():
                if isinstance(value, Mapping) and not {"steps", "step"} & set(value):
                    raise SpecError(
                        f"{self.name}: designs.{key}: steps: is required, unless the study says "
                        "how many designs to sample"
                    )
        try:
            return DesignSpace(levels, self.study.where, self.study.sample, seed)
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None

    def closed_form(self, objectives: Sequence[Objective], seed: int) -> Problem:
        """The closed-form model as a problem."""
        assert self.study.shares is not None
        model = self.study.shares.problem(seed)
        if tuple(objectives) == model.objectives:
            return model
        return SomeObjectives(model, objectives)

    def scenario_of(self, design: Design) -> Scenario:
        """The scenario with the design's keys of the spec set."""
        assert self.scenario is not None
        changes = spec_changes(design)
        if not changes:
            return self.scenario
        return load(self.source, {**self.overrides, **changes}, self.folder)

    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else the headline of the scenario."""
        chosen: Objectives = wanted or self.study.objectives
        if self.scenario is None:
            return _of_model(chosen)
        return _of_scenario(chosen or (self.scenario.kind.headline,), self.scenario)


def read_study(
    spec: str | Path | Mapping[str, Any], overrides: Sequence[str] | Mapping[str, Any] = ()
) -> LoadedStudy:
    """A study from a file or a dict, or that of a scenario.

    A scenario's own study is the catalogue's, if it has one; else all its compiled policies are
    tried, or all but those that know the future.

    Args:
        spec: a name of the catalogue, a YAML file of a scenario or of a study, or the same as a
            dict.
        overrides: changes of the scenario, as for ``cloudarena.load``, or of ``shares``.
    """
    name = str(spec) if isinstance(spec, str | Path) else ""
    changes = read_overrides(overrides)
    if name in studies():
        data, folder = read_yaml(studies()[name], name), None
        data = data if "shares" in data else {"spec": name, **data}
    else:
        data, name, folder = read_spec(spec)
        if "scenario" in data:
            data = {"spec": str(spec) if name else data}
    if isinstance(data.get("shares"), dict):
        for key, value in changes.items():
            override(data["shares"], key, value)
    study = _parse(data, name)
    if study.shares is not None:
        return LoadedStudy(name, study, "", changes, None, None)
    if study.spec is None:
        raise SpecError(f"{name or 'study'}: spec: is required: a scenario, or shares")
    source = study.spec
    if isinstance(source, str) and folder is not None and (folder / source).is_file():
        source = str(folder / source)
    scenario = load(source, changes, folder)
    return LoadedStudy(name or scenario.name, study, source, changes, folder, scenario)


def policy_text(design: Design) -> str:
    """The policy of a design with its parameters, such as ``utilisation:high=0.9``."""
    name = design["policy"]
    start = f"{name}."
    settings = [
        f"{key.removeprefix(start)}={_written(value)}"
        for key, value in design.items()
        if key.startswith(start)
    ]
    return ":".join([name, *settings])


def spec_changes(design: Design) -> dict[str, Any]:
    """The keys of the spec that a design sets."""
    start = f"{design['policy']}."
    return {
        key: value for key, value in design.items() if key != "policy" and not key.startswith(start)
    }


def design_text(design: Any) -> str:
    """A design in a line: its policy, then what it changes of the spec."""
    if not isinstance(design, Mapping):
        return str(design)
    changes = [f"{key}={_written(value)}" for key, value in spec_changes(dict(design)).items()]
    return " ".join([policy_text(dict(design)), *changes])


def _parse(data: Mapping[str, Any], name: str) -> Study:
    try:
        return Study.model_validate(dict(data))
    except ValidationError as error:
        prefix = f"{name}: " if name else ""
        lines = explain(error.errors(include_url=False)).splitlines()
        raise SpecError("\n".join(prefix + line for line in lines)) from None


def _levels(designs: Mapping[str, Any], scenario: Scenario) -> dict[str, list[Any]]:
    """For each key its levels; ``policy`` first, all of the scenario's by default."""
    policies = _listed(designs["policy"]) if "policy" in designs else scenario.compared_policies()
    levels: dict[str, list[Any]] = {"policy": policies}
    for policy in policies:
        scenario.kind.policies.resolve(policy)
    for key, value in designs.items():
        if key == "policy":
            continue
        owner, _, parameter = key.partition(".")
        if owner in policies:
            known = scenario.kind.policies.parameters(owner)
            if parameter not in known:
                raise SpecError(
                    f"designs: {key!r} is not allowed: {owner} has "
                    f"{', '.join(known) or 'no parameters'}.{nearest(parameter, known)}"
                )
        elif owner in set(scenario.kind.policies):
            raise SpecError(f"designs: {key!r} is not allowed: {owner} is not among the policies")
        levels[key] = _listed(value, key)
    return levels


def _listed(value: Any, key: str = "policy") -> list[Any]:
    """The levels of a key: of a list, of a range, or a single one."""
    if isinstance(value, Mapping):
        try:
            return list(Range.model_validate(dict(value)).levels())
        except ValidationError as error:
            lines = explain(error.errors(include_url=False)).splitlines()
            raise SpecError("\n".join(f"designs.{key}: {line}" for line in lines)) from None
    levels = list(value) if isinstance(value, list | tuple) else [value]
    if not levels:
        raise SpecError(f"designs.{key}: an empty list is not allowed: at least one level")
    for level in levels:
        if levels.count(level) > 1:
            raise SpecError(f"designs.{key}: {level!r} stands twice")
    return levels


def _of_scenario(objectives: Objectives, scenario: Scenario) -> tuple[Objective, ...]:
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


def _of_model(objectives: Objectives) -> tuple[Objective, ...]:
    """Those of the closed-form model, both of which go one way only; both by default."""
    model = {objective.name: objective for objective in ClusterModel.objectives}
    given = objectives if isinstance(objectives, Mapping) else dict(map(_split, objectives))
    if len(given) < len(objectives):
        raise SpecError(f"objectives: {', '.join(objectives)} is not allowed: each once")
    for name, direction in given.items():
        if name not in model or direction == "maximise":
            wrong = f"{name}:maximise" if name in model else name
            raise SpecError(
                f"objectives: {wrong!r} is not allowed: one of {', '.join(model)}, minimised."
                + nearest(name, model)
            )
    return tuple(model[name] for name in given or model)


_DIRECTIONS: dict[str, Direction] = {"higher": "maximise", "lower": "minimise"}


def _split(text: str) -> tuple[str, Any]:
    """A metric's name, and its direction if one is said: ``NAME:maximise``."""
    name, _, direction = text.partition(":")
    if direction not in ("", "minimise", "maximise"):
        raise SpecError(
            f"objectives: {text!r} is not allowed: NAME, NAME:minimise or NAME:maximise"
        )
    return name, direction


def _written(value: Any) -> str:
    """A value as the command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)
