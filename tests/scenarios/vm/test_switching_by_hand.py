"""Machines that are switched off and boot, worked by hand. One tick is an hour; see ``clouds``."""

from __future__ import annotations

import numpy as np
import pytest

import cloudarena
from cloudarena.scenarios.vm import POLICIES, VmDecision, VmScenario, postpone

from .clouds import batch, cloud, column, machine, outcomes, play, vm

BOOTING = {"off_after_ticks": 2, "boot_ticks": 2}


def watts(scenario: VmScenario, *actions: int) -> list[float]:
    """The power of all machines, tick by tick."""
    return column(play(scenario, *actions), "power_w", "series")


def test_a_machine_goes_off_after_ticks_spent_empty() -> None:
    # The VM lives in tick 0. Ticks 1 and 2 are spent empty, from 3 on the machine is off.
    scenario = cloud(vm(0, 1, cores=4, readings=[100]), off_after_ticks=2)
    result = play(scenario)
    assert column(result, "power_w", "series") == [200, 100, 100, 0, 0, 0]
    assert column(result, "machines_on", "series") == [1, 1, 1, 0, 0, 0]
    assert result.metrics["energy_kwh"] == pytest.approx(0.4, rel=1e-14)
    assert result.metrics["empty_machines_mean"] == 5 / 6
    assert result.metrics["boots"] == 0


def test_machines_stay_on_if_nobody_says_otherwise() -> None:
    assert watts(cloud(vm(0, 1))) == [100] * 6


def test_an_empty_machine_is_off_at_once_with_zero_ticks() -> None:
    # Off in ticks 0 and 1; the VM boots it in 2 and starts in 3; from 4 on it is off again.
    scenario = cloud(vm(2, 1, readings=[100]), off_after_ticks=0, boot_ticks=1)
    assert watts(scenario) == [0, 0, 200, 125, 0, 0]


def test_a_vm_starts_when_its_machine_has_booted_and_lives_and_pays_from_then() -> None:
    # Empty in 0 and 1, off in 2; the VM boots it in 3 and 4 at the power of a busy machine, and
    # lives in 5, 6 and 7. The machine is empty in 8 and 9, and off in 10 and 11.
    scenario = cloud(vm(3, 3, cores=2, readings=[100, 50, 100]), ticks=12, **BOOTING)
    result = play(scenario)
    assert column(result, "power_w", "series") == [
        *(100, 100, 0),
        *(200, 200),
        *(150, 125, 150),
        *(100, 100, 0, 0),
    ]
    assert (column(result, "start"), column(result, "end")) == ([5], [8])
    assert column(result, "allocated_cores", "series") == [0] * 3 + [2] * 5 + [0] * 4
    assert column(result, "live_vms", "series") == [0] * 5 + [1] * 3 + [0] * 4
    assert column(result, "waiting", "series") == [0] * 3 + [1] * 2 + [0] * 7
    metrics = result.metrics
    assert metrics["boots"] == 1
    assert metrics["boot_wait_ticks"] == 2
    assert metrics["delay_ticks"] == 0
    assert metrics["income_usd"] == pytest.approx(3 * (2 + 0.1), rel=1e-14)
    # 200 + 400 + 425 + 200 Wh for 3 hours of 2 cores.
    assert metrics["energy_kwh_per_core_hour_served"] == pytest.approx(1.225 / 6, rel=1e-14)
    assert metrics["unserved_share"] == 0


def test_a_vm_on_a_booting_machine_waits_for_the_same_boot() -> None:
    # A boots the machine in 2 and 3. B comes in 3 and starts with it in 4, C in 4 at once.
    scenario = cloud(vm(2, 2), vm(3, 1), vm(4, 1), ticks=8, **BOOTING)
    result = play(scenario)
    assert column(result, "start") == [4, 4, 4]
    assert column(result, "end") == [6, 5, 5]
    assert result.metrics["boots"] == 1
    assert result.metrics["boot_wait_ticks"] == 2 + 1


def test_what_a_booting_machine_holds_is_taken() -> None:
    # A holds 3 of 4 cores from tick 2 on: B does not fit, neither then nor in 3.
    scenario = cloud(vm(2, 9, cores=3), vm(2, 9, cores=2), vm(3, 9, cores=2), **BOOTING)
    assert outcomes(play(scenario)) == ["running", "failed", "failed"]


def test_a_vm_whose_machine_still_boots_at_the_end_is_not_served() -> None:
    scenario = cloud(vm(0, 1), vm(5, 1), ticks=6, off_after_ticks=1, boot_ticks=1)
    result = play(scenario)
    assert outcomes(result) == ["completed", "starting"]
    assert column(result, "end") == [1, None]
    assert result.metrics["allocated"] == 2
    assert result.metrics["waiting_at_end"] == 1
    assert result.metrics["running_at_end"] == 0
    assert result.metrics["unserved_share"] == 1 / 2


def test_a_machine_that_boots_in_no_time_costs_nothing_to_wake() -> None:
    scenario = cloud(vm(3, 1, cores=4, readings=[100]), off_after_ticks=0, boot_ticks=0)
    result = play(scenario)
    assert column(result, "power_w", "series") == [0, 0, 0, 200, 0, 0]
    assert result.metrics["boots"] == 1
    assert result.metrics["boot_wait_ticks"] == 0


