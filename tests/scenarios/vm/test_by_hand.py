"""Toy clouds worked by hand: the arithmetic stands beside each."""

from __future__ import annotations

from decimal import Decimal

import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.vm import REFUSE

from .clouds import batch, cloud, column, machine, outcomes, play, vm


def test_two_vms_live_and_draw_power_on_one_machine() -> None:
    # Four cores; P = 100 + 100 (2u - u^2).
    # tick 0: A uses 2 of 4       u = 1/2   2u - u^2 = 3/4    175 W
    # tick 1: A uses 1, B uses 1  u = 1/2                     175 W
    # tick 2: A is idle, B 1      u = 1/4   1/2 - 1/16        143.75 W
    # ticks 3, 4: empty                                       100 W each
    scenario = cloud(
        vm(0, 3, cores=2, readings=[100, 50, 0]),
        vm(1, 2, cores=1, readings=[100, 100]),
        ticks=5,
        machines=[machine(4, r=2)],
    )
    result = play(scenario)
    assert column(result, "power_w", "series") == [175, 175, 143.75, 100, 100]
    assert result.metrics["energy_kwh"] == pytest.approx(0.69375, rel=1e-15)
    assert column(result, "start") == [0, 1]
    assert column(result, "end") == [3, 3]
    assert outcomes(result) == ["completed", "completed"]
    assert column(result, "allocated_cores", "series") == [2, 3, 3, 0, 0]
    assert column(result, "used_cores", "series") == [2, 2, 1, 0, 0]
    assert column(result, "live_vms", "series") == [1, 2, 2, 0, 0]
    assert result.metrics["mean_cpu_utilisation"] == 5 / 20
    assert result.metrics["mean_allocation"] == 8 / 20


def test_the_toy_of_the_catalogue() -> None:
    # One machine of 4 cores; P = 100 + 100 u; hours. VM 3 finds 3 of 4 cores taken and fails.
    # tick 0: VM 1 uses 2              150 W   pays 2 * 0.10 + 8 * 0.01 = 0.28
    # tick 1: VM 1 uses 1, VM 2 uses 1 150 W   0.28 + (0.10 + 0.04)     = 0.42
    # tick 2: VM 2 is idle             100 W                              0.14
    # tick 3: empty                    100 W
    # 500 Wh at 0.25 $/kWh and PUE 2 cost 0.25 $; income 0.84 $. VM 1 is served 4 core-hours, VM 2
    # two. The median VM has 2 cores and 4 GB: it does not fit into the one free core of tick 1.
    result = cloudarena.simulate("vm/toy", "first-fit")
    assert outcomes(result) == ["completed", "completed", "failed"]
    expected = {
        "unserved_share": 1 / 3,
        "requests": 3,
        "allocated": 2,
        "completed": 2,
        "failed": 1,
        "refused": 0,
        "killed": 0,
        "running_at_end": 0,
        "waiting_at_end": 0,
        "energy_kwh": 0.5,
        "energy_kwh_per_core_hour_served": 0.5 / 6,
        "energy_cost_usd": 0.25,
        "cost_usd": 0.25,
        "income_usd": 0.84,
        "profit_usd": 0.59,
        "oversubscribed_machine_ticks": 0,
        "overloaded_machine_ticks": 0,
        "overloaded_vm_ticks": 0,
        "delay_ticks": 0,
        "wait_ticks_mean": 0,
        "slowdown_mean": 1,
        "boots": 0,
        "boot_wait_ticks": 0,
        "mean_cpu_utilisation": 4 / 16,
        "mean_cpu_demand": 4 / 16,
        "mean_allocation": 6 / 16,
        "empty_machines_mean": 1 / 4,
        "stranded_cores_share": 1 / 16,
        "mean_gpu_allocation": 0,
        "gpu_fragments_share": 0,
    }
    assert result.metrics == pytest.approx(expected, rel=1e-14)
    assert list(result.metrics) == list(expected)


def test_prices_are_by_the_hour_whatever_the_tick() -> None:
    # 12 ticks of 5 minutes are an hour: 2 cores at 0.07 and 8 GB at 0.01 are 0.22 $.
    # The machine is idle: 120 W for an hour, 0.12 kWh at 0.10 $ and PUE 1.5 are 0.018 $.
    scenario = cloud(
        vm(0, 12, cores=2, memory_gb=8),
        ticks=12,
        tick_seconds=300,
        machines=[machine(4, idle_w=120, busy_w=185, r=1.4)],
        prices={"core_hour_usd": 0.07, "gb_hour_usd": 0.01, "kwh_usd": 0.10, "pue": 1.5},
    )
    metrics = play(scenario).metrics
    assert metrics["income_usd"] == pytest.approx(0.22, rel=1e-14)
    assert metrics["energy_kwh"] == pytest.approx(0.12, rel=1e-14)
    assert metrics["energy_cost_usd"] == pytest.approx(0.018, rel=1e-14)
    assert metrics["profit_usd"] == pytest.approx(0.202, rel=1e-14)


