"""Toy clouds worked by hand: the arithmetic stands beside each."""

from __future__ import annotations

from decimal import Decimal

import pytest

import cloudarena
from cloudarena.errors import SpecError
from cloudarena.scenarios.vm import REFUSE, postpone

from .clouds import batch, cloud, column, machine, outcomes, play, vm

KILLING = {
    "machines": [machine(2)],
    "oversubscription": {"cpu": 2, "utilisation": 2},
    "overload": "kill",
}


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
    # 500 Wh at 0.25 $/kWh and PUE 2 cost 0.25 $; income 0.84 $.
    result = cloudarena.simulate("vm/toy", "first-fit")
    assert outcomes(result) == ["completed", "completed", "failed"]
    expected = {
        "requests": 3,
        "allocated": 2,
        "completed": 2,
        "failed": 1,
        "refused": 0,
        "killed": 0,
        "running_at_end": 0,
        "waiting_at_end": 0,
        "energy_kwh": 0.5,
        "energy_cost_usd": 0.25,
        "income_usd": 0.84,
        "profit_usd": 0.59,
        "oversubscribed_machine_ticks": 0,
        "overloaded_machine_ticks": 0,
        "overloaded_vm_ticks": 0,
        "delay_ticks": 0,
        "mean_cpu_utilisation": 4 / 16,
        "mean_allocation": 6 / 16,
    }
    assert result.metrics == pytest.approx(expected, rel=1e-14)
    assert list(result.metrics) == list(expected)


@pytest.mark.parametrize(
    ("budget", "delay", "fails_at", "waited"),
    [
        (0, 1, 1, 0),  # fails at once
        (3, 1, 4, 3),  # tries at 1, 2, 3, 4 with 3, 2, 1, 0 left
        (4, 2, 5, 4),  # tries at 1, 3, 5 with 4, 2, 0 left
        (5, 2, 5, 4),  # tries at 1, 3, 5 with 5, 3, 1 left: 1 is less than a delay
        (1, 2, 1, 0),  # less than a delay from the beginning
    ],
)
def test_a_request_fails_when_its_buffer_is_used_up(
    budget: int, delay: int, fails_at: int, waited: int
) -> None:
    scenario = cloud(
        vm(0, 20, cores=4),
        vm(1, 1),
        ticks=10,
        buffer={"budget_ticks": budget, "delay_ticks": delay},
    )
    result = play(scenario)
    assert outcomes(result) == ["running", "failed"]
    assert column(result, "end")[1] == fails_at
    assert column(result, "delay") == [0, waited]
    assert result.metrics["delay_ticks"] == waited
    assert result.metrics["failed"] == 1
    assert column(result, "waiting", "series")[1:fails_at] == [1] * (fails_at - 1)
    assert len(result.tables["decisions"]) == 1  # nobody was asked about the full machine


def test_a_waiting_request_takes_the_first_free_place() -> None:
    # The machine is free at tick 3. With delays of 2 the request looks at 1, 3.
    scenario = cloud(vm(0, 3, cores=4), vm(1, 1), buffer={"budget_ticks": 9, "delay_ticks": 2})
    result = play(scenario)
    assert column(result, "start") == [0, 3]
    assert result.metrics["delay_ticks"] == 2


def test_a_policy_puts_a_request_off_by_as_many_delays_as_it_says() -> None:
    # Delays of 2 ticks, 10 in the buffer: 3 delays are 6 ticks, 4 are left.
    scenario = cloud(vm(0, 1), ticks=12, buffer={"budget_ticks": 10, "delay_ticks": 2})
    run = scenario.start()
    assert run.decision.request.buffer_ticks == 10
    run.apply(postpone(3))
    assert run.decision.request.tick == 6
    assert run.decision.request.buffer_ticks == 4
    run.apply(postpone(1))  # 4 - 2 is still a delay
    assert run.decision.request.tick == 8
    assert run.decision.request.buffer_ticks == 2
    run.apply(0)
    assert run.decision is None
    result = run.result()
    assert column(result, "start") == [8]
    assert result.metrics["delay_ticks"] == 8
    assert column(result, "delays", "decisions") == [3, 1, None]
    assert column(result, "action", "decisions") == ["postpone", "postpone", "place"]


