"""Warm containers: how long an idle replica stays, and which makes room for another.

For functions that scale by request. ``fixed``: an idle replica ends after ``expiry_s``.
``forever``: it stays until it is evicted. ``hybrid-histogram`` (Shahrad et al., 2020): the
function's idle times, each from the end of its last invocation to the next request, are counted in
bins. They tell something if at least half of them are within the range and their counts vary
enough. Then the function has a replica from the lower edge of the bin of the ``head`` of them, less
the margin, to the upper edge of the bin of the ``tail``, and the margin: if that does not begin at
once its replicas end, and one is started ahead. If they tell nothing it stays for the whole range.

Eviction: a function whose requests wait, and that no node can take, takes the room of idle replicas
on one node. The first to go has the lowest rank: ``lru`` the time since which it is idle,
``greedy-dual`` (Fuerst and Sharma, 2021)

    (the rank of the last that was evicted on the node) + (invocations) (cold start, s) / (MB)

as of when it became idle, with the invocations of its function since that had no replica.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.engine.indexed_heap import set_time
from cloudarena.scenarios.faas.kernel.own import own_keep, rank_idle
from cloudarena.scenarios.faas.kernel.replicas import stop
from cloudarena.scenarios.faas.kernel.routing import work_of
from cloudarena.scenarios.faas.kernel.scheduling import (
    expect_energy,
    expect_transfers,
    find_valid,
    has_place,
    keeps_limits,
    may_run,
)
from cloudarena.scenarios.faas.state import NONE, Evict, Keep, Phase, Record, Scaler, World

MEGABYTE = 1e6


@jit_call
def warm_from_until(function: Record, gaps: NDArray[np.int64]) -> tuple[float, float]:
    """When a replica comes and goes after the last invocation, by the function's idle times."""
    bins, known = function.bins, 0
    for k in range(bins):
        known += gaps[k]
    mean, squares = known / bins, 0.0
    for k in range(bins):
        squares += (gaps[k] - mean) ** 2
    if known == 0 or gaps[bins] > known:
        return 0.0, bins * function.bin_s
    if np.sqrt(squares / bins) < function.least_variation * mean:
        return 0.0, bins * function.bin_s
    so_far, head, tail = 0, NONE, NONE
    for k in range(bins):
        so_far += gaps[k]
        if head == NONE and so_far >= function.head * known:
            head = k
        if tail == NONE and so_far >= function.tail * known:
            tail = k
    edge = (tail + 1) * function.bin_s
    return head * function.bin_s * (1.0 - function.margin), edge * (1.0 + function.margin)


@jit_call
def count_gap(world: World, which: int) -> None:
    """A request comes to a function that may have been idle: its idle time is over."""
    function, gaps = world.functions[which], world.gaps[which]
    if not np.isnan(function.idle_since):
        gap = world.clock[0].now - function.idle_since
        gaps[min(int(gap / function.bin_s), function.bins)] += 1
        function.idle_since = np.nan
    function.ahead, function.ahead_s = 0, np.inf
    set_time(world.due.scalers, which, next_look_s(function))


@jit_inline
def next_look_s(function: Record) -> float:
    """When a function is looked at next: to start a replica ahead, or since its scaler is due."""
    return min(function.ahead_s, (function.ticks + 1) * function.interval_s)


@jit_call
def start_ahead(world: World, which: int) -> None:
    """A function should have a replica before its next request comes."""
    function = world.functions[which]
    function.ahead, function.ahead_s = 1, np.inf
    world.blocked[which], world.lacking[which] = False, True
    set_time(world.due.scalers, which, next_look_s(function))
    world.clock[0].may_place = True


