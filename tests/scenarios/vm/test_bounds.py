"""Numbers that no run could hold are refused when a spec is read, before anything is allocated."""

from __future__ import annotations

import math
from typing import Any

import pytest

import cloudarena
from cloudarena.base.errors import SpecError

from .clouds import cloud, machine, play, vm

TOO_LARGE = {
    "workload.vms": (10**7 + 1, "workload.vms: 10000001 is not allowed: at most 10000000"),
    "workload.ticks": (10**8 + 1, "workload.ticks: 100000001 is not allowed: at most 100000000"),
    "workload.concurrent": (1e30, "workload.concurrent: 1e"),
    "ticks": (10**9, "ticks: 1000000000 is not allowed: at most 100000000"),
    "tick_seconds": (1e8, "tick_seconds: 100000000.0 is not allowed: at most"),
    "series_every": (2**31, "series_every: 2147483648 is not allowed: at most 100000000"),
    "machines[0].count": (10**7, "machines[0].count: 10000000 is not allowed: at most 1000000"),
    "machines[0].power.busy_w": (1e300, "machines[0].power.busy_w: 1e"),
    "machines[0].power.boot_w": (1e300, "machines[0].power.boot_w: 1e"),
    "hierarchy.regions": (2**31, "hierarchy.regions: 2147483648 is not allowed: at most"),
    "hierarchy.zones": (10**30, "hierarchy.zones: 1"),
    "hierarchy.data_centres": (10**30, "hierarchy.data_centres: 1"),
    "hierarchy.clusters": (10**30, "hierarchy.clusters: 1"),
    "hierarchy.racks": (10**30, "hierarchy.racks: 1"),
    "prices.core_hour_usd": (1e300, "prices.core_hour_usd: 1e"),
    "prices.gb_hour_usd": (1e7, "prices.gb_hour_usd: 10000000.0 is not allowed: at most"),
    "prices.kwh_usd": (1e300, "prices.kwh_usd: 1e"),
    "prices.pue": (1e300, "prices.pue: 1e"),
    "off_after_ticks": (10**9, "off_after_ticks: 1000000000 is not allowed: at most"),
    "boot_ticks": (10**9, "boot_ticks: 1000000000 is not allowed: at most"),
    "buffer.budget_ticks": (10**30, "buffer.budget_ticks: 1"),
}


@pytest.mark.parametrize("field", TOO_LARGE)
def test_absurd_numbers_are_refused_with_field_value_and_what_is_allowed(field: str) -> None:
    value, words = TOO_LARGE[field]
    with pytest.raises(SpecError) as error:
        cloudarena.load("vm/azure-like-10k", {field: value})
    message = str(error.value)
    assert words in message
    assert "is not allowed" in message
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tick_seconds": 1e-300}, "tick_seconds: 1e-300 is not allowed: at least"),
        ({"off_after_ticks": -1}, "off_after_ticks: -1 is not allowed: at least 0"),
        ({"boot_ticks": -1}, "boot_ticks: -1 is not allowed: at least 0"),
        ({"off_after_ticks": True}, "off_after_ticks: True is not allowed: a number"),
        ({"machines[0].power.off_w": 121}, "off_w: 121 is not allowed: at most idle_w, 120"),
        (
            {"hierarchy": {"zones": 10**5, "racks": 10**5}},
            "hierarchy: 10,000,000,000 racks in all are not allowed: at most 1,000,000,000",
        ),
        (
            {"workload.vms": 10**6, "workload.ticks": 10**6},
            "workload: ticks: 1000000 is not allowed: 83570 VMs at a time have 8.4e+10 readings",
        ),
        (
            {"machines": [{"count": 600_000, "cores": 1, "memory_gb": 1}] * 2, "ticks": 9},
            "machines: 1,200,000 machines are not allowed: at most 1,000,000",
        ),
    ],
)
def test_what_is_too_much_together_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as error:
        cloudarena.load("vm/azure-like-10k", changes)
    assert words in str(error.value)


def test_lives_that_no_memory_could_hold_are_refused() -> None:
    with pytest.raises(SpecError, match="9,000,000,000 ticks of life in all are not allowed"):
        cloud(*[vm(0, 10**8) for _ in range(90)])


def test_the_largest_numbers_of_a_run_are_finite() -> None:
    scenario = cloud(
        vm(0, 9, cores=10**6, memory_gb=10**6),
        ticks=9,
        tick_seconds=1e7,
        machines=[machine(10**6, 10**6, busy_w=1e9, boot_w=1e9)],
        prices={"core_hour_usd": 1e6, "gb_hour_usd": 1e6, "kwh_usd": 1e6, "pue": 1000},
        off_after_ticks=0,
        hierarchy={"regions": 10**9},
    )
    result = play(scenario)
    assert all(math.isfinite(value) for value in result.metrics.values())
    assert result.tables["machines"]["rack"].to_pylist() == [0]


def test_readings_of_a_spec_are_laid_out_as_they_were() -> None:
    scenario = cloud(vm(0, 3, readings=[1, 2, 3, 4]), vm(0, 4, readings=[5]), vm(0, 2), ticks=4)
    workload = scenario.load_workload(0)
    assert workload.readings.tolist() == [1, 2, 3, 5, 5, 5, 5, 0, 0]
    assert workload.first_reading.tolist() == [0, 3, 7]


def test_memory_is_looked_at_before_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloudarena.base.memory.available_bytes", lambda: 1e6)
    words = "workload.vms: 10000 over 8638 ticks: is not allowed: it needs about 0.1 GB of memory"
    with pytest.raises(SpecError, match=words):
        cloudarena.load("vm/azure-like-10k").load_workload(seed=12345)
    with pytest.raises(SpecError, match=r"workload\.vms: 1000000 ticks of life in all: is not"):
        cloud(vm(0, 10**6)).load_workload(0)
    small = cloud(vm(0, 1), ticks=10_000, machines=[machine(4, count=100)])
    assert small.memory_needs("none")[0] == 8 * 100 * 256
    assert small.memory_needs("full")[0] == 8 * (100 * 256 + 10_000 * (7 + 5 * 100))
    with pytest.raises(SpecError, match="ticks: 10000 of 100 machines, record: full: is not"):
        cloudarena.simulate(small, "best-fit", record="full")
    cloudarena.simulate(small, "best-fit", record="none")
