"""The benchmarks against peers that install from PyPI, and against a C compiler."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from cloudarena.bench.case import Case, Measured, best_of, by_rate, by_time, cpu_seconds, installed
from cloudarena.catalogue import load
from cloudarena.experiments.simulate import simulate

TIMES = 5
VM_TICKS = 1000
"""Ticks of the month, which has 8,638: SimPy takes seconds then, not a minute."""
TANDEM, LONGER = 10_000, 15
"""Requests through two tiers, and how many times as many the kernel serves."""
SIMFAAS = (2e4, 3)
"""Seconds and replications of SimFaaS's example."""
RATE, WARM_S, COLD_S = 0.9, 1.991, 2.244
ARENA_STEPS = 2000
HOSTS, VMS = 1000, 100_000
ENVIRONMENTS = ("vm", "jobs", "workflow", "faas-place", "faas-scale")


def vm_on_simpy() -> Iterator[Measured]:
    """Best-fit on the first ticks of a month, as an ordinary SimPy program and compiled."""
    from cloudarena.bench.vm_on_simpy import DataCentre, best_fit, build_vms

    scenario: Any = load("vm/azure-like-10k", {"ticks": VM_TICKS})
    vms = build_vms(scenario.load_workload(0))
    simulate(scenario, "best-fit", record="none")
    before = best_of(TIMES, simulate, scenario, "best-fit", 0, "none")
    centre = DataCentre(scenario, vms, best_fit)
    theirs = cpu_seconds(centre.run, VM_TICKS)
    ours = min(before, best_of(TIMES, simulate, scenario, "best-fit", 0, "none"))
    found, wanted = centre.metrics(), simulate(scenario, "best-fit", 0, "none").metrics
    if found["allocated"] != wanted["allocated"]:
        raise AssertionError("SimPy allocates other VMs")
    yield by_time("vm", "SimPy", f"vm/azure-like-10k, {VM_TICKS:,} ticks, best-fit", ours, theirs)


def _tandem(peer: str, theirs: float) -> Iterator[Measured]:
    """The tandem in the kernel, beside a peer's CPU seconds for ``TANDEM`` requests."""
    from cloudarena.bench.tandem import SPEEDS, run, service

    run(service(TANDEM, SPEEDS))
    ours = best_of(TIMES, run, service(LONGER * TANDEM, SPEEDS)) / LONGER
    yield by_time("tiers", peer, f"{TANDEM:,} requests through two tiers", ours, theirs)


def tiers_on_simpy() -> Iterator[Measured]:
    """A tandem as an ordinary SimPy program."""
    from cloudarena.bench.tandem import SPEEDS, on_simpy, run, service

    arrivals = run(service(TANDEM, SPEEDS)).world.requests["arrival"].tolist()
    rng = random.Random(0)
    theirs = best_of(2, on_simpy, arrivals, lambda number, visit: rng.expovariate(1.0))
    yield from _tandem("SimPy", theirs)


def tiers_on_ciw() -> Iterator[Measured]:
    """A tandem in Ciw."""
    from cloudarena.bench.tandem import on_ciw

    yield from _tandem("Ciw", best_of(2, on_ciw, TANDEM))


def faas_on_simfaas() -> Iterator[Measured]:
    """SimFaaS's own example: requests in a CPU second."""
    from simfaas.ServerlessSimulator import ServerlessSimulator

    seconds, replications = SIMFAAS
    requests, theirs = 0, 0.0
    for _ in range(replications):
        simulator = ServerlessSimulator(
            arrival_rate=RATE,
            warm_service_rate=1 / WARM_S,
            cold_service_rate=1 / COLD_S,
            expiration_threshold=600,
            max_time=seconds,
        )
        theirs += cpu_seconds(lambda one=simulator: one.generate_trace(False, False))
        requests += simulator.total_req_count
    scenario = load("faas/serverless-basic", {"duration_s": 10 * seconds})
    served = simulate(scenario, "first-fit", record="none").metrics["requests"]
    ours = best_of(TIMES, simulate, scenario, "first-fit", 0, "none")
    unit = "requests per CPU s"
    what = "a function that scales per request"
    yield by_rate("faas", "SimFaaS", what, unit, served / ours, requests / theirs)


def workflow_on_arena() -> Iterator[Measured]:
    """Workflows of 200 functions, placed round-robin."""
    from cloudarena.bench.workflows import LARGE, SEED, laid_out, on_arena, play, scenario_of

    workload = laid_out(LARGE)
    scenario: Any = scenario_of(workload)
    play(scenario.start(SEED, "none"))
    ours = min(play(scenario.start(SEED, "none")) for _ in range(TIMES))
    figures = on_arena(scenario, workload, sys.executable, ARENA_STEPS)
    theirs = figures["steps"] / sum(figures["slices_s"])
    unit, peer = "functions per CPU s", "serverless-workflow-arena"
    yield by_rate("workflow", peer, LARGE.name, unit, LARGE.steps / ours, theirs)


def environments_beside_cartpole() -> Iterator[Measured]:
    """Steps of environments through ``gymnasium.make``."""
    import gymnasium

    from cloudarena.bench.environments import steps_per_second

    cart = gymnasium.make("CartPole-v1")
    for name in ENVIRONMENTS:
        env = gymnasium.make(f"cloudarena/{name}-v0")
        pairs = [(steps_per_second(env, 0, 500), steps_per_second(cart, 1, 2000)) for _ in range(3)]
        ours, theirs = max(one for one, _ in pairs), max(other for _, other in pairs)
        yield by_rate("environments", "CartPole", name, "steps per CPU s", ours, theirs)


def first_fit_beside_c() -> Iterator[Measured]:
    """First-fit at ticks of a second; C only places and releases."""
    from cloudarena.bench.first_fit import ours, theirs

    mine, other = ours(HOSTS, VMS, "first-fit", TIMES), theirs(HOSTS, VMS, 3)
    for name, run in other.items():
        if run["placed"] != mine["placed"]:
            raise AssertionError(f"C, {name}, places {run['placed']} VMs, not {mine['placed']}")
        what = f"{HOSTS:,} hosts, {VMS:,} VMs"
        yield by_time("first-fit", f"C, {name} search", what, mine["s"], run["s"])


def _has_compiler() -> bool:
    """Whether there is a C compiler."""
    return shutil.which("cc") is not None


CASES = (
    Case("vm", "SimPy", installed("simpy"), "pip install simpy", vm_on_simpy),
    Case("tiers", "SimPy", installed("simpy"), "pip install simpy", tiers_on_simpy),
    Case("tiers", "Ciw", installed("ciw"), "pip install ciw simpy", tiers_on_ciw),
    Case("faas", "SimFaaS", installed("simfaas"), "pip install simfaas", faas_on_simfaas),
    Case(
        "workflow",
        "serverless-workflow-arena",
        installed("serverless_workflow_arena"),
        "pip install serverless-workflow-arena==1.0.0",
        workflow_on_arena,
    ),
    Case(
        "environments",
        "CartPole",
        lambda: True,
        "pip install gymnasium",
        environments_beside_cartpole,
    ),
    Case("first-fit", "C", _has_compiler, "a C compiler named cc", first_fit_beside_c),
)
"""All benchmarks, in the order of the table."""
