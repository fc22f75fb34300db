"""What becomes of VMs: they wait, are placed, use their machines, and leave."""

from __future__ import annotations

from cloudarena.engine.calendar import push
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.timing_wheel import plan
from cloudarena.scenarios.vm.kernel.gpus import hold_gpus
from cloudarena.scenarios.vm.kernel.machines import boot, count_up, go_on, note_allocation, plan_off
from cloudarena.scenarios.vm.kernel.nodes import hold
from cloudarena.scenarios.vm.state import (
    DELAY_INSENSITIVE,
    NEVER,
    WINDOW,
    Outcome,
    Power,
    Sharing,
    World,
)


@jit_call
def add_use(world: World, vm: int, first: int) -> None:
    """Adds a VM's readings from tick ``first`` to what its machine uses in the window."""
    clock, demand = world.clock[0], world.demand
    start = world.vms.start[vm]
    last = max(first, min(world.vms.end[vm], clock.window_start + WINDOW))
    cores = float(demand.cores[vm])
    shift = demand.first_reading[vm] - start
    # Slices, since an index that might be negative keeps the loop from running four at a time.
    origin = clock.window_start
    ahead = world.ahead[world.vms.machine[vm], first - origin : last - origin]
    readings = demand.readings[shift + first : shift + last]
    for k in range(len(ahead)):
        ahead[k] += cores * readings[k]


@jit_inline
def move_window(world: World) -> None:
    """Sums up the next window's use, in the order in which the live VMs were placed."""
    clock = world.clock[0]
    clock.window_start = clock.tick
    if len(world.ahead) > 0:
        for k in range(clock.varying):
            world.ahead[world.varying[k]] = 0.0
    kept = 0
    for k in range(clock.placed):
        vm = world.order[k]
        if world.vms.outcome[vm] == Outcome.RUNNING or world.vms.outcome[vm] == Outcome.STARTING:
            world.order[kept] = vm
            kept += 1
            if world.demand.first_reading[vm] >= 0:
                add_use(world, vm, max(clock.tick, world.vms.start[vm]))
    clock.placed = kept


@jit_call
def release(world: World, vm: int, outcome: int, tick: int) -> None:
    """Takes a VM off its machine; ``tick`` is the first without it."""
    machine, machines = world.vms.machine[vm], world.machines
    count_up(world, machine, tick)
    world.vms.outcome[vm] = outcome
    world.vms.end[vm] = tick
    if world.demand.first_reading[vm] >= 0:
        world.vms_with_readings[machine] -= 1
    else:
        world.constant_use[machine] -= world.demand.use[vm]
    hold(world, world.nodes, vm, -1)
    hold_gpus(world, world.gpus, vm, -1)
    world.allocated_cores[machine] -= world.demand.cores[vm]
    world.allocated_memory[machine] -= world.demand.memory[vm]
    world.clock[0].cores -= world.demand.cores[vm]
    world.clock[0].memory -= world.demand.memory[vm]
    machines.vms[machine] -= 1
    if machines.vms[machine] == 0:
        machines.sharing[machine] = Sharing.EMPTY
        world.empty_since[machine] = tick
        machines.last_tick[machine] = machines.last_deployment[machine] = -1
        if world.rules.off_after_ticks != NEVER:
            plan_off(world, machine)
    world.clock[0].live -= 1
    note_allocation(world, machine, tick)
    go_on(world, machine, tick)


@jit_inline
def put_off(world: World, vm: int, ticks: int, reserve: int) -> None:
    """Lets a request wait, if its buffer allows that and keeps a reserve; else it fails."""
    if world.vms.buffer[vm] - ticks >= reserve:
        world.vms.buffer[vm] -= ticks
        world.vms.delay[vm] += ticks
        world.totals[0].delay_ticks += ticks
        push(world.retries, world.clock[0].tick + ticks, vm)
    else:
        world.vms.outcome[vm] = Outcome.FAILED
        world.vms.end[vm] = world.clock[0].tick
        world.totals[0].failed += 1


@jit_inline
def place(world: World, vm: int, machine: int) -> None:
    """Gives a VM a machine: it starts now, or when the machine has booted."""
    clock, totals = world.clock[0], world.totals[0]
    vms, machines, demand = world.vms, world.machines, world.demand
    cores, memory = demand.cores[vm], demand.memory[vm]
    first_tick = world.rules.warmup_ticks
    count_up(world, machine, clock.tick)
    if world.allocated_cores[machine] == 0:
        totals.empty_ticks += clock.tick - max(world.empty_since[machine], first_tick)
    if world.state[machine] == Power.OFF:
        boot(world, machine)
    vms.machine[vm] = machine
    vms.start[vm] = clock.tick
    if world.state[machine] == Power.BOOTING:
        vms.outcome[vm] = Outcome.STARTING
        vms.start[vm] = world.ready[machine]
        totals.boot_wait_ticks += world.ready[machine] - clock.tick
        clock.starting_cores += cores
        clock.starting_memory += memory
        push(world.starts, vms.start[vm], vm)
    else:
        vms.outcome[vm] = Outcome.RUNNING
        clock.live += 1
    vms.end[vm] = vms.start[vm] + demand.lifetime[vm]
    hold(world, world.nodes, vm, 1)
    hold_gpus(world, world.gpus, vm, 1)
    world.allocated_cores[machine] += cores
    world.allocated_memory[machine] += memory
    clock.cores += cores
    clock.memory += memory
    machines.vms[machine] += 1
    shares = demand.category[vm] == DELAY_INSENSITIVE
    machines.sharing[machine] = Sharing.SHARED if shares else Sharing.SEPARATE
    clock.last_machine = machine
    machines.last_tick[machine] = clock.tick
    machines.last_deployment[machine] = demand.deployment[vm]
    totals.allocated += 1
    totals.slowdowns += 1.0 + (vms.start[vm] - demand.arrival[vm]) / demand.lifetime[vm]
    plan(world.departures, clock.tick, vms.end[vm], vm)
    if demand.first_reading[vm] >= 0:
        if world.vms_with_readings[machine] == 0:  # what stands there may be of an older window
            world.ahead[machine, clock.tick - clock.window_start :] = 0.0
        world.vms_with_readings[machine] += 1
        add_use(world, vm, vms.start[vm])
    elif vms.outcome[vm] == Outcome.RUNNING:
        world.constant_use[machine] += demand.use[vm]
    if demand.first_reading[vm] >= 0 or world.rules.kill:  # else nobody asks for it
        world.order[clock.placed] = vm
        clock.placed += 1
    note_allocation(world, machine, clock.tick)
    go_on(world, machine, clock.tick)


@jit_inline
def kill_all(world: World, machine: int) -> None:
    """Ends all VMs of an overloaded machine and refunds what they have paid."""
    clock, totals = world.clock[0], world.totals[0]
    if world.vms_with_readings[machine] > 0:
        world.ahead[machine, clock.tick - clock.window_start + 1 :] = 0.0
    for k in range(clock.placed):
        vm = world.order[k]
        if world.vms.outcome[vm] == Outcome.RUNNING and world.vms.machine[vm] == machine:
            paid_ticks = clock.tick - max(world.vms.start[vm], world.rules.warmup_ticks)
            totals.billed_core_ticks -= paid_ticks * world.demand.cores[vm]
            totals.billed_memory_ticks -= paid_ticks * world.demand.memory[vm]
            totals.killed += 1
            release(world, vm, Outcome.KILLED, clock.tick + 1)  # it has lived in this tick
