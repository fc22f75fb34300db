"""Who leaves work undone never wins a comparison, in any kind of cloud, on any spec."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.names import UNSERVED
from cloudarena.contract import Scenario
from cloudarena.scenarios import kinds
from cloudarena.scenarios.clusters import Plan
from cloudarena.scenarios.vm import POLICIES, REFUSE, postpone
from cloudarena.testing.common import prepared

Spec = Callable[[random.Random], Scenario]

WARMUP_S = 3000.0
"""Ten ticks of a data centre, at most half of a run."""


def vm(rng: random.Random) -> Scenario:
    """A few machines of random sizes, with buffers or queues, switching off, prices by use."""
    changes = {
        "ticks": rng.choice([20, 60, 150]),
        "workload.vms": rng.choice([50, 300]),
        "workload.concurrent": rng.choice([10, 40]),
        "machines[0].count": rng.choice([1, 4, 12]),
        "machines[0].cores": rng.choice([4, 16, 32]),
        "buffer.budget_ticks": rng.choice([0, 3, 1000]),
        "off_after_ticks": rng.choice([None, 0, 5]),
        "overload": rng.choice(["record", "kill"]),
        "decide_when_full": rng.choice([True, False]),
        "prices.kwh_usd": rng.choice([0.0625, 50.0]),
        "machines[0].price": rng.choice([None, {"hour_usd": 3.0}]),
    }
    if changes["buffer.budget_ticks"] == 0:
        changes["queue"] = rng.choice(["fail", "wait"])
    changes["warmup_s"] = rng.choice([0, WARMUP_S])
    return cloudarena.load("vm/azure-like-10k", changes)


def jobs(rng: random.Random) -> Scenario:
    """Jobs like Alibaba's on machines that may fail."""
    changes = {
        "workload.jobs": rng.choice([1, 3, 6]),
        "machines[0].count": rng.choice([1, 2, 5]),
    }
    return cloudarena.load(rng.choice(["jobs/alibaba-like-10", "jobs/deeprm"]), changes)


def workflow(rng: random.Random) -> Scenario:
    """Workflows of one shape."""
    changes = {"workload.workflows": rng.choice([1, 3]), "workload.functions": 30}
    return cloudarena.load("workflow/montage-100", changes)


def faas(rng: random.Random) -> Scenario:
    """Functions at the edge, for a short while."""
    name = rng.choice(["faas/edge-energy", "faas/serverless-basic", ""])
    if name:
        return cloudarena.load(name, {"duration_s": rng.choice([30, 120])})
    return cloudarena.load(factory(rng))


def factory(rng: random.Random) -> dict[str, Any]:
    """Functions that call others, on nodes that fail, with batteries, prices and a warm-up."""
    image = {"execution": {"distribution": "exponential", "mean_s": 0.5}, "use": {"cpu": 0.2}}
    scaling = {"by": "per-request", "minimum": rng.choice([0, 1]), "maximum": 6, "expiry_s": 20}
    calls = [{"function": "resize", "count": rng.choice([1, 5]), "wait": rng.random() < 0.5}]
    load = {"source": "poisson", "rate": rng.choice([0.5, 3.0])}
    upload = {"name": "upload", "requests": load, "calls": calls, "retries": rng.choice([0, 2])}
    upload["timeout_s"] = rng.choice([2.0, 30.0])
    resize = {
        "name": "resize",
        "requests": {"source": "none"},
        "queue_limit": 2,
        "scaling": scaling,
    }
    other = {"name": "other", "requests": {"source": "poisson", "rate": 2.0}, "scaling": scaling}
    battery = {"battery_wh": rng.choice([0.3, 3.0]), "charge": 1.0}
    return {
        "scenario": "faas",
        "duration_s": 90,
        "warmup_s": rng.choice([0, 45]),
        "load_from_s": 0,
        "devices": {"types": {"nuc": 2}},
        "functions": [{**one, "image": image, "start_s": 1.0} for one in (upload, resize, other)],
        "topology": {"failures": [{"node": "nuc-0", "at_s": 60, "for_s": rng.choice([5, 20])}]},
        "power": {"supplies": {"nuc": battery}},
        "prices": {"kwh_usd": 0.3, "device_hour_usd": rng.choice([{}, {"nuc": 1.0}])},
    }


def tiers(rng: random.Random) -> Scenario:
    """A service of tiers under a load that they can or cannot carry."""
    changes = {
        "duration_s": rng.choice([300, 600]),
        "sla.penalty_usd": rng.choice([0.0, 0.1]),
        "sla.seconds": rng.choice([0.5, 10.0]),
    }
    return cloudarena.load("tiers/rubis-hour", changes)


def clusters(rng: random.Random) -> Scenario:
    """Classes of tasks in a small cluster whose VMs may be idle."""
    changes = {
        "vms": rng.choice([9, 12]),
        "workload.batches": rng.choice([3, 10]),
        "workload.horizon_s": 100,
        "allow_idle": True,
    }
    return cloudarena.load("clusters/lflc", changes)


SPECS: dict[str, Spec] = {
    "vm": vm,
    "jobs": jobs,
    "workflow": workflow,
    "faas": faas,
    "tiers": tiers,
    "clusters": clusters,
}


def refuses(decision: Any) -> Any:
    """Turns away every VM."""
    return REFUSE


def postpones(decision: Any) -> Any:
    """Puts off every VM for as long as can be."""
    return postpone(10**6)


def refuses_early(decision: Any) -> Any:
    """Turns away every VM of the warm-up, and then places like anybody."""
    return REFUSE if decision.now < WARMUP_S else POLICIES.resolve("best-fit")(decision)


