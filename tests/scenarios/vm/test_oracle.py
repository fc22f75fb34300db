"""The clairvoyant planner: as good as any plan, and no trouble in any run."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.errors import PolicyError

from .cases import Case, cases
from .clouds import cloud, column, machine, outcomes, vm


def test_it_leaves_a_large_vm_out_for_two_small_ones() -> None:
    # One machine of 4 cores. Best-fit takes A (4 cores) and fails B and C (2 each).
    scenario = cloud(vm(0, 9, cores=4), vm(1, 9, cores=2), vm(1, 9, cores=2))
    greedy = cloudarena.simulate(scenario, "best-fit")
    assert outcomes(greedy) == ["running", "failed", "failed"]
    planned = cloudarena.simulate(scenario, "oracle-ilp")
    assert outcomes(planned) == ["failed", "running", "running"]


def test_it_keeps_a_machine_free_for_a_large_vm() -> None:
    # A and B (2 cores each) could go to different machines; C needs a whole one.
    scenario = cloud(
        vm(0, 9, cores=2), vm(0, 9, cores=2), vm(1, 9, cores=4), machines=[machine(4, count=2)]
    )
    assert outcomes(cloudarena.simulate(scenario, "worst-fit")) == ["running", "running", "failed"]
    planned = cloudarena.simulate(scenario, "oracle-ilp")
    assert outcomes(planned) == ["running"] * 3
    assert column(planned, "machine")[0] == column(planned, "machine")[1]


def most_placed(vms: list[dict[str, Any]], machines: list[int]) -> int:
    """The most VMs that any plan places, by trying all of them."""

    def holds(plan: tuple[int, ...]) -> bool:
        for number, cores in enumerate(machines):
            for tick in {it["created"] for it in vms}:
                here = [
                    it
                    for it, where in zip(vms, plan, strict=True)
                    if where == number and it["created"] <= tick < it["created"] + it["lifetime"]
                ]
                kinds = {it["category"] == "delay-insensitive" for it in here}
                if len(kinds) > 1 or sum(it["cores"] for it in here) > cores:
                    return False
        return True

    plans = itertools.product(range(-1, len(machines)), repeat=len(vms))
    return max(sum(where >= 0 for where in plan) for plan in plans if holds(plan))


@st.composite
def small_workloads(draw: Any) -> list[dict[str, Any]]:
    created = sorted(draw(st.lists(st.integers(0, 4), min_size=1, max_size=6)))
    kinds = st.sampled_from(["unknown", "unknown", "delay-insensitive"])
    return [
        vm(tick, draw(st.integers(1, 5)), draw(st.integers(1, 4)), category=draw(kinds))
        for tick in created
    ]


@settings(max_examples=40)
@given(vms=small_workloads(), machines=st.lists(st.integers(2, 5), min_size=1, max_size=2))
def test_it_places_as_many_vms_as_any_plan(vms: list[dict[str, Any]], machines: list[int]) -> None:
    scenario = cloud(*vms, ticks=12, machines=[machine(cores) for cores in machines])
    planned = cloudarena.simulate(scenario, "oracle-ilp").metrics["allocated"]
    assert planned == most_placed(vms, machines)
    assert planned >= cloudarena.simulate(scenario, "best-fit").metrics["allocated"]


def test_it_places_a_vm_that_waited_when_its_window_was_planned() -> None:
    # At 100, in a new window, B finds no machine and waits; C is planned. At 103 A is gone.
    scenario = cloud(
        vm(0, 103, cores=4),
        vm(100, 9, cores=4),
        vm(100, 9, cores=2),
        ticks=120,
        machines=[machine(4), machine(2)],
        buffer={"budget_ticks": 9},
    )
    result = cloudarena.simulate(scenario, "oracle-ilp")
    assert outcomes(result) == ["completed"] * 3
    assert column(result, "start") == [0, 103, 100]


@settings(max_examples=20)
@given(case=cases())
def test_it_runs_on_anything_and_twice_the_same(case: Case) -> None:
    scenario = case.load()
    one, other = (cloudarena.simulate(scenario, "oracle-ilp") for _ in range(2))
    assert one.metrics == other.metrics
    assert one.tables == other.tables
    ended = ("completed", "failed", "refused", "killed", "running_at_end", "waiting_at_end")
    assert sum(one.metrics[name] for name in ended) == one.metrics["requests"]


@pytest.mark.parametrize("budget", [0, 6])
def test_it_is_no_worse_than_best_fit_where_the_window_holds_the_whole_run(budget: int) -> None:
    scenario = cloudarena.load(
        {
            "scenario": "vm",
            "ticks": 90,
            "machines": [{"count": 4, "cores": 16, "memory_gb": 64}],
            "oversubscription": {"utilisation": 9},
            "buffer": {"budget_ticks": budget},
            "workload": {"source": "azure-like", "vms": 60, "concurrent": 20, "ticks": 90},
        }
    )
    planned = cloudarena.simulate(scenario, "oracle-ilp").metrics
    greedy = cloudarena.simulate(scenario, "best-fit").metrics
    assert planned["allocated"] >= greedy["allocated"]


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("window_ticks=x", "window_ticks: 'x' is not allowed: a whole number, at least 1"),
        ("window_ticks=0", "window_ticks: 0 is not allowed: a whole number, at least 1"),
        ("window_ticks=[", r"'window_ticks=\[' is not allowed: the value is not YAML"),
        ("weight=gold", "weight: 'gold' is not allowed: one of requests, cores"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: str, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        cloudarena.simulate("vm/toy", f"oracle-ilp:{setting}")
