"""Energy predicates: watt budgets of nodes, and a bound on the joules of an invocation."""

from __future__ import annotations

import pytest

from cloudarena import simulate
from cloudarena.base.errors import SpecError
from tests.scenarios.faas.cases import column, function, scenario

DEVICES = {"types": {"nuc": 1, "xeoncpu": 1}}
POWER = {
    "devices": {
        "nuc": {"model": "linear", "idle_w": 10, "cpu_w": 20},
        "xeoncpu": {"model": "linear", "idle_w": 50, "cpu_w": 100},
    }
}


def where(limits, rate=0.0, **changes):
    """The nodes of two replicas whose invocations take 1 s and half of a CPU."""
    image = {"use": {"cpu": 0.5}}
    work = function(rate=rate, image=image, scaling={"minimum": 2, "maximum": 2}, **changes)
    spec = scenario(work, devices=DEVICES, power=POWER, scheduler=limits)
    return column(simulate(spec, "first-fit"), "replicas", "node")


def test_a_node_beyond_its_budget_is_filtered():
    assert where({}) == ["nuc-0", "nuc-0"]
    # One more invocation is 10 W on the NUC: 20 W in all.
    assert where({"most_node_w": {"nuc": 20}}) == ["nuc-0", "nuc-0"]
    assert where({"most_node_w": {"nuc": 19.9}}) == ["xeoncpu-0", "xeoncpu-0"]
    assert where({"most_node_w": {"nuc": 19.9, "xeoncpu": 99}}) == []


def test_invocations_that_add_too_many_joules_are_filtered():
    # 10 J of an invocation on the NUC, 50 J on the Xeon; nothing is switched off.
    assert where({"most_invocation_j": 10}) == ["nuc-0", "nuc-0"]
    assert where({"most_invocation_j": 9.9}) == []


def test_a_node_is_looked_at_again_when_its_load_has_changed():
    """While the first executes, the NUC is at 20 W, and one more would be 30 W."""
    first = function(name="a", seconds=5.0, rate=0.011, image={"use": {"cpu": 0.5}})
    second = function(name="b", rate=0.1, image={"use": {"cpu": 0.5}})
    second["scaling"] = {"by": "average-requests", "minimum": 0, "maximum": 1, "interval_s": 2}
    limits = {"most_node_w": {"nuc": 25}}
    result = simulate(scenario(first, second, power=POWER, scheduler=limits), "first-fit")
    begun = dict(
        zip(
            column(result, "replicas", "function"),
            column(result, "replicas", "scheduled_s"),
            strict=True,
        )
    )
    (finished,) = [
        row["finish_s"]
        for row in result.tables["invocations"].to_pylist()
        if row["function"] == "a"
    ][:1]
    assert begun["a"] == 0
    assert begun["b"] >= finished > 0


def test_the_idle_power_of_an_empty_node_counts_once():
    """10 W idle and 10 W for the invocation are 20 W, whether the NUC is on, empty or off."""
    work = function(rate=0.02, image={"use": {"cpu": 0.5}})
    work["scaling"] = {"by": "per-request", "minimum": 0, "expiry_s": 5}
    off = {**POWER, "off_after_s": 8, "boot_s": 1, "boot_w": 500}
    for budget, count in ((20, 2), (19.9, 0)):
        limits = {"most_node_w": {"nuc": budget}}
        made = scenario(work, power=off, scheduler=limits)
        assert len(column(simulate(made, "first-fit"), "replicas", "node")) == count


def test_budgets_are_of_known_devices():
    with pytest.raises(SpecError, match=r"scheduler\.most_node_w: 'nucc' is not allowed"):
        scenario(function(), scheduler={"most_node_w": {"nucc": 1}})
