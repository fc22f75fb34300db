"""Where and how policies of users are written, and what they say at both speeds."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

import cloudarena
from cloudarena.contract import Run, Scenario
from cloudarena.policies import SteppedPolicyWarning


class Kind(NamedTuple):
    """Where and how a policy of a kind is written."""

    spec: str
    changes: dict[str, object]
    arguments: str
    array: str
    """An array of floats that it is shown."""
    action: str
    """An action made of a whole number."""


KINDS = {
    "vm": Kind("vm/toy", {}, "pms, vm, rng", "pms.free_cores", "{}"),
    "jobs": Kind("jobs/toy", {}, "tasks, machines, rng", "tasks.submit", "({}, 0, 1)"),
    "workflow": Kind(
        "workflow/demo",
        {"workload.workflows": 2},
        "nodes, function, rng",
        "nodes.utilisation",
        "({}, 128)",
    ),
    "faas": Kind(
        "faas/serverless-basic", {"duration_s": 30}, "nodes, replica, rng", "nodes.power_w", "{}"
    ),
}


SMALL = {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12}


def spread(cases: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Cases, each with two of the kinds in turn; with the others it is validation.

    Each pair compiles for a second.
    """
    return [
        pytest.param(
            name,
            *case,
            marks=() if (place - number) % len(KINDS) < 2 else pytest.mark.slow,
            id=f"{name}-{case[0]}",
        )
        for number, case in enumerate(cases)
        for place, name in enumerate(KINDS)
    ]


def scenario_of(kind: Kind) -> Scenario:
    return cloudarena.load(kind.spec, kind.changes)


def stepped(scenario: Scenario, policy: str) -> Run:
    """A run in which a function of arrays decides uncompiled."""
    run = scenario.start(0)
    Run.play(run, scenario.kind.policies.resolve(policy))
    return run


def at_both_speeds(scenario: Scenario, policy: str, error: type[Exception]) -> str:
    """What a policy's run says in the end, which is the same compiled and stepped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SteppedPolicyWarning)
        with pytest.raises(error) as fast:
            cloudarena.simulate(scenario, policy)
    with pytest.raises(error) as slow:
        stepped(scenario, policy)
    fast_words = str(fast.value).removeprefix(f"policy {policy}: ")
    assert fast_words == str(slow.value)
    return fast_words