@pytest.mark.parametrize(("delays", "fails"), [(1, False), (2, True), (3, True)])
def test_a_postponement_must_leave_a_delay_in_the_buffer(delays: int, fails: bool) -> None:
    # 4 ticks in the buffer, delays of 2: 4 - 2 >= 2, but 4 - 4 < 2.
    scenario = cloud(vm(0, 1), buffer={"budget_ticks": 4, "delay_ticks": 2})
    run = scenario.start()
    run.apply(postpone(delays))
    assert (run.decision is None) == fails
    assert run.metrics()["failed"] == fails
    assert run.metrics()["delay_ticks"] == (0 if fails else 2 * delays)


@pytest.mark.parametrize(("delays", "fails"), [(1, False), (2, False), (3, True)])
def test_where_no_machine_is_valid_the_whole_buffer_may_be_used(delays: int, fails: bool) -> None:
    # 4 ticks in the buffer, delays of 2: 4 - 4 >= 0, but 4 - 6 < 0.
    scenario = cloud(
        vm(0, 9, cores=4),
        vm(0, 1),
        ticks=8,
        buffer={"budget_ticks": 4, "delay_ticks": 2},
        decide_when_full=True,
    )
    run = scenario.start()
    run.apply(0)
    assert not run.decision.valid.any()
    run.apply(postpone(delays))
    assert (run.decision is None) == fails
    assert run.metrics()["failed"] == fails


def test_a_request_put_off_beyond_the_end_is_waiting_at_the_end() -> None:
    scenario = cloud(vm(0, 1), ticks=3, buffer={"budget_ticks": 9, "delay_ticks": 1})
    result = play(scenario, postpone(5))
    assert outcomes(result) == ["waiting"]
    assert result.metrics["waiting_at_end"] == 1
    assert column(result, "end") == [None]


def test_a_full_cloud_asks_only_if_the_spec_says_so() -> None:
    full = (vm(0, 9, cores=4), vm(1, 1))
    silent = play(cloud(*full))
    assert silent.metrics["failed"] == 1
    assert len(silent.tables["decisions"]) == 1
    asked = play(cloud(*full, decide_when_full=True), 0, REFUSE)
    assert asked.metrics["refused"] == 1
    assert column(asked, "valid_machines", "decisions") == [1, 0]


@pytest.mark.parametrize("others", ["interactive", "unknown"])
def test_delay_insensitive_vms_share_no_machine_with_others(others: str) -> None:
    after_batch = play(cloud(batch(0, 9), vm(1, 9, category=others)))
    assert outcomes(after_batch) == ["running", "failed"]
    before_batch = play(cloud(vm(0, 9, category=others), batch(1, 9)))
    assert outcomes(before_batch) == ["running", "failed"]


def test_interactive_and_unknown_vms_share_a_machine() -> None:
    result = play(cloud(vm(0, 9, category="interactive"), vm(0, 9, category="unknown")))
    assert outcomes(result) == ["running", "running"]


def test_an_empty_machine_is_open_to_all_categories_again() -> None:
    # The machine belongs to A and B (batch) until 2, to C (unknown) in 2, then to D (batch).
    result = play(
        cloud(batch(0, 1), batch(0, 2), vm(1, 1), vm(2, 1), batch(3, 1), vm(4, 1), ticks=6)
    )
    assert outcomes(result) == [
        "completed",
        "completed",
        "failed",  # B is still there in tick 1
        "completed",
        "completed",
        "completed",
    ]


@pytest.mark.parametrize(
    ("percent", "outcome"),
    [(50, "running"), (51, "failed")],
)
def test_utilisation_limits_delay_insensitive_vms(percent: float, outcome: str) -> None:
    # Up to 0.75 * 4 = 3 cores may be busy. A uses 2 * 50 % = 1, B counts with all its 2: 3 <= 3.
    # At 51 % it is 3.02 > 3.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[percent]),
        batch(1, 9, cores=2),
        oversubscription={"utilisation": 0.75},
    )
    assert outcomes(play(scenario)) == ["running", outcome]


def test_utilisation_does_not_limit_other_vms() -> None:
    scenario = cloud(
        vm(0, 9, cores=2, readings=[100]),
        vm(1, 9, cores=2),
        oversubscription={"utilisation": 0.75},
    )
    assert outcomes(play(scenario)) == ["running", "running"]


