"""What was left undone, and room that nobody can use, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cloudarena
from cloudarena.base.names import UNSERVED
from cloudarena.scenarios.vm import REFUSE, VmScenario, postpone

from .cases import Case, cases
from .clouds import batch, cloud, column, machine, outcomes, play, vm
from .test_reference import moody


def test_all_that_was_left_undone_counts() -> None:
    # 2 of 2 cores killed; C is refused, D fails, E waits beyond the end; F and G are served.
    scenario = cloud(
        batch(0, 9, cores=2, readings=[100], memory_gb=1),
        batch(0, 9, cores=2, readings=[100], memory_gb=1),
        vm(1, 9),
        vm(2, 1, cores=2),
        vm(2, 1, cores=1),
        vm(4, 1),
        vm(5, 9),
        ticks=6,
        machines=[machine(2)],
        oversubscription={"cpu": 2, "utilisation": 2},
        overload="kill",
        buffer={"budget_ticks": 9},
        decide_when_full=True,
    )
    scripted = [0, 0, REFUSE, 0, postpone(10), postpone(3), 0]
    result = play(scenario, *scripted)
    assert outcomes(result) == [
        *("killed", "killed", "refused", "completed", "failed", "waiting", "running")
    ]
    assert result.metrics[UNSERVED] == 5 / 7


def test_who_serves_nothing_has_no_energy_per_core_hour() -> None:
    metrics = play(cloud(vm(0, 1), vm(0, 1)), REFUSE, REFUSE).metrics
    assert metrics[UNSERVED] == 1
    assert metrics["energy_kwh"] > 0
    assert math.isnan(metrics["energy_kwh_per_core_hour_served"])


def test_where_nothing_arrives_nothing_is_left_undone() -> None:
    metrics = play(cloud(vm(9, 1), ticks=3)).metrics
    assert metrics["requests"] == 0
    assert metrics[UNSERVED] == 0


def test_energy_per_core_hour_is_of_the_hours_that_were_paid_and_kept() -> None:
    # A runs on at the end: 4 hours of 3 cores count, of its 9. 100 + 100 * 3/4 W for 4 hours.
    metrics = play(cloud(vm(0, 9, cores=3, readings=[100]), ticks=4)).metrics
    assert metrics["energy_kwh_per_core_hour_served"] == pytest.approx(0.7 / 12, rel=1e-14)


def test_the_short_table_begins_with_what_was_left_undone() -> None:
    shown = VmScenario.kind.highlights
    assert shown[0] == UNSERVED
    assert "energy_kwh_per_core_hour_served" in shown
    assert "energy_kwh" not in shown  # it is least for whom serves least


def test_stranded_cores() -> None:
    # The median VM of sizes 1, 2, 3 has 2 cores; all have 4 GB. Machines of 4 and of 1 cores.
    # Tick 0: A (3 cores) leaves 1 core of machine 0: stranded 1; machine 1 never fits one: 1.
    # Tick 1: A is gone; B (1 core) is on machine 1, which has none left: 0. Machine 0 is free: 0.
    # Tick 2: B is gone: machine 1 has its core again: 1. C takes 2 cores of machine 0, 2 are left,
    #         but only 2 GB of 16: stranded 2.
    scenario = cloud(
        vm(0, 1, cores=3, memory_gb=4),
        vm(1, 1, cores=1, memory_gb=4),
        vm(2, 1, cores=2, memory_gb=14),
        ticks=3,
        machines=[machine(4, 16), machine(1, 16)],
    )
    metrics = play(scenario, 0, 1, 0).metrics
    assert metrics["stranded_cores_share"] == pytest.approx((1 + 1 + 0 + 1 + 2) / 15, rel=1e-14)
    assert metrics["empty_machines_mean"] == 3 / 3


def test_no_core_is_stranded_where_more_are_sold_than_there_are() -> None:
    # 8 of 4 cores are sold: none is free, none is stranded.
    scenario = cloud(
        batch(0, 9, cores=4),
        batch(0, 9, cores=4),
        oversubscription={"cpu": 2, "utilisation": 2},
    )
    assert play(scenario).metrics["stranded_cores_share"] == 0


@given(case=cases(), seed=st.integers(0, 99))
def test_shares_are_shares(case: Case, seed: int) -> None:
    spec = case.load()
    metrics = cloudarena.simulate(spec, moody(seed, 0.2, 0.1)).metrics
    for name in (UNSERVED, "mean_cpu_utilisation", "stranded_cores_share"):
        assert 0 <= metrics[name] <= 1, name
    assert metrics["mean_cpu_demand"] >= metrics["mean_cpu_utilisation"]
    assert 0 <= metrics["empty_machines_mean"] <= spec.machine_count


def test_the_utilisation_of_overloaded_machines_is_one_at_most() -> None:
    # Four VMs of 4 busy cores on 4 cores: demand is 4 times what there is (A7 of the audit).
    vms = [batch(0, 9, cores=4, readings=[100]) for _ in range(4)]
    scenario = cloud(*vms, oversubscription={"cpu": 4, "utilisation": 9})
    result = play(scenario)
    assert result.metrics["mean_cpu_utilisation"] == 1
    assert result.metrics["mean_cpu_demand"] == 4
    assert column(result, "mean_cpu_utilisation", "machines") == [1]


@pytest.mark.parametrize("reward", ["energy_kwh_per_core_hour_served", UNSERVED])
def test_rewards_are_finite_and_serving_nothing_earns_the_least(reward: str) -> None:
    scenario = cloudarena.load(
        "vm/azure-like-10k", {"ticks": 100, "workload.vms": 200, "machines[0].count": 2}
    )
    earned = {}
    for name in ("refusing", "serving"):
        observer, run = scenario.observer(reward), scenario.start(record="none")
        values = [observer.value(run)]
        while (decision := run.decision) is not None:
            run.apply(REFUSE if name == "refusing" else int(np.argmax(decision.valid)))
            values.append(observer.value(run))
        assert np.isfinite(values).all()
        earned[name] = values[-1] - values[0]
    assert earned["serving"] > earned["refusing"]


def lifetime_feature(lifetime: int, ticks: int) -> np.ndarray:
    """What an observer shows of a lifetime."""
    scenario = cloud(vm(0, lifetime), ticks=ticks, known=["lifetimes"])
    observer, run = scenario.observer(), scenario.start()
    return observer.features(run)[-1]


def test_known_lifetimes_reach_the_observation() -> None:
    assert lifetime_feature(3, 15) == pytest.approx(np.log(4) / np.log(16), rel=1e-6)
    assert lifetime_feature(15, 15) == 1
    assert lifetime_feature(10**5, 15) == 1  # as long as it takes
    unknown = cloud(vm(0, 3), ticks=15)
    known = cloud(vm(0, 3), ticks=15, known=["lifetimes"])
    features = unknown.observer().features(unknown.start())
    more = known.observer().features(known.start())
    assert features.dtype == more.dtype == np.float32
    assert more.tolist()[:-1] == features.tolist()
    assert known.observer().observation_space.contains(more)
    assert unknown.observer().observation_space.contains(features)


def test_the_state_of_machines_reaches_the_observation_where_they_go_off() -> None:
    # Machine 0 is off at tick 2, then boots for B; machine 1 holds A.
    scenario = cloud(
        vm(0, 9), vm(2, 9), vm(2, 9), machines=[machine(4, count=2)], off_after_ticks=1
    )
    observer, run = scenario.observer(), scenario.start()
    states = []
    for action in (1, 0, 0):
        features = observer.features(run)
        assert observer.observation_space.contains(features)
        states.append(features[12:14].tolist())
        run.apply(action)
    assert states == [[1, 1], [0, 1], [0.5, 1]]


def test_the_part_of_a_life_that_was_put_off_past_the_end_is_left_undone() -> None:
    # Of six ticks the first loses the three for which it was put off; the second lives its whole
    # life, later. In a full cloud a VM loses two ticks for want of room, which is nobody's wish.
    scenario = cloud(
        vm(0, 9), vm(0, 1), ticks=6, buffer={"budget_ticks": 9}, machines=[machine(4, 64)]
    )
    assert play(scenario, postpone(3), postpone(2), 0, 0).metrics[UNSERVED] == 0.5 / 2
    full = cloud(vm(0, 2, cores=4), vm(0, 9, cores=4), ticks=6, buffer={"budget_ticks": 9})
    result = play(full, 0, 0)
    assert result.metrics["delay_ticks"] == 2
    assert result.metrics[UNSERVED] == 0.0


def test_who_starts_all_vms_in_the_last_ticks_does_not_win() -> None:
    def at_last(decision):
        return postpone(95) if decision.now == 0 else int(np.flatnonzero(decision.valid)[0])

    scenario = cloud(
        *(vm(0, 500, readings=[10 * k]) for k in range(4)),
        ticks=100,
        buffer={"budget_ticks": 1000},
        off_after_ticks=0,
        prices={"kwh_usd": 50.0},
    )
    comparison = cloudarena.compare(scenario, ["best-fit", at_last], replications=3, workers=1)
    assert comparison.out_of_the_running == ("at_last",)
    assert comparison.winner(next(m for m in scenario.kind.metrics if m.name == "energy_kwh")) != (
        "at_last"
    )
    assert "at_last leaves 95 % of VMs unserved" in comparison.conclusion()


def test_who_turns_a_vm_away_that_would_fail_earns_nothing_by_it() -> None:
    """Nor who turns away one that could be placed, so that others fail less often."""
    scenario = cloud(vm(0, 6, cores=4), vm(1, 1, cores=1), vm(2, 1, cores=1), decide_when_full=True)
    found = {}
    for name, actions in {
        "fails": (0, -1, -1),
        "refuses": (0, REFUSE, REFUSE),
        "has room": (REFUSE, 0, 0),
        "serves nobody": (REFUSE, REFUSE, REFUSE),
    }.items():
        run = scenario.start(0)
        for action in actions:
            run.apply(action)
        assert run.decision is None
        found[name] = [
            scenario.kind.metric[one].earned(run) for one in ("failed", "refused", "killed")
        ]
    assert found["fails"] == found["refuses"] == [-2.0] * 3
    assert found["has room"] == [-1.0] * 3
    assert found["serves nobody"] == [-3.0] * 3
