"""The state of a run before its first event."""

from __future__ import annotations

import numpy as np

from cloudarena.contract import RecordLevel
from cloudarena.engine.alarms import make_alarms, with_alarms
from cloudarena.engine.hashing import make_key
from cloudarena.engine.streams import stream
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import CLOCK, REQUEST, TIER, VM, Rules, Service, World
from cloudarena.workloads.arrivals.rates import arrivals_by_rate


def build_world(scenario: TiersScenario, seed: int) -> World:
    """Lays out the arrays, with all requests that will arrive, and no VM."""
    arrival = arrivals_by_rate(scenario.rates(seed), scenario.duration_s, stream(seed, "arrivals"))
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
            service_key=make_key(seed, "service"),
            routing_key=make_key(seed, "routing"),
            balance_key=make_key(seed, "balance"),
        ),
        tiers=tiers,
        members=np.zeros((len(tiers), slots), np.int64),
        speeds=np.zeros((len(tiers), slots)),
        vms=np.zeros(slots, VM),
        ready=make_alarms(slots),
        finishes=make_alarms(slots),
        requests=requests,
        responses=np.empty(len(arrival)),
        served=np.zeros((len(tiers), 2), np.int64),
        service_s=np.zeros((len(tiers), 2)),
        rented_s=np.zeros(2),
        clock=np.zeros(1, CLOCK),
    )


def with_slots(world: World, slots: int) -> World:
    """The same with room for more VMs."""
    more = slots - len(world.vms)
    return world._replace(
        members=np.pad(world.members, ((0, 0), (0, more))),
        speeds=np.pad(world.speeds, ((0, 0), (0, more))),
        vms=np.concatenate((world.vms, np.zeros(more, VM))),
        ready=with_alarms(world.ready, slots),
        finishes=with_alarms(world.finishes, slots),
    )


def memory_needs(scenario: TiersScenario, record: RecordLevel) -> tuple[float, str]:
    """Nothing is known before the arrivals are drawn, which are bounded by themselves."""
    return 0.0, ""
