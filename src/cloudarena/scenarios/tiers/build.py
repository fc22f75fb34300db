"""The state of a run before its first event."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats, Ints, read_only
from cloudarena.contract import RecordLevel
from cloudarena.contract.window import HOURS, SECONDS_PER_HOUR, Window
from cloudarena.engine.hashing import make_key
from cloudarena.engine.indexed_heap import make_indexed_heap, with_entries
from cloudarena.engine.streams import stream
from cloudarena.queueing.routing import visits
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import (
    CLOCK,
    LOOK,
    PERIOD,
    REQUEST,
    TIER,
    VM,
    Rules,
    Service,
    World,
)
from cloudarena.workloads.arrivals.rates import arrivals_by_rate

NO_LIMIT = 2**62
"""More VMs than there can be."""
WINDOWS = (HOURS,)
"""What the length of a window may be given in."""


def places(scenario: TiersScenario, workload: Floats, window: Window) -> Ints:
    """The seconds at which windows may begin."""
    return np.arange(max(0, len(workload) - int(_window_s(scenario, window))) + 1)


def cut(scenario: TiersScenario, workload: Floats, window: Window, place: int) -> TiersScenario:
    """The scenario of a window, which begins at a second; requests are drawn for the window."""
    length_s = min(_window_s(scenario, window), float(len(workload) - place))
    rates = workload[place : place + math.ceil(length_s)]
    return scenario.with_workload(rates, duration_s=length_s)


def _window_s(scenario: TiersScenario, window: Window) -> float:
    """The length of a window: the time that does not count comes before."""
    return min(window.length * SECONDS_PER_HOUR + scenario.warmup_s, scenario.duration_s)


def build_world(scenario: TiersScenario, seed: int) -> World:
    """Lays out the arrays, with all requests that will arrive, and no VM."""
    rates = scenario.load_workload(seed)
    arrival = arrivals_by_rate(rates, scenario.duration_s, stream(seed, "arrivals"))
    requests = np.zeros(len(arrival), REQUEST)
    requests["arrival"] = arrival
    tiers = np.zeros(len(scenario.tiers), TIER)
    tiers["forward"][:-1] = scenario.routing.forward
    tiers["room"] = [tier.room for tier in scenario.tiers]
    slots = sum(tier.fat.start + tier.thin.start for tier in scenario.tiers)
    return World(
        rules=Rules(
            walk=scenario.routing.kind == "random_walk",
            weighted=scenario.balance == "weighted",
            # A plain number: with a member of an enumeration every call would be typed slowly.
            service=Service[scenario.service.upper().replace("-", "_")].value,
            variability=scenario.service_scv,
            end_s=scenario.duration_s,
            period_s=scenario.period_s,
            periods=scenario.periods,
            boot_s=scenario.boot_s,
            first=int(np.searchsorted(arrival, scenario.warmup_s)),
            sla_s=scenario.sla.seconds,
            by_quantile=scenario.sla.metric == "quantile",
            level=scenario.sla.level,
            penalty_usd=scenario.sla.penalty_usd,
            fat_minute_usd=scenario.prices.fat_minute_usd,
            thin_minute_usd=scenario.prices.thin_minute_usd,
            most_fat=NO_LIMIT if scenario.max_fat is None else scenario.max_fat,
            most_thin=NO_LIMIT if scenario.max_thin is None else scenario.max_thin,
            service_key=make_key(seed, "service"),
            routing_key=make_key(seed, "routing"),
            balance_key=make_key(seed, "balance"),
        ),
        tiers=tiers,
        members=np.zeros((len(tiers), slots), np.int64),
        speeds=np.zeros((len(tiers), slots)),
        vms=np.zeros(slots, VM),
        ready=make_indexed_heap(slots),
        finishes=make_indexed_heap(slots),
        requests=requests,
        responses=np.empty(len(arrival)),
        served=np.zeros((len(tiers), 2), np.int64),
        service_s=np.zeros((len(tiers), 2)),
        rented_s=np.zeros(2),
        clock=np.zeros(1, CLOCK),
        visits=read_only(visits(scenario.routing.forward, scenario.routing.kind)),
        vm_rates=read_only(_by_size(scenario, "rate", np.float64)),
        limits=read_only(_by_size(scenario, "max", np.int64)),
        start=read_only(_by_size(scenario, "start", np.int64).ravel()),
        counts=np.zeros((len(tiers), 2), np.int64),
        periods=np.zeros(scenario.periods, PERIOD),
        looks=np.zeros((scenario.periods, len(tiers)), LOOK),
    )


def _by_size(scenario: TiersScenario, key: str, kind: type) -> NDArray[Any]:
    """A number of the spec for fat and thin VMs of each tier."""
    rows = [[getattr(tier.fat, key), getattr(tier.thin, key)] for tier in scenario.tiers]
    return np.array(rows, kind)


def with_slots(world: World, slots: int) -> World:
    """Returns the same world with room for more VMs."""
    more = slots - len(world.vms)
    return world._replace(
        members=np.pad(world.members, ((0, 0), (0, more))),
        speeds=np.pad(world.speeds, ((0, 0), (0, more))),
        vms=np.concatenate((world.vms, np.zeros(more, VM))),
        ready=with_entries(world.ready, slots),
        finishes=with_entries(world.finishes, slots),
    )


def memory_needs(scenario: TiersScenario, record: RecordLevel) -> tuple[float, str]:
    """Nothing is known before the arrivals are drawn, which are bounded by themselves."""
    return 0.0, ""
