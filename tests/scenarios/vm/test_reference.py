"""The kernel against the slow and obvious reference, in lock-step: every decision, every number.

The same policy decides in both: it looks at the kernel's state, its action goes to both, and at
each decision what the kernel shows must be what the reference has.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloudarena.contract import Result
from cloudarena.policies import ArrayPolicy
from cloudarena.scenarios.vm import POLICIES, REFUSE, VmDecision, VmScenario, postpone
from cloudarena.workloads.vm.columns import CATEGORIES

from . import reference
from .cases import Case, cases


def close(expected: Any) -> Any:
    """Equal but for the order in which floats were added."""
    return pytest.approx(expected, rel=1e-12, abs=0)


def close_to(scale: float, expected: Any) -> Any:
    """As ``close``; where r < 1 a curve may come near 0, so by the size of what cancels out."""
    return pytest.approx(expected, rel=1e-12, abs=1e-13 * scale)


def check_decision(decision: VmDecision, question: reference.Question, spec: VmScenario) -> None:
    """What the kernel shows at a decision is what the reference has."""
    vm, tick, request = question.vm, question.tick, decision.request
    assert decision.now == tick * spec.tick_seconds
    assert request.vm == (vm.id if isinstance(vm.id, int) else question.number)
    assert request.tick == tick
    assert request.cores == float(vm.cores)
    assert request.memory_gb == float(vm.memory)
    assert request.category == vm.category
    assert request.buffer_ticks == vm.buffer
    assert request.lifetime_ticks == (vm.lifetime if "lifetimes" in spec.known else -1)
    assert request.last_machine == question.last_machine
    shown = decision.machines
    assert np.flatnonzero(shown.valid).tolist() == question.valid
    for number, machine in enumerate(question.machines):
        cores, memory = machine.allocated_cores(), machine.allocated_memory()
        assert shown.cores[number] == float(machine.cores)
        assert shown.memory_gb[number] == float(machine.memory)
        assert shown.allocated_cores[number] == float(cores)
        assert shown.allocated_memory_gb[number] == float(memory)
        assert shown.free_cores[number] == float(machine.cores - cores)
        assert shown.free_memory_gb[number] == float(machine.memory - memory)
        limit = machine.cores * reference.exact(spec.oversubscription.cpu)
        assert shown.limit_cores[number] == float(limit)
        assert shown.utilisation[number] == close(machine.utilisation(tick))
        assert shown.power_w[number] == close_to(machine.busy_w, machine.power_w(tick))
        assert shown.vms[number] == len(machine.vms)
        assert shown.sharing[number] == machine.sharing()
        assert shown.state[number] == machine.state(tick)


def check_result(result: Result, outcome: reference.Outcome, spec: VmScenario) -> None:
    """The metrics and all tables of a run are those of the reference."""
    expected = outcome.metrics
    hours = spec.tick_seconds / 3600
    warmup = int(spec.warmup_s / spec.tick_seconds)
    ticks = spec.ticks - warmup
    busy_w = sum(machine.busy_w for machine in outcome.machines)
    busy_kwh = busy_w * spec.ticks * hours / 1000
    busy_usd = busy_kwh * spec.prices.kwh_usd * spec.prices.pue
    scales = {
        "energy_kwh": busy_kwh,
        "energy_cost_usd": busy_usd,
        "cost_usd": busy_usd,
        "profit_usd": 10 * (busy_usd + expected["income_usd"]),  # a difference
        "energy_kwh_per_core_hour_served": busy_kwh,
    }
    assert set(result.metrics) == set(expected)
    for name, value in expected.items():
        if isinstance(value, int):
            assert result.metrics[name] == value, name
            assert isinstance(result.metrics[name], int), name
        else:
            close_enough = pytest.approx(
                value, rel=1e-12, abs=1e-13 * scales.get(name, 0), nan_ok=True
            )
            assert result.metrics[name] == close_enough, name
    arrived = [vm for vm in outcome.vms if vm.outcome != "not arrived"]
    ids = [vm.id for vm in outcome.vms]
    numbers = ids if isinstance(ids[0], int) else list(range(len(ids)))
    number_of = dict(zip(ids, numbers, strict=True))
    assert result.tables["vms"].to_pylist() == [
        {
            "vm": number_of[vm.id],
            "id": vm.id,
            "arrival": vm.created,
            "start": vm.start,
            "end": vm.end,
            "machine": vm.machine,
            "outcome": vm.outcome,
            "delay": vm.delay,
            "cores": float(vm.cores),
            "memory_gb": float(vm.memory),
            "category": CATEGORIES[vm.category],
            "lifetime": vm.lifetime,
        }
        for vm in arrived
    ]
    assert result.tables["decisions"].to_pylist() == [
        {
            "tick": tick,
            "time_s": tick * spec.tick_seconds,
            "vm": number_of[vm],
            "action": "place" if action >= 0 else "refuse" if action == REFUSE else "postpone",
            "machine": action if action >= 0 else None,
            "delays": REFUSE - action if action < REFUSE else None,
            "valid_machines": valid,
        }
        for tick, vm, action, valid in outcome.decisions
    ]
    rows = result.tables["series"].to_pylist()
    assert [row.pop("tick") for row in rows] == list(range(spec.ticks))
    for row, expected_row in zip(rows, outcome.series, strict=True):
        assert row.pop("power_w") == close_to(busy_w, expected_row["power_w"])
        assert row == close({name: value for name, value in expected_row.items() if name in row})
    for row, machine in zip(result.tables["machines"].to_pylist(), outcome.machines, strict=True):
        machine_kwh = machine.busy_w * spec.ticks * hours / 1000
        energy_kwh = sum(machine.watts[warmup:]) * hours / 1000
        assert row["energy_kwh"] == close_to(machine_kwh, energy_kwh)
        cores = float(machine.cores)
        assert row["mean_cpu_demand"] == close(sum(machine.use[warmup:]) / ticks / cores)
        mean_use = sum(min(used, cores) for used in machine.use[warmup:]) / ticks
        assert row["mean_cpu_utilisation"] == close(mean_use / cores)
        assert row["oversubscribed_ticks"] == machine.oversubscribed_ticks
        assert row["overloaded_ticks"] == machine.overloaded_ticks
    history = result.tables["machines_series"].to_pydict()
    for number, machine in enumerate(outcome.machines):
        mine = slice(number, None, len(outcome.machines))
        use = [used / float(machine.cores) for used in machine.use]
        assert history["power_w"][mine] == close_to(machine.busy_w, machine.watts)
        assert history["utilisation"][mine] == close(use)


def run_both(case: Case, decide: Callable[[VmDecision], int]) -> tuple[VmScenario, Result]:
    """Plays a case in kernel and reference side by side and compares everything."""
    spec = case.load()
    run = spec.start()
    steps = reference.steps(spec, case.vms())
    try:
        question = next(steps)
        while True:
            decision = run.decision
            assert decision is not None, "the reference has a decision and the kernel has none"
            check_decision(decision, question, spec)
            number = question.number if case.as_files else 0
            assert decision.request.subscription == number % 3
            assert decision.request.deployment == number % 5
            action = decide(decision)
            run.apply(action)
            question = steps.send(action)
    except StopIteration as end:
        outcome = end.value
    assert run.decision is None
    result = run.result()
    check_result(result, outcome, spec)
    return spec, result


def moody(seed: int, postpones: float, refuses: float) -> Callable[[VmDecision], int]:
    """A policy that places at random, and at times puts off or refuses."""
    rng = random.Random(seed)

    def decide(decision: VmDecision) -> int:
        valid = np.flatnonzero(decision.valid).tolist()
        mood = rng.random()
        if mood < refuses:
            return REFUSE
        if not valid or mood < refuses + postpones:
            return postpone(rng.choice([1, 1, 2, 3]))
        return rng.choice(valid)

    return decide


@given(
    case=cases(may_warm_up=True),
    seed=st.integers(0, 99),
    postpones=st.sampled_from([0.0, 0.3, 0.7]),
    refuses=st.sampled_from([0.0, 0.2]),
)
def test_kernel_and_reference_agree(
    case: Case, seed: int, postpones: float, refuses: float
) -> None:
    run_both(case, moody(seed, postpones, refuses))


@given(case=cases(may_warm_up=True), name=st.sampled_from(POLICIES.array_names()))
def test_kernel_and_reference_agree_under_the_built_in_policies(case: Case, name: str) -> None:
    built_in = POLICIES.resolve(name)
    assert isinstance(built_in, ArrayPolicy)
    spec, stepped = run_both(case, built_in)
    compiled = spec.start()
    compiled.play(built_in)
    assert compiled.metrics() == stepped.metrics
    assert compiled.result().tables == stepped.tables


@pytest.mark.slow
@settings(max_examples=1500)
@given(
    case=cases(may_warm_up=True),
    seed=st.integers(0, 10**6),
    postpones=st.sampled_from([0.0, 0.1, 0.5]),
    refuses=st.sampled_from([0.0, 0.1]),
)
def test_kernel_and_reference_agree_on_thousands_of_cases(
    case: Case, seed: int, postpones: float, refuses: float
) -> None:
    run_both(case, moody(seed, postpones, refuses))
