"""How time moves in a data centre: compiled functions on arrays.

The order of events within a tick, for machines in order of their number:

1. VMs whose life is over leave; what they held is free for the requests of the same tick. Machines
   that have booted are on, and the VMs that waited for them start. Machines that have spent
   ``off_after_ticks`` ticks empty go off.
2. Each machine's utilisation and power are those of the VMs on it in this tick.
3. Requests are decided one by one: first those that waited, in the order in which they were
   put off, then the new ones in the order of the trace. The next request sees a VM that is
   placed. It starts at once where its machine is on. A machine that is off begins to boot in this
   tick and is on ``boot_ticks`` later; until then VMs hold their cores and memory there, but do
   not run, use or pay anything.
4. The tick is spent in this state: energy, utilisation and overloads are counted; where
   ``overload: kill``, the VMs of an overloaded machine end here; the VMs that live on pay.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import MICRO
from cloudarena.engine.calendar import next_time, pop, push, size
from cloudarena.engine.compiled import inner, lean
from cloudarena.engine.power import power_w
from cloudarena.engine.recorder import append, is_full
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.vm.state import (
    DELAY_INSENSITIVE,
    NEVER,
    REFUSE,
    WINDOW,
    Machines,
    NotAllowed,
    Outcome,
    Power,
    Request,
    Sharing,
    World,
)


@lean
def request_of(world: World) -> Request:
    """The request that is to be decided."""
    clock, demand = world.clock[0], world.demand
    vm = clock.pending
    return Request(
        demand.number[vm],
        demand.cores[vm] / MICRO,
        demand.memory[vm] / MICRO,
        demand.category[vm],
        demand.subscription[vm],
        demand.deployment[vm],
        clock.tick,
        world.vms.buffer[vm],
        demand.lifetime[vm] if world.rules.lifetimes_known else -1,
        clock.last_machine,
    )


@inner
def stranded_cores(world: World, machine: int) -> int:
    """The free cores of a machine, in millionths, if the median VM does not fit; else 0."""
    cores = world.fleet.cores[machine] - world.allocated_cores[machine]
    memory = world.fleet.memory[machine] - world.allocated_memory[machine]
    fits = cores >= world.rules.median_cores and memory >= world.rules.median_memory
    return 0 if fits else max(0, cores)


@inner
def note_allocation(world: World, machine: int, tick: int) -> None:
    """Takes note that a machine's allocation has changed with the beginning of a tick.

    Brings what policies see up to date, and counts the stranded cores of the ticks before.
    """
    ticks = tick - world.stranded_since[machine]
    world.totals[0].stranded_ticks += ticks * world.stranded[machine]
    world.stranded_since[machine] = tick
    world.stranded[machine] = stranded_cores(world, machine)
    machines, fleet = world.machines, world.fleet
    cores, memory = world.allocated_cores[machine], world.allocated_memory[machine]
    machines.allocated_cores[machine] = cores / MICRO
    machines.allocated_memory_gb[machine] = memory / MICRO
    machines.free_cores[machine] = (fleet.cores[machine] - cores) / MICRO
    machines.free_memory_gb[machine] = (fleet.memory[machine] - memory) / MICRO


@inner
def show_use(world: World, machine: int) -> None:
    """Brings a machine's use, utilisation and power up to date for the current tick."""
    clock, fleet = world.clock[0], world.fleet
    used = world.ahead[machine, clock.tick - clock.window_start]
    world.used[machine] = used
    utilisation = used / (100.0 * fleet.cores[machine])
    world.machines.utilisation[machine] = utilisation
    if world.state[machine] == Power.ON:
        watts = power_w(
            fleet.idle_w[machine], fleet.busy_w[machine], fleet.curve_r[machine], utilisation
        )
    elif world.state[machine] == Power.BOOTING:
        watts = fleet.boot_w[machine]
    else:
        watts = fleet.off_w[machine]
    world.machines.power_w[machine] = watts


@inner
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


@inner
def move_window(world: World) -> None:
    """Sums up the next window's use, in the order in which the live VMs were placed."""
    clock = world.clock[0]
    clock.window_start = clock.tick
    world.ahead[:] = 0.0
    kept = 0
    for k in range(clock.placed):
        vm = world.order[k]
        if world.vms.outcome[vm] == Outcome.RUNNING or world.vms.outcome[vm] == Outcome.STARTING:
            world.order[kept] = vm
            kept += 1
            add_use(world, vm, max(clock.tick, world.vms.start[vm]))
    clock.placed = kept