def test_the_power_of_boots_and_of_machines_that_are_off_is_of_their_type() -> None:
    scenario = cloud(
        vm(1, 1, cores=2),
        vm(1, 1, cores=2),
        machines=[machine(2, boot_w=30, off_w=1), machine(2, boot_w=500, off_w=2)],
        off_after_ticks=0,
        boot_ticks=1,
        ticks=4,
    )
    assert watts(scenario, 0, 1) == [1 + 2, 30 + 500, 200, 1 + 2]


def test_a_killed_machine_is_empty_from_the_next_tick_on() -> None:
    # Overloaded and killed at the end of tick 1; spent empty: 2 and 3; off in 4.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[50, 100]),
        batch(0, 9, cores=2, readings=[50]),
        machines=[machine(2)],
        oversubscription={"cpu": 2, "utilisation": 2},
        overload="kill",
        off_after_ticks=2,
    )
    result = play(scenario)
    assert column(result, "power_w", "series") == [200, 200, 100, 100, 0, 0]
    assert result.metrics["empty_machines_mean"] == 4 / 6
    # What the two paid was refunded: nothing was served, and energy over nothing is not a number.
    assert np.isnan(result.metrics["energy_kwh_per_core_hour_served"])
    assert result.metrics["unserved_share"] == 1


def test_a_boot_takes_longer_than_readings_are_summed_ahead() -> None:
    scenario = cloud(
        vm(1, 2, cores=4, readings=[100, 50]), off_after_ticks=0, boot_ticks=600, ticks=604
    )
    power = watts(scenario)
    assert power == [0] + [200] * 600 + [200, 150, 0]


def test_a_policy_sees_which_machines_are_on() -> None:
    # Machine 1 holds A until 9. Machine 0 is off from 1 on; B boots it in 3 and 4.
    scenario = cloud(
        vm(0, 9, cores=2),
        vm(3, 9),
        vm(4, 9),
        vm(5, 9),
        machines=[machine(4, count=2)],
        off_after_ticks=1,
        boot_ticks=2,
        ticks=7,
    )
    seen = []

    def decide(decision: VmDecision) -> int:
        seen.append(decision.machines.state.tolist())
        return 1 if decision.request.tick == 0 else 0

    result = cloudarena.simulate(scenario, decide)
    assert seen == [[2, 2], [0, 2], [1, 2], [2, 2]]
    assert column(result, "start") == [0, 5, 5, 5]


def test_a_compiled_policy_can_prefer_machines_that_are_on() -> None:
    def soonest(pms, vm, rng):
        best = -1
        for m in range(len(pms.valid)):
            if pms.valid[m] and (best < 0 or pms.state[m] > pms.state[best]):
                best = m
        return best

    scenario = cloud(
        vm(0, 9, cores=2), vm(3, 9), machines=[machine(1), machine(4)], off_after_ticks=1
    )
    assert column(cloudarena.simulate(scenario, "first-fit"), "machine") == [1, 0]
    assert column(cloudarena.simulate(scenario, soonest), "machine") == [1, 1]


def test_packing_saves_energy_where_machines_go_off() -> None:
    # Ten VMs of one core on ten machines of ten, for 100 hours. Packed: one machine at 200 W, nine
    # off after an hour. Spread: ten machines at 110 W, all the time.
    vms = [vm(0, 100, readings=[100]) for _ in range(10)]
    scenario = cloud(*vms, ticks=100, machines=[machine(10, count=10)], off_after_ticks=1)
    packed = cloudarena.simulate(scenario, "best-fit").metrics
    spread = cloudarena.simulate(scenario, "worst-fit").metrics
    assert packed["energy_kwh"] == pytest.approx((100 * 200 + 9 * 100) / 1000, rel=1e-12)
    assert spread["energy_kwh"] == pytest.approx(100 * 10 * 110 / 1000, rel=1e-12)
    assert packed["empty_machines_mean"] == 9
    assert spread["empty_machines_mean"] == 0


def test_a_request_that_waits_may_find_the_machine_off() -> None:
    # A leaves at 1; B waits from 0 to 3, by when the machine is off, and starts in 4.
    scenario = cloud(
        vm(0, 1), vm(0, 1), buffer={"budget_ticks": 9}, off_after_ticks=1, boot_ticks=1
    )
    result = play(scenario, 0, postpone(3), 0)
    assert column(result, "start") == [0, 4]
    assert column(result, "delay") == [0, 3]
    assert result.metrics["boot_wait_ticks"] == 1


@pytest.mark.parametrize("name", POLICIES.array_names())
def test_switching_off_late_is_never_switching_off(name: str) -> None:
    scenario = "vm/azure-like-10k"
    small = {"ticks": 300, "workload.vms": 500, "machines[0].count": 4}
    never = cloudarena.simulate(cloudarena.load(scenario, small), name)
    late = cloudarena.simulate(cloudarena.load(scenario, {**small, "off_after_ticks": 300}), name)
    assert late.metrics == never.metrics
    assert late.tables == never.tables
