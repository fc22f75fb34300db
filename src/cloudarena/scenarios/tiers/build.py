"""The state of a run before its first event."""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import make_alarms, with_alarms
from cloudarena.engine.hashing import make_key
from cloudarena.engine.streams import stream
from cloudarena.scenarios.tiers.spec import TiersScenario
from cloudarena.scenarios.tiers.state import (
    CLOCK,
    COMING,
    SEEN,
    SERVICES,
    Requests,
    Rules,
    Tiers,
    Vms,
    World,
)
from cloudarena.workloads.rates import arrivals_by_rate


def build_world(scenario: TiersScenario, seed: int) -> World:
    """Lays out the arrays, with all requests that will arrive, and no VM."""
    tiers = len(scenario.tiers)
    arrival = arrivals_by_rate(scenario.rates(seed), scenario.duration_s, stream(seed, "arrivals"))
    count = len(arrival)
    slots = max(1, sum(tier.fat.start + tier.thin.start for tier in scenario.tiers))
    return World(
        rules=Rules(
            walk=scenario.routing.kind == "random_walk",
            weighted=scenario.balance == "weighted",
            service=SERVICES.index(scenario.service),
            variability=scenario.service_scv,
            boot_s=scenario.boot_s,
            end_s=scenario.duration_s,
            service_key=make_key(seed, "service"),
            routing_key=make_key(seed, "routing"),
            balance_key=make_key(seed, "balance"),
        ),
        tiers=Tiers(
            forward=np.array([*scenario.routing.forward, 0.0]),
            room=np.array([tier.room for tier in scenario.tiers], np.int64),
            rate=np.array([[tier.fat.rate, tier.thin.rate] for tier in scenario.tiers]),
            up=np.zeros(tiers, np.int64),
            members=np.zeros((tiers, slots), np.int64),
            speed=np.zeros(tiers),
        ),
        vms=_vms(slots, max(tier.room for tier in scenario.tiers)),
        requests=Requests(
            arrival=arrival,
            tier=np.zeros(count, np.int16),
            back=np.zeros(count, np.bool_),
            visits=np.zeros(count, np.int32),
            state=np.full(count, COMING, np.int8),
            finish=np.full(count, np.nan),
        ),
        finished=np.empty(count, np.int64),
        entered=np.empty(count),
        seen=np.zeros(tiers, SEEN),
        rented_s=np.zeros(2),
        clock=np.zeros(1, CLOCK),
    )


def with_slots(world: World, slots: int) -> World:
    """The same with room for more VMs."""
    old = len(world.vms.state)
    more = _vms(slots, world.vms.queue.shape[1])._replace(
        ready=with_alarms(world.vms.ready, slots),
        finishes=with_alarms(world.vms.finishes, slots),
    )
    for name in Vms._fields:
        if name not in ("ready", "finishes"):
            getattr(more, name)[:old] = getattr(world.vms, name)
    members = np.zeros((len(world.tiers.members), slots), np.int64)
    members[:, :old] = world.tiers.members
    return world._replace(vms=more, tiers=world.tiers._replace(members=members))


def _vms(slots: int, room: int) -> Vms:
    whole = [np.zeros(slots, np.int64) for _ in range(5)]
    state, tier, size, first, held = whole
    return Vms(
        state=state,
        tier=tier,
        size=size,
        leaving=np.zeros(slots, np.bool_),
        first=first,
        held=held,
        queue=np.zeros((slots, room), np.int64),
        since=np.zeros(slots),
        ready=make_alarms(slots),
        finishes=make_alarms(slots),
    )
