"""How requests go through the tiers: compiled functions on arrays.

The order of events at one instant: VMs that have booted, requests that are served (by the number
of the VM), requests that arrive. A request that is served at a tier is at the next one at once.

Each VM serves its requests one after the other, first in first out, and holds so many at most; a
request that finds no room is blocked, and lost. What a request draws (how long each visit takes,
where it turns back, which VM of a tier it goes to) is decided by its number and its visit, not by
the order of events, so all policies serve the same requests.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.hashing import exponential, normal, uniform
from cloudarena.engine.indexed_heap import earliest_entry, earliest_time, set_time
from cloudarena.scenarios.tiers.kernel.fleet import come_up, measure_tiers, stop
from cloudarena.scenarios.tiers.state import Outcome, Rules, Service, VmState, World

OUT = -1
"""Where a request goes that has been through all its tiers."""


@jit_inline
def draw_work(rules: Rules, request: int, visit: int) -> float:
    """How long a visit takes, in units of the mean service time of its VM."""
    if rules.service == Service.EXPONENTIAL:
        return exponential(rules.service_key, request, 2 * visit)
    if rules.service == Service.DETERMINISTIC:
        return 1.0
    if rules.service == Service.HYPER_EXPONENTIAL:
        # Two phases of balanced means: p / rate is the same for both.
        spread = np.sqrt((rules.variability - 1.0) / (rules.variability + 1.0))
        share = 0.5 * (1.0 + spread)
        if uniform(rules.service_key, request, 2 * visit + 1) > share:
            share = 1.0 - share
        return exponential(rules.service_key, request, 2 * visit) / (2.0 * share)
    variance = np.log(1.0 + rules.variability)
    drawn = normal(rules.service_key, request, visit)
    return np.exp(np.sqrt(variance) * drawn - 0.5 * variance)


@jit_inline
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
    position = 0
    for k in range(count - 1):
        position += wanted >= speeds[k]
    return world.members[tier, position]


@jit_inline
def enter(world: World, now: float, tier_index: int, index: int) -> None:
    """Brings a request to a tier."""
    request, tier = world.requests[index], world.tiers[tier_index]
    visit = request.visits + 1
    request.visits = visit
    request.tier = tier_index
    tier.arrived += 1
    chosen = choose_vm(world, tier_index, index, visit)
    vm = world.vms[chosen]
    if vm.held == tier.room:
        tier.blocked += 1
        request.state = Outcome.BLOCKED
        request.finish = now
        return
    # First in, first out: so it is known now when this visit will end.
    ends = max(vm.ends, now) + draw_work(world.rules, index, visit) * vm.mean_s
    vm.ends = ends
    request.entered = now
    request.finish = ends
    if vm.held == 0:
        vm.first = index
        vm.busy_from = now
        set_time(world.finishes, chosen, ends)
    else:
        world.requests[vm.last].behind = index
    vm.last = index
    vm.held += 1


@jit_inline
def leave(world: World, now: float, index: int) -> int:
    """Ends the service of the first request of a VM; returns the request."""
    vm = world.vms[index]
    request = vm.first
    vm.held -= 1
    vm.served += 1
    vm.sojourn_s += now - world.requests[request].entered
    vm.begun = now
    behind = world.requests[request].behind
    idle = vm.held == 0
    vm.first = behind
    vm.busy_s += now - vm.busy_from if idle else 0.0
    set_time(world.finishes, index, np.inf if idle else world.requests[behind].finish)
    if vm.state == VmState.DRAINING and idle:
        stop(world, index)
    return request


@jit_inline
def next_tier(world: World, index: int) -> int:
    """The tier to which a request goes that was served at its tier, or OUT."""
    request = world.requests[index]
    tier = world.tiers[request.tier]
    if not request.back:
        share = tier.forward
        if share >= 1.0 or (
            share > 0.0 and uniform(world.rules.routing_key, index, request.visits) < share
        ):
            tier.forwarded += 1
            return request.tier + 1
        tier.turned += 1
        request.back = not world.rules.walk
    return request.tier - 1


@jit_inline
def go_out(world: World, now: float, index: int) -> None:
    """Lets a request go that was served at all its tiers."""
    request, clock = world.requests[index], world.clock[0]
    request.state = Outcome.SERVED
    world.responses[clock.done] = now - request.arrival
    clock.done += 1
    clock.counted += index >= world.rules.first


@jit_call
def run_until(world: World, time: float) -> None:
    """Lets everything before ``time`` happen; then it is ``time``.

    With infinity the run goes on until all requests are gone, and time stands at the last event.
    """
    clock, requests = world.clock[0], world.requests
    arrival = requests[clock.arrived].arrival if clock.arrived < len(requests) else np.inf
    ready = earliest_time(world.ready)
    while True:
        served = earliest_time(world.finishes)
        now = min(served, arrival)
        if now >= min(ready, time):
            if ready >= time:
                break
            clock.now = ready
            vm = earliest_entry(world.ready)
            set_time(world.ready, vm, np.inf)
            come_up(world, vm)
            ready = earliest_time(world.ready)
            continue
        clock.now = now
        if served == now:
            request = leave(world, now, earliest_entry(world.finishes))
            tier = next_tier(world, request)
        else:
            request, tier = clock.arrived, 0
            clock.arrived += 1
            arrival = requests[clock.arrived].arrival if clock.arrived < len(requests) else np.inf
            requests[request].state = Outcome.IN_SYSTEM
        if tier == OUT:
            go_out(world, now, request)
        else:
            enter(world, now, tier, request)
    if time < np.inf:
        clock.now = time
    measure_tiers(world)
