"""The placement of a VM as learners see it: a few machines, waiting and refusing."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable_shared
from cloudarena.engine.power import power_w
from cloudarena.engine.shortlist import keep, sort_rows
from cloudarena.scenarios.vm.kernel import act, request_of
from cloudarena.scenarios.vm.state import (
    DELAY_INSENSITIVE,
    REFUSE,
    UNKNOWN,
    Machines,
    Power,
    Request,
    World,
)

FEATURES = (
    Feature("cores_left", "cores left for such VMs after it, over those such VMs may allocate"),
    Feature("memory_left", "the same of memory"),
    Feature("cores_free", "physical cores free after it, over the machine's; negative where "
            "oversubscribed", -1.0),
    Feature("memory_free", "the same of memory", -1.0),
    Feature("balance", "memory_left - cores_left", -1.0),
    Feature("fits_again", "how many more such VMs would fit, of 8; more count as 8"),
    Feature("takes", "cores of the VM over what such VMs may allocate there"),
    Feature("utilisation", "half of the utilisation before; 2 and more count as 2"),
    Feature("utilisation_if_busy", "the same after it, if the VM keeps its cores busy"),
    Feature("power", "power over that of the machine when busy; at most 1"),
    Feature("power_added", "w / (w + 100) of the watts w that a busy VM adds, with the boot of a "
            "machine that is off"),
    Feature("vms", "n / (n + 8) of its n VMs"),
    Feature("empty", "1 on a machine without VMs"),
    Feature("shared", "1 on a machine that hosts delay-insensitive VMs"),
    Feature("off", "1 if it is off, 0.5 while it boots, 0 if it is on"),
    Feature("size", "n / (n + 32) of its n cores"),
    Feature("same_deployment", "1 if the last VM placed there is of the same deployment"),
    Feature("quiet", "t / (t + 12) of the t ticks since a VM was placed there; 1 if it is empty"),
    Feature("wait", "1 for the candidate that puts the request off by one delay"),
    Feature("refuse", "1 for the candidate that turns it away"),
    Feature("memory_takes", "memory of the VM over what such VMs may allocate there"),
    Feature("refuse_cores", "of refusing: log2(1 + cores) / 8 of the VM; at most 1; so below"),
    Feature("refuse_core_heavy", "c / (c + m) of its shares c and m of all cores and all memory"),
    Feature("refuse_known", "1 for a VM whose category is known: few but long-lived ones are"),
    Feature("refuse_full", "the share of all cores that is allocated; at most 1"),
    Feature("refuse_tight", "that share to the power of 10"),
)  # fmt: skip
WAIT, TURN_AWAY = 18, 19
CONTEXT = (
    Feature("cores", "log2(1 + cores) / 8 of the VM; at most 1"),
    Feature("memory", "log2(1 + GB) / 12 of the VM; at most 1"),
    Feature("delay_insensitive", "1 for a VM of this category"),
    Feature("interactive", "1 for a VM of this category"),
    Feature("unknown", "1 for a VM of this category"),
    Feature("buffer", "the share of its buffer that is left; 0 without a buffer"),
    Feature("delays", "n / (n + 4) of the n delays for which it may still be put off"),
    Feature("lifetime_known", "1 if lifetimes are known"),
    Feature("lifetime", "log2(1 + ticks) / 14 of its life if that is known, at most 1; else 0"),
    Feature("day_sine", "sine of the time of day", -1.0),
    Feature("day_cosine", "cosine of the time of day", -1.0),
    Feature("cores_allocated", "half of the allocated cores over all cores; at most 1"),
    Feature("memory_allocated", "the same of memory"),
    Feature("demand", "half of the used cores over all cores; at most 1"),
    Feature("machines_valid", "the share of machines that may take it"),
    Feature("machines_empty", "the share of machines without VMs"),
    Feature("machines_off", "the share of machines that are off or boot"),
)


@jitable_shared
def order_of(pms: Machines, vm: Request, this: int, other: int) -> int:
    """Tells whether a machine comes before another (-1), after it (1), or is in equal state (0).

    The one with fewer free cores comes first, then with less free memory. The rest only tells
    states apart: machines of equal state have the same features.
    """
    if pms.free_cores[this] != pms.free_cores[other]:
        return -1 if pms.free_cores[this] < pms.free_cores[other] else 1
    if pms.free_memory_gb[this] != pms.free_memory_gb[other]:
        return -1 if pms.free_memory_gb[this] < pms.free_memory_gb[other] else 1
    if pms.type[this] != pms.type[other]:
        return -1 if pms.type[this] < pms.type[other] else 1
    if pms.state[this] != pms.state[other]:
        return -1 if pms.state[this] > pms.state[other] else 1
    if pms.vms[this] != pms.vms[other]:
        return -1 if pms.vms[this] > pms.vms[other] else 1
    if pms.vms[this] == 0:
        return 0
    if pms.utilisation[this] != pms.utilisation[other]:
        return -1 if pms.utilisation[this] > pms.utilisation[other] else 1
    if pms.sharing[this] != pms.sharing[other]:
        return -1 if pms.sharing[this] < pms.sharing[other] else 1
    if pms.last_tick[this] != pms.last_tick[other]:
        return -1 if pms.last_tick[this] > pms.last_tick[other] else 1
    mine = pms.last_deployment[this] == vm.deployment
    if mine != (pms.last_deployment[other] == vm.deployment):
        return -1 if mine else 1
    return 0


@jitable_shared
def describe(pms: Machines, vm: Request, machine: int, row: NDArray[np.float32]) -> None:
    """Writes the features of a machine that may take the request."""
    shares = vm.category == DELAY_INSENSITIVE
    limit = pms.limit_cores[machine] if shares else pms.cores[machine]
    memory_limit = pms.limit_memory_gb[machine] if shares else pms.memory_gb[machine]
    cores = max(0.0, limit - pms.allocated_cores[machine] - vm.cores)
    memory = max(0.0, memory_limit - pms.allocated_memory_gb[machine] - vm.memory_gb)
    before = pms.utilisation[machine]
    after = before + vm.cores / pms.cores[machine]
    idle_w, busy_w, r = pms.idle_w[machine], pms.busy_w[machine], pms.curve_r[machine]
    is_on = pms.state[machine] == Power.ON  # then what it draws is known
    now_w = pms.power_w[machine] if is_on else power_w(idle_w, busy_w, r, before)
    watts = power_w(idle_w, busy_w, r, after) - now_w
    if pms.state[machine] == Power.OFF:
        watts += idle_w - pms.off_w[machine]
    row[0] = min(1.0, cores / limit)
    row[1] = min(1.0, memory / memory_limit)
    row[2] = max(-1.0, (pms.free_cores[machine] - vm.cores) / pms.cores[machine])
    row[3] = max(-1.0, (pms.free_memory_gb[machine] - vm.memory_gb) / pms.memory_gb[machine])
    row[4] = row[1] - row[0]
    row[5] = math.floor(min(8.0, cores / vm.cores, memory / vm.memory_gb)) / 8.0
    row[6] = min(1.0, vm.cores / limit)
    row[7] = min(1.0, before / 2.0)
    row[8] = min(1.0, after / 2.0)
    row[9] = min(1.0, pms.power_w[machine] / busy_w) if busy_w > 0.0 else 0.0
    row[10] = max(0.0, watts / (watts + 100.0))
    row[11] = pms.vms[machine] / (pms.vms[machine] + 8.0)
    row[12] = 1.0 if pms.vms[machine] == 0 else 0.0
    row[13] = 1.0 if pms.sharing[machine] > 0 else 0.0
    row[14] = (Power.ON - pms.state[machine]) / 2.0
    row[15] = pms.cores[machine] / (pms.cores[machine] + 32.0)
    row[16] = 1.0 if pms.last_deployment[machine] == vm.deployment else 0.0
    ticks = vm.tick - pms.last_tick[machine]
    row[17] = ticks / (ticks + 12.0) if pms.vms[machine] > 0 else 1.0
    row[18:] = 0.0
    row[20] = min(1.0, vm.memory_gb / memory_limit)


@jitable_shared
def describe_refusal(
    vm: Request, full: float, all_cores: float, all_memory: float, row: NDArray[np.float32]
) -> None:
    """Writes the features of refusing: a score adds up, so what speaks for it must be its own."""
    cores, memory = vm.cores / all_cores, vm.memory_gb / all_memory
    row[TURN_AWAY] = 1.0
    row[21] = min(1.0, math.log2(1.0 + vm.cores) / 8.0)
    row[22] = cores / (cores + memory)
    row[23] = 1.0 if vm.category < UNKNOWN else 0.0
    share = min(1.0, full)
    squared = share * share
    row[24] = share
    row[25] = squared * squared * squared * squared * squared


@jitable_shared
def describe_request(vm: Request, context: NDArray[np.float32]) -> None:
    """Writes what the context says of the request."""
    context[0] = min(1.0, math.log2(1.0 + vm.cores) / 8.0)
    context[1] = min(1.0, math.log2(1.0 + vm.memory_gb) / 12.0)
    for category in range(3):
        context[2 + category] = 1.0 if vm.category == category else 0.0
    context[5] = vm.buffer_ticks / vm.budget_ticks if vm.budget_ticks > 0 else 0.0
    delays = vm.buffer_ticks // vm.delay_ticks
    context[6] = delays / (delays + 4.0)
    known = vm.lifetime_ticks >= 0
    context[7] = 1.0 if known else 0.0
    context[8] = min(1.0, math.log2(1.0 + vm.lifetime_ticks) / 14.0) if known else 0.0
    angle = 2.0 * math.pi * vm.time_of_day
    context[9] = math.sin(angle)
    context[10] = math.cos(angle)


@jitable_shared
def fill(
    pms: Machines,
    vm: Request,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Valid machines in the order of their numbers, then waiting if the buffer allows it, refusing.

    Machines in equal state are one candidate, the first of them. If there are more states than
    room, what these would choose comes first: best-fit, worst-fit, first-fit, best-fit-energy,
    best-fit-memory, best-fit-cores-energy. The rest are those with the fewest free cores, then
    with the least free memory.
    """
    machines = len(pms.valid)
    valid, empty, off = 0, 0, 0
    cores, memory, used = 0.0, 0.0, 0.0
    all_cores, all_memory = 0.0, 0.0
    tightest, fewest = -1, np.inf
    roomiest, most = -1, -np.inf
    first = -1
    hottest, most_w = -1, -np.inf
    smallest, least = -1, np.inf
    tight_hottest, tight_w = -1, -np.inf
    last_empty = -1
    may_wait = vm.buffer_ticks >= 2 * vm.delay_ticks  # one more is kept while there is room
    held, room = 0, len(actions) - (2 if may_wait else 1)
    for m in range(machines):
        cores += pms.allocated_cores[m]
        memory += pms.allocated_memory_gb[m]
        all_cores += pms.cores[m]
        all_memory += pms.memory_gb[m]
        used += pms.utilisation[m] * pms.cores[m]
        empty += pms.vms[m] == 0
        off += pms.state[m] != Power.ON
        if not pms.valid[m]:
            continue
        valid += 1
        if pms.vms[m] == 0:  # most machines of equal state are empty, and next to each other
            seen, last_empty = last_empty, m
            if seen >= 0 and order_of(pms, vm, m, seen) == 0:
                continue
        if first < 0:
            first = m
        free, watts = pms.free_cores[m], pms.power_w[m]
        if free < fewest:
            tightest, fewest = m, free
            tight_hottest, tight_w = m, watts
        elif free == fewest and watts > tight_w:
            tight_hottest, tight_w = m, watts
        if free > most:
            roomiest, most = m, free
        if watts > most_w:
            hottest, most_w = m, watts
        if pms.free_memory_gb[m] < least:
            smallest, least = m, pms.free_memory_gb[m]
        place, is_new = held, True
        while place > 0 and is_new:
            order = order_of(pms, vm, m, actions[place - 1, 0])
            if order > 0:
                break
            is_new = order != 0
            place -= 1
        if not is_new or place == room:
            continue
        held = min(held + 1, room)
        for k in range(held - 1, place, -1):
            actions[k, 0] = actions[k - 1, 0]
        actions[place, 0] = m
    if held == room:
        kept = (tightest, roomiest, first, hottest, smallest, tight_hottest)
        for machine in kept:
            keep(actions, held, machine, kept)
    sort_rows(actions, held)
    for k in range(held):
        describe(pms, vm, actions[k, 0], features[k])
    features[held:] = 0.0
    if may_wait or (valid == 0 and vm.buffer_ticks >= vm.delay_ticks):
        features[held, WAIT] = 1.0
        actions[held, 0] = REFUSE - 1
        held += 1
    describe_refusal(vm, cores / all_cores, all_cores, all_memory, features[held])
    actions[held, 0] = REFUSE
    describe_request(vm, context)
    context[11] = min(1.0, 0.5 * cores / all_cores)
    context[12] = min(1.0, 0.5 * memory / all_memory)
    context[13] = min(1.0, 0.5 * used / all_cores)
    context[14] = valid / machines
    context[15] = empty / machines
    context[16] = off / machines
    return held + 1


def look(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Does what ``fill`` does, of the request that a run is at."""
    return fill(world.machines, request_of(world), features, context, actions)


TAKE = jit_inline(act.py_func)
"""The kernel's ``act`` as a part of who calls it: a call would copy what a state consists of."""


def take(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate."""
    return TAKE(world, numbers[0])


CANDIDATES = {"vm": Candidates("vm", FEATURES, CONTEXT, 2, 16, fill, look=look, take=take)}
