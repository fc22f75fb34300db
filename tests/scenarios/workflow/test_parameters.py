"""What the parameters of the built-in policies do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.scenarios.workflow import POLICIES, WorkflowScenario

from .clusters import chain, column, flow, fn, server, toy

WITH_TIES = [name for name in POLICIES if "ties" in POLICIES.parameters(name)]


def first_nodes(scenario: WorkflowScenario, policy: str, seeds: int) -> Counter[Any]:
    """Where a policy sends the first function under each of some seeds."""
    found: Counter[Any] = Counter()
    for seed in range(seeds):
        run = scenario.start(seed)
        decision = run.decision
        assert decision is not None
        found[POLICIES.resolve(policy)(decision)[0]] += 1
    return found


def test_policies_that_often_find_equals_have_ties() -> None:
    assert WITH_TIES == [
        "least-loaded",
        "best-fit",
        "data-local",
        "earliest-finish",
        "cheapest",
        "weighted",
        "critical-path-first",
    ]


@pytest.mark.parametrize("name", WITH_TIES)
def test_ties_go_to_the_first_or_to_any_of_the_equals(name: str) -> None:
    # Nodes 1, 2 and 4 are alike; node 0 has no memory for it, node 3 is dear, small and slow.
    servers = [
        server("full", memory=1, rate=9.0, latency=5.0, cpu=1),
        server("a", nodes=2),
        server("slow", memory=9000, rate=9.0, latency=5.0, cpu=1),
        server("b"),
    ]
    scenario = toy(flow(fn(10_000, 128, 4)), servers=servers)
    if name in ("least-loaded", "data-local"):  # which look at neither: all five are equal
        equals = {0, 1, 2, 3, 4}
    else:
        equals = {1, 2, 4}
    if name == "best-fit":  # which takes the node that is left with nothing
        equals = {0}
        scenario = toy(flow(fn(10_000, 1)), servers=[server(memory=64, count=3), server("t")])
        equals = {0, 1, 2}
    assert first_nodes(scenario, name, 3) == {min(equals): 3}
    found = first_nodes(scenario, f"{name}:ties=random", 300)
    assert set(found) == equals
    expected = 300 / len(equals)  # five standard deviations of a binomial count
    assert all(abs(count - expected) < 5 * np.sqrt(expected) for count in found.values())


@pytest.mark.parametrize("name", WITH_TIES)
def test_random_ties_are_the_same_at_both_speeds(name: str) -> None:
    policy = f"{name}:ties=random"
    work = [chain(*[fn(1000)] * 5, arrival=k) for k in range(4)]
    scenario = toy(*work, servers=[server(count=2, nodes=3, cpu=2)], memory_options=[128])
    run, chosen = scenario.start(3), POLICIES.resolve(policy)
    while (decision := run.decision) is not None:
        run.apply(chosen(decision))
    played = cloudarena.simulate(scenario, policy, 3)
    assert run.result().metrics == played.metrics
    first = cloudarena.simulate(scenario, f"{name}:ties=first", 3)
    assert first.metrics == cloudarena.simulate(scenario, name, 3).metrics
    assert first.tables["decisions"] != played.tables["decisions"]


def test_rent_weighs_what_a_second_server_costs() -> None:
    # On one core the second function takes 2 s more; on the other server it costs $1.50 more.
    scenario = toy(
        flow(fn(2000), fn(2000)),
        servers=[server(cpu=1, count=2)],
        objective={"weight": 0.5, "rent_scale": 1.0},
    )
    assert column(cloudarena.simulate(scenario, "weighted"), "server") == [0, 1]
    assert column(cloudarena.simulate(scenario, "weighted:rent=1.3"), "server") == [0, 1]
    assert column(cloudarena.simulate(scenario, "weighted:rent=1.4"), "server") == [0, 0]


def test_slack_says_from_when_on_a_function_is_late() -> None:
    # Ten seconds and one second side by side: the short one can wait. Beside the long one it adds
    # no rent and takes 2 s, on the other server 1 s.
    scenario = toy(flow(fn(10_000), fn(1000)), servers=[server(cpu=1, count=2)])

    def where(policy: str) -> list[Any]:
        return column(cloudarena.simulate(scenario, policy), "server")

    assert where("critical-path-first") == where("cheapest") == [0, 0]
    assert where("critical-path-first:slack=0.11") == [0, 0]
    assert where("critical-path-first:slack=0.1") == [0, 1]
    assert where("critical-path-first:slack=0") == where("earliest-finish") == [0, 1]


def test_other_parameters_are_refused() -> None:
    with pytest.raises(PolicyError, match="ties: 'last' is not allowed: one of first, random"):
        POLICIES.resolve("earliest-finish:ties=last")
    with pytest.raises(PolicyError, match="policy round-robin: 'ties=random' is not allowed: none"):
        POLICIES.resolve("round-robin:ties=random")
