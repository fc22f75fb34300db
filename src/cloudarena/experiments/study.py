"""What is optimised, as a user writes it: a scenario, a space of designs, objectives.

::

    spec: tiers/rubis-hour            # a name of the catalogue, a file, or the spec itself
    designs:
      policy: utilisation
      utilisation.high: {from: 0.8, to: 0.95, steps: 4}
      utilisation.raised: [0.6, 0.7, 0.8]
    where: [utilisation.raised < utilisation.high]
    objectives: [response_p95_s, cost_usd]

Instead of ``spec`` and ``designs`` it may have the name of a closed-form model that a kind offers
(``Kind.models``), such as ``shares``, with what the model takes.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, explain, nearest
from cloudarena.base.yaml import parse_yaml, write_yaml
from cloudarena.catalogue import (
    load,
    override,
    read_overrides,
    read_spec,
    read_yaml,
    studies,
)
from cloudarena.contract import Model, Scenario, Spec
from cloudarena.experiments.designs import (
    Design,
    DesignSpace,
    Range,
    policy_text,
    spec_changes,
)
from cloudarena.experiments.objectives import (
    Objectives,
    model_objectives,
    scenario_objectives,
)
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.optimizers import Problem, Remembered
from cloudarena.optimizers.problem import Direction, Objective, SomeObjectives
from cloudarena.scenarios import kinds


class Study(Spec):
    """The file; all keys but ``spec`` may be left out, and that too if a model is named."""

    spec: str | dict[str, Any] | None = None
    description: str = ""
    designs: dict[str, Any] | None = None
    """For each key its levels; without it, the policies of the scenario."""
    where: tuple[str, ...] = ()
    sample: int | None = Field(None, ge=1, le=1_000_000)
    objectives: tuple[str, ...] | dict[str, Direction] = ()

    @model_validator(mode="after")
    def _some_designs(self) -> Study:
        if self.designs is not None and not self.designs:
            raise PydanticCustomError(
                "not_allowed",
                "designs: an empty mapping is not allowed: at least one key with its levels; "
                "without designs the policies of the scenario are tried",
            )
        return self


@dataclass(frozen=True)
class LoadedStudy(ABC):
    """A study, and what its designs are designs of."""

    name: str
    study: Study
    overrides: dict[str, Any]
    """What the user changed of the scenario or of the model."""

    @property
    def description(self) -> str:
        """What is optimised, in a sentence."""
        return self.study.description

    @property
    def note(self) -> str:
        """What a user may not expect, or nothing."""
        return ""

    @abstractmethod
    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else the usual ones."""

    @abstractmethod
    def problem(self, objectives: Sequence[Objective], seed: int, workers: int = -1) -> Problem:
        """The designs and their evaluator, for the optimisers."""

    @abstractmethod
    def winner(self, design: Any) -> Scenario:
        """The scenario as a design has it, its policy included."""

    @abstractmethod
    def plain(self, design: Any) -> dict[str, Any]:
        """A design as plain values for JSON."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """What the designs are designs of, as plain keys of a study."""

    def to_yaml(self, objectives: Sequence[Objective]) -> str:
        """The study with all of it and the objectives written out, as YAML that loads again."""
        plain = {
            **self.study.model_dump(mode="json", exclude_unset=True),
            **self.described(),
            "objectives": {one.name: one.direction for one in objectives},
        }
        return write_yaml(plain)


@dataclass(frozen=True)
class ScenarioStudy(LoadedStudy):
    """Designs of a scenario, which are simulated."""

    source: str | dict[str, Any]
    """What the scenario is loaded from, again for each design that changes the spec."""
    folder: Path | None
    scenario: Scenario

    @property
    def description(self) -> str:
        """The description of the study, or of its scenario."""
        return self.study.description or self.scenario.description

    @property
    def note(self) -> str:
        """That policies were compared, since nothing else was said, and what else there is."""
        if self.study.designs is not None:
            return ""
        kind = self.scenario.kind
        hints = (kind.model(name).hint for name in kind.models)
        note = "No designs were given: the policies of the scenario were compared."
        return " ".join((note, *(hint for hint in hints if hint)))

    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else the headline of the scenario."""
        chosen: Objectives = wanted or self.study.objectives or (self.scenario.kind.headline,)
        return scenario_objectives(chosen, self.scenario)

    def problem(self, objectives: Sequence[Objective], seed: int, workers: int = -1) -> Problem:
        """The designs, each replication of which is simulated once."""
        space = self.space(seed)
        return Remembered(ScenarioProblem(self.scenario_of, space, objectives, seed, workers))

    def winner(self, design: Design) -> Scenario:
        """The scenario as a design has it, its policy included."""
        return self.scenario_of(design).model_copy(update={"policy": policy_text(design)})

    def plain(self, design: Design) -> dict[str, Any]:
        """Its policy, and the keys of the spec that it sets."""
        return {"policy": policy_text(design), "set": spec_changes(design)}

    def described(self) -> dict[str, Any]:
        """The spec, with paths that do not depend on where it stands."""
        return {"spec": parse_yaml(self.scenario.to_yaml(absolute=True))}

    def space(self, seed: int) -> DesignSpace:
        """The designs."""
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

    def scenario_of(self, design: Design) -> Scenario:
        """The scenario with the design's keys of the spec set."""
        changes = spec_changes(design)
        if not changes:
            return self.scenario
        return load(self.source, {**self.overrides, **changes}, self.folder)


