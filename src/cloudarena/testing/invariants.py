"""What ``cloudarena run --check`` verifies of a run: the promises of docs/invariants.md.

The run is stepped, and looked at before every decision; then it is held against the same run
compiled, recorded otherwise, and replayed from its own decisions.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cloudarena.base.errors import CloudarenaError
from cloudarena.base.names import UNSERVED
from cloudarena.contract import Policy, Result, Scenario
from cloudarena.experiments.simulate import simulate
from cloudarena.policies import policy_name
from cloudarena.testing.common import assert_same, assert_same_metrics, prepared
from cloudarena.testing.scenario import arrays_of

CLOSE = 1e-9
"""Sums of floats may differ by this part."""


class Held(NamedTuple):
    """A promise that was looked at and kept."""

    number: str
    promise: str
    looks: int
    """How often it was looked at."""


class BrokenInvariant(CloudarenaError):
    """A promise that a run did not keep: a fault of the simulator, or of a kind of one's own."""


def check_run(scenario: Scenario, policy: str | Policy | None, seed: int) -> list[Held]:
    """Verifies the promises of a run; raises with the number of the first that is broken."""
    chosen = scenario.policy or scenario.kind.default_policy if policy is None else policy
    try:
        return list(_checked(scenario, chosen, seed))
    except AssertionError as broken:
        name, seeded = policy_name(chosen), f"seed {seed}"
        raise BrokenInvariant(
            f"{scenario.name}, {name}, {seeded}: invariant {broken}: see docs/invariants.md"
        ) from None


def _checked(scenario: Scenario, policy: str | Policy, seed: int) -> Iterator[Held]:
    """The promises one by one; an assertion begins with the number of its promise."""
    result, looks = _stepped(scenario, policy, seed)
    kind = scenario.kind.name
    yield Held("R5", "time never goes back", looks)
    yield Held("R7", "what a policy is shown is read-only", looks)
    if kind in _ROOM:
        number, promise, _ = _ROOM[kind]
        yield Held(number, promise, looks)
    compiled = simulate(scenario, policy, seed)
    assert_same(compiled, result, "R3: compiled and stepped differ")
    yield Held("R3", "a policy decides the same compiled and stepped", 1)
    assert_same(simulate(scenario, policy, seed), compiled, "R1: two runs with one seed differ")
    yield Held("R1", "the seed decides everything", 1)
    bare = simulate(scenario, policy, seed, "none").metrics
    assert_same_metrics(bare, compiled.metrics, "R4: recording changes what is measured")
    yield Held("R4", "how much is recorded changes nothing that is measured", 1)
    if "decisions" in compiled.tables:
        with tempfile.TemporaryDirectory() as folder:
            compiled.save(folder)
            again = simulate(scenario, f"replay:{Path(folder) / 'decisions.parquet'}", seed)
        assert_same(compiled, again, "R8: a replay differs")
        yield Held("R8", "the decisions of a run, replayed, are the run again", 1)
    for name, value in compiled.metrics.items():
        assert not math.isinf(value), f"M1: metric {name} is {value}"
    yield Held("M1", "a metric is finite, or not a number", len(compiled.metrics))
    share = compiled.metrics[UNSERVED]
    assert 0.0 <= share <= 1.0, f"M3: {UNSERVED} is {share}"
    yield Held("M3", "the share of work left undone is from 0 to 1", 1)
    if kind in _SUMS:
        yield from _SUMS[kind](compiled)


def _stepped(scenario: Scenario, policy: str | Policy, seed: int) -> tuple[Result, int]:
    """A run decision by decision, with a look before each."""
    chosen, run = prepared(policy, scenario, seed), scenario.start(seed)
    before, looks = 0.0, 0
    look = _ROOM.get(scenario.kind.name)
    while (decision := run.decision) is not None:
        now: float = decision.now
        assert now >= before, f"R5: time goes back from {before} to {now}"
        for array in arrays_of(decision):
            assert not array.flags.writeable, f"R7: at {now} an array can be written to"
        if look is not None:
            number, _, fault = look
            said = fault(decision)
            assert not said, f"{number}: at {now} {said}"
        before, looks = now, looks + 1
        run.apply(chosen(decision))
    assert run.now >= before, f"R5: time goes back from {before} to {run.now} at the end"
    return run.result(), looks


def _vm_room(decision: Any) -> str:
    """Whether a machine holds more than it may."""
    machines = decision.machines
    for held, limit in (
        (machines.allocated_cores, machines.limit_cores),
        (machines.allocated_memory_gb, machines.limit_memory_gb),
    ):
        over = np.flatnonzero(held > limit + CLOSE)
        if len(over):
            return f"machine {over[0]} holds {held[over[0]]} of {limit[over[0]]}"
    return ""


def _jobs_room(decision: Any) -> str:
    """Whether a machine that is up has less than nothing free."""
    machines = decision.machines
    short = np.argwhere((machines.free < 0) & machines.up[:, None])
    return f"machine {short[0][0]} has less than nothing free" if len(short) else ""


_ROOM: dict[str, tuple[str, str, Callable[[Any], str]]] = {
    "vm": ("K2", "no machine holds more than its oversubscription allows", _vm_room),
    "jobs": ("K5", "no machine holds more than it has", _jobs_room),
}


def _sum(result: Result, table: str, column: str) -> float:
    """The sum of a column."""
    return float(np.sum(result.tables[table][column].to_numpy()))


def _add_up(number: str, what: str, parts: float, whole: float) -> None:
    """Holds that parts sum to a whole."""
    near = math.isclose(parts, whole, rel_tol=CLOSE, abs_tol=CLOSE)
    assert near, f"{number}: {what} sum to {parts}, not {whole}"


def _vm_sums(result: Result) -> Iterator[Held]:
    """Outcomes add up."""
    metrics, ends = result.metrics, ("completed", "failed", "refused", "killed")
    unfinished = ("running_at_end", "waiting_at_end")
    for name in (*ends, *unfinished):  # the last is what is left: it alone would always add up
        assert metrics[name] >= 0, f"K1: {name} is {metrics[name]}"
    total = sum(metrics[name] for name in (*ends, *unfinished))
    _add_up("K1", "outcomes", total, metrics["requests"])
    outcomes = result.tables["vms"]["outcome"].to_pylist() if "vms" in result.tables else []
    if len(outcomes) == metrics["requests"]:  # not with a warm-up, which metrics leave out
        for name in ends:
            _add_up("K1", f"VMs that are {name}", outcomes.count(name), metrics[name])
    yield Held("K1", "every request ends in exactly one state, and outcomes add up", 1)


def _faas_sums(result: Result) -> Iterator[Held]:
    """Energies of nodes and of functions add up."""
    if "nodes" not in result.tables:
        return
    joules = 3600.0 * result.metrics["energy_wh"]
    for table in ("nodes", "functions"):
        _add_up("K8", f"energies of {table}", _sum(result, table, "energy_j"), joules)
    yield Held("K8", "energies of nodes and of functions add up", 2)


def _tiers_sums(result: Result) -> Iterator[Held]:
    """Requests add up."""
    metrics = result.metrics
    ended = metrics["served"] + metrics["blocked"]
    assert ended <= metrics["arrived"], f"K9: {ended} requests end, {metrics['arrived']} arrive"
    yield Held("K9", "requests add up", 1)


_SUMS: dict[str, Callable[[Result], Iterator[Held]]] = {
    "vm": _vm_sums,
    "faas": _faas_sums,
    "tiers": _tiers_sums,
}
