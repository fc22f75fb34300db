"""What machines use, draw and hold: counted when something happens to them, not tick by tick.

Whoever changes a machine says ``count_up`` before and ``go_on`` after the change.
"""

from __future__ import annotations

from cloudarena.base.arrays import MICRO
from cloudarena.engine.calendar import next_time, pop, push, size
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.power import power_w
from cloudarena.scenarios.vm.kernel.choice import reindex
from cloudarena.scenarios.vm.state import Outcome, Power, World


@jit_inline
def stranded_cores(world: World, machine: int) -> int:
    """The free cores of a machine, in millionths, if the median VM does not fit; else 0."""
    cores = world.fleet.cores[machine] - world.allocated_cores[machine]
    memory = world.fleet.memory[machine] - world.allocated_memory[machine]
    fits = cores >= world.rules.median_cores and memory >= world.rules.median_memory
    return 0 if fits else max(0, cores)


@jit_inline
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


@jit_inline
def show_use(world: World, machine: int, used: float) -> None:
    """Brings a machine's use, utilisation and power up to date."""
    fleet = world.fleet
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


@jit_inline
def read_use(world: World) -> None:
    """Shows what the machines use in this tick whose use varies.

    Without readings it is what it was: those machines are overloaded, and nothing has changed.
    """
    clock = world.clock[0]
    if len(world.ahead) > 0:
        at = clock.tick - clock.window_start
        for k in range(clock.varying):
            m = world.varying[k]
            show_use(world, m, world.constant_use[m] + world.ahead[m, at])


@jit_inline
def is_oversubscribed(world: World, machine: int) -> bool:
    """Whether more cores are allocated than a machine has."""
    return world.allocated_cores[machine] > world.fleet.cores[machine]


@jit_inline
def add_steadily(world: World, machine: int, sign: int) -> None:
    """Adds what a machine draws and uses in a tick to the sums over steady ones, or takes it off.

    What rounding leaves of the watts is kept too (Knuth's two-sum): millions of changes must not
    add up to an error.
    """
    clock = world.clock[0]
    watts, before = sign * world.machines.power_w[machine], clock.steady_watts
    after = before + watts
    added = after - before
    clock.steady_watts = after
    clock.steady_watts_rest += (before - (after - added)) + (watts - added)
    clock.steady_use += sign * world.used[machine]
    clock.steady_oversubscribed += sign * is_oversubscribed(world, machine)


@jit_call
def count_up(world: World, machine: int, tick: int) -> None:
    """Counts a machine's ticks before a tick in which it changes, and takes it out of the sums."""
    if world.varying_at[machine] >= 0:
        return  # it is counted in each tick
    ticks = tick - world.counted_to[machine]
    if ticks > 0:
        world.machine_watt_ticks[machine] += ticks * world.machines.power_w[machine]
        world.machine_demand_ticks[machine] += ticks * world.used[machine]
        world.machine_oversubscribed[machine] += ticks * is_oversubscribed(world, machine)
    add_steadily(world, machine, -1)


@jit_call
def begin_to_measure(world: World) -> None:
    """Forgets what was summed up in the warm-up; what VMs are and hold stays."""
    totals, tick = world.totals[0], world.clock[0].tick
    totals.oversubscribed = totals.overloaded_machines = totals.overloaded_vms = 0
    totals.core_ticks = totals.billed_core_ticks = totals.billed_memory_ticks = 0
    totals.demand_ticks = totals.excess_ticks = totals.watt_ticks = 0.0
    totals.boots = totals.empty_ticks = totals.stranded_ticks = 0
    for m in range(len(world.counted_to)):
        world.counted_to[m] = world.stranded_since[m] = tick
        world.machine_watt_ticks[m] = world.machine_demand_ticks[m] = 0.0
        world.machine_excess_ticks[m] = 0.0
        world.machine_oversubscribed[m] = world.machine_overloaded[m] = 0