@inner
def release(world: World, vm: int, outcome: int, tick: int) -> None:
    """Takes a VM off its machine; ``tick`` is the first without it."""
    machine = world.vms.machine[vm]
    world.vms.outcome[vm] = outcome
    world.vms.end[vm] = tick
    world.allocated_cores[machine] -= world.demand.cores[vm]
    world.allocated_memory[machine] -= world.demand.memory[vm]
    world.machines.vms[machine] -= 1
    if world.machines.vms[machine] == 0:
        world.machines.sharing[machine] = Sharing.EMPTY
        world.empty_since[machine] = tick
    world.clock[0].live -= 1
    note_allocation(world, machine, tick)


@inner
def set_state(world: World, machine: int, state: int) -> None:
    """Switches a machine."""
    world.state[machine] = state
    world.machines.state[machine] = state


@inner
def switch_machines(world: World) -> None:
    """Ends the boots of this tick, starts the VMs that waited for them, and switches off."""
    clock = world.clock[0]
    while next_time(world.starts) == clock.tick:
        vm = pop(world.starts)
        world.vms.outcome[vm] = Outcome.RUNNING
        clock.live += 1
        clock.starting_cores -= world.demand.cores[vm]
        clock.starting_memory -= world.demand.memory[vm]
    for m in range(len(world.state)):
        if world.state[m] == Power.BOOTING:
            if world.ready[m] == clock.tick:
                set_state(world, m, Power.ON)
        elif (
            world.state[m] == Power.ON
            and world.allocated_cores[m] == 0
            and clock.tick - world.empty_since[m] >= world.rules.off_after_ticks
        ):
            set_state(world, m, Power.OFF)


@inner
def begin_tick(world: World) -> None:
    """Lets finished VMs go, switches machines, and reads the machines' utilisation."""
    clock = world.clock[0]
    while next_time(world.departures) == clock.tick:
        vm = pop(world.departures)
        if world.vms.outcome[vm] == Outcome.RUNNING:
            release(world, vm, Outcome.COMPLETED, clock.tick)
            world.totals[0].completed += 1
    if world.rules.off_after_ticks != NEVER:
        switch_machines(world)
    if clock.tick == clock.window_start + WINDOW:
        move_window(world)
    for machine in range(len(world.fleet.cores)):
        show_use(world, machine)


@inner
def next_request(world: World) -> int:
    """The next VM to be decided in this tick, or -1."""
    clock = world.clock[0]
    if next_time(world.retries) == clock.tick:
        return pop(world.retries)
    vm = clock.arrived
    if vm < len(world.demand.arrival) and world.demand.arrival[vm] == clock.tick:
        clock.arrived += 1
        world.vms.outcome[vm] = Outcome.WAITING
        world.vms.buffer[vm] = world.rules.budget_ticks
        return vm
    return -1


@inner
def mark_valid(world: World, vm: int) -> int:
    """Finds the machines that may take a VM, and returns how many there are.

    Interactive and unknown VMs need an empty machine or one of their own kind, within its
    physical capacity. Delay-insensitive VMs need an empty machine or one of their own kind,
    within its oversubscribed capacity, and with room for their cores, fully busy, above what
    is in use now.
    """
    fleet, machines = world.fleet, world.machines
    cores, memory = world.demand.cores[vm], world.demand.memory[vm]
    count = 0
    if world.demand.category[vm] == DELAY_INSENSITIVE:
        use = 100.0 * cores
        for m in range(len(fleet.cores)):
            valid = (
                (machines.sharing[m] != Sharing.SEPARATE)
                & (world.allocated_cores[m] + cores <= fleet.cores_limit[m])
                & (world.allocated_memory[m] + memory <= fleet.memory_limit[m])
                & (world.used[m] + use <= fleet.use_limit[m])
            )
            machines.valid[m] = valid
            count += valid
    else:
        for m in range(len(fleet.cores)):
            valid = (
                (machines.sharing[m] != Sharing.SHARED)
                & (world.allocated_cores[m] + cores <= fleet.cores[m])
                & (world.allocated_memory[m] + memory <= fleet.memory[m])
            )
            machines.valid[m] = valid
            count += valid
    return count


