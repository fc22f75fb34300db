"""What the checks share."""

from __future__ import annotations

import math

from cloudarena.base.measures import AtLeast
from cloudarena.contract import Policy, Result, Scenario
from cloudarena.policies import begin


def prepared(policy: str | Policy, scenario: Scenario, seed: int) -> Policy:
    """A policy from its name, ready for a run."""
    chosen = scenario.kind.policies.resolve(policy)
    begin(chosen, scenario, seed)
    return chosen


def assert_same(first: Result, second: Result, message: str) -> None:
    """Two results are equal to the last bit."""
    assert_same_metrics(first.metrics, second.metrics, message)
    for name, table in first.tables.items():
        assert table.equals(second.tables[name]), f"{message}: table {name}"


def assert_same_metrics(first: dict[str, float], second: dict[str, float], message: str) -> None:
    """Asserts that numbers are the same, NaN included, and the same of them bounds."""
    assert list(first) == list(second), f"{message}: {list(first)} and {list(second)}"
    for name, value in first.items():
        other = second[name]
        same = value == other or (math.isnan(value) and math.isnan(other))
        same = same and isinstance(value, AtLeast) == isinstance(other, AtLeast)
        assert same, f"{message}: {name} is {value!r} and {other!r}"
