"""Compiling what a kind needs ahead of its first run."""

from __future__ import annotations

from cloudarena.catalogue import load
from cloudarena.contract import Kind
from cloudarena.experiments.simulate import simulate
from cloudarena.policies import ArrayPolicy


def warm_kind(kind: Kind) -> None:
    """Compiles what runs of a kind use: the kernel at both speeds, and all built-in policies."""
    scenario = load(kind.toy)
    for name in kind.policies.array_names():
        policy = kind.policies.resolve(name)
        if isinstance(policy, ArrayPolicy):
            policy.compile()
    simulate(scenario, kind.default_policy)
    run = scenario.start(0)
    policy = kind.policies.resolve(kind.default_policy)
    decision = run.decision
    if decision is not None and isinstance(policy, ArrayPolicy):
        run.apply(policy(decision))
