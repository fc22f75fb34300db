"""Who leaves work undone never wins a comparison, in any kind of cloud, on any spec."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloudarena
from cloudarena.base.measures import UNSERVED
from cloudarena.contract import Scenario
from cloudarena.scenarios import kinds
from cloudarena.scenarios.clusters import Plan
from cloudarena.scenarios.vm import REFUSE, postpone

Spec = Callable[[random.Random], Scenario]


def vm(rng: random.Random) -> Scenario:
    """A few machines of random sizes, with buffers, switching off and oversubscription."""
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
    }
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
    name = rng.choice(["faas/edge-energy", "faas/serverless-basic"])
    return cloudarena.load(name, {"duration_s": rng.choice([30, 120])})


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
    "vm": (refuses, postpones),
    "jobs": (waits,),
    "workflow": (delays,),
    "faas": (places_nothing,),
    "tiers": (rents_little,),
    "clusters": (idles,),
}


def test_every_kind_is_looked_at() -> None:
    assert set(SPECS) == set(LAZY) == set(kinds())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", kinds())
def test_a_policy_that_serves_less_never_wins(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind} {seed}")
    scenario = SPECS[kind](rng)
    for lazy in LAZY[kind]:
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
