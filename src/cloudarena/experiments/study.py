"""What is optimised, as a user writes it: a scenario, a space of designs, objectives.

::

    spec: tiers/rubis-hour            # a name of the catalogue, a file, or the spec itself
    designs:
      policy: utilisation
      utilisation.high: {from: 0.8, to: 0.95, steps: 4}
      utilisation.raised: [0.6, 0.7, 0.8]
    where: [utilisation.raised < utilisation.high, sla_minutes_ok >= 0.97]
    objectives: [cost_usd]

Instead of ``spec`` and ``designs`` it may have the name of a closed-form model that a kind offers
(``Kind.models``), such as ``shares``, with what the model takes.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from cloudarena.base.errors import SpecError, explain, nearest
from cloudarena.base.limits import Limit, parse_limit
from cloudarena.base.yaml import parse_yaml, write_yaml
from cloudarena.catalogue import (
    load,
    override,
    read_overrides,
    read_spec,
    read_yaml,
    studies,
)
from cloudarena.contract import Metric, Model, Scenario, Spec
from cloudarena.contract.own_metrics import load_metric
from cloudarena.contract.spec import SPEC_VERSION, SpecVersion
from cloudarena.experiments.designs import (
    Design,
    DesignSpace,
    Range,
    policy_text,
    spec_changes,
)
from cloudarena.experiments.evaluations import Evaluations
from cloudarena.experiments.objectives import (
    DIRECTIONS,
    Objectives,
    Where,
    model_objectives,
    scenario_objectives,
    split_where,
    with_risks,
)
from cloudarena.experiments.scenario_problem import ScenarioProblem
from cloudarena.optimizers import MemoizedProblem, Problem
from cloudarena.optimizers.problem import Direction, Objective, SomeObjectives
from cloudarena.scenarios import kinds


class Study(Spec):
    """The file; all keys but ``spec`` may be left out, and that too if a model is named."""

    spec: str | dict[str, Any] | None = None
    version: SpecVersion = SPEC_VERSION
    """The version of specs that the file is written for."""
    description: str = ""
    designs: dict[str, Any] | None = None
    """The levels of each key; without it, the policies of the scenario."""
    where: tuple[str, ...] = ()
    """Rules that designs keep, and limits that their metrics keep on average."""
    metrics: tuple[str, ...] = ()
    """Metrics of the user's, ``FILE.py:NAME``, besides those of the kind."""
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

    @property
    @abstractmethod
    def where(self) -> Where:
        """The rules and the limits of the study."""

    def with_limits(self, texts: Sequence[str]) -> Self:
        """The study with further limits, or rules."""
        if not texts:
            return self
        both = tuple(dict.fromkeys((*self.study.where, *texts)))
        return replace(self, study=self.study.model_copy(update={"where": both}))

    def measuring(self, *metrics: str | Metric) -> Self:
        """The study with metrics of a user's besides its own; strings are ``FILE.py:NAME``."""
        if metrics:
            first = metrics[0] if isinstance(metrics[0], str) else metrics[0].name
            raise SpecError(f"metrics: {first} is not allowed: a model measures nothing else")
        return self

    @abstractmethod
    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else the usual ones."""

    @abstractmethod
    def problem(
        self,
        objectives: Sequence[Objective],
        seed: int,
        workers: int = -1,
        executor: Executor | None = None,
        evaluations: Evaluations | None = None,
    ) -> Problem:
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
            **self.study.model_dump(mode="json", exclude_unset=True, exclude={"metrics"}),
            **({"metrics": list(self.study.metrics)} if self.study.metrics else {}),
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
        """Says that policies were compared, if nothing else was asked, and what else there is."""
        if self.study.designs is not None:
            return ""
        kind = self.scenario.kind
        hints = (kind.model(name).hint for name in kind.models)
        note = "No designs were given: the policies of the scenario were compared."
        return " ".join((note, *(hint for hint in hints if hint)))

    @property
    def where(self) -> Where:
        """The rules on keys of designs, and the limits on metrics of the scenario."""
        names = [metric.name for metric in self.scenario.kind.metrics]
        return split_where(self.study.where, self.study.designs or {}, names)

    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else the headline of the scenario."""
        chosen: Objectives = wanted or self.study.objectives or (self.scenario.kind.headline,)
        return scenario_objectives(chosen, self.scenario)

    def problem(
        self,
        objectives: Sequence[Objective],
        seed: int,
        workers: int = -1,
        executor: Executor | None = None,
        evaluations: Evaluations | None = None,
    ) -> Problem:
        """The designs, each replication of which is simulated once."""
        space = self.space(seed)
        ways = {
            metric.name: DIRECTIONS[metric.better]
            for metric in self.scenario.kind.metrics
            if metric.better is not None
        }

        def make(objectives: Sequence[Objective], limits: Sequence[Limit]) -> Problem:
            return MemoizedProblem(
                ScenarioProblem(
                    self.scenario_of,
                    space,
                    objectives,
                    seed,
                    workers,
                    executor=executor,
                    limits=limits,
                    evaluations=evaluations,
                    name=self.name,
                )
            )

        return with_risks(make, objectives, self.where.limits, ways)

    def winner(self, design: Design) -> Scenario:
        """The scenario as a design has it, its policy included."""
        return self.scenario_of(design).model_copy(update={"policy": policy_text(design)})

    def plain(self, design: Design) -> dict[str, Any]:
        """A design as its policy, and the keys of the spec that it sets."""
        return {"policy": policy_text(design), "set": spec_changes(design)}

    def described(self) -> dict[str, Any]:
        """The spec, with paths that do not depend on where it stands."""
        return {"spec": parse_yaml(self.scenario.to_yaml(absolute=True))}

    def space(self, seed: int) -> DesignSpace:
        """The space of designs that is searched."""
        designs = self.study.designs or {}
        levels = _levels(designs, self.scenario)
        continuous = [
            key
            for key, value in designs.items()
            if isinstance(value, Mapping) and not {"steps", "step"} & set(value)
        ]
        try:
            return DesignSpace(levels, self.where.rules, self.study.sample, seed, continuous)
        except SpecError as error:
            raise SpecError(f"{self.name}: {error}") from None

    def scenario_of(self, design: Design) -> Scenario:
        """The scenario with the design's keys of the spec set."""
        changes = spec_changes(design)
        if not changes:
            return self.scenario
        return load(self.source, {**self.overrides, **changes}, self.folder).like(self.scenario)

    def measuring(self, *metrics: str | Metric) -> Self:
        """The study whose scenarios have metrics of a user's besides those of their kind."""
        texts = tuple(_absolute(one) for one in metrics if isinstance(one, str))
        study = self.study.model_copy(update={"metrics": (*self.study.metrics, *texts)})
        own = [load_metric(one) if isinstance(one, str) else one for one in metrics]
        return replace(self, study=study, scenario=self.scenario.measuring(*own))


