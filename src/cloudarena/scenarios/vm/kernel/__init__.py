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
   not run, use or pay anything. With ``queue: wait`` requests are decided in the order of the
   trace only: one that finds no room, or is put off, is asked for again in the next tick, and those
   behind it wait too.
4. The tick is spent in this state: energy, utilisation and overloads are counted; where
   ``overload: kill``, the VMs of an overloaded machine end here; the VMs that live on pay.

Only machines whose use varies by itself are touched in each tick (``machines``). Where a policy
ranks machines, an index knows its choice, and no mask of valid machines is made (``choice``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import MICRO
from cloudarena.engine.calendar import next_time, pop
from cloudarena.engine.compiled import jit_inline, jit_inline_uncached, jit_uncounted
from cloudarena.engine.ordered_rooms import OrderedRooms
from cloudarena.engine.prefetch import FEW
from cloudarena.engine.recorder import append, is_full
from cloudarena.engine.shape_counts import ShapeCounts, nth_fitting
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.engine.ties import random_index
from cloudarena.engine.timing_wheel import EPOCH, NONE, begin_epoch, take_next
from cloudarena.scenarios.vm.kernel.ahead import ask_for_departures, ask_for_machine
from cloudarena.scenarios.vm.kernel.choice import (
    find_again,
    has_room,
    is_checked,
    look_for_room,
    mark_valid,
)
from cloudarena.scenarios.vm.kernel.gpus import (
    choose_device,
    gpus_of,
    machine_of,
    mark_gpus,
    milli_of,
    models_of,
)
from cloudarena.scenarios.vm.kernel.machines import (
    begin_to_measure,
    is_oversubscribed,
    read_use,
    record_series,
    switch_machines,
)
from cloudarena.scenarios.vm.kernel.nodes import (
    choose_node,
    mark_nodes,
    splits,
)
from cloudarena.scenarios.vm.kernel.vms import kill_all, move_window, place, put_off, release
from cloudarena.scenarios.vm.state import (
    NEVER,
    REFUSE,
    WINDOW,
    Machines,
    NotAllowed,
    Outcome,
    Request,
    World,
)

SECONDS_PER_DAY = 86_400.0
NO_REQUEST, MORE = -1, -2
"""No VM is to be decided now; the next VMs must be read before anyone can tell."""
WAIT = REFUSE - 1
"""The action of an index that finds no machine."""
NOT_AS_RANKED = -(1 << 62)
"""What ``choose`` returns, as no action, where a policy does not do what it says it ranks by."""


@jit_uncounted
def request_of(world: World) -> Request:
    """The request that is to be decided."""
    clock, demand = world.clock[0], world.demand
    vm = clock.pending
    return Request(
        demand.vm_id[vm],
        demand.cores[vm] / MICRO,
        demand.memory[vm] / MICRO,
        demand.category[vm],
        demand.subscription[vm],
        demand.deployment[vm],
        clock.tick,
        world.vms.buffer[vm],
        demand.lifetime[vm] if world.rules.lifetimes_known else -1,
        clock.last_machine,
        world.rules.budget_ticks,
        world.rules.delay_ticks,
        (clock.tick * world.rules.tick_seconds) % SECONDS_PER_DAY / SECONDS_PER_DAY,
        splits(world.nodes, vm),
        gpus_of(world.gpus, vm),
        milli_of(world.gpus, vm),
        models_of(world.gpus, vm),
    )


@jit_uncounted
def mark_pending(world: World) -> None:
    """Marks the machines that may take the pending VM."""
    vm = world.clock[0].pending
    world.clock[0].valid_count = mark_valid(world, vm)
    mark_nodes(world, world.nodes, vm)
    mark_gpus(world, world.gpus, vm)


@jit_inline
def begin_tick(world: World) -> None:
    """Lets finished VMs go, switches machines, and reads the machines' utilisation."""
    clock = world.clock[0]
    if clock.tick % EPOCH == 0:
        begin_epoch(world.departures, clock.tick)
    if clock.tick == clock.window_start + WINDOW:
        move_window(world)
    vm = take_next(world.departures, clock.tick)
    while vm != NONE:
        ask_for_departures(world, world.rooms)
        if world.vms.outcome[vm] == Outcome.RUNNING:
            release(world, vm, Outcome.COMPLETED, clock.tick)
            world.totals[0].completed += 1
        vm = take_next(world.departures, clock.tick)
    if world.rules.off_after_ticks != NEVER:
        switch_machines(world)
    read_use(world)


@jit_inline
def next_in_queue(world: World) -> int:
    """The VM at the head of the queue, which it leaves, or NO_REQUEST."""
    clock, arrival = world.clock[0], world.demand.arrival
    while clock.arrived < len(arrival) and arrival[clock.arrived] == clock.tick:
        world.vms.outcome[clock.arrived] = Outcome.WAITING
        clock.arrived += 1
    if clock.decided == clock.arrived or clock.blocked == clock.tick:
        return NO_REQUEST
    clock.decided += 1
    return clock.decided - 1


@jit_inline
def wait_in_queue(world: World, vm: int, is_chosen: bool) -> None:
    """Puts a VM back to the head of the queue, where it waits for the next tick."""
    world.clock[0].decided = vm
    world.clock[0].blocked = world.clock[0].tick
    world.vms.chosen_delay[vm] += is_chosen


@jit_inline
def next_request(world: World) -> int:
    """The next VM to be decided in this tick, NO_REQUEST, or MORE."""
    clock = world.clock[0]
    if world.rules.queues:
        return next_in_queue(world)
    if next_time(world.retries) == clock.tick:
        return pop(world.retries)
    vm = clock.arrived
    if vm == len(world.demand.arrival):
        return MORE if clock.more else NO_REQUEST
    if world.demand.arrival[vm] != clock.tick:
        return NO_REQUEST
    clock.arrived += 1
    world.vms.outcome[vm] = Outcome.WAITING
    world.vms.buffer[vm] = world.rules.budget_ticks
    return vm


@jit_inline
def end_tick(world: World) -> None:
    """Counts what the tick has cost and earned, and meets overload."""
    totals, fleet, clock = world.totals[0], world.fleet, world.clock[0]
    record_series(world)
    watts, demand = clock.steady_watts + clock.steady_watts_rest, clock.steady_use
    oversubscribed = clock.steady_oversubscribed
    totals.core_ticks += clock.cores
    k = 0
    while k < clock.varying:
        m = world.varying[k]
        watts += world.machines.power_w[m]
        demand += world.used[m]
        world.machine_watt_ticks[m] += world.machines.power_w[m]
        world.machine_demand_ticks[m] += world.used[m]
        if is_oversubscribed(world, m):
            oversubscribed += 1
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
                if world.varying_at[m] != k:  # another machine stands there now, or none
                    continue
        k += 1
    totals.watt_ticks += watts
    totals.demand_ticks += demand
    totals.oversubscribed += oversubscribed
    totals.billed_core_ticks += clock.cores - clock.starting_cores
    totals.billed_memory_ticks += clock.memory - clock.starting_memory


@jit_inline
def advance(world: World) -> int:
    """Moves on to the next decision (DECIDE), to the end (ENDED), or until it needs more VMs."""
    clock, rules = world.clock[0], world.rules
    while clock.tick < rules.ticks:
        if clock.begun == 0:
            if clock.tick == rules.warmup_ticks:
                begin_to_measure(world)
            begin_tick(world)
            clock.begun = 1
        vm = next_request(world)
        while vm >= 0:
            if look_for_room(world, world.rooms, world.shapes, vm) or rules.decide_when_full:
                clock.pending = vm
                return DECIDE
            if rules.queues:
                wait_in_queue(world, vm, False)
            else:
                put_off(world, vm, rules.delay_ticks, 0)
            vm = next_request(world)
        if vm == MORE:
            return FULL
        end_tick(world)
        clock.tick += 1
        clock.begun = 0
    return ENDED


@jit_uncounted
def act(world: World, action: int) -> int:
    """Takes an action on the pending request, if there is one, and moves on.

    Returns where the run stands then, or why the action may not be taken. A policy that puts off
    a request for which there was room must leave one more delay in its buffer: the last one is
    kept for the case that no machine has room.
    """
    clock = world.clock[0]
    vm = clock.pending
    if vm >= 0:
        if is_full(world.decisions):
            return FULL
        clock.action = action
        machine = machine_of(world, world.nodes, world.gpus, action)
        if machine >= len(world.fleet.cores):
            return NotAllowed.NO_SUCH_MACHINE
        if action >= 0 and not (
            has_room(world, vm, machine)
            and choose_node(world, world.nodes, vm, action)
            and choose_device(world, world.gpus, vm, action)
        ):
            return NotAllowed.NOT_VALID
        append(world.decisions, (clock.tick, vm, action, clock.valid_count))
        clock.pending = -1
        if action >= 0:
            if world.rules.queues:
                world.vms.delay[vm] = clock.tick - world.demand.arrival[vm]
                world.totals[0].delay_ticks += world.vms.delay[vm]
            place(world, vm, machine)
        elif action == REFUSE:
            world.vms.outcome[vm] = Outcome.REFUSED
            world.vms.end[vm] = clock.tick
            world.totals[0].refused += 1
        elif world.rules.queues:
            wait_in_queue(world, vm, clock.valid_count > 0)
        else:
            delay = world.rules.delay_ticks
            delays = min(REFUSE - action, world.vms.buffer[vm] + 1)  # more would be too many too
            had_room = clock.valid_count > 0
            put_off(world, vm, delays * delay, delay if had_room else 0)
            world.vms.chosen_delay[vm] += (delays if had_room else delays - 1) * delay
    return advance(world)


@jit_inline_uncached
def draw(clock: NDArray[np.void], shapes: ShapeCounts | None, rng: np.random.Generator) -> int:
    """Which of the valid machines is taken, if any may be: what ``random`` draws."""
    if shapes is not None and clock[0].choice >= 0 and clock[0].valid_count > 0:
        return random_index(clock[0].valid_count, rng)
    return 0


@jit_inline
def choose(
    world: World,
    index: OrderedRooms | None,
    shapes: ShapeCounts | None,
    drawn: int,
    shown: Machines,
    parameters: NDArray[np.float64],
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """The action of a policy: what the index has found, or what the policy says.

    Some choices of the index are compared with those of a policy of a user's.
    """
    clock = world.clock[0]
    if shapes is not None and clock.choice >= 0:
        return nth_fitting(shapes, clock.choice, drawn) if clock.valid_count > 0 else WAIT
    if index is not None:
        choice = clock.choice if clock.choice >= 0 else WAIT
        if choice >= 0 and len(world.state) > FEW:
            ask_for_machine(world, index, choice)
        if is_checked(world):
            mark_valid(world, clock.pending)
            clock.action = policy(shown, request_of(world), parameters, rng)
            if clock.action != choice:
                return NOT_AS_RANKED
        return choice
    return policy(shown, request_of(world), parameters, rng)


def play(
    world: World,
    shown: Machines,
    stop: NDArray[np.int64],
    parameters: NDArray[np.float64],
    policy: Any,
    rng: np.random.Generator,
) -> int:
    """Lets a compiled policy decide until the run ends, the log is full, or an action is bad.

    It sees ``shown``, a read-only view of the machines; where it ranks machines and there is an
    index, that decides in its place. Where ``stop`` is set, it comes back.
    """
    status = DECIDE
    if world.clock[0].pending < 0:
        status = act(world, 0)
    else:
        find_again(world, world.rooms, world.shapes)
    while status == DECIDE and stop[0] == 0:
        if is_full(world.decisions):  # before the policy draws anything
            return FULL
        drawn = draw(world.clock, world.shapes, rng)
        action = choose(world, world.rooms, world.shapes, drawn, shown, parameters, policy, rng)
        if action == NOT_AS_RANKED:
            return NotAllowed.NOT_AS_RANKED
        status = act(world, action)
    return status
