"""VMs that are rented, boot, drain and stop, and what is measured of them: compiled functions.

What a VM does is added up where it happens, in its own row; a look at it adds that to its tier.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.indexed_heap import set_time
from cloudarena.scenarios.tiers.state import VmState, World


@jit_inline
def measure_vm(world: World, index: int) -> None:
    """Adds what a VM has done since the last look to what is measured of its tier.

    Its visits were served while it was busy, all but the one that goes on.
    """
    vm, now = world.vms[index], world.clock[0].now
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


@jit_inline
def measure_up(world: World, index: int) -> None:
    """Adds up how long so many VMs of a tier have been up."""
    tier, now = world.tiers[index], world.clock[0].now
    tier.up_s += (now - tier.since) * tier.up
    tier.since = now


@jit_inline
def measure_tiers(world: World) -> None:
    """Brings what is measured of all tiers up to now."""
    now = world.clock[0].now
    for index in range(len(world.tiers)):
        measure_up(world, index)
        world.tiers[index].held = 0
        world.tiers[index].held_s = 0.0
    for index in range(len(world.vms)):
        vm = world.vms[index]
        if vm.state == VmState.OFF:
            continue
        measure_vm(world, index)
        tier, request = world.tiers[vm.tier], vm.first
        tier.held += vm.held
        for _ in range(vm.held):
            tier.held_s += now - world.requests[request].entered
            request = world.requests[request].behind
    # By Little's law: those that were here have been held as long as they stayed.
    for index in range(len(world.tiers)):
        world.tiers[index].held_s += world.tiers[index].sojourn_s


@jit_inline
def stop(world: World, index: int) -> None:
    """Ends the rent of a VM."""
    vm, now = world.vms[index], world.clock[0].now
    measure_vm(world, index)
    vm.state = VmState.OFF
    world.rented_s[vm.size] += max(0.0, min(now, world.rules.end_s) - vm.since)


@jit_inline
def add_speeds(world: World, tier: int) -> None:
    """Adds up the rates of the VMs of a tier that take requests."""
    speed = 0.0
    for k in range(world.tiers[tier].up):
        speed += world.vms[world.members[tier, k]].rate
        world.speeds[tier, k] = speed


@jit_inline
def come_up(world: World, index: int) -> None:
    """Lets a VM that has booted take requests; those that waited for it to leave may go."""
    vm = world.vms[index]
    tier = world.tiers[vm.tier]
    measure_up(world, vm.tier)
    vm.state = VmState.UP
    world.members[vm.tier, tier.up] = index
    tier.up += 1
    add_speeds(world, vm.tier)
    k = 0
    while k < tier.up:
        other = world.members[vm.tier, k]
        if world.vms[other].leaving:
            drain(world, other)
        else:
            k += 1


@jit_inline
def drain(world: World, index: int) -> None:
    """Lets a VM that is up take nothing new."""
    vm = world.vms[index]
    tier, members = world.tiers[vm.tier], world.members[vm.tier]
    measure_up(world, vm.tier)
    measure_vm(world, index)
    kept = 0
    for k in range(tier.up):
        if members[k] != index:
            members[kept] = members[k]
            kept += 1
    tier.up = kept
    add_speeds(world, vm.tier)
    vm.leaving = 0
    vm.state = VmState.DRAINING
    if vm.held == 0:
        stop(world, index)


@jit_call
def rent(world: World, index: int, tier: int, size: int, rate: float, boot_s: float) -> None:
    """Rents a VM in a free slot; it takes requests when it has booted."""
    vm, now = world.vms[index], world.clock[0].now
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
        set_time(world.ready, index, now + boot_s)
    else:
        come_up(world, index)


@jit_call
def release(world: World, index: int) -> None:
    """Gives a VM back: one that boots at once, one that is up when it has nothing left.

    The last VM of a tier that is up stays until another one has booted.
    """
    vm = world.vms[index]
    if vm.state == VmState.BOOTING:
        set_time(world.ready, index, np.inf)
        stop(world, index)
        return
    staying = 0
    for k in range(world.tiers[vm.tier].up):
        staying += world.vms[world.members[vm.tier, k]].leaving == 0
    vm.leaving = 1
    if staying > 1:
        drain(world, index)
