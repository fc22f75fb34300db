"""Checks that every kind of scenario must pass, yours too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.errors import SpecError
from cloudarena.base.names import UNSERVED
from cloudarena.base.yaml import parse_yaml
from cloudarena.catalogue import answers, load, names
from cloudarena.contract import Kind, Model, Scenario
from cloudarena.contract.kind import ROOMS
from cloudarena.experiments.compare import compare
from cloudarena.experiments.simulate import simulate
from cloudarena.scenarios import kind_named
from cloudarena.testing.policy import POLICY_CHECKS
from cloudarena.testing.scenario import SCENARIO_CHECKS

CLOSE = 1e-6
"""Metrics that differ by less than this, relatively, are the same on another platform too."""
PROGRAM = """
import hashlib, sys, cloudarena
result = cloudarena.simulate({name!r})
digest = hashlib.sha256(repr(result.metrics).encode())
for name in sorted(result.tables):
    digest.update(repr(result.tables[name].to_pydict()).encode())
print(digest.hexdigest())
"""


class Check(NamedTuple):
    """One thing that must hold, with a name that says what."""

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name


def yield_checks(kind: Kind | str, seed: int = 0) -> Iterator[Check]:
    """All checks of a kind: of itself, of its entries of the catalogue, of its policies.

    @pytest.mark.parametrize("check", yield_checks("vm"), ids=str)
    def test_vm(check):
        check.run()
    """
    kind = kind_named(kind) if isinstance(kind, str) else kind
    for check in KIND_CHECKS:
        yield Check(check.__name__, partial(check, kind))
    for name in names():
        if name.startswith(f"{kind.name}/"):
            for on_scenario in SCENARIO_CHECKS:
                yield Check(
                    f"{name}: {on_scenario.__name__}", partial(_on, on_scenario, name, seed)
                )
    for policy in kind.policies:
        for on_policy in POLICY_CHECKS:
            yield Check(
                f"{policy}: {on_policy.__name__}",
                partial(_on, partial(on_policy, policy), kind.example, seed),
            )
        yield Check(
            f"{policy}: its_parameters_have_an_effect",
            partial(its_parameters_have_an_effect, kind, policy, seed),
        )


def small(name: str) -> Scenario:
    """An entry of the catalogue, made small by its kind's ``small`` where that fits its keys."""
    kind = kind_named(name.partition("/")[0])
    workload = getattr(load(name), "workload", None)
    if name == kind.toy or getattr(workload, "source", "") == "inline":
        return load(name)
    try:
        return load(name, dict(kind.small))
    except SpecError:
        return load(
            name, {key: value for key, value in kind.small.items() if _fits(name, key, value)}
        )


def _fits(name: str, key: str, value: Any) -> bool:
    """Whether an entry of the catalogue may be changed by this alone."""
    try:
        load(name, {key: value})
    except SpecError:
        return False
    return True


def _on(check: Callable[[Any, int], None], name: str, seed: int) -> None:
    check(small(name), seed)


def the_rooms_are_there(kind: Kind) -> None:
    """The kind has all rooms, its parts fit together, and its toy is in the catalogue."""
    for room in ROOMS:
        kind.room(room)
    kind.check()
    assert kind.toy in names(), f"{kind.toy} is not in the catalogue"


def hash_seeds_do_not_matter(kind: Kind) -> None:
    """Two processes that hash words differently give the same result."""
    found = {_digest(kind, hash_seed) for hash_seed in ("0", "1")}
    assert len(found) == 1, "the order of a set or of hashes decides something"


def _digest(kind: Kind, hash_seed: str) -> str:
    text = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(name=kind.toy)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return text.stdout.strip()


def workers_do_not_matter(kind: Kind) -> None:
    """A comparison gives the same numbers on one worker and on two."""
    policies = list(kind.policies)[:2]
    scenario = small(kind.example)
    first, second = (compare(scenario, policies, replications=3, workers=count) for count in (1, 2))
    for metric in kind.metrics:
        assert np.array_equal(
            first.values[metric.name], second.values[metric.name], equal_nan=True
        ), f"{metric.name} depends on the number of workers"


def nothing_served_never_wins(kind: Kind) -> None:
    """A policy that serves as little as it may wins no metric against one that serves more.

    That policy is the function ``idle`` of the room ``policies``: an action for each decision.
    """
    idle = getattr(kind.room("policies"), "idle", None)
    assert idle is not None, "policies has no function idle(decision), which serves nothing"
    scenario = small(kind.example)
    comparison = compare(scenario, [kind.default_policy, idle], replications=4, workers=1)
    served, left = (comparison.share_unserved(name) for name in comparison.policies)
    for metric in kind.metrics:
        if metric.better is None or (metric.name != kind.headline and left <= served):
            continue
        winner = comparison.winner(metric)
        assert winner != comparison.policies[1], f"who serves nothing wins {metric.name}"
    assert UNSERVED in kind.metric, f"{UNSERVED} is not measured"


def its_parameters_have_an_effect(kind: Kind, policy: str, seed: int) -> None:
    """Another value of a parameter changes what happens, somewhere in the catalogue of the kind."""
    for name, default in kind.policies.declared(policy).items():
        others = default[1:] if isinstance(default, tuple) else _others(default)
        entries = [kind.example, *(one for one in names() if one.startswith(f"{kind.name}/"))]
        assert any(_differs(entry, policy, name, others, seed) for entry in entries), (
            f"policy {policy}: {name} has no effect"
        )


def _others(default: float) -> tuple[float, ...]:
    return (default + 1, 2 * default + 3, default / 2 - 1, 0.0)


def _differs(entry: str, policy: str, name: str, values: Any, seed: int) -> bool:
    scenario = small(entry)
    before = simulate(scenario, policy, seed).tables.get("decisions")
    for value in values:
        after = simulate(scenario, f"{policy}:{name}={value}", seed).tables.get("decisions")
        if after is not None and not after.equals(before):
            return True
    return False


def metrics_have_their_known_values(kind: Kind) -> None:
    """The metrics of the toy are those worked out by hand, each under its own name.

    They are in ``toy.answer.yaml`` of the catalogue: what a run of the default policy under seed 0
    gives. Another entry may have such a file too, of its small version. A metric that measures
    what another should is found out, wherever the two differ.
    """
    known = {name: file for name, file in answers().items() if name.startswith(f"{kind.name}/")}
    assert kind.toy in known, f"{kind.toy}.answer.yaml is missing: its metrics, worked out by hand"
    for name, file in known.items():
        measured = simulate(small(name), kind.default_policy, record="none").metrics
        for metric, value in parse_yaml(file.read_text(encoding="utf-8")).items():
            assert metric in measured, f"{file.name}: {metric} is not measured"
            assert np.isclose(measured[metric], value, rtol=CLOSE, atol=0.0, equal_nan=True), (
                f"{name}: {metric} is {measured[metric]:.9g}, not {value:.9g}"
            )


def models_compute_their_objectives(kind: Kind) -> None:
    """The closed-form models that a study may search are models, and say what they compute."""
    for name in kind.models:
        model = kind.model(name)
        assert issubclass(model, Model), f"{kind.name}: {kind.models[name]} is no Model"
        assert model.objectives, f"{kind.name}: {kind.models[name]} computes nothing"


KIND_CHECKS: tuple[Callable[[Kind], None], ...] = (
    the_rooms_are_there,
    hash_seeds_do_not_matter,
    workers_do_not_matter,
    nothing_served_never_wins,
    metrics_have_their_known_values,
    models_compute_their_objectives,
)