@jit_call
def go_on(world: World, machine: int, tick: int) -> None:
    """Takes note that a machine has changed: ``tick`` is the first that is spent as it is now."""
    clock, used = world.clock[0], world.constant_use[machine]
    at_tick = clock.tick - clock.window_start
    if world.vms_with_readings[machine] > 0:
        used += world.ahead[machine, at_tick]
    show_use(world, machine, used)
    is_overloaded = world.used[machine] > 100.0 * world.fleet.cores[machine]
    at = world.varying_at[machine]
    if world.vms_with_readings[machine] > 0 or is_overloaded:
        if at < 0:
            world.varying[clock.varying] = machine
            world.varying_at[machine] = clock.varying
            clock.varying += 1
            if world.vms_with_readings[machine] == 0 and len(world.ahead) > 0:
                world.ahead[machine, at_tick:] = 0.0  # what stands there is of an older window
    else:
        if at >= 0:
            clock.varying -= 1
            last = world.varying[clock.varying]
            world.varying[at] = last
            world.varying_at[last] = at
            world.varying_at[machine] = -1
        world.counted_to[machine] = tick
        add_steadily(world, machine, 1)
    reindex(world, world.rooms, world.shapes, machine)


@jit_inline
def set_state(world: World, machine: int, state: int) -> None:
    """Switches a machine."""
    world.clock[0].machines_on += (state == Power.ON) - (world.state[machine] == Power.ON)
    world.state[machine] = state
    world.machines.state[machine] = state


@jit_inline
def plan_off(world: World, machine: int) -> None:
    """Sees to it that an empty machine is looked at when it may be switched off."""
    if not world.off_planned[machine]:
        world.off_planned[machine] = True
        push(world.switches, world.empty_since[machine] + world.rules.off_after_ticks, machine)


@jit_inline
def boot(world: World, machine: int) -> None:
    """Begins to boot a machine that is off."""
    world.totals[0].boots += 1
    world.ready[machine] = world.clock[0].tick + world.rules.boot_ticks
    if world.rules.boot_ticks == 0:
        set_state(world, machine, Power.ON)
        return
    set_state(world, machine, Power.BOOTING)
    push(world.switches, world.ready[machine], machine + len(world.state))


@jit_inline
def switch_machines(world: World) -> None:
    """Ends the boots of this tick, starts the VMs that waited for them, and switches off."""
    clock, count = world.clock[0], len(world.state)
    while next_time(world.switches) == clock.tick:
        event = pop(world.switches)
        machine = event % count
        if event >= count:
            count_up(world, machine, clock.tick)
            set_state(world, machine, Power.ON)
            go_on(world, machine, clock.tick)
            continue
        world.off_planned[machine] = False
        if world.state[machine] != Power.ON or world.allocated_cores[machine] > 0:
            continue
        if clock.tick - world.empty_since[machine] >= world.rules.off_after_ticks:
            count_up(world, machine, clock.tick)
            set_state(world, machine, Power.OFF)
            go_on(world, machine, clock.tick)
        else:
            plan_off(world, machine)
    while next_time(world.starts) == clock.tick:
        vm = pop(world.starts)
        machine = world.vms.machine[vm]
        world.vms.outcome[vm] = Outcome.RUNNING
        clock.live += 1
        clock.starting_cores -= world.demand.cores[vm]
        clock.starting_memory -= world.demand.memory[vm]
        if world.demand.first_reading[vm] < 0:
            count_up(world, machine, clock.tick)
            world.constant_use[machine] += world.demand.use[vm]
            go_on(world, machine, clock.tick)


@jit_inline
def record_series(world: World) -> None:
    """Keeps the state in which this tick is spent."""
    clock, series, machines = world.clock[0], world.series, world.machines
    row = clock.tick // world.rules.series_every
    if clock.tick % world.rules.series_every != 0 or row >= len(series.totals):
        return
    used, demanded, watts = clock.steady_use, clock.steady_use, clock.steady_watts
    for k in range(clock.varying):
        m = world.varying[k]
        used += min(world.used[m], 100.0 * world.fleet.cores[m])
        demanded += world.used[m]
        watts += machines.power_w[m]
    totals = series.totals[row]
    totals[0] = clock.cores / MICRO
    totals[1] = used / (100.0 * MICRO)
    totals[2] = demanded / (100.0 * MICRO)
    totals[3] = watts + clock.steady_watts_rest
    totals[4] = clock.live
    totals[5] = size(world.retries) + size(world.starts)
    totals[6] = clock.machines_on
    if row >= len(series.vms):
        return
    for m in range(len(world.fleet.cores)):
        series.allocated_cores[row, m] = machines.allocated_cores[m]
        series.allocated_memory_gb[row, m] = machines.allocated_memory_gb[m]
        series.utilisation[row, m] = machines.utilisation[m]
        series.power_w[row, m] = machines.power_w[m]
        series.vms[row, m] = machines.vms[m]