@dataclass(frozen=True)
class ModelStudy(LoadedStudy):
    """Designs of a closed-form model, which are computed."""

    key: str
    """What users write for the model, such as ``shares``."""
    model: Model

    @property
    def where(self) -> Where:
        """The limits on what the model computes; its designs have no rules."""
        where = split_where(self.study.where, (), [one.name for one in self.model.objectives])
        for rule in where.rules:
            parse_limit(rule)  # says what is allowed
        return where

    def objectives(self, wanted: Objectives | None) -> tuple[Objective, ...]:
        """The objectives asked for, else those of the study, else all of the model."""
        return model_objectives(wanted or self.study.objectives, self.model)

    def problem(
        self,
        objectives: Sequence[Objective],
        seed: int,
        workers: int = -1,
        executor: Executor | None = None,
        evaluations: Evaluations | None = None,
    ) -> Problem:
        """The model as a problem; to compute it, one process is enough."""
        problem = self.model.problem(seed)

        def make(objectives: Sequence[Objective], limits: Sequence[Limit]) -> Problem:
            if tuple(objectives) == problem.objectives and not limits:
                return problem
            return SomeObjectives(problem, objectives, limits)

        ways = {one.name: one.direction for one in problem.objectives}
        return with_risks(make, objectives, self.where.limits, ways)

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
    spec: str | Path | Mapping[str, Any] | Scenario,
    overrides: Sequence[str] | Mapping[str, Any] = (),
) -> ScenarioStudy | ModelStudy:
    """A study from a file or a dict, or that of a scenario.

    A scenario's own study is the catalogue's, if it has one; else all its compiled policies are
    tried, or all but those that know the future.

    Args:
        spec: a name of the catalogue, a YAML file of a scenario or of a study, the same as a dict,
            or a scenario.
        overrides: changes of the scenario, as for ``cloudarena.load``, or of the model.
    """
    name = str(spec) if isinstance(spec, str | Path) else ""
    changes = read_overrides(overrides)
    models = {key: kind.name for kind in kinds().values() for key in kind.models}
    if isinstance(spec, Scenario):
        data = {"spec": parse_yaml(spec.to_yaml(absolute=True))}
        name, folder = spec.name, None
    elif name in studies():
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
    if isinstance(spec, Scenario):
        scenario = scenario.like(spec)
    found = ScenarioStudy(name or scenario.name, study, changes, source, folder, scenario)
    return replace(found, study=study.model_copy(update={"metrics": ()})).measuring(
        *(_located(text, folder) for text in study.metrics)
    )


