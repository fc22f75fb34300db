"""Decisions made by hand, for policies that are asked without a run."""

from types import SimpleNamespace

import numpy as np

from cloudarena.scenarios.tiers import TiersScenario

RUBIS = (
    ("web", (220.0, 1, 0), (120.0, 1, 1)),
    ("app", (36.0, 2, 0), (20.0, 4, 1)),
    ("db", (80.0, 1, 1), (40.0, 0, 0)),
)


def service(tiers=RUBIS, **others):
    """A service with tiers given as (name, fat, thin), sizes as (rate, max, start)."""
    keys = ("rate", "max", "start")
    rows = [
        {"name": name, "fat": dict(zip(keys, fat, strict=True)), "room": 200}
        | {"thin": dict(zip(keys, thin, strict=True))}
        for name, fat, thin in tiers
    ]
    forward = [0.8, 0.6, 0.5, 0.5][: len(rows) - 1]
    spec = {
        "scenario": "tiers",
        "arrivals": {"source": "constant", "rate": 20.0},
        "routing": {"forward": forward},
        "sla": {"seconds": 1.0},
        "tiers": rows,
    }
    return TiersScenario.parse(spec | others)


def decision(scenario, counts, utilisation=None, rates=(20.0,), held_at_end=0, number=1):
    """What a policy sees after ``number`` periods."""
    tiers = len(scenario.tiers)
    last = SimpleNamespace(
        utilisation=np.array([0.7] * tiers if utilisation is None else utilisation),
        held_at_end=np.broadcast_to(held_at_end, tiers),
        forward=np.zeros(tiers, int),
        turned=np.zeros(tiers, int),
        served_by_size=np.zeros((tiers, 2), int),
        service_s=np.zeros((tiers, 2)),
    )
    return SimpleNamespace(
        now=60.0 * number,
        scenario=scenario,
        counts=np.array(counts),
        limits=np.array([[tier.fat.max, tier.thin.max] for tier in scenario.tiers]),
        last=last,
        periods=(last,) * number,
        rates=np.array(rates),
    )


def ask(policy, scenario, *arguments, **others):
    """What a policy that has just begun does."""
    chosen = scenario.kind.policies.resolve(policy)
    if hasattr(chosen, "start"):
        chosen.start(scenario, 0)
    return chosen(decision(scenario, *arguments, **others)).tolist()
