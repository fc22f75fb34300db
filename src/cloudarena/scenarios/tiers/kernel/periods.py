"""Period by period: VMs are changed, time passes, and what was measured is kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline, jit_nogil
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.tiers.kernel.fleet import release, rent
from cloudarena.scenarios.tiers.kernel.requests import run_until
from cloudarena.scenarios.tiers.state import Outcome, Size, VmState, World

ROUNDING = 1e-9
"""Seconds and shares that are no difference: sums of floats are not exact."""


@jit_inline
def rented_s(world: World, size: int) -> float:
    """Seconds of rent of VMs of a size so far."""
    time, so_far = min(world.clock[0].now, world.rules.end_s), 0.0
    for index in range(len(world.vms)):
        vm = world.vms[index]
        if vm.state != VmState.OFF and vm.size == size:
            so_far += max(0.0, time - vm.since)
    return world.rented_s[size] + so_far


@jit_inline
def rent_usd(world: World) -> float:
    """The rent of all VMs so far."""
    fat = rented_s(world, Size.FAT) / 60.0
    thin = rented_s(world, Size.THIN) / 60.0
    return fat * world.rules.fat_minute_usd + thin * world.rules.thin_minute_usd


@jit_inline
def least_needed(world: World, tier: int, size: int) -> int:
    """The VM to release: the last that boots if there is one, else that which holds least."""
    booting, since, up, held = -1, -np.inf, -1, 0
    for index in range(len(world.vms)):
        vm = world.vms[index]
        if vm.tier != tier or vm.size != size or vm.leaving != 0:
            continue
        if vm.state == VmState.BOOTING and vm.since > since:
            booting, since = index, vm.since
        if vm.state == VmState.UP and (up < 0 or vm.held < held):
            up, held = index, vm.held
    return booting if booting >= 0 else up


@jit_inline
def change(world: World, wanted: NDArray[np.int64], boot_s: float) -> None:
    """Rents and releases VMs, so that these are in force; first those that are rented."""
    slot = 0
    for tier in range(len(world.tiers)):
        for size in range(2):
            for _ in range(wanted[2 * tier + size] - world.counts[tier, size]):
                while world.vms[slot].state != VmState.OFF:
                    slot += 1
                rent(world, slot, tier, size, world.vm_rates[tier, size], boot_s)
    for tier in range(len(world.tiers)):
        for size in range(2):
            for _ in range(world.counts[tier, size] - wanted[2 * tier + size]):
                release(world, least_needed(world, tier, size))
            world.counts[tier, size] = wanted[2 * tier + size]


@jit_inline
def keeps_sla(world: World, done: int, blocked: int) -> bool:
    """Whether a period keeps the SLA, by the responses from one on and the visits blocked in it.

    Requests that were served in the period count with their response times, those that wait at its
    end if they have waited longer than the bound already, and those that were blocked. By quantile,
    the share ``level`` of all these must have been served within the bound. By mean, the mean over
    the served and the late must be within it, and at most the share 1 - ``level`` of all be
    blocked: a mean with an infinite time in it could not be kept. A period with none of these
    keeps it.
    """
    clock, bound = world.clock[0], world.rules.sla_s + ROUNDING
    served, within, total = clock.done - done, 0, 0.0
    for k in range(done, clock.done):
        total += world.responses[k]
        within += world.responses[k] <= bound
    world.periods[clock.period].response_s = total
    late = 0
    for index in range(clock.oldest, clock.arrived):
        request = world.requests[index]
        waited = clock.now - request.arrival
        if request.state == Outcome.IN_SYSTEM and waited > bound:
            late += 1
            total += waited
    counted = served + late + blocked
    if counted == 0:
        return True
    if world.rules.by_quantile:
        return within >= world.rules.level * counted - ROUNDING
    if blocked == counted or blocked > (1.0 - world.rules.level) * counted + ROUNDING:
        return False
    return total / (served + late) <= bound


@jit_inline
def take_look(world: World, number: int) -> int:
    """Keeps what was measured of the tiers up to now; returns the visits blocked in the period."""
    blocked = 0
    for index in range(len(world.tiers)):
        tier, look = world.tiers[index], world.looks[number, index]
        for size in range(2):
            look.counts[size] = world.counts[index, size]
            look.served[size] = world.served[index, size]
            look.service_s[size] = world.service_s[index, size]
        look.arrived = tier.arrived
        look.blocked = tier.blocked
        look.forwarded = tier.forwarded
        look.turned = tier.turned
        look.up_s = tier.up_s
        look.held_s = tier.held_s
        look.busy_s = tier.busy_s
        look.sojourn_s = tier.sojourn_s
        blocked += tier.blocked
        if number > 0:
            blocked -= world.looks[number - 1, index].blocked
    return blocked


@jit_call
def go_on(world: World) -> None:
    """Lets a period pass; after the last one, until all requests are gone."""
    clock, rules = world.clock[0], world.rules
    number, arrived, done = clock.period, clock.arrived, clock.done
    period = world.periods[number]
    period.begin = clock.now
    period.end = min((number + 1) * rules.period_s, rules.end_s)
    period.done = done
    run_until(world, period.end)
    period.requests = clock.arrived - arrived
    for index in range(len(world.tiers)):
        world.looks[number, index].held_at_end = world.tiers[index].held
    while clock.oldest < clock.arrived and world.requests[clock.oldest].state != Outcome.IN_SYSTEM:
        clock.oldest += 1
    if number + 1 == rules.periods:
        run_until(world, np.inf)
        clock.oldest = len(world.requests)
    period.until = clock.now
    blocked = take_look(world, number)
    period.rent_usd = rent_usd(world)
    period.keeps_sla = keeps_sla(world, done, blocked)
    clock.rent_usd = period.rent_usd
    clock.kept += period.keeps_sla
    clock.period += 1


@jit_nogil
def act(world: World, wanted: NDArray[np.int64]) -> int:
    """Starts and releases VMs, fat and thin of each tier, and lets a period pass.

    Before the first period nothing is decided: the VMs of the start are there at once.
    """
    clock = world.clock[0]
    if clock.period == 0:
        change(world, world.start, 0.0)
    elif clock.period < world.rules.periods:
        free, needed = 0, 0
        for index in range(len(world.vms)):
            free += world.vms[index].state == VmState.OFF
        for k in range(len(wanted)):
            needed += max(0, wanted[k] - world.counts[k // 2, k % 2])
        if free < needed:
            return FULL
        for k in range(len(wanted)):
            clock.changes += abs(wanted[k] - world.counts[k // 2, k % 2])
        change(world, wanted, world.rules.boot_s)
    else:
        return ENDED
    go_on(world)
    return DECIDE if clock.period < world.rules.periods else ENDED
