"""What a policy is shown cannot be changed, and changes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cloudarena
from cloudarena.base.errors import InvalidAction, PolicyError
from tests.user_policies.written import KINDS, at_both_speeds, scenario_of

AROUND = {
    "flat": "    seen = {array}.flat\n    seen[0] = 0.0\n    return {action}",
    "contiguous": (
        "    seen = np.ascontiguousarray({array})\n    seen[0] = 0.0\n    return {action}"
    ),
    "nditer": (
        "    for one in np.nditer({array}, op_flags=['readwrite']):\n        one[...] = 0.0\n"
        "    return {action}"
    ),
    "writeable": "    {array}.flags.writeable = True\n    return {action}",
    "base": "    {array}.base[0] = 0.0\n    return {action}",
    "sort": "    {array}.sort()\n    return {action}",
    "as_strided": (
        "    seen = np.lib.stride_tricks.as_strided({array}, (1,), (8,))\n    seen[0] = 0.0\n"
        "    return {action}"
    ),
}


@pytest.mark.parametrize("way", AROUND)
def test_there_is_no_way_around(written, way) -> None:
    kind = KINDS["vm"]
    policy = written(kind, AROUND[way])
    path = Path(policy.removesuffix(":mine"))
    path.write_text("import numpy as np\n" + path.read_text())
    at_both_speeds(scenario_of(kind), policy, PolicyError)


def test_rows_of_a_table_are_read_only(tmp_path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "def attribute(tasks, machines, rng):\n    machines.rows[0].start = -1.0\n"
        "    return tasks.first, 0, 1\n"
        "def item(tasks, machines, rng):\n    row = machines.rows[0]\n    row['start'] = -1.0\n"
        "    return tasks.first, 0, 1\n"
    )
    for name in ("attribute", "item"):
        at_both_speeds(cloudarena.load("jobs/toy"), f"{path}:{name}", PolicyError)


CAPACITY = {
    "vm/toy": "def mine(decision):\n    decision.machines.valid[:] = True\n    return 0\n",
    "jobs/toy": (
        "def mine(decision):\n    decision.machines.free[:] = 10**12\n"
        "    return int(decision.ready[0]), 0, 1\n"
    ),
    "tiers/rubis-hour": (
        "def mine(decision):\n    decision.counts[:] = 9\n    return decision.counts\n"
    ),
    "clusters/ligo-20": (
        "def mine(decision):\n    decision.backlog[:] = 0\n    return decision.shares, 60.0\n"
    ),
    "workflow/demo": (
        "def mine(decision):\n    decision.nodes.free_memory[:] = 10**12\n    return 0, 128\n"
    ),
    "faas/serverless-basic": (
        "def mine(decision):\n"
        "    if decision.kind == 'scale':\n        return decision.suggested\n"
        "    decision.nodes.valid[:] = True\n    return 0\n"
    ),
}


@pytest.mark.parametrize("how", ["write", "flag"])
@pytest.mark.parametrize("spec", CAPACITY)
def test_a_policy_of_decisions_cannot_change_what_it_is_shown(tmp_path, spec, how) -> None:
    text = CAPACITY[spec]
    if how == "flag":
        text = re.sub(r"(decision\.[.\w]+)\[:\] = .*", r"\1.flags.writeable = True", text)
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(PolicyError, match="it writes to an array that it is shown"):
        cloudarena.simulate(spec, f"{path}:mine")


def test_a_policy_that_is_started_cannot_change_the_scenario() -> None:
    """Not its prices, for example: neither of its own run nor of those of others after it."""
    keys = {"duration_s": 20, "prices.device_hour_usd": {"nuc": 2.0}}
    scenario = cloudarena.load("faas/toy", keys)

    class Cheap:
        def start(self, scenario, seed) -> None:
            scenario.prices.device_hour_usd.clear()
            vars(scenario.prices)["kwh_usd"] = 0.0
            scenario.devices.types.clear()

        def __call__(self, decision):
            return decision.suggested if decision.kind == "scale" else int(decision.valid.argmax())

    before = cloudarena.simulate(scenario).metrics["cost_usd"]
    assert cloudarena.simulate(scenario, Cheap()).metrics["cost_usd"] >= 0.9 * before > 0.0
    assert cloudarena.simulate(scenario).metrics["cost_usd"] == before


def test_the_kernel_looks_at_what_is_free_and_not_at_marks() -> None:
    """Even if somebody gets at the marks, a machine takes no more than it has."""
    run = cloudarena.load("vm/toy", {"decide_when_full": True}).start(0)
    while run.decision is not None:
        run.world.machines.valid[:] = True
        try:
            run.apply(0)
        except InvalidAction:
            run.apply(-1)
        assert (run.world.allocated_cores <= run.world.fleet.cores).all()
    assert run.metrics()["refused"] > 0