@dataclass(frozen=True)
class ModelStudy(LoadedStudy):
    """Designs of a closed-form model, which are computed."""

    key: str
    """What users write for the model, such as ``shares``."""
    model: Model

    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else all of the model."""
        return model_objectives(wanted or self.study.objectives, self.model)

    def problem(self, objectives: Sequence[Objective], seed: int, workers: int = -1) -> Problem:
        """The model as a problem."""
        problem = self.model.problem(seed)
        if tuple(objectives) == problem.objectives:
            return problem
        return SomeObjectives(problem, objectives)

    def winner(self, design: Any) -> Scenario:
        """The scenario whose run is a replication of a design in the model."""
        return load({**self.model.spec_of(design), "description": self.description})

    def plain(self, design: Any) -> dict[str, Any]:
        """The design under the name that the model gives it."""
        return self.model.plain(design)

    def described(self) -> dict[str, Any]:
        """The model under its key."""
        return {self.key: self.model.model_dump(mode="json", exclude_unset=True)}


def read_study(
    spec: str | Path | Mapping[str, Any], overrides: Sequence[str] | Mapping[str, Any] = ()
) -> ScenarioStudy | ModelStudy:
    """A study from a file or a dict, or that of a scenario.

    A scenario's own study is the catalogue's, if it has one; else all its compiled policies are
    tried, or all but those that know the future.

    Args:
        spec: a name of the catalogue, a YAML file of a scenario or of a study, or the same as a
            dict.
        overrides: changes of the scenario, as for ``cloudarena.load``, or of the model.
    """
    name = str(spec) if isinstance(spec, str | Path) else ""
    changes = read_overrides(overrides)
    models = {key: kind.name for kind in kinds().values() for key in kind.models}
    if name in studies():
        data, folder = read_yaml(studies()[name], name), None
        data = data if models.keys() & data else {"spec": name, **data}
    else:
        data, name, folder = read_spec(spec)
        if "scenario" in data:
            data = {"spec": str(spec) if name else data}
    for key in data:
        if key in models:
            return _read_model_study(data, name, key, kinds()[models[key]].model(key), changes)
    study = _parse(Study, data, name)
    if study.spec is None:
        allowed = ", or ".join(["a scenario", *models])
        raise SpecError(f"{name or 'study'}: spec: is required: {allowed}")
    source = study.spec
    if isinstance(source, str) and folder is not None and (folder / source).is_file():
        source = str(folder / source)
    scenario = load(source, changes, folder)
    return ScenarioStudy(name or scenario.name, study, changes, source, folder, scenario)


def study_from_yaml(text: str, name: str, overrides: Mapping[str, Any]) -> LoadedStudy:
    """The study that ``to_yaml`` wrote, under the name, and with the changes, that it had."""
    try:
        data = parse_yaml(text)
    except ValueError as error:
        raise SpecError(f"spec.yaml, {error}") from None
    if not isinstance(data, dict):
        raise SpecError("spec.yaml: is not a mapping of keys")
    return replace(read_study(data), name=name, overrides=dict(overrides))


def _read_model_study(
    data: Mapping[str, Any],
    name: str,
    key: str,
    model: type[Model],
    changes: dict[str, Any],
) -> ModelStudy:
    """The study of a closed-form model, which is written under its key."""
    study = _parse(Study, {other: data[other] for other in data if other != key}, name)
    if others := [other for other in ("spec", "designs", "where", "sample") if other in data]:
        prefix = f"{name}: " if name else ""
        raise SpecError(f"{prefix}{key}: is not allowed together with {' or '.join(others)}")
    given = copy.deepcopy(data[key])
    if isinstance(given, dict):
        for path, value in changes.items():
            override(given, path, value)
    return ModelStudy(name, study, changes, key, _parse(model, given, name, (key,)))


S = TypeVar("S", bound=Spec)


def _parse(spec: type[S], data: Any, name: str, location: tuple[str, ...] = ()) -> S:
    """A part of a study, or an error that names the study and where in it the part is."""
    try:
        return spec.model_validate(dict(data) if isinstance(data, Mapping) else data)
    except ValidationError as error:
        prefix = f"{name}: " if name else ""
        problems = [
            {**one, "loc": (*location, *one["loc"])} for one in error.errors(include_url=False)
        ]
        raise SpecError(
            "\n".join(prefix + line for line in explain(problems).splitlines())
        ) from None


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
