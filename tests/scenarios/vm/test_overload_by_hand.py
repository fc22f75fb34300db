"""Shared machines worked by hand: categories, oversubscription, overload and kills."""

from __future__ import annotations

import pytest

from .clouds import batch, cloud, column, machine, outcomes, play, vm

KILLING = {
    "machines": [machine(2)],
    "oversubscription": {"cpu": 2, "utilisation": 2},
    "overload": "kill",
}


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
    # Used are at most the 2 cores there are, 2 + 2 + 2 + 1 of 2 * 6; asked for are 2 + 3 + 3 + 1.
    assert result.metrics["mean_cpu_utilisation"] == 7 / 12
    assert result.metrics["mean_cpu_demand"] == 9 / 12
    assert column(result, "mean_cpu_utilisation", "machines") == [7 / 12]
    assert column(result, "mean_cpu_demand", "machines") == [9 / 12]
    assert column(result, "used_cores", "series") == [2, 2, 2, 1, 0, 0]
    assert column(result, "demanded_cores", "series") == [2, 3, 3, 1, 0, 0]
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
    # Tick 1 is spent before the kill: at full power, with 3 cores asked of machine 0.
    powers = result.tables["machines_series"]["power_w"].to_pylist()[::2]
    assert powers == [200, 200, 100, 100, 100, 100]
    assert column(result, "used_cores", "series") == [3, 3, 1, 1, 1, 1]
    assert column(result, "demanded_cores", "series") == [3, 4, 1, 1, 1, 1]
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