@inner
def has_room(world: World, vm: int, machine: int) -> bool:
    """Whether a machine may take a VM: it is marked valid, and what is free says so too.

    A mark is shown to policies; what is allocated is not.
    """
    fleet, shared = world.fleet, world.demand.category[vm] == DELAY_INSENSITIVE
    cores = fleet.cores_limit[machine] if shared else fleet.cores[machine]
    memory = fleet.memory_limit[machine] if shared else fleet.memory[machine]
    return (
        world.machines.valid[machine]
        and world.allocated_cores[machine] + world.demand.cores[vm] <= cores
        and world.allocated_memory[machine] + world.demand.memory[vm] <= memory
    )


@inner
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


@inner
def place(world: World, vm: int, machine: int) -> None:
    """Gives a VM a machine: it starts now, or when the machine has booted."""
    clock, totals = world.clock[0], world.totals[0]
    vms, machines = world.vms, world.machines
    if world.allocated_cores[machine] == 0:
        totals.empty_ticks += clock.tick - world.empty_since[machine]
    if world.state[machine] == Power.OFF:
        totals.boots += 1
        world.ready[machine] = clock.tick + world.rules.boot_ticks
        set_state(world, machine, Power.BOOTING if world.rules.boot_ticks > 0 else Power.ON)
    vms.machine[vm] = machine
    if world.state[machine] == Power.BOOTING:
        vms.outcome[vm] = Outcome.STARTING
        vms.start[vm] = world.ready[machine]
        totals.boot_wait_ticks += world.ready[machine] - clock.tick
        clock.starting_cores += world.demand.cores[vm]
        clock.starting_memory += world.demand.memory[vm]
        push(world.starts, vms.start[vm], vm)
    else:
        vms.outcome[vm] = Outcome.RUNNING
        vms.start[vm] = clock.tick
        clock.live += 1
    vms.end[vm] = vms.start[vm] + world.demand.lifetime[vm]
    world.allocated_cores[machine] += world.demand.cores[vm]
    world.allocated_memory[machine] += world.demand.memory[vm]
    machines.vms[machine] += 1
    shares = world.demand.category[vm] == DELAY_INSENSITIVE
    machines.sharing[machine] = Sharing.SHARED if shares else Sharing.SEPARATE
    world.order[clock.placed] = vm
    clock.placed += 1
    clock.last_machine = machine
    totals.allocated += 1
    push(world.departures, vms.end[vm], vm)
    add_use(world, vm, vms.start[vm])
    note_allocation(world, machine, clock.tick)
    show_use(world, machine)


@inner
def kill_all(world: World, machine: int) -> None:
    """Ends all VMs of an overloaded machine and refunds what they have paid."""
    clock, totals = world.clock[0], world.totals[0]
    for k in range(clock.placed):
        vm = world.order[k]
        if world.vms.outcome[vm] == Outcome.RUNNING and world.vms.machine[vm] == machine:
            paid_ticks = clock.tick - world.vms.start[vm]
            totals.billed_core_ticks -= paid_ticks * world.demand.cores[vm]
            totals.billed_memory_ticks -= paid_ticks * world.demand.memory[vm]
            totals.killed += 1
            release(world, vm, Outcome.KILLED, clock.tick + 1)  # it has lived in this tick
    world.ahead[machine, clock.tick - clock.window_start + 1 :] = 0.0


@inner
def record_series(world: World) -> None:
    """Keeps the state in which this tick is spent."""
    clock, series, machines = world.clock[0], world.series, world.machines
    row = clock.tick // world.rules.series_every
    if clock.tick % world.rules.series_every != 0 or row >= len(series.totals):
        return
    totals = series.totals[row]
    for m in range(len(world.fleet.cores)):
        totals[0] += machines.allocated_cores[m]
        totals[1] += min(world.used[m] / (100.0 * MICRO), machines.cores[m])
        totals[2] += world.used[m] / (100.0 * MICRO)
        totals[3] += machines.power_w[m]
        totals[6] += world.state[m] == Power.ON
    totals[4] = clock.live
    totals[5] = size(world.retries) + size(world.starts)
    if row >= len(series.vms):
        return
    for m in range(len(world.fleet.cores)):
        series.allocated_cores[row, m] = machines.allocated_cores[m]
        series.allocated_memory_gb[row, m] = machines.allocated_memory_gb[m]
        series.utilisation[row, m] = machines.utilisation[m]
        series.power_w[row, m] = machines.power_w[m]
        series.vms[row, m] = machines.vms[m]