def test_utilisation_is_that_of_the_tick_with_the_vms_placed_in_it() -> None:
    # A and B arrive together: B sees A's first reading. 2 * 60 % + 2 = 3.2 > 3.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[60, 0]),
        batch(0, 9, cores=2),
        batch(1, 9, cores=2),  # now A is idle: 0 + 2 <= 3
        oversubscription={"utilisation": 0.75},
    )
    assert outcomes(play(scenario)) == ["running", "failed", "running"]


def test_only_delay_insensitive_vms_are_oversubscribed() -> None:
    rates = {"cpu": 1.5, "memory": 2, "utilisation": 9}
    batches = cloud(*[batch(0, 9, cores=2) for _ in range(4)], oversubscription=rates)
    assert outcomes(play(batches)) == ["running"] * 3 + ["failed"]  # 6 = 1.5 * 4
    others = cloud(*[vm(0, 9, cores=2) for _ in range(4)], oversubscription=rates)
    assert outcomes(play(others)) == ["running"] * 2 + ["failed"] * 2  # 4
    memory = cloud(*[batch(0, 9, memory_gb=16) for _ in range(3)], oversubscription=rates)
    assert outcomes(play(memory)) == ["running"] * 2 + ["failed"]  # 32 = 2 * 16
    memory = cloud(*[vm(0, 9, memory_gb=16) for _ in range(3)], oversubscription=rates)
    assert outcomes(play(memory)) == ["running"] + ["failed"] * 2


def test_a_rate_below_one_keeps_room_free() -> None:
    scenario = cloud(*[batch(0, 9) for _ in range(3)], oversubscription={"cpu": 0.5})
    assert outcomes(play(scenario)) == ["running", "running", "failed"]  # 2 = 0.5 * 4


def test_oversubscribed_machine_ticks_are_counted() -> None:
    # 4 cores. Allocated: tick 0: 4 (not more than 4), 1: 6, 2: 6, 3: 2. A second machine stays
    # empty.
    scenario = cloud(
        batch(0, 3, cores=4),
        batch(1, 3, cores=2),
        machines=[machine(4, count=2)],
        oversubscription={"cpu": 2, "utilisation": 9},
    )
    result = play(scenario)
    assert result.metrics["oversubscribed_machine_ticks"] == 2
    assert column(result, "oversubscribed_ticks", "machines") == [2, 0]
    assert result.metrics["overloaded_machine_ticks"] == 0


def test_overload_is_recorded_and_the_vms_live_on() -> None:
    # 2 cores. A and B have 2 each. Used: tick 0: 1 + 1 = 2, full and not overloaded;
    # 1: 2 + 1 = 3, overloaded; 2: 2 + 1 again; 3: A is gone.
    scenario = cloud(
        batch(0, 3, cores=2, readings=[50, 100, 100]),
        batch(0, 4, cores=2, readings=[50]),
        **{**KILLING, "overload": "record"},
    )
    result = play(scenario)
    assert outcomes(result) == ["completed", "completed"]
    assert result.metrics["overloaded_machine_ticks"] == 2
    assert result.metrics["overloaded_vm_ticks"] == 4
    assert result.metrics["oversubscribed_machine_ticks"] == 3
    assert column(result, "overloaded_ticks", "machines") == [2]
    # More than all cores draw no more than all cores: 200 W in the first three ticks.
    assert column(result, "power_w", "series") == [200, 200, 200, 150, 100, 100]
    # Utilisation is not capped: 2 + 3 + 3 + 1 of 2 * 6.
    assert result.metrics["mean_cpu_utilisation"] == 9 / 12
    # Each pays 2 * 1 + 0.1 * 1 = 2.1 a tick: 3 and 4 ticks.
    assert result.metrics["income_usd"] == pytest.approx(7 * 2.1, rel=1e-14)


