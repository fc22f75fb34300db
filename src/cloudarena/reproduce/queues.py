"""What queueing theory says of some services, and simulations of them.

Each VM of a tiers scenario has a queue of its own, so M/M/c has no place in it; its formula is held
against a simulation of one queue for many servers, here.

A queue forgets its past in some relaxation times: ten of them pass before anything counts, and at
least 24 follow. All requests that arrive in these count, also those that are served after them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from cloudarena import queueing
from cloudarena.base.arrays import Floats
from cloudarena.base.statistics import interval
from cloudarena.engine.compiled import jit
from cloudarena.experiments.simulate import simulate
from cloudarena.scenarios.tiers import TiersScenario

LOADS = (0.3, 0.6, 0.9, 0.99)
REPLICATIONS = 20
NO_LIMIT = 1_000_000
"""Room that never is full."""
DISTRIBUTIONS = (
    ("exponential", 1.0),
    ("deterministic", 0.0),
    ("log-normal", 0.5),
    ("hyper-exponential", 4.0),
)
"""Service times, and the squares of their coefficients of variation."""
RUBIS = ((220.0, 120.0), (36.0, 20.0), (80.0, 40.0))
COUNTS = ((1, 1), (2, 4), (2, 1))
SLOWEST = 20.0
"""Requests a second of the slowest VM of that chain."""


class Case(NamedTuple):
    """A service at a load, and what is known of it."""

    name: str
    load: float
    theory: dict[str, float]
    """What is measured, and what it should be."""
    run: Callable[[int], list[float]]
    """What a replication measures, in the same order, by its seed."""


class Comparison(NamedTuple):
    """What was measured over replications, against theory."""

    name: str
    load: float
    theory: float
    values: Floats
    """What each replication measured."""

    @property
    def mean(self) -> float:
        """The mean over replications."""
        return float(self.values.mean())

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the mean (Student)."""
        return interval(self.values).half_width

    @property
    def chance(self) -> float:
        """How likely a mean so far from theory, or farther, is by chance."""
        return float(stats.ttest_1samp(self.values, self.theory).pvalue)


def compare(load: float, replications: int = REPLICATIONS) -> Iterator[Comparison]:
    """All comparisons at a load; no two cases and no two loads share a seed."""
    for number, case in enumerate(cases(load)):
        first = 100_000 * round(100 * load) + 1000 * number
        values = np.array([case.run(first + k) for k in range(replications)])
        for (what, theory), seen in zip(case.theory.items(), values.T, strict=True):
            yield Comparison(f"{case.name}: {what}", load, theory, seen)


def cases(load: float) -> Iterator[Case]:
    """All cases at a load."""
    for room in (5, 50):
        yield with_room(load, room)
    for servers in (3, 8):
        yield many_servers(load, servers)
    for distribution, variability in DISTRIBUTIONS:
        yield general_service(load, distribution, variability)
    yield tandem(load)
    for routing in ("depth", "random_walk"):
        for balance in ("weighted", "equal"):
            yield chain(load, routing, balance)


def with_room(load: float, room: int) -> Case:
    """M/M/1/C. With a load of 0.9 and more a tenth of a per cent and more are blocked."""
    scenario = service(load, *lasting(min(load, 0.9)), room=room)
    model = queueing.mm1c(load, 1.0, room)
    theory = {"response": float(model.response_s), "blocked": float(model.blocked)}
    if theory["blocked"] < 1e-4:
        del theory["blocked"]

    def run(seed: int) -> list[float]:
        seen = simulate(scenario, "static", seed, "none").metrics
        return [seen["response_mean_s"], seen["blocked"] / seen["arrived"]][: len(theory)]

    return Case(f"M/M/1/{room}", load, theory, run)


def many_servers(load: float, servers: int) -> Case:
    """M/M/c: its response time, and the share of requests that wait."""
    model = queueing.mmc(load * servers, 1.0, servers)
    theory = {
        "response": float(model.response_s),
        "share that waits": float(queueing.erlang_c(servers, load * servers)),
    }
    duration, warmup = lasting(load)
    requests, first = int(load * servers * duration), int(load * servers * warmup)

    def run(seed: int) -> list[float]:
        rng = np.random.default_rng(seed)
        gaps = rng.exponential(1.0 / (load * servers), requests)
        services = rng.exponential(1.0, requests)
        waited = waits(gaps, services, servers)[first:]
        return [float(waited.mean() + services[first:].mean()), float((waited > 0.0).mean())]

    return Case(f"M/M/{servers}", load, theory, run)