def test_what_a_vm_leaves_is_free_in_the_same_tick() -> None:
    result = play(cloud(vm(0, 2, cores=4, memory_gb=16), vm(2, 1, cores=4, memory_gb=16)))
    assert column(result, "start") == [0, 2]
    assert column(result, "end") == [2, 3]


def test_what_a_vm_takes_is_gone_for_the_next_request_of_the_tick() -> None:
    result = play(cloud(vm(0, 1, cores=3), vm(0, 1, cores=3), vm(0, 1, cores=1)))
    assert outcomes(result) == ["completed", "failed", "completed"]


def test_vms_that_fit_exactly_fit() -> None:
    # In binary floats 0.1 + 0.2 is more than 0.3.
    small = [machine(0.3, memory_gb=0.3)]
    fits = cloud(
        vm(0, 9, cores=0.1, memory_gb=0.1), vm(0, 9, cores=0.2, memory_gb=0.2), machines=small
    )
    assert outcomes(play(fits)) == ["running", "running"]
    too_much = cloud(
        vm(0, 9, cores=0.1), vm(0, 9, cores=0.2001, memory_gb=0.1), machines=[machine(0.3)]
    )
    assert outcomes(play(too_much)) == ["running", "failed"]
    tenths = cloud(*[vm(0, 9, cores=0.1) for _ in range(11)], machines=[machine(1)])
    assert outcomes(play(tenths)) == ["running"] * 10 + ["failed"]


@pytest.mark.parametrize(
    ("cores", "rate", "each", "count"),
    [(3, 1.1, 1.1, 3), (32, 1.15, 4.6, 8), (0.7, 1.1, 0.11, 7), (0.3, 3, 0.1, 9)],
)
def test_vms_that_fit_an_oversubscribed_machine_exactly_fit(
    cores: float, rate: float, each: float, count: int
) -> None:
    scenario = cloud(
        *[batch(0, 9, cores=each) for _ in range(count + 1)],
        machines=[machine(cores)],
        oversubscription={"cpu": rate, "utilisation": 9},
    )
    assert outcomes(play(scenario)) == ["running"] * count + ["failed"]


def test_nothing_drifts_when_vms_come_and_go() -> None:
    # In each tick 0.1, 0.2 and 0.7 cores leave and come again.
    scenario = cloud(
        *[vm(t, 1, cores=c, memory_gb=c) for t in range(500) for c in (0.7, 0.1, 0.2)],
        ticks=500,
        machines=[machine(1, memory_gb=1)],
    )
    metrics = play(scenario).metrics
    assert metrics["allocated"] == 1500
    assert metrics["mean_allocation"] == 1


@pytest.mark.parametrize("sizes", [(0.1, 0.2), (0.1, 0.1, 2.1), (0.28, 0.29), (2.0, 2.0)])
def test_full_use_of_all_cores_is_no_overload(sizes: tuple[float, ...]) -> None:
    # All cores of the machine are allocated and busy. In binary floats the sums are a little more:
    # 0.1 * 100 + 0.1 * 100 + 2.1 * 100 > 2.3 * 100.
    total = float(sum(Decimal(str(size)) for size in sizes))
    scenario = cloud(
        *[vm(0, 9, cores=size, readings=[100]) for size in sizes],
        machines=[machine(total)],
        overload="kill",
    )
    result = play(scenario)
    assert outcomes(result) == ["running"] * len(sizes)
    assert result.metrics["overloaded_machine_ticks"] == 0


@pytest.mark.parametrize("cores", [1.1, 2.2, 4.9, 16.1, 0.57, 8])
def test_a_delay_insensitive_vm_may_fill_an_empty_machine(cores: float) -> None:
    # In binary floats 100 * 1.1 = 110.00000000000001.
    scenario = cloud(batch(0, 9, cores=cores), machines=[machine(cores)])
    assert outcomes(play(scenario)) == ["running"]


@pytest.mark.parametrize("cores", [5, 1e13, 1e300])
def test_a_vm_too_large_for_all_machines_is_not_placed(cores: float) -> None:
    try:
        scenario = cloud(vm(0, 9, cores=cores))
    except SpecError:
        return  # no machine is that large
    assert outcomes(play(scenario)) == ["failed"]


def test_a_delayed_vm_replays_its_readings_from_its_start() -> None:
    # B arrives at 1 and starts at 3: its first reading counts in tick 3.
    scenario = cloud(
        vm(0, 3, cores=4),
        vm(1, 3, cores=4, readings=[25, 50, 75]),
        ticks=7,
        buffer={"budget_ticks": 9},
    )
    result = play(scenario)
    assert column(result, "used_cores", "series") == [0, 0, 0, 1, 2, 3, 0]
    assert column(result, "end") == [3, 6]


