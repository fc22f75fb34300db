"""The plan of an experiment: its cells, and the runs of each.

A cell is a scenario with some keys set and a policy; its replications differ by the seed alone.
Cells are made when they are asked for, so a plan of a million cells is printed at once.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cloudarena.base.errors import CloudarenaError, SpecError, check_choice
from cloudarena.catalogue import override, read_spec
from cloudarena.contract import Kind, Policy, Scenario
from cloudarena.contract.own_metrics import load_metric
from cloudarena.experiments.pool import compile_once
from cloudarena.experiments.sweep.experiment import Experiment, read_experiment
from cloudarena.experiments.sweep.points import Point, points_of, policy_words, spec_keys
from cloudarena.experiments.sweep.run_key import cell_digest, path_in, run_key, words_digest
from cloudarena.policies import policy_name
from cloudarena.scenarios import kind_named, kinds

MOST_KEPT = 10_000
"""Cells that are kept in memory; others are made again when they are asked for."""
CHECKED = 100
"""Cells that are looked at before the first run, so that mistakes are found early."""


class Base(NamedTuple):
    """A scenario as it is read, before any key is set."""

    data: dict[str, Any]
    name: str
    folder: Path | None
    kind: Kind


@dataclass(frozen=True)
class Cell:
    """A scenario with some keys set, and a policy."""

    number: int
    base: Base
    case: str
    changes: Mapping[str, Any]
    """The keys of the spec that are set."""
    policy: str | Policy
    """What decides; paths in it are absolute."""
    policy_text: str
    """What the user calls it."""
    settings: Mapping[str, Any]
    """What is varied: the keys of the spec, and the parameters of policies."""
    metrics: tuple[str, ...] = ()

    @cached_property
    def data(self) -> dict[str, Any]:
        """The raw description of the scenario."""
        data = copy.deepcopy(self.base.data)
        for key, value in self.changes.items():
            override(data, key, copy.deepcopy(value))
        return data

    @cached_property
    def digest(self) -> bytes:
        """A hash of all that decides its runs, but for the seed."""
        return cell_digest(self.data, self.policy, self.base.folder, self.metrics, self.columns())

    def scenario(self) -> Scenario:
        """The scenario, validated."""
        base = self.base
        found = base.kind.scenario.parse(self.data, base.name, base.folder)
        return found.measuring(*(load_metric(one) for one in self.metrics))

    @property
    def text(self) -> str:
        """What people call the cell among those of its experiment."""
        words = [f"{key}={value}" for key, value in self.settings.items() if key in self.changes]
        return " ".join([self.policy_text, *([self.case] if self.case else []), *words])

    def columns(self) -> dict[str, Any]:
        """What the rows of its runs say of it."""
        return {
            "scenario": self.base.name or self.base.kind.name,
            "case": self.case,
            "policy": self.policy_text,
            **self.settings,
        }

    def row(self) -> dict[str, Any]:
        """What the rows say, with the hash of what the cell is made of.

        A policy, a trace or a spec that was changed has the same words, and another hash.
        """
        return {"cell": self.digest.hex(), **self.columns()}


class Run(NamedTuple):
    """One run of a plan."""

    key: str
    cell: int
    replication: int


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment, in an order in which neighbours share their work."""

    experiment: Experiment
    name: str
    folder: Path
    policies: tuple[str | Policy, ...] = ()
    """Policies as Python objects, besides those that the experiment names."""
    _cells: dict[int, Cell] = field(default_factory=dict, repr=False)
    _digests: dict[int, bytes] = field(default_factory=dict, repr=False)

    @cached_property
    def bases(self) -> tuple[Base, ...]:
        """The scenarios of the plan."""
        found = []
        for spec in self.experiment.specs:
            source: Any = spec
            if isinstance(spec, str) and (self.folder / spec).is_file():
                source = str(self.folder / spec)
            data, name, home = read_spec(source)
            if "scenario" not in data:
                raise SpecError(
                    f"{name or 'spec'}: scenario: is required: one of {', '.join(kinds())}"
                )
            name = spec if isinstance(spec, str) else name
            found.append(Base(data, name, home or self.folder, kind_named(str(data["scenario"]))))
        return tuple(found)

    @cached_property
    def blocks(self) -> tuple[tuple[Base, str, Sequence[Point]], ...]:
        """Points of each scenario and case, each a policy with what is set."""
        found = []
        for base in self.bases:
            named = self.experiment.policies or (
                () if self.policies else (base.data.get("policy") or base.kind.default_policy,)
            )
            chosen = (*named, *self.policies)
            names = [policy_name(one) for one in chosen]
            for name in names:
                if names.count(name) > 1:
                    raise SpecError(f"policies: {name!r} is not allowed: it is a duplicate")
            points = points_of(self.experiment, base.kind, names)
            for case in self.experiment.cases or {"": {}}:
                found.append((base, case, points))
        return tuple(found)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return sum(len(points) for _, _, points in self.blocks)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.cells * self.experiment.replications

    def cell(self, number: int) -> Cell:
        """One of the cells."""
        if number not in self._cells:
            if len(self._cells) >= MOST_KEPT:
                self._cells.clear()
            self._cells[number] = self._make(number)
        return self._cells[number]

    def digest(self, number: int) -> bytes:
        """The hash of a cell, which is kept."""
        if number not in self._digests:
            self._digests[number] = self.cell(number).digest
        return self._digests[number]

    def named_cells(self) -> Iterator[tuple[bytes, bytes]]:
        """A hash of the words of each cell, and the hash of what it is made of."""
        for number in range(self.cells):
            yield words_digest(self.cell(number).columns()), self.digest(number)

    def _make(self, number: int) -> Cell:
        left = number
        for base, case, points in self.blocks:
            if left >= len(points):
                left -= len(points)
                continue
            point = points[left]
            settings = {key: value for key, value in point.items() if key != "policy"}
            changes = {**self.experiment.cases.get(case, {}), **spec_keys(point)}
            resolved = {key: self._resolved(value) for key, value in changes.items()}
            words = policy_words(point)
            objects = {policy_name(one): one for one in self.policies}
            policy = objects.get(words) or self._located(words)
            metrics = tuple(self._located(one) for one in self.experiment.metrics)
            return Cell(number, base, case, resolved, policy, words, settings, metrics)
        raise IndexError(f"{number} of {self.cells} cells")

    def _resolved(self, value: Any) -> Any:
        """A value whose relative path starts at the experiment, if there is such a file."""
        if isinstance(value, str) and (path := path_in(value, self.folder)) is not None:
            return str(path.absolute())
        if isinstance(value, Mapping):
            return {key: self._resolved(one) for key, one in value.items()}
        return value

    def _located(self, words: str) -> str:
        """The words of a policy or metric, with the absolute path of the file that it names."""
        scheme, _, rest = words.partition(":")
        if scheme in ("replay", "learned") and (self.folder / rest).exists():
            return f"{scheme}:{(self.folder / rest).absolute()}"
        path, separator, rest = words.partition(".py:")
        if separator and (self.folder / f"{path}.py").is_file():
            return f"{(self.folder / path).absolute()}.py:{rest}"
        return words

    def all_runs(self, first: int = 0, last: int | None = None) -> Iterator[Run]:
        """The runs of some replications, by default of all.

        By scenario and seed, then by what is set, and policies last: cells that differ in the
        policy alone see the same work under a seed, and a worker makes it once for them.
        """
        seed = self.experiment.seed
        for numbers in self._order:
            for replication in range(first, self.experiment.replications if last is None else last):
                for number in numbers:
                    key = run_key(self.digest(number), seed + replication)
                    yield Run(key, number, replication)

    @cached_property
    def _order(self) -> list[list[int]]:
        """The cells of each block, those with the same keys of the spec next to each other."""
        found, start = [], 0
        for _, _, points in self.blocks:
            groups: dict[str, list[int]] = {}
            for number, point in enumerate(points, start=start):
                groups.setdefault(repr(spec_keys(point)), []).append(number)
            start += len(points)
            found.append([number for group in groups.values() for number in group])
        return found

    def check(self) -> None:
        """Looks at some of the cells and compiles their policies, so that workers need not."""
        count = self.cells
        step = max(1, count // CHECKED)
        for number in dict.fromkeys((*range(0, count, step), count - 1)):
            cell = self.cell(number)
            try:
                compile_once(cell.scenario(), cell.policy)
            except CloudarenaError as error:
                raise SpecError(f"{cell.text}: {error}") from None

    def metric(self, name: str) -> Any:
        """A metric that all scenarios of the plan have."""
        known = {**self.bases[0].kind.metric, **{m.name: m for m in map(load_metric, self._own())}}
        check_choice("metric", name, known)
        return known[name]

    def _own(self) -> list[str]:
        return [self._located(one) for one in self.experiment.metrics]

    def summary(self) -> dict[str, Any]:
        """The plan as plain values for JSON."""
        return {
            "experiment": self.name,
            "description": self.experiment.description,
            "scenarios": [base.name or base.kind.name for base in self.bases],
            "cases": list(self.experiment.cases),
            "policies": list(
                dict.fromkeys(
                    point["policy"] for _, _, some in self.blocks for point in some[:1000]
                )
            ),
            "keys": list(self.experiment.set)
            or list(dict.fromkeys(key for point in self.experiment.points for key in point)),
            "design": "list" if self.experiment.points else self.experiment.design,
            "cells": self.cells,
            "replications": self.experiment.replications,
            "runs": self.runs,
        }


def make_plan(
    source: str | Path | Mapping[str, Any], policies: Sequence[str | Policy] = ()
) -> Plan:
    """The plan of an experiment from a file or a dict."""
    experiment, name, folder = read_experiment(source)
    plan = Plan(experiment, name, folder, tuple(policies))
    if plan.cells:
        plan.cell(0)
    return plan
