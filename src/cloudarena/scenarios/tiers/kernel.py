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
from cloudarena.engine.hashing import exponential, normal, uniform
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

OUT = -1
"""Where a request goes that has been through all its tiers."""


@inner
def draw_work(rules: Rules, request: int, visit: int) -> float:
    """How long a visit takes, in units of the mean service time of its VM."""
    if rules.service == EXPONENTIAL:
        return exponential(rules.service_key, request, 2 * visit)
    if rules.service == DETERMINISTIC:
        return 1.0
    if rules.service == HYPER_EXPONENTIAL:
        # Two phases of balanced means: p / rate is the same for both.
        spread = np.sqrt((rules.variability - 1.0) / (rules.variability + 1.0))
        share = 0.5 * (1.0 + spread)
        if uniform(rules.service_key, request, 2 * visit + 1) > share:
            share = 1.0 - share
        return exponential(rules.service_key, request, 2 * visit) / (2.0 * share)
    variance = np.log(1.0 + rules.variability)
    drawn = normal(rules.service_key, request, visit)
    return np.exp(np.sqrt(variance) * drawn - 0.5 * variance)


@inner
def choose_vm(world: World, tier: int, request: int, visit: int) -> int:
    """The VM that a request goes to: any, with the same chance or in proportion to its rate."""
    count = world.tiers[tier].up
    if count == 1:
        return world.members[tier, 0]
    share = uniform(world.rules.balance_key, request, visit)
    if not world.rules.weighted:
        return world.members[tier, int(share * count)]
    speeds = world.speeds[tier]
    wanted = share * speeds[count - 1]
    place = 0
    for k in range(count - 1):
        place += wanted >= speeds[k]
    return world.members[tier, place]


@inner
def enter(world: World, now: float, tier_number: int, number: int) -> None:
    """Brings a request to a tier."""
    request, tier = world.requests[number], world.tiers[tier_number]
    visit = request.visits + 1
    request.visits = visit
    request.tier = tier_number
    tier.arrived += 1
    chosen = choose_vm(world, tier_number, number, visit)
    vm = world.vms[chosen]
    if vm.held == tier.room:
        tier.blocked += 1
        request.state = BLOCKED
        request.finish = now
        return
    # First in, first out: so it is known now when this visit will end.
    ends = max(vm.ends, now) + draw_work(world.rules, number, visit) * vm.mean_s
    vm.ends = ends
    request.entered = now
    request.finish = ends
    if vm.held == 0:
        vm.first = number
        vm.busy_from = now
        set_alarm(world.finishes, chosen, ends)
    else:
        world.requests[vm.last].behind = number
    vm.last = number
    vm.held += 1


@inner
def leave(world: World, now: float, number: int) -> int:
    """Ends the service of the first request of a VM; returns the request."""
    vm = world.vms[number]
    request = vm.first
    vm.held -= 1
    vm.served += 1
    vm.sojourn_s += now - world.requests[request].entered
    vm.begun = now
    behind = world.requests[request].behind
    idle = vm.held == 0
    vm.first = behind
    vm.busy_s += now - vm.busy_from if idle else 0.0
    set_alarm(world.finishes, number, np.inf if idle else world.requests[behind].finish)
    if vm.state == DRAINING and idle:
        stop(world, number)
    return request


@inner
def next_tier(world: World, number: int) -> int:
    """The tier to which a request goes that was served at its tier, or OUT."""
    request = world.requests[number]
    tier = world.tiers[request.tier]
    if not request.back:
        share = tier.forward
        if share >= 1.0 or (
            share > 0.0 and uniform(world.rules.routing_key, number, request.visits) < share
        ):
            tier.forwarded += 1
            return request.tier + 1
        tier.turned += 1
        request.back = not world.rules.walk
    return request.tier - 1


@inner
def go_out(world: World, now: float, number: int) -> None:
    """Lets a request go that was served at all its tiers."""
    request, clock = world.requests[number], world.clock[0]
    request.state = SERVED
    world.responses[clock.done] = now - request.arrival
    clock.done += 1


@inner
def look_at_vm(world: World, number: int) -> None:
    """Adds what a VM has done since the last look to what is measured of its tier.

    Its visits were served while it was busy, all but the one that goes on.
    """
    vm, now = world.vms[number], world.clock[0].now
    tier = world.tiers[vm.tier]
    open_s = 0.0
    if vm.held > 0:
        vm.busy_s += now - vm.busy_from
        vm.busy_from = now
        open_s = now - max(vm.begun, world.requests[vm.first].entered)
    if vm.state == UP:
        tier.busy_s += vm.busy_s
    tier.sojourn_s += vm.sojourn_s
    world.served[vm.tier, vm.size] += vm.served
    world.service_s[vm.tier, vm.size] += vm.busy_s + vm.open_s - open_s
    vm.open_s = open_s
    vm.busy_s = 0.0
    vm.sojourn_s = 0.0
    vm.served = 0


