"""The first ticks of a run count in no metric, and nobody gains by what was put off past them."""

from __future__ import annotations

import math
from typing import Any

import pytest

import cloudarena
from cloudarena.base.errors import SpecError
from cloudarena.scenarios.vm import KIND, REFUSE, postpone
from cloudarena.scenarios.vm.observe.earnings import EARNINGS

from .clouds import LINEAR, ONE_MACHINE, batch, cloud, column, machine, outcomes, play, scripted, vm

HOUR = 3600


def five(**more: Any) -> Any:
    """One machine of 4 cores: A at 0-4, B at 1-2, C (1) finds no room, D at 3-5, nor does E (4)."""
    return cloud(
        vm(0, 4, cores=2, readings=[100] * 4),
        vm(1, 1, readings=[100]),
        vm(1, 2, cores=3),
        vm(3, 2, cores=2, readings=[50, 50]),
        vm(4, 1, cores=4),
        **{"warmup_s": 2 * HOUR, **more},
    )


def test_by_hand() -> None:
    # The ticks 2 to 5 count: 2, 3, 1 and 0 cores are used, and 150, 175, 125 and 100 W drawn.
    expected = {
        "unserved_share": 2 / 5,  # C and E, also of the warm-up
        "requests": 2,
        "allocated": 1,
        "completed": 1,
        "failed": 1,
        "refused": 0,
        "killed": 0,
        "running_at_end": 0,
        "waiting_at_end": 0,
        "energy_kwh": 0.55,
        "energy_kwh_per_core_hour_served": 0.55 / 8,
        "energy_cost_usd": 0.55,
        "cost_usd": 0.55,
        "income_usd": 4 * (2 + 0.1),  # two hours of A, two of D
        "profit_usd": 8.4 - 0.55,
        "oversubscribed_machine_ticks": 0,
        "overloaded_machine_ticks": 0,
        "overloaded_vm_ticks": 0,
        "delay_ticks": 0,
        "wait_ticks_mean": 0,
        "slowdown_mean": 1,
        "boots": 0,
        "boot_wait_ticks": 0,
        "mean_cpu_utilisation": 6 / 16,
        "mean_cpu_demand": 6 / 16,
        "mean_allocation": 8 / 16,
        "empty_machines_mean": 1 / 4,
        "stranded_cores_share": 0,
        "mean_gpu_allocation": 0,
        "gpu_fragments_share": 0,
    }
    assert play(five()).metrics == pytest.approx(expected, rel=1e-14)
    assert play(five(record="none")).metrics == play(five()).metrics


def test_money_by_hand() -> None:
    def cost(**more: Any) -> float:
        price = {"terms": more.pop("terms"), "hour_usd": 3.0}
        machines = [{**ONE_MACHINE[0], "price": price}]
        prices = {"kwh_usd": 1, "pue": 1, **more}
        return play(five(machines=machines, prices=prices)).metrics["cost_usd"]

    assert cost(terms="reserved") == pytest.approx(4 * 3)
    assert cost(terms="on-demand") == pytest.approx(3 * 3)  # in the ticks 2 to 4
    assert cost(terms="on-demand", unserved_usd=7) == pytest.approx(3 * 3 + 2 * 7)  # C and E


def test_a_run_is_the_same_and_sums_of_machines_begin_after_the_warm_up() -> None:
    found, without = play(five()), play(five(warmup_s=0))
    for name in ("vms", "decisions", "series", "machines_series"):
        assert found.tables[name] == without.tables[name]
    assert column(found, "energy_kwh", "machines") == pytest.approx([0.55])
    assert column(found, "mean_cpu_utilisation", "machines") == [6 / 16]
    assert column(without, "energy_kwh", "machines") == pytest.approx([0.55 + 0.15 + 0.175])


def test_overload_boots_and_empty_machines_by_hand() -> None:
    # Two machines that are off while they are empty. A and B (2 cores each, of 2) boot the first in
    # tick 0 and overload it in 2 and 3; C boots it again in 4. The other one is never used.
    scenario = cloud(
        batch(0, 3, cores=2, readings=[0, 100, 100]),
        batch(0, 3, cores=2, readings=[100] * 3),
        vm(4, 1),
        machines=[machine(2, count=2)],
        oversubscription={"cpu": 2, "utilisation": 9},
        off_after_ticks=0,
        boot_ticks=1,
        warmup_s=2 * HOUR,
    )
    metrics = play(scenario, 0, 0, 0).metrics
    assert metrics["oversubscribed_machine_ticks"] == metrics["overloaded_machine_ticks"] == 2
    assert metrics["overloaded_vm_ticks"] == 2 * 2
    assert (metrics["boots"], metrics["boot_wait_ticks"]) == (1, 1)  # that of tick 0 was before
    assert metrics["empty_machines_mean"] == 1
    # Overloaded in 2 and 3, booting at busy_w in 4, idle in 5.
    assert metrics["energy_kwh"] == pytest.approx(3 * 0.2 + 0.1)