def study_from_yaml(text: str, name: str, overrides: Mapping[str, Any]) -> LoadedStudy:
    """The study that ``to_yaml`` wrote, under the name, and with the changes, that it had."""
    try:
        data = parse_yaml(text)
    except ValueError as error:
        raise SpecError(f"spec.yaml, {error}") from None
    if not isinstance(data, dict):
        raise SpecError("spec.yaml: is not a mapping of keys")
    own = tuple(data.pop("metrics", ()))  # their files may be gone
    found = replace(read_study(data), name=name, overrides=dict(overrides))
    return replace(found, study=found.study.model_copy(update={"metrics": own}))


def _located(text: str, folder: Path | None) -> str:
    """``FILE.py:NAME`` from the folder of the study, if the file is there."""
    path, separator, name = text.rpartition(":")
    if separator and folder is not None and (folder / path).is_file():
        return f"{folder / path}:{name}"
    return text


def _absolute(text: str) -> str:
    """``FILE.py:NAME`` with an absolute path, so that it is found from any folder."""
    path, separator, name = text.rpartition(":")
    return f"{Path(path).absolute()}:{name}" if separator else text


def _read_model_study(
    data: Mapping[str, Any],
    name: str,
    key: str,
    model: type[Model],
    changes: dict[str, Any],
) -> ModelStudy:
    """The study of a closed-form model, which is written under its key."""
    study = _parse(Study, {other: data[other] for other in data if other != key}, name)
    if others := [other for other in ("spec", "designs", "sample") if other in data]:
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
    """The levels of each key; ``policy`` first, all of the scenario's by default."""
    policies = levels_of(designs["policy"]) if "policy" in designs else scenario.compared_policies()
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
        levels[key] = levels_of(value, key)
    return levels


def levels_of(value: Any, key: str = "policy", where: str = "designs") -> list[Any]:
    """The levels of a key: of a list, of a range, or a single one."""
    if isinstance(value, Mapping):
        try:
            return list(Range.model_validate(dict(value)).levels())
        except ValidationError as error:
            lines = explain(error.errors(include_url=False)).splitlines()
            raise SpecError("\n".join(f"{where}.{key}: {line}" for line in lines)) from None
    levels = list(value) if isinstance(value, list | tuple) else [value]
    if not levels:
        raise SpecError(f"{where}.{key}: an empty list is not allowed: at least one level")
    for level in levels:
        if levels.count(level) > 1:
            raise SpecError(f"{where}.{key}: {level!r} is a duplicate")
    return levels