def postpones_early(decision: Any) -> Any:
    """Puts off every VM of the warm-up past it, and then places like anybody."""
    if decision.now < WARMUP_S:
        return postpone(int((WARMUP_S - decision.now) // 300))
    return POLICIES.resolve("best-fit")(decision)


def waits(decision: Any) -> Any:
    """Starts no task as long as it may wait."""
    if decision.may_wait:
        return None
    row, machine = np.argwhere(decision.fits)[0]
    return int(decision.ready[row]), int(machine)


def delays(decision: Any) -> Any:
    """Puts every function where it is allowed, a day later."""
    node, option = np.argwhere(decision.valid)[0]
    return int(node), int(decision.nodes.memory_options[option]), decision.now + 86_400.0


def places_nothing(decision: Any) -> Any:
    """Places no replica, and wants as few as can be."""
    return -1 if decision.kind == "place" else int(decision.scaling.minimum)


def turns_callers_away(decision: Any) -> Any:
    """Places replicas wherever they may be, but not of the first function, which calls others."""
    if decision.kind == "place":
        can = np.flatnonzero(decision.valid)
        return -1 if len(can) == 0 or decision.replica.function == 0 else int(can[0])
    return int(decision.scaling.suggested)


def sleeps_early(decision: Any) -> Any:
    """Places no replica in the warm-up, and then wherever it may."""
    if decision.kind == "place":
        can = np.flatnonzero(decision.valid)
        return -1 if len(can) == 0 or decision.now < 45.0 else int(can[0])
    return int(decision.scaling.suggested)


def rents_little(decision: Any) -> Any:
    """As few VMs as a tier may have."""
    counts = np.zeros_like(decision.limits)
    counts[:, 1] = np.minimum(1, decision.limits[:, 1])
    counts[:, 0] = np.where(counts[:, 1] == 0, 1, 0)
    return counts


def idles(decision: Any) -> Any:
    """One VM for each class, for as long as can be."""
    return Plan(np.ones(len(decision.classes), int), 1e6)


LAZY: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "vm": (refuses, postpones, refuses_early, postpones_early),
    "jobs": (waits,),
    "workflow": (delays,),
    "faas": (places_nothing,),
    "tiers": (rents_little,),
    "clusters": (idles,),
}

CHEATS: dict[str, tuple[Callable[[Any], Any], ...]] = {"faas": (turns_callers_away, sleeps_early)}
"""Who serves less, and does other things differently too."""


def test_every_kind_of_the_package_is_tried() -> None:
    """A kind of one's own is by ``testing.yield_checks``: what serves nothing never wins."""
    assert set(SPECS) == set(LAZY) <= set(kinds())


def earned(scenario: Scenario, lazy: Callable[[Any], Any], share: float, seed: int) -> Any:
    """What is earned, by metric, by who decides lazily so often, and what is unserved."""
    diligent = prepared(scenario.kind.default_policy, scenario, seed)
    run, rng = scenario.start(seed, "none"), random.Random(seed)
    while (decision := run.decision) is not None:
        action = diligent(decision)
        run.apply(lazy(decision) if rng.random() < share else action)
    metrics = [one for one in scenario.kind.metrics if one.better is not None]
    left = scenario.kind.metric[UNSERVED](run)
    values = {one.name: one.earned(run) for one in metrics}
    ways = {one.name: -1.0 if one.better == "lower" else 1.0 for one in metrics}
    objectives = {one.name: ways[one.name] * one.objective(run) for one in metrics}
    return left, values, objectives


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", SPECS)
def test_no_reward_and_no_objective_is_better_for_who_leaves_more_undone(
    kind: str, seed: int
) -> None:
    """Profit is left out: at 50 $ a kWh it is right to serve nobody."""
    scenario = SPECS[kind](random.Random(f"rewards of {kind} {seed}"))
    for lazy in LAZY[kind]:
        served, most, best = earned(scenario, lazy, 0.0, seed)
        for share in (0.5, 1.0):
            left, values, objectives = earned(scenario, lazy, share, seed)
            if left < served + 0.02:
                continue  # nearly as much: it may be better by what it is measured by
            for name in values:
                if name in ("profit_usd", "lost_instances", "lost_work_s"):
                    continue
                where = f"{lazy.__name__} {share} {name} on {scenario}"
                assert np.isfinite([values[name], objectives[name]]).all(), where
                assert values[name] <= most[name], where
                is_worse = values[name] < most[name] or values[name] == most[name] == 0.0
                assert is_worse or left < 1.0, where
                assert objectives[name] <= best[name], where


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", SPECS)
def test_a_policy_that_serves_less_never_wins(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    scenario = SPECS[kind](rng)
    for lazy in (*LAZY[kind], *CHEATS.get(kind, ())):
        comparison = cloudarena.compare(
            scenario,
            [scenario.kind.default_policy, lazy],
            replications=rng.choice([1, 4]),
            workers=1,
        )
        served, left = (comparison.share_unserved(name) for name in comparison.policies)
        assert 0.0 <= served <= 1.0
        assert 0.0 <= left <= 1.0
        if left <= served:
            continue  # it serves as much: it may win
        for metric in scenario.kind.metrics:
            if metric.better is None or metric.name == UNSERVED:
                continue
            winner = comparison.winner(metric)
            assert winner != lazy.__name__, f"{lazy.__name__} wins {metric.name} on {scenario}"
        assert f"{lazy.__name__} wins" not in comparison.conclusion()
