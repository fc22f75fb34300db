"""VMs that are rented, boot, drain and stop, and what is measured of them: compiled functions.

What a VM does is added up where it happens, in its own row; a look at it adds that to its tier.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.alarms import set_alarm
from cloudarena.engine.compiled import inner, lean
from cloudarena.scenarios.tiers.state import VmState, World


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
    if vm.state == VmState.UP:
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
        if vm.state == VmState.OFF:
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
    vm.state = VmState.OFF
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
    vm.state = VmState.UP
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
    vm.state = VmState.DRAINING
    if vm.held == 0:
        stop(world, number)


@lean
def rent(world: World, number: int, tier: int, size: int, rate: float, boot_s: float) -> None:
    """Rents a VM in a free slot; it takes requests when it has booted."""
    vm, now = world.vms[number], world.clock[0].now
    vm.state = VmState.BOOTING
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
    if vm.state == VmState.BOOTING:
        set_alarm(world.ready, number, np.inf)
        stop(world, number)
        return
    staying = 0
    for k in range(world.tiers[vm.tier].up):
        staying += world.vms[world.members[vm.tier, k]].leaving == 0
    vm.leaving = 1
    if staying > 1:
        drain(world, number)