def general_service(load: float, distribution: str, variability: float) -> Case:
    """M/G/1 with room for all."""
    scenario = service(
        load, *lasting(load, variability), room=NO_LIMIT, service=distribution,
        service_scv=max(variability, 0.1),
    )  # fmt: skip
    theory = {"response": float(queueing.mg1(load, 1.0, variability).response_s)}
    name = "M/M/1" if distribution == "exponential" else f"M/G/1, {distribution}"
    return Case(name, load, theory, response_of(scenario))


def tandem(load: float) -> Case:
    """All go on to the second tier and come back through the first: two visits there, one here."""
    duration, warmup = lasting(load)
    scenario = service(
        load, duration, warmup, ((1, 0), (1, 0)), ((2.0, 1.0), (1.25, 1.0)), (1.0,), room=NO_LIMIT
    )
    network = queueing.jackson([load, 0.0], [[0.0, 0.5], [1.0, 0.0]], [2.0, 1.25])
    return Case(
        "Jackson network, tandem",
        load,
        {"response": float(network.response_s)},
        response_of(scenario),
    )


def chain(load: float, routing: str, balance: str) -> Case:
    """Three tiers of ten VMs of two sizes; ``load`` is that of the busiest VM."""
    forward = (0.8, 0.6) if routing == "depth" else (0.3, 0.2)
    model = queueing.TierChain(RUBIS, forward, NO_LIMIT, routing, balance)
    counts = np.array(COUNTS)
    rate = load / float(queueing.evaluate(model, 1.0, counts).utilisation.max())
    duration, warmup = (time / SLOWEST for time in lasting(load))
    scenario = service(
        rate, duration, warmup, COUNTS, RUBIS, forward,
        kind=routing, balance=balance, room=NO_LIMIT,
    )  # fmt: skip
    theory = {"response": float(queueing.evaluate(model, rate, counts).response_s)}
    return Case(f"chain, {routing}, {balance}", load, theory, response_of(scenario))


def lasting(load: float, variability: float = 1.0) -> tuple[float, float]:
    """How long to run and to warm up, in mean service times.

    A queue forgets its past in about (1 + variability) / 2 / (1 - sqrt(load))^2 of them.
    """
    relaxation = 0.5 * (1.0 + variability) / (1.0 - np.sqrt(load)) ** 2
    warmup = max(10.0 * relaxation, 2000.0)
    return warmup + max(24.0 * relaxation, 40_000.0), warmup


def response_of(scenario: TiersScenario) -> Callable[[int], list[float]]:
    """Measures the mean response time."""
    return lambda seed: [simulate(scenario, "static", seed, "none").metrics["response_mean_s"]]


def service(
    rate: float,
    duration_s: float,
    warmup_s: float,
    counts: Any = ((1, 0),),
    rates: Any = ((1.0, 0.5),),
    forward: tuple[float, ...] = (),
    kind: str = "depth",
    room: int = 200,
    **others: Any,
) -> TiersScenario:
    """A service of these VMs that nobody changes, at a constant arrival rate."""
    tiers = [
        {
            "name": f"tier-{k}",
            "fat": {"rate": fat_rate, "max": max(fat, 1), "start": fat},
            "thin": {"rate": thin_rate, "max": max(thin, 1), "start": thin},
            "room": room,
        }
        for k, ((fat, thin), (fat_rate, thin_rate)) in enumerate(zip(counts, rates, strict=True))
    ]
    return TiersScenario.parse(
        {
            "scenario": "tiers",
            "duration_s": duration_s,
            "warmup_s": warmup_s,
            "period_s": 1e9,
            "arrivals": {"source": "constant", "rate": rate},
            "routing": {"kind": kind, "forward": list(forward)},
            "tiers": tiers,
            **others,
        }
    )


@jit
def waits(gaps: Floats, services: Floats, servers: int) -> Floats:
    """The time that each request waits for the server that is free first.

    ``free[k]`` is when server k has nothing left to do.
    """
    free = np.zeros(servers)
    waited = np.empty(len(gaps))
    now = 0.0
    for request in range(len(gaps)):
        now += gaps[request]
        first = np.argmin(free)
        begin = max(now, free[first])
        waited[request] = begin - now
        free[first] = begin + services[request]
    return waited