def test_a_killed_vm_gets_back_what_counts() -> None:
    scenario = cloud(
        batch(0, 6, readings=[0, 0, 0, 100, 0, 0], cores=4),
        batch(1, 1, readings=[0], cores=4),
        batch(3, 2, readings=[100, 100], cores=4),
        batch(4, 1, cores=2),
        overload="kill",
        oversubscription={"cpu": 2, "utilisation": 9},
        warmup_s=2 * HOUR,
    )
    found = play(scenario)
    assert outcomes(found) == ["killed", "completed", "killed", "completed"]
    assert found.metrics["income_usd"] == pytest.approx(2.1)  # the last one's only hour
    assert found.metrics["killed"] == 2
    assert (found.metrics["requests"], found.metrics["allocated"]) == (3, 2)
    assert found.metrics["unserved_share"] == 2 / 4


def test_who_is_killed_in_the_last_tick_of_the_warm_up_or_after_a_late_start() -> None:
    more = {"overload": "kill", "oversubscription": {"cpu": 2, "utilisation": 9}}
    early = cloud(
        batch(0, 6, cores=4, readings=[0, *[100] * 5]),
        batch(0, 6, cores=4, readings=[100] * 6),
        warmup_s=2 * HOUR,
        **more,
    )
    metrics = play(early).metrics  # both in tick 1
    assert (metrics["killed"], metrics["requests"], metrics["unserved_share"]) == (0, 0, 1)
    late = cloud(
        batch(1, 4, cores=4, readings=[0, 0, 0, 100]),
        batch(6, 2, cores=4, readings=[100, 100]),
        ticks=8,
        buffer={"budget_ticks": 9, "delay_ticks": 1},
        warmup_s=2 * HOUR,
        **more,
    )
    metrics = play(late, postpone(2), 0, 0).metrics  # both in tick 6
    assert (metrics["killed"], metrics["requests"], metrics["income_usd"]) == (2, 2, 0)


def test_what_is_put_off_past_the_warm_up_counts_as_if_it_had_begun_at_once() -> None:
    def both(*actions: int) -> dict[str, float]:
        scenario = cloud(
            vm(1, 2, cores=2, readings=[100, 100]),
            vm(3, 3),
            buffer={"budget_ticks": 9, "delay_ticks": 1},
            warmup_s=2 * HOUR,
        )
        return play(scenario, *actions).metrics

    honest, late = both(0, 0), both(postpone(2), 0, 0)
    for metrics in (honest, late):  # one hour of A's in the warm-up, one after it
        assert metrics["income_usd"] == pytest.approx(2.1 + 3 * 1.1)
        assert metrics["mean_allocation"] == (2 + 3) / 16
        assert metrics["mean_cpu_utilisation"] == metrics["mean_cpu_demand"] == 2 / 16
        assert (metrics["requests"], metrics["completed"]) == (1, 0)
        assert metrics["unserved_share"] == 0
    # A waited for 2 ticks, the longest wait of all, and began after the warm-up.
    assert (honest["delay_ticks"], honest["wait_ticks_mean"], honest["slowdown_mean"]) == (0, 0, 1)
    assert (late["delay_ticks"], late["wait_ticks_mean"], late["slowdown_mean"]) == (2, 2, 2)
    assert late["energy_kwh"] == pytest.approx(honest["energy_kwh"] + 0.05)
    assert (honest["empty_machines_mean"], late["empty_machines_mean"]) == (0, 1 / 4)  # in tick 2
    # Put off to the last tick it has lost one of its two.
    last = both(postpone(4), 0, 0)
    assert last["unserved_share"] == 0.5 / 2
    assert last["income_usd"] == pytest.approx(2.1 + 3 * 1.1)


def test_a_queue_held_back_in_the_warm_up_earns_nothing_more() -> None:
    def both(*actions: int) -> dict[str, float]:
        vms = [vm(k, 2, cores=4, readings=[100, 100]) for k in (0, 2, 6)]
        return play(cloud(*vms, ticks=10, queue="wait", warmup_s=4 * HOUR), *actions).metrics

    honest = both(0, 0, 0)
    held = both(postpone(1), postpone(1), postpone(1), postpone(1), 0, 0, 0)
    assert honest["mean_allocation"] == held["mean_allocation"] == 4 * 2 / 24
    assert honest["mean_cpu_utilisation"] == held["mean_cpu_utilisation"] == 4 * 2 / 24
    assert honest["income_usd"] == held["income_usd"] == pytest.approx(2 * 4.1)
    assert (honest["wait_ticks_mean"], held["wait_ticks_mean"]) == (0, 4)
    assert held["energy_kwh"] == pytest.approx(honest["energy_kwh"] + 0.4)