@jit_call
def become_idle(world: World, index: int) -> None:
    """A replica of a function that scales by request has no requests: how long it stays."""
    clock, replica = world.clock[0], world.replicas[index]
    function = world.functions[replica.function]
    if world.rules[0].evict != Evict.NONE:
        set_rank(world, replica)
        if clock.stuck:  # somebody waits for room, which this one may make
            for other in range(len(world.functions)):
                world.blocked[other] = False
            clock.may_place, clock.stuck = True, False
    if function.keep == Keep.FOREVER:
        return
    if function.keep == Keep.FIXED:
        set_time(world.due.replicas, index, clock.now + function.expiry_s)
        return
    if function.keep == Keep.OWN:
        set_time(world.due.replicas, index, clock.now + own_keep(world, world.extras, replica))
        return
    begin, until = warm_from_until(function, world.gaps[replica.function])
    if not is_idle(world, replica.function):
        set_time(world.due.replicas, index, clock.now + until)
    elif replica.served == 0:
        set_time(world.due.replicas, index, max(clock.now, function.keep_until))
    else:
        function.idle_since, function.keep_until = clock.now, clock.now + until
        if begin > 0.0:
            function.ahead_s = clock.now + begin
            set_time(world.due.scalers, replica.function, next_look_s(function))
        for k in range(function.ready):
            end = clock.now if begin > 0.0 else function.keep_until
            set_time(world.due.replicas, world.members[replica.function, k], end)


@jit_inline
def is_idle(world: World, which: int) -> bool:
    """Whether a function has no requests at all."""
    function = world.functions[which]
    for k in range(function.ready):
        if work_of(world.replicas[world.members[which, k]]) > 0:
            return False
    return function.waiting == 0


@jit_inline
def set_rank(world: World, replica: Record) -> None:
    """Sets what an idle replica is compared with others by."""
    replica.rank = world.clock[0].now
    if world.rules[0].evict == Evict.GREEDY_DUAL:
        cold_s = replica.ready_s - replica.placed_s
        size = max(world.variants[replica.variant].memory, 1) / MEGABYTE
        uses = world.functions[replica.function].uses
        replica.rank = world.nodes[replica.node].aged + uses * cold_s / size


@jit_inline
def may_go(world: World, index: int) -> bool:
    """Whether a replica is idle, and its function has more than its fewest."""
    replica = world.replicas[index]
    function = world.functions[replica.function]
    return (
        replica.state == Phase.RUNNING
        and function.scaler == Scaler.PER_REQUEST
        and work_of(replica) == 0
        and function.placed > function.floor
    )


@jit_call
def first_to_go(world: World, which: int, index: int) -> int:
    """The idle replica of a node that goes first; NONE if all of them make too little room."""
    node, function = world.nodes[index], world.functions[which]
    if world.rules[0].neighbours and not has_place(world, function, node, which):
        return NONE
    first, cpu, memory, accelerator = NONE, 0, 0, 0
    following = node.first_replica
    while following != NONE:
        replica = world.replicas[following]
        if may_go(world, following):
            variant = world.variants[replica.variant]
            cpu += variant.cpu
            memory += variant.memory
            accelerator += variant.accelerator_memory
            if first == NONE or goes_before(replica, world.replicas[first]):
                first = following
        following = replica.next
    node.free_cpu += cpu
    node.free_memory += memory
    node.free_accelerator_memory += accelerator
    rules, makes_room = world.rules[0], False
    for variant in range(function.first_variant, function.end_variant):
        fit = world.fits[variant, node.device_type]
        if not makes_room and may_run(rules, node, world.variants[variant], fit):
            makes_room, node.variant = True, variant
    node.free_cpu -= cpu
    node.free_memory -= memory
    node.free_accelerator_memory -= accelerator
    if makes_room and rules.limited:
        expect_transfers(world, which, index)
        expect_energy(world, which, index)
        makes_room = keeps_limits(rules, node)
    return first if makes_room else NONE


@jit_inline
def goes_before(one: Record, other: Record) -> bool:
    """Whether an idle replica is evicted before another; of equals the older."""
    return one.rank < other.rank or (one.rank == other.rank and one.number < other.number)


@jit_call
def make_room(world: World, which: int) -> bool:
    """Idle replicas of one node go until it can take one of a function; whether it can."""
    only = NONE
    rank_idle(world, world.extras)
    while True:
        victim = NONE
        for index in range(len(world.nodes)):
            if only != NONE and index != only:
                continue
            first = first_to_go(world, which, index)
            if first != NONE and (
                victim == NONE or goes_before(world.replicas[first], world.replicas[victim])
            ):
                victim = first
        if victim == NONE:
            return False
        replica = world.replicas[victim]
        only, function = replica.node, world.functions[replica.function]
        world.nodes[only].aged = max(world.nodes[only].aged, replica.rank)
        world.clock[0].evictions += 1
        stop(world, victim)
        function.wanted = function.placed
        if find_valid(world, which):
            return True