@inner
def look_at_up(world: World, number: int) -> None:
    """Adds up how long so many VMs of a tier have been up."""
    tier, now = world.tiers[number], world.clock[0].now
    tier.up_s += (now - tier.since) * tier.up
    tier.since = now


@inner
def look(world: World) -> None:
    """Brings what is measured of all tiers up to now."""
    now = world.clock[0].now
    for number in range(len(world.tiers)):
        look_at_up(world, number)
        world.tiers[number].held = 0
        world.tiers[number].held_s = 0.0
    for number in range(len(world.vms)):
        vm = world.vms[number]
        if vm.state == OFF:
            continue
        look_at_vm(world, number)
        tier, request = world.tiers[vm.tier], vm.first
        tier.held += vm.held
        for _ in range(vm.held):
            tier.held_s += now - world.requests[request].entered
            request = world.requests[request].behind
    # By Little's law: those that were here have been held as long as they stayed.
    for number in range(len(world.tiers)):
        world.tiers[number].held_s += world.tiers[number].sojourn_s


@inner
def stop(world: World, number: int) -> None:
    """Ends the rent of a VM."""
    vm, now = world.vms[number], world.clock[0].now
    look_at_vm(world, number)
    vm.state = OFF
    world.rented_s[vm.size] += max(0.0, min(now, world.rules.end_s) - vm.since)


@inner
def add_speeds(world: World, tier: int) -> None:
    """Adds up the rates of the VMs of a tier that take requests."""
    speed = 0.0
    for k in range(world.tiers[tier].up):
        speed += world.vms[world.members[tier, k]].rate
        world.speeds[tier, k] = speed


@inner
def come_up(world: World, number: int) -> None:
    """Lets a VM that has booted take requests; those that waited for it to leave may go."""
    vm = world.vms[number]
    tier = world.tiers[vm.tier]
    look_at_up(world, vm.tier)
    vm.state = UP
    world.members[vm.tier, tier.up] = number
    tier.up += 1
    add_speeds(world, vm.tier)
    k = 0
    while k < tier.up:
        other = world.members[vm.tier, k]
        if world.vms[other].leaving:
            drain(world, other)
        else:
            k += 1


@inner
def drain(world: World, number: int) -> None:
    """Lets a VM that is up take nothing new."""
    vm = world.vms[number]
    tier, members = world.tiers[vm.tier], world.members[vm.tier]
    look_at_up(world, vm.tier)
    look_at_vm(world, number)
    kept = 0
    for k in range(tier.up):
        if members[k] != number:
            members[kept] = members[k]
            kept += 1
    tier.up = kept
    add_speeds(world, vm.tier)
    vm.leaving = 0
    vm.state = DRAINING
    if vm.held == 0:
        stop(world, number)


@lean
def rent(world: World, number: int, tier: int, size: int, rate: float, boot_s: float) -> None:
    """Rents a VM in a free slot; it takes requests when it has booted."""
    vm, now = world.vms[number], world.clock[0].now
    vm.state = BOOTING
    vm.tier = tier
    vm.size = size
    vm.rate = rate
    vm.mean_s = 1.0 / rate
    vm.leaving = 0
    vm.since = now
    vm.begun = now
    vm.ends = now
    if boot_s > 0.0:
        set_alarm(world.ready, number, now + boot_s)
    else:
        come_up(world, number)


@lean
def release(world: World, number: int) -> None:
    """Gives a VM back: one that boots at once, one that is up when it has nothing left.

    The last VM of a tier that is up stays until another one has booted.
    """
    vm = world.vms[number]
    if vm.state == BOOTING:
        set_alarm(world.ready, number, np.inf)
        stop(world, number)
        return
    staying = 0
    for k in range(world.tiers[vm.tier].up):
        staying += world.vms[world.members[vm.tier, k]].leaving == 0
    vm.leaving = 1
    if staying > 1:
        drain(world, number)


@lean
def run_until(world: World, time: float) -> None:
    """Lets everything before ``time`` happen; then it is ``time``.

    With infinity the run goes on until all requests are gone, and time stands at the last event.
    """
    clock, requests = world.clock[0], world.requests
    arrival = requests[clock.arrived].arrival if clock.arrived < len(requests) else np.inf
    ready = first_ring(world.ready)
    while True:
        served = first_ring(world.finishes)
        now = min(served, arrival)
        if now >= min(ready, time):
            if ready >= time:
                break
            clock.now = ready
            vm = first_ringing(world.ready)
            set_alarm(world.ready, vm, np.inf)
            come_up(world, vm)
            ready = first_ring(world.ready)
            continue
        clock.now = now
        if served == now:
            request = leave(world, now, first_ringing(world.finishes))
            tier = next_tier(world, request)
        else:
            request, tier = clock.arrived, 0
            clock.arrived += 1
            arrival = requests[clock.arrived].arrival if clock.arrived < len(requests) else np.inf
            requests[request].state = IN_SYSTEM
        if tier == OUT:
            go_out(world, now, request)
        else:
            enter(world, now, tier, request)
    if time < np.inf:
        clock.now = time
    look(world)