@inner
def end_tick(world: World) -> None:
    """Counts what the tick has cost and earned, and meets overload."""
    totals, fleet, clock = world.totals[0], world.fleet, world.clock[0]
    record_series(world)
    watts, demand, cores, billed_cores, billed_memory = 0.0, 0.0, 0, 0, 0
    for m in range(len(fleet.cores)):
        watts += world.machines.power_w[m]
        demand += world.used[m]
        cores += world.allocated_cores[m]
        world.machine_watt_ticks[m] += world.machines.power_w[m]
        world.machine_demand_ticks[m] += world.used[m]
        if world.allocated_cores[m] > fleet.cores[m]:
            totals.oversubscribed += 1
            world.machine_oversubscribed[m] += 1
        excess = world.used[m] - 100.0 * fleet.cores[m]
        if excess > 0.0:
            totals.excess_ticks += excess
            world.machine_excess_ticks[m] += excess
            totals.overloaded_machines += 1
            totals.overloaded_vms += world.machines.vms[m]
            world.machine_overloaded[m] += 1
            if world.rules.kill:
                kill_all(world, m)
        billed_cores += world.allocated_cores[m]
        billed_memory += world.allocated_memory[m]
    totals.watt_ticks += watts
    totals.demand_ticks += demand
    totals.core_ticks += cores
    totals.billed_core_ticks += billed_cores - clock.starting_cores
    totals.billed_memory_ticks += billed_memory - clock.starting_memory


@inner
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE) or to the end (ENDED)."""
    clock, rules = world.clock[0], world.rules
    while clock.tick < rules.ticks:
        if clock.begun == 0:
            begin_tick(world)
            clock.begun = 1
        vm = next_request(world)
        while vm >= 0:
            clock.valid_count = mark_valid(world, vm)
            if clock.valid_count > 0 or rules.decide_when_full:
                clock.pending = vm
                return DECIDE
            put_off(world, vm, rules.delay_ticks, 0)
            vm = next_request(world)
        end_tick(world)
        clock.tick += 1
        clock.begun = 0
    return ENDED


@lean
def act(world: World, action: int) -> int:
    """Takes an action on the pending request, if there is one, and moves on.

    Returns where the run stands then, or why the action may not be taken. A policy that puts off
    a request for which there was room must leave one more delay in its buffer: the last one is
    kept for the case that no machine has room.
    """
    clock = world.clock[0]
    vm = clock.pending
    if vm < 0:
        return advance(world)
    if is_full(world.decisions):
        return FULL
    clock.action = action
    if action >= len(world.fleet.cores):
        return NotAllowed.NO_SUCH_MACHINE
    if action >= 0 and not has_room(world, vm, action):
        return NotAllowed.NOT_VALID
    append(world.decisions, (clock.tick, vm, action, clock.valid_count))
    clock.pending = -1
    if action >= 0:
        place(world, vm, action)
    elif action == REFUSE:
        world.vms.outcome[vm] = Outcome.REFUSED
        world.vms.end[vm] = clock.tick
        world.totals[0].refused += 1
    else:
        delay = world.rules.delay_ticks
        delays = min(REFUSE - action, world.vms.buffer[vm] + 1)  # more would be too many too
        had_room = clock.valid_count > 0
        put_off(world, vm, delays * delay, delay if had_room else 0)
        world.vms.chosen_delay[vm] += (delays if had_room else delays - 1) * delay
    return advance(world)


def play(
    world: World,
    shown: Machines,
    stop: NDArray[np.int64],
    parameters: NDArray[np.float64],
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Lets a compiled policy decide until the run ends, the log is full, or an action is bad.

    It sees ``shown``, a read-only view of the machines. Where ``stop`` is set, it comes back.
    """
    status = DECIDE if world.clock[0].pending >= 0 else advance(world)
    while status == DECIDE and stop[0] == 0:
        if is_full(world.decisions):  # before the policy draws anything
            return FULL
        status = act(world, policy(shown, request_of(world), parameters, rng))
    return status
