"""How time moves in a multi-tier service: compiled functions on arrays.

The order of events at one instant: VMs that have booted, requests that are served (by the number
of the VM), requests that arrive. A request that is served at a tier is at the next one at once.

Each VM serves its requests one after the other, first in first out, and holds so many at most; a
request that finds no room is blocked, and lost. What a request draws (how long each visit takes,
where it turns back, which VM of a tier it goes to) is decided by its number and its visit, not by
the order of events, so all policies serve the same requests.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import first_ring, first_ringing, set_alarm
from cloudarena.engine.compiled import inner, lean
from cloudarena.engine.hashing import normal, uniform
from cloudarena.scenarios.tiers.state import (
    BLOCKED,
    BOOTING,
    DETERMINISTIC,
    DRAINING,
    EXPONENTIAL,
    HYPER_EXPONENTIAL,
    IN_SYSTEM,
    OFF,
    SERVED,
    UP,
    Rules,
    World,
)


@inner
def draw_work(rules: Rules, request: int, visit: int) -> float:
    """How long a visit takes, in units of the mean service time of its VM."""
    if rules.service == DETERMINISTIC:
        return 1.0
    if rules.service == EXPONENTIAL:
        return -np.log(uniform(rules.service_key, request, 2 * visit))
    if rules.service == HYPER_EXPONENTIAL:
        # Two phases of balanced means: p / rate is the same for both.
        spread = np.sqrt((rules.variability - 1.0) / (rules.variability + 1.0))
        share = 0.5 * (1.0 + spread)
        if uniform(rules.service_key, request, 2 * visit + 1) > share:
            share = 1.0 - share
        return -np.log(uniform(rules.service_key, request, 2 * visit)) / (2.0 * share)
    variance = np.log(1.0 + rules.variability)
    drawn = normal(rules.service_key, request, visit)
    return np.exp(np.sqrt(variance) * drawn - 0.5 * variance)


@inner
def look(world: World, tier: int) -> None:
    """Adds up what a tier held since it was last looked at."""
    seen, now = world.seen[tier], world.clock[0].now
    passed = now - seen.since
    seen.held_s += passed * seen.held
    seen.busy_s += passed * seen.busy
    seen.up_s += passed * world.tiers.up[tier]
    seen.since = now


@lean
def look_at_all(world: World) -> None:
    """Brings the measurements of all tiers up to now."""
    for tier in range(len(world.tiers.up)):
        look(world, tier)


@inner
def serve(world: World, vm: int) -> None:
    """Begins to serve the first request of a VM."""
    vms = world.vms
    request = vms.queue[vm, vms.first[vm]]
    work = draw_work(world.rules, request, world.requests.visits[request])
    rate = world.tiers.rate[vms.tier[vm], vms.size[vm]]
    set_alarm(vms.finishes, vm, world.clock[0].now + work / rate)


@inner
def choose_vm(world: World, tier: int, request: int) -> int:
    """The VM that a request goes to: any, with the same chance or in proportion to its rate."""
    tiers, vms = world.tiers, world.vms
    count = tiers.up[tier]
    if count == 1:
        return tiers.members[tier, 0]
    share = uniform(world.rules.balance_key, request, world.requests.visits[request])
    if not world.rules.weighted:
        return tiers.members[tier, int(share * count)]
    left = share * tiers.speed[tier]
    for k in range(count - 1):
        vm = tiers.members[tier, k]
        left -= tiers.rate[tier, vms.size[vm]]
        if left < 0.0:
            return vm
    return tiers.members[tier, count - 1]


@inner
def enter(world: World, tier: int, request: int) -> None:
    """Brings a request to a tier."""
    requests, vms, seen = world.requests, world.vms, world.seen[tier]
    look(world, tier)
    requests.tier[request] = tier
    requests.visits[request] += 1
    seen.arrived += 1
    vm = choose_vm(world, tier, request)
    room = world.tiers.room[tier]
    if vms.held[vm] == room:
        seen.blocked += 1
        requests.state[request] = BLOCKED
        requests.finish[request] = world.clock[0].now
        return
    place = vms.first[vm] + vms.held[vm]
    vms.queue[vm, place - room if place >= room else place] = request
    vms.held[vm] += 1
    seen.held += 1
    world.entered[request] = world.clock[0].now
    if vms.held[vm] == 1:
        seen.busy += 1
        serve(world, vm)


@inner
def go_on(world: World, tier: int, request: int) -> None:
    """Brings a request that was served at a tier to the next one, or out."""
    requests, tiers, seen = world.requests, world.tiers, world.seen[tier]
    following = tier - 1
    if not requests.back[request]:
        share = tiers.forward[tier]
        if (
            share > 0.0
            and uniform(world.rules.routing_key, request, requests.visits[request]) < share
        ):
            seen.forward += 1
            following = tier + 1
        else:
            seen.turned += 1
            requests.back[request] = not world.rules.walk
    if following >= 0:
        enter(world, following, request)
        return
    requests.state[request] = SERVED
    requests.finish[request] = world.clock[0].now
    world.finished[world.clock[0].done] = request
    world.clock[0].done += 1


@inner
def finish(world: World, vm: int) -> None:
    """Ends the service of the first request of a VM."""
    vms = world.vms
    tier = vms.tier[vm]
    seen = world.seen[tier]
    look(world, tier)
    request = vms.queue[vm, vms.first[vm]]
    vms.first[vm] += 1
    if vms.first[vm] == world.tiers.room[tier]:
        vms.first[vm] = 0
    vms.held[vm] -= 1
    seen.held -= 1
    seen.served += 1
    seen.sojourn_s += world.clock[0].now - world.entered[request]
    if vms.held[vm] > 0:
        serve(world, vm)
    else:
        seen.busy -= 1
        set_alarm(vms.finishes, vm, np.inf)
        if vms.state[vm] == DRAINING:
            stop(world, vm)
    go_on(world, tier, request)


@inner
def stop(world: World, vm: int) -> None:
    """Ends the rent of a VM."""
    vms, now = world.vms, world.clock[0].now
    vms.state[vm] = OFF
    world.rented_s[vms.size[vm]] += max(0.0, min(now, world.rules.end_s) - vms.since[vm])


@inner
def come_up(world: World, vm: int) -> None:
    """Lets a VM that has booted take requests; those that waited for it to leave may go."""
    vms, tiers = world.vms, world.tiers
    tier = vms.tier[vm]
    look(world, tier)
    vms.state[vm] = UP
    tiers.members[tier, tiers.up[tier]] = vm
    tiers.up[tier] += 1
    tiers.speed[tier] += tiers.rate[tier, vms.size[vm]]
    k = 0
    while k < tiers.up[tier]:
        other = tiers.members[tier, k]
        if vms.leaving[other]:
            drain(world, other)
        else:
            k += 1


@inner
def drain(world: World, vm: int) -> None:
    """Lets a VM that is up take nothing new."""
    vms, tiers = world.vms, world.tiers
    tier = vms.tier[vm]
    look(world, tier)
    count = tiers.up[tier]
    for k in range(count):
        if tiers.members[tier, k] == vm:
            for after in range(k, count - 1):
                tiers.members[tier, after] = tiers.members[tier, after + 1]
            break
    tiers.up[tier] -= 1
    tiers.speed[tier] = 0.0
    for k in range(tiers.up[tier]):
        tiers.speed[tier] += tiers.rate[tier, vms.size[tiers.members[tier, k]]]
    vms.leaving[vm] = False
    vms.state[vm] = DRAINING
    if vms.held[vm] == 0:
        stop(world, vm)


@lean
def rent(world: World, vm: int, tier: int, size: int, boot_s: float) -> None:
    """Rents a VM in a free slot; it takes requests when it has booted."""
    vms, now = world.vms, world.clock[0].now
    vms.state[vm] = BOOTING
    vms.tier[vm] = tier
    vms.size[vm] = size
    vms.leaving[vm] = False
    vms.first[vm] = 0
    vms.held[vm] = 0
    vms.since[vm] = now
    if boot_s > 0.0:
        set_alarm(vms.ready, vm, now + boot_s)
    else:
        come_up(world, vm)


@lean
def release(world: World, vm: int) -> None:
    """Gives a VM back: one that boots at once, one that is up when it has nothing left.

    The last VM of a tier that is up stays until another one has booted.
    """
    vms = world.vms
    if vms.state[vm] == BOOTING:
        set_alarm(vms.ready, vm, np.inf)
        stop(world, vm)
        return
    others = 0
    tier = vms.tier[vm]
    for k in range(world.tiers.up[tier]):
        others += not vms.leaving[world.tiers.members[tier, k]]
    vms.leaving[vm] = True
    if others > 1:
        drain(world, vm)


@lean
def run_until(world: World, time: float) -> None:
    """Lets everything before ``time`` happen; then it is ``time``.

    With infinity the run goes on until all requests are gone, and time stands at the last event.
    """
    clock, vms, requests = world.clock[0], world.vms, world.requests
    arrivals = requests.arrival
    while True:
        ready, served = first_ring(vms.ready), first_ring(vms.finishes)
        arrival = arrivals[clock.arrived] if clock.arrived < len(arrivals) else np.inf
        event = min(ready, served, arrival)
        if event >= time:
            break
        clock.now = event
        if ready == event:
            vm = first_ringing(vms.ready)
            set_alarm(vms.ready, vm, np.inf)
            come_up(world, vm)
        elif served == event:
            finish(world, first_ringing(vms.finishes))
        else:
            request = clock.arrived
            clock.arrived += 1
            requests.state[request] = IN_SYSTEM
            enter(world, 0, request)
    if time < np.inf:
        clock.now = time
    look_at_all(world)