def test_who_turns_away_in_the_warm_up_what_burdens_later_is_told_by_the_share() -> None:
    # A, of the warm-up, would be in the way of two others, which pay more for what they need.
    vms = [vm(0, 2, cores=4), vm(1, 5, cores=3), vm(2, 4, cores=4), vm(6, 1)]
    scenario = cloud(*vms, ticks=8, warmup_s=2 * HOUR)
    honest, cheat = play(scenario), play(scenario, REFUSE, REFUSE, 0, 0)
    assert honest.metrics["unserved_share"] == 1 / 4  # the second found no room
    assert cheat.metrics["unserved_share"] == 2 / 4
    for name in ("failed", "refused"):
        assert honest.metrics[name] == cheat.metrics[name] == 0
    for one in KIND.metrics:
        if one.better is None:
            continue
        earned = []
        for actions in ((0, 0, 0), (REFUSE, REFUSE, 0, 0)):
            run = scenario.start()
            decide = scripted(*actions)
            while run.decision is not None:
                run.apply(decide(run.decision))
            earned.append(one.earned(run))
        assert earned[1] <= earned[0] + 1e-12, one.name


def test_rewards_are_finite_in_the_warm_up_too_and_end_as_the_metrics() -> None:
    scenario = five(workload={"source": "inline", "vms": [vm(k, 2, cores=2) for k in range(6)]})
    run = scenario.start()
    rewards = {one.name: KIND.reward(one.name) for one in KIND.metrics if one.better}
    while run.decision is not None:
        assert all(math.isfinite(reward(run)) for reward in rewards.values())
        if run.now < 2 * HOUR:
            metrics = run.metrics()
            assert metrics["energy_kwh"] == metrics["income_usd"] == metrics["cost_usd"] == 0
            assert metrics["empty_machines_mean"] == metrics["stranded_cores_share"] == 0
            assert metrics["requests"] == 0
            assert run.result().tables["machines"]["energy_kwh"].to_pylist() == [0]
        run.apply(0)
    metrics = run.metrics()
    assert metrics["unserved_share"] == 0
    for name, reward in rewards.items():
        sign = -1 if KIND.metric[name].better == "lower" else 1
        assert reward(run) == pytest.approx(sign * metrics[name]), name
    assert not EARNINGS.applies(scenario)
    assert EARNINGS.applies(five(warmup_s=0))


def test_gpus_are_held_after_the_warm_up() -> None:
    gpus = {"count": 1, "cores": 8, "memory_gb": 64, "gpus": 2, "power": LINEAR}
    vms = [{**vm(0, 4), "gpus": 1}, {**vm(1, 2), "gpus": 1}]
    more = {"machines": [gpus], "buffer": {"budget_ticks": 9, "delay_ticks": 1}}
    scenario = cloud(*vms, warmup_s=2 * HOUR, **more)
    assert play(scenario).metrics["mean_gpu_allocation"] == (2 + 1) / (2 * 4)
    late = play(scenario, 0, postpone(2), 0)
    assert late.metrics["mean_gpu_allocation"] == (2 + 1) / (2 * 4)


def test_a_warm_up_is_of_whole_ticks_and_a_part_of_a_run_in_memory() -> None:
    with pytest.raises(SpecError, match=r"warmup_s: 5000 is not .*: a multiple of tick_seconds"):
        five(warmup_s=5000)
    with pytest.raises(SpecError, match=r"warmup_s: 21600 is not .*: less than the length of"):
        five(warmup_s=6 * HOUR)
    with pytest.raises(SpecError, match="warmup_s: -1 is not allowed"):
        five(warmup_s=-1)
    stream = {"source": "poisson-vms", "vms": 9, "per_tick": 1, "lifetime_ticks": 2}
    stream |= {"cpu_percent": 30, "stream": True}
    with pytest.raises(SpecError, match="warmup_s: 3600 is not allowed: 0 with stream: true"):
        five(workload=stream, warmup_s=HOUR)
    window = cloudarena.load(five().model_dump(exclude_unset=True))
    assert window.warmup_ticks == 2


def test_energy_of_owned_machines_beside_rented_ones_is_paid_for_where_nothing_happens() -> None:
    rented = {**machine(4), "price": {"hour_usd": 3.0}}
    metrics = play(cloud(vm(0, 2), machines=[rented, machine(4)])).metrics
    assert metrics["cost_usd"] == pytest.approx(2 * 3.0 + 0.6)