def test_readings_count_in_their_tick_in_long_runs_too() -> None:
    # The kernel works in windows of 256 ticks: A lives through three of them, B starts at the end
    # of one, C at the beginning of one; A ends with the second. Percents of 4 cores.
    a = [k % 90 for k in range(512)]
    b = [k % 7 for k in range(400)]
    scenario = cloud(
        vm(0, 512, cores=2, readings=a),
        vm(255, 400, cores=1, readings=b),
        vm(256, 1, cores=1, readings=[50]),
        ticks=700,
    )
    result = play(scenario)
    used = [0.0] * 700
    for start, cores, readings in ((0, 2, a), (255, 1, b), (256, 1, [50])):
        for k, percent in enumerate(readings):
            used[start + k] += cores * percent / 100
    assert column(result, "used_cores", "series") == pytest.approx(used, rel=1e-12, abs=0)
    assert outcomes(result) == ["completed"] * 3


def test_the_last_reading_holds_and_a_vm_without_readings_is_idle() -> None:
    scenario = cloud(vm(0, 4, cores=2, readings=[100, 50]), vm(0, 4, cores=2), ticks=5)
    assert column(play(scenario), "used_cores", "series") == [2, 1, 1, 1, 0]


def test_utilisation_is_not_rounded() -> None:
    # A third of a hundredth of a percent of one core of 32.
    scenario = cloud(
        vm(0, 9, readings=[0.0033]), ticks=1, machines=[machine(32, r=1, busy_w=3_200_100)]
    )
    result = play(scenario)
    # P = 100 + 3,200,000 * 0.000033 / 32 = 103.3 W
    assert column(result, "power_w", "series")[0] == pytest.approx(103.3, rel=1e-12)


def test_the_edge_of_the_horizon() -> None:
    # Four ticks, 0 to 3. A leaves at 3. B and C would leave at 4: they are still running.
    # D would arrive at 4: it never does.
    result = play(cloud(vm(0, 3), vm(0, 4), vm(3, 1), vm(4, 1), ticks=4))
    assert outcomes(result) == ["completed", "running", "running"]
    assert column(result, "end") == [3, None, None]
    assert result.metrics["requests"] == 3
    assert result.metrics["running_at_end"] == 2
    # 3 + 4 + 1 ticks at 1.1
    assert result.metrics["income_usd"] == pytest.approx(8 * 1.1, rel=1e-14)


def test_machines_of_different_types_have_their_own_curves() -> None:
    # Machine 0 (2 cores, 10 to 20 W, r = 1), machines 1 and 2 (8 cores, 100 to 300 W, r = 2).
    # A, 2 cores at 50 %, on 0: u = 1/2, 15 W.
    # B, 2 cores at 100 %, on 2: u = 1/4, 100 + 200 (1/2 - 1/16) = 187.5 W. Machine 1: 100 W.
    scenario = cloud(
        vm(0, 9, cores=2, readings=[50]),
        vm(0, 9, cores=2, readings=[100]),
        ticks=2,
        machines=[
            machine(2, idle_w=10, busy_w=20, r=1),
            machine(8, count=2, idle_w=100, busy_w=300, r=2),
        ],
    )
    result = play(scenario, 0, 2)
    energy = column(result, "energy_kwh", "machines")
    assert energy == pytest.approx([0.03, 0.2, 0.375], rel=1e-14)
    assert result.metrics["energy_kwh"] == pytest.approx(0.605, rel=1e-14)
    assert column(result, "mean_cpu_utilisation", "machines") == [0.5, 0, 0.25]
    # 3 of 18 cores are used, 4 allocated.
    assert result.metrics["mean_cpu_utilisation"] == pytest.approx(3 / 18, rel=1e-14)
    assert result.metrics["mean_allocation"] == pytest.approx(4 / 18, rel=1e-14)


def test_machines_are_numbered_in_the_order_of_the_spec() -> None:
    scenario = cloud(vm(0, 1), machines=[machine(1, count=2), machine(2), machine(3, count=2)])
    assert scenario.start().decision.machines.cores.tolist() == [1, 1, 2, 3, 3]


def test_a_refused_request_is_counted_as_refused() -> None:
    result = play(cloud(vm(0, 1), vm(0, 1), buffer={"budget_ticks": 9}), REFUSE, 0)
    assert outcomes(result) == ["refused", "completed"]
    assert result.metrics["refused"] == 1
    assert result.metrics["failed"] == 0
    assert result.metrics["requests"] == 2
    assert column(result, "machine") == [None, 0]
    assert column(result, "action", "decisions") == ["refuse", "place"]
    assert result.metrics["income_usd"] == pytest.approx(1.1, rel=1e-14)


def test_machines_fill_the_hierarchy_in_order() -> None:
    # 2 regions of 1 zone of 1 data centre of 2 clusters of 2 racks: 8 racks for 16 machines.
    scenario = cloud(
        vm(0, 1),
        machines=[machine(4, count=16)],
        hierarchy={"regions": 2, "clusters": 2, "racks": 2},
    )
    places = play(scenario).tables["machines"].to_pydict()
    assert places["rack"] == [m // 2 for m in range(16)]
    assert places["cluster"] == [m // 4 for m in range(16)]
    for level in ("data_centre", "zone", "region"):
        assert places[level] == [m // 8 for m in range(16)]
    assert scenario.start().decision.machines.rack.tolist() == places["rack"]
