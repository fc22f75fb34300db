"""What a policy declares must be of use to its kind."""

from __future__ import annotations

import pytest

import cloudarena
from cloudarena.base.errors import PolicyError
from cloudarena.contract import Run
from cloudarena.policies import ArrayPolicy
from tests.user_policies.written import KINDS


def first_valid(pms, vm, rng):
    """The first machine that may take the VM."""
    return int(pms.valid.argmax()) if pms.valid.any() else -2


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("vm", {"order": len}, "policy mine: order is not allowed: vm has no queue"),
        ("workflow", {"order": len}, "order is not allowed: workflow has no queue"),
        ("faas", {"order": len}, "order is not allowed: faas has no queue"),
        ("vm", {"needs": "durations"}, "needs: 'durations' is not allowed: lifetimes"),
        ("jobs", {"needs": "lifetimes"}, "needs: 'lifetimes' is not allowed: durations, estimates"),
        ("workflow", {"needs": "durations"}, "needs: 'durations' is not allowed: nothing"),
        ("faas", {"needs": "durations"}, "needs: 'durations' is not allowed: nothing"),
        ("vm", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("jobs", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("workflow", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
        ("faas", {"parameters": {"x": "y"}}, "parameters: x: 'y' is not allowed: a number"),
        ("faas", {"parameters": {"x": 1}}, "x are not allowed: the function has no argument p"),
    ],
)
def test_what_a_kind_has_no_use_for_is_refused(kind, given, words) -> None:
    book = cloudarena.load(KINDS[kind].spec).kind.policies
    with pytest.raises(PolicyError, match=words):
        book.register("mine", **given)(lambda a, b, rng: 0)
    assert "mine" not in list(book)


def test_a_policy_that_needs_lifetimes_is_refused_where_they_are_not_known() -> None:
    scenario = cloudarena.load("vm/toy")
    mine = ArrayPolicy("mine", first_valid, scenario.kind.policies.signature, needs="lifetimes")
    for play in (lambda run: run.play(mine), lambda run: Run.play(run, mine)):
        with pytest.raises(PolicyError, match=r"policy mine: needs known: \[lifetimes\]"):
            play(scenario.start(0))
    known = cloudarena.load("vm/toy", {"known": ["lifetimes"]})
    assert cloudarena.simulate(known, mine).metrics["allocated"] > 0


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda tasks: tasks.job[:-1], "one number for each of"),
        (lambda tasks: ["a"] * len(tasks.job), "one number for each of"),
        (lambda tasks: tasks.jobs, "AttributeError"),
    ],
)
def test_an_order_that_is_none_is_refused(order, words) -> None:
    scenario = cloudarena.load("jobs/toy")
    first = scenario.kind.policies.resolve("first-fit")
    mine = ArrayPolicy("mine", first.function, scenario.kind.policies.signature, order=order)
    with pytest.raises(PolicyError, match=f"policy mine.*{words}"):
        cloudarena.simulate(scenario, mine)
