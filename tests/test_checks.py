"""Every scenario of the catalogue and every built-in policy passes the public checks."""

import math

import pytest

import cloudarena
from cloudarena import catalogue
from cloudarena.base.measures import UNSERVED, AtLeast
from cloudarena.contract import Metric
from cloudarena.scenarios import kind_named, kinds
from cloudarena.scenarios.vm import REFUSE
from cloudarena.testing import (
    check_policy,
    check_scenario,
    metrics_are_as_declared,
    recording_changes_nothing,
    the_seed_decides_everything,
    unserved_work_is_shown_first,
)

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
    assert len(check_scenario(small(name))) == 10


@pytest.mark.parametrize(
    ("kind", "policy"), [(kind, policy) for kind in kinds() for policy in kind_named(kind).policies]
)
def test_policies(kind, policy):
    assert len(check_policy(policy, small(kind_named(kind).example))) == 4


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

    with pytest.raises(
        AssertionError, match="a bad action: policy eager: machine 0 is not allowed"
    ):
        check_policy(eager, small("vm/azure-like-10k"))


def test_a_policy_without_words_is_found_out():
    with pytest.raises(AssertionError, match="has no docstring"):
        check_policy(lambda decision: 0, small("vm/azure-like-10k"))


def measured(**changes):
    """A small scenario whose runs report other metrics than they measured."""
    scenario = small("vm/toy")

    class Changed(type(scenario)):
        def start(self, seed=0, record=None):
            run = super().start(seed, record)
            before = run.metrics
            run.metrics = lambda: {**before(), **changes}
            return run

    return Changed.model_validate(scenario.model_dump())


@pytest.mark.parametrize("value", [math.nan, AtLeast(5.0)])
def test_a_metric_may_have_no_value_or_be_a_bound(value):
    metrics_are_as_declared(measured(energy_kwh=value), 0)
    the_seed_decides_everything(measured(energy_kwh=value), 0)
    recording_changes_nothing(measured(energy_kwh=value), 0)


def test_an_infinite_metric_is_found_out():
    with pytest.raises(AssertionError, match="energy_kwh is inf: what is not known is NaN"):
        metrics_are_as_declared(measured(energy_kwh=math.inf), 0)


def test_a_bound_that_is_no_bound_the_next_time_is_found_out():
    values = iter([AtLeast(5.0), 5.0])

    class Fickle(type(small("vm/toy"))):
        def start(self, seed=0, record=None):
            run, value = super().start(seed, record), next(values)
            before = run.metrics
            run.metrics = lambda: {**before(), "energy_kwh": value}
            return run

    with pytest.raises(AssertionError, match="energy_kwh is AtLeast"):
        the_seed_decides_everything(Fickle.model_validate(small("vm/toy").model_dump()), 0)


def test_a_kind_that_does_not_say_what_it_left_undone_is_found_out():
    scenario = small("vm/toy")

    class Silent(type(scenario)):
        measures = tuple(one for one in type(scenario).measures if one.name != UNSERVED)

    class Late(type(scenario)):
        measures = (Metric(UNSERVED, "", "lower"), *Silent.measures)
        highlights = (scenario.kind.headline, UNSERVED)

    with pytest.raises(AssertionError, match="who serves nothing could win"):
        unserved_work_is_shown_first(Silent.model_validate(scenario.model_dump()), 0)
    with pytest.raises(AssertionError, match="not the first highlight"):
        unserved_work_is_shown_first(Late.model_validate(scenario.model_dump()), 0)