def test_a_kill_ends_all_vms_of_an_overloaded_machine_and_no_others() -> None:
    scenario = cloud(
        batch(0, 9, cores=2, readings=[50, 100]),
        batch(0, 9, cores=2, readings=[50]),
        vm(0, 9, cores=1, readings=[100]),
        **{**KILLING, "machines": [machine(2), machine(2)]},
    )
    result = play(scenario)
    assert outcomes(result) == ["killed", "killed", "running"]
    assert result.metrics["killed"] == 2
    assert result.metrics["allocated"] == 3
    assert result.metrics["overloaded_machine_ticks"] == 1
    assert result.metrics["overloaded_vm_ticks"] == 2
    # Machine 0 was oversubscribed in ticks 0 and 1; after the kill it holds nothing.
    assert result.metrics["oversubscribed_machine_ticks"] == 2
    # Tick 1 is spent before the kill: at full power, with 3 cores used on machine 0.
    powers = result.tables["machines_series"]["power_w"].to_pylist()[::2]
    assert powers == [200, 200, 100, 100, 100, 100]
    assert column(result, "used_cores", "series") == [3, 4, 1, 1, 1, 1]
    assert column(result, "allocated_cores", "series") == [5, 5, 1, 1, 1, 1]
    assert column(result, "live_vms", "series") == [3, 3, 1, 1, 1, 1]


def test_a_kill_releases_the_machine_for_the_next_tick() -> None:
    # Killed at the end of tick 1. In tick 2 an interactive VM takes all cores and all memory.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[50, 100], memory_gb=32),
        batch(0, 9, cores=2, readings=[50], memory_gb=32),
        vm(1, 1, category="interactive"),
        vm(2, 2, cores=2, category="interactive", memory_gb=64),
        batch(4, 2, cores=4),
        **KILLING,
    )
    result = play(scenario)
    assert outcomes(result) == ["killed", "killed", "failed", "completed", "running"]


def test_a_kill_refunds_all_that_was_paid() -> None:
    # A and B would have paid 2.1 in tick 0 and get it back; C pays 1.1 in ticks 2 and 3.
    # Energy: 200 + 200 + 3 * 100 (C is idle) + 100 Wh = 0.6 kWh at 1 $.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[50, 100]),
        batch(0, 9, cores=2, readings=[50]),
        vm(2, 2),
        **KILLING,
    )
    run = scenario.start()
    run.apply(0)
    run.apply(0)  # advances to the request of C in tick 2
    assert run.decision.request.tick == 2
    assert run.metrics()["income_usd"] == 0
    run.apply(0)
    metrics = run.metrics()
    assert metrics["income_usd"] == pytest.approx(2.2, rel=1e-14)
    assert metrics["energy_kwh"] == pytest.approx(0.8, rel=1e-14)
    assert metrics["profit_usd"] == pytest.approx(1.4, rel=1e-14)


def test_a_vm_that_ends_as_its_machine_overloads_was_killed() -> None:
    # Both would leave at tick 2; tick 1, their last, overloads the machine.
    scenario = cloud(
        batch(0, 2, cores=2, readings=[50, 100]), batch(0, 2, cores=2, readings=[50]), **KILLING
    )
    assert outcomes(play(scenario)) == ["killed", "killed"]


def test_a_machine_that_overloads_as_a_vm_starts_kills_it_in_its_first_tick() -> None:
    scenario = cloud(
        batch(0, 9, cores=2, readings=[100]), batch(3, 9, cores=2, readings=[100]), **KILLING
    )
    result = play(scenario)
    assert outcomes(result) == ["killed", "killed"]
    assert result.metrics["allocated"] == 2
    assert result.metrics["income_usd"] == 0
    assert result.metrics["overloaded_vm_ticks"] == 2


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


def test_requests_that_waited_come_before_new_ones() -> None:
    # One place, free at tick 2. B waits since 1; C arrives at 2.
    scenario = cloud(
        vm(0, 2, cores=4), vm(1, 9, cores=4), vm(2, 9, cores=4), buffer={"budget_ticks": 9}
    )
    result = play(scenario)
    assert column(result, "start") == [0, 2, None]
    assert outcomes(result) == ["completed", "running", "waiting"]


def test_requests_that_waited_come_in_the_order_in_which_they_were_put_off() -> None:
    # B is put off at 0 by 2 delays, A before it by 3; C at 1 by 1. At 2 come B, then C, then D.
    scenario = cloud(vm(0, 1), vm(0, 1), vm(1, 1), vm(2, 1), ticks=5, buffer={"budget_ticks": 9})
    run = scenario.start()
    asked = []
    for action in (postpone(3), postpone(2), postpone(1), 0, 0, 0, 0):
        asked.append((run.decision.request.tick, run.decision.request.vm))
        run.apply(action)
    assert asked == [(0, 0), (0, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 0)]
    assert run.decision is None


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
