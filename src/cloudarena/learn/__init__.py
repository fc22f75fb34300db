"""Gymnasium environments over the contract."""

from __future__ import annotations


def register_environments() -> None:
    """Registers ``cloudarena/<kind>-v0`` for each kind of scenario."""
    from gymnasium.envs.registration import register, registry

    from cloudarena.scenarios import kinds

    for kind in kinds():
        name = f"cloudarena/{kind}-v0"
        if name not in registry:
            register(name, entry_point="cloudarena.learn.env:CloudEnv", kwargs={"kind": kind})
