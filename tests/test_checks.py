"""Every kind, entry of the catalogue and built-in policy passes the public checks."""

import dataclasses
import math

import pytest

import cloudarena
from cloudarena.base.errors import CloudarenaError
from cloudarena.base.measures import AtLeast
from cloudarena.base.names import UNSERVED
from cloudarena.scenarios import kind_named, kinds
from cloudarena.scenarios.vm import REFUSE
from cloudarena.testing import check_policy, small, yield_checks
from cloudarena.testing.kind import metrics_have_their_known_values
from cloudarena.testing.scenario import (
    metrics_are_as_declared,
    metrics_can_be_had_one_by_one,
    recording_changes_nothing,
    the_seed_decides_everything,
)

LARGE = "faas/city-1000"
"""An entry of a thousand devices: to look at it decision by decision is validation."""
QUICK = (
    "scenarios_survive_a_round_trip",
    "metrics_are_as_declared",
    "unserved_work_is_shown_first",
    "the_seed_decides_everything",
)
"""Checks of the large entry that take a run or two."""
PATIENT = ("conservative-backfilling", "tabu", "sa", "ga")
"""Policies of jobs that think long about a decision."""


def is_long(check):
    """Whether a check takes many seconds."""
    entry, _, name = str(check).partition(": ")
    return entry in PATIENT or (entry == LARGE and name not in QUICK)


def every_check():
    """The checks of all kinds; those that take many seconds are validation."""
    return [
        pytest.param(check, marks=pytest.mark.slow if is_long(check) else (), id=str(check))
        for kind in kinds()
        for check in yield_checks(kind)
    ]


@pytest.mark.parametrize("check", every_check())
def test_every_kind(check):
    check.run()


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


def with_metrics(kind, *metrics):
    """A kind with other metrics."""
    changed = dataclasses.replace(kind)
    changed.__dict__["metrics"] = metrics
    return changed


def test_a_kind_that_does_not_say_what_it_left_undone_is_found_out():
    kind = kind_named("vm")
    others = [one for one in kind.metrics if one.name != UNSERVED]
    share = kind.metric[UNSERVED]
    with pytest.raises(CloudarenaError, match="unserved_share is not one of its metrics"):
        with_metrics(kind, *others).check()
    with pytest.raises(CloudarenaError, match="unserved_share is not the first highlight"):
        with_metrics(kind, *others, share).check()


def test_a_kind_whose_headline_or_rooms_are_missing_is_found_out():
    kind = kind_named("vm")
    with pytest.raises(CloudarenaError, match="profit_eur is not one of its metrics"):
        dataclasses.replace(kind, headline="profit_eur").check()
    with pytest.raises(CloudarenaError, match="no-fit is not one of its policies"):
        dataclasses.replace(kind, default_policy="no-fit").check()
    with pytest.raises(CloudarenaError, match="vm/none is not in"):
        dataclasses.replace(kind, toy="vm/none")
    with pytest.raises(CloudarenaError, match=r"it has no spec, sources, .* observe"):
        dataclasses.replace(kind, package="cloudarena.report")


def test_two_metrics_that_are_swapped_are_found_out():
    metrics = cloudarena.simulate("vm/toy").metrics
    swapped = measured(requests=metrics["allocated"], allocated=metrics["requests"])
    with pytest.raises(AssertionError, match=r"metric (requests|allocated) alone"):
        metrics_can_be_had_one_by_one(swapped, 0)


@pytest.mark.parametrize("pair", [("completed", "running_at_end"), ("income_usd", "cost_usd")])
def test_two_metrics_that_measure_each_other_are_found_out(pair, monkeypatch):
    first, second = (kind_named("vm").metric[name] for name in pair)
    function = first.function
    monkeypatch.setitem(vars(first), "function", second.function)
    monkeypatch.setitem(vars(second), "function", function)
    with pytest.raises(AssertionError, match=rf"vm/\S+: ({pair[0]}|{pair[1]}) is \S+, not \S+"):
        metrics_have_their_known_values(kind_named("vm"))
