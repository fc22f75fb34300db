"""Asks the memory for what the next event will touch in a large cloud: it changes no result."""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.ordered_rooms import OrderedRooms, ask_for_block, ask_for_entry
from cloudarena.engine.prefetch import FEW, prefetch
from cloudarena.engine.timing_wheel import NONE, first_of
from cloudarena.scenarios.vm.state import World


@jit_call
def ask_for_machine(world: World, index: OrderedRooms | None, machine: int) -> None:
    """Asks for all that is read of a machine when a VM comes or goes."""
    prefetch(world.varying_at, machine)
    prefetch(world.counted_to, machine)
    prefetch(world.used, machine)
    prefetch(world.constant_use, machine)
    prefetch(world.vms_with_readings, machine)
    prefetch(world.allocated_cores, machine)
    prefetch(world.allocated_memory, machine)
    prefetch(world.state, machine)
    prefetch(world.empty_since, machine)
    prefetch(world.stranded, machine)
    prefetch(world.stranded_since, machine)
    prefetch(world.machine_watt_ticks, machine)
    prefetch(world.machine_demand_ticks, machine)
    prefetch(world.machine_oversubscribed, machine)
    machines = world.machines
    prefetch(machines.allocated_cores, machine)
    prefetch(machines.allocated_memory_gb, machine)
    prefetch(machines.free_cores, machine)
    prefetch(machines.free_memory_gb, machine)
    prefetch(machines.utilisation, machine)
    prefetch(machines.power_w, machine)
    prefetch(machines.vms, machine)
    prefetch(machines.sharing, machine)
    prefetch(machines.last_tick, machine)
    prefetch(machines.last_deployment, machine)
    fleet = world.fleet
    prefetch(fleet.cores, machine)
    prefetch(fleet.memory, machine)
    prefetch(fleet.cores_limit, machine)
    prefetch(fleet.memory_limit, machine)
    prefetch(fleet.idle_w, machine)
    prefetch(fleet.busy_w, machine)
    prefetch(fleet.curve_r, machine)
    if index is not None:
        ask_for_entry(index, machine)


@jit_inline
def ask_for_vm(world: World, vm: int) -> None:
    """Asks for all that is read of a VM when it goes."""
    prefetch(world.departures.following, vm)
    prefetch(world.vms.outcome, vm)
    prefetch(world.vms.machine, vm)
    prefetch(world.vms.end, vm)
    prefetch(world.demand.first_reading, vm)
    prefetch(world.demand.cores, vm)
    prefetch(world.demand.memory, vm)
    prefetch(world.demand.use, vm)


@jit_inline
def ask_for_departures(world: World, index: OrderedRooms | None) -> None:
    """Asks for what the next three VMs touch that leave in this tick.

    Where something lies is told by what is asked for one VM earlier.
    """
    if len(world.state) > FEW:
        following = world.departures.following
        first = first_of(world.departures, world.clock[0].tick)
        if first != NONE:
            if index is not None:
                ask_for_block(index, world.vms.machine[first])
            second = following[first]
            if second != NONE:
                ask_for_machine(world, index, world.vms.machine[second])
                third = following[second]
                if third != NONE:
                    ask_for_vm(world, third)
