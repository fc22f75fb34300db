"""Every scenario of the catalogue and every built-in policy passes the public checks."""

import pytest

import cloudarena
from cloudarena import catalogue
from cloudarena.scenarios import kinds, scenario_class
from cloudarena.scenarios.vm import REFUSE
from cloudarena.testing import check_policy, check_scenario

SMALLER = {
    "vm": {"ticks": 300, "workload.vms": 600, "workload.concurrent": 100, "machines[0].count": 12},
    "jobs": {"workload.jobs": 4},
    "workflow": {"workload.workflows": 4, "workload.functions": 30},
    "tiers": {"duration_s": 300},
    "clusters": {"vms": 9, "workload.batches": 10, "workload.horizon_s": 300},
    "faas": {"duration_s": 90},
}


def small(name):
    scenario = cloudarena.load(name)
    if "workload" in scenario.model_dump() and scenario.model_dump()["workload"].get("source") in (
        "inline",
    ):
        return scenario
    return cloudarena.load(name, SMALLER[scenario.kind])


@pytest.mark.parametrize("name", catalogue.names())
def test_scenarios(name):
    assert len(check_scenario(small(name))) == 9


@pytest.mark.parametrize(
    ("kind", "policy"), [(kind, policy) for kind in kinds() for policy in scenario_class(kind).book]
)
def test_policies(kind, policy):
    assert len(check_policy(policy, small(scenario_class(kind).example))) == 4


def test_a_policy_with_a_memory_is_found_out():
    calls = []

    def forgetful(decision):
        """Refuses every VM after its 150th call ever: in its second run, of 117 calls each."""
        calls.append(1)
        return int(decision.valid.argmax()) if len(calls) < 150 else REFUSE

    with pytest.raises(AssertionError, match="decides by more than decision and rng"):
        check_policy(forgetful, small("vm/azure-like-10k"))


def test_a_policy_that_takes_bad_actions_is_found_out():
    def eager(decision):
        """Always machine 0."""
        return 0

    with pytest.raises(AssertionError, match="took a bad action: machine 0 is not allowed"):
        check_policy(eager, small("vm/azure-like-10k"))


def test_a_policy_without_words_is_found_out():
    with pytest.raises(AssertionError, match="has no docstring"):
        check_policy(lambda decision: 0, small("vm/azure-like-10k"))
