"""How time moves: each class works off its batches, first in first out, at its VMs' rate.

Service is fluid: theta VMs do theta seconds of work a second, so a batch of n tasks of p seconds
takes ``n p / theta`` seconds alone. Within a stage classes do not touch each other, so each is
followed from one end of a batch to the next, exactly; nothing is stepped.

A batch that arrives at the very end of a stage belongs to the next stage. A class without work
keeps its VMs, with the memory of its last batch (of its first one, before that).

VMs have numbers; the first virtual cluster has the first of them, and in it the first class has the
first, the next class the next ones. A VM that is down serves nobody and holds no memory. Between
two changes of what is down rates are constant.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Ints
from cloudarena.engine.compiled import jit_inline, jit_uncounted
from cloudarena.engine.status import DECIDE, ENDED, FULL
from cloudarena.scenarios.clusters.state import Total, World


@jit_inline
def piece_at(world: World, piece: int, time: float) -> int:
    """The part of time, from some part on, in which a time lies: nothing fails or comes back in it.

    A change belongs to the part that it begins.
    """
    while piece + 1 < len(world.changes) and world.changes[piece + 1] <= time:
        piece += 1
    return piece


@jit_inline
def end_of(world: World, piece: int) -> float:
    """When the next VM fails or comes back."""
    return world.changes[piece + 1] if piece + 1 < len(world.changes) else np.inf


@jit_inline
def vms_up(world: World, piece: int, first: int, count: int) -> float:
    """How many of some VMs, by number, are up."""
    if len(world.changes) == 1:
        return float(count)
    return float(world.up_before[piece, first + count] - world.up_before[piece, first])


@jit_inline
def begin_with_first_vms(world: World) -> None:
    """Lets ``next_vm`` begin with the first VM of each virtual cluster."""
    for k in range(len(world.next_vm)):
        world.next_vm[k] = world.cluster_first[k]


@jit_inline
def take_vms(world: World, c: int, count: int) -> int:
    """The number of the first VM of a class, which has the next ones of its virtual cluster."""
    first = world.next_vm[world.cluster_of[c]]
    world.next_vm[world.cluster_of[c]] = first + count
    return first


@jit_inline
def finish_time(world: World, shares: Ints, now: float) -> float:
    """When all work is done, if these shares stay in force from now on."""
    last = now
    begin_with_first_vms(world)
    for c in range(len(shares)):
        time, piece, first = now, 0, take_vms(world, c, shares[c])
        for batch in range(world.head[c], len(world.times)):
            if world.times[batch] > time:
                time = world.times[batch]
            work = world.left[c]
            if batch > world.head[c]:
                work = world.tasks[batch, c] * world.seconds[batch, c]
            piece = piece_at(world, piece, time)
            while True:
                vms, until = vms_up(world, piece, first, shares[c]), end_of(world, piece)
                if vms > 0.0 and time + work / vms <= until:
                    time = time + work / vms
                    break
                work = work - min(work, (until - time) * vms)
                time = until
                piece += 1
        if time > last:
            last = time
    return last


@jit_inline
def advance(world: World, shares: Ints, begin: float, end: float) -> None:
    """Works from ``begin`` to ``end`` with ``shares[c]`` VMs for class c.

    The memory of a VM counts as often as there are VMs, or as the square of that.
    """
    batches = len(world.times)
    begin_with_first_vms(world)
    for c in range(len(shares)):
        time, piece, first = begin, 0, take_vms(world, c, shares[c])
        own = world.class_totals[c]
        while time < end:
            piece = piece_at(world, piece, time)
            vms, bound = vms_up(world, piece, first, shares[c]), min(end, end_of(world, piece))
            weight = vms * vms if world.rules.squared else vms
            batch = world.head[c]
            arrival = world.times[batch] if batch < batches else np.inf
            if arrival > time:
                until = min(arrival, bound)
                held = world.memory_mb[max(batch - 1, 0), c]
                world.totals[Total.MEMORY] += weight * held * (until - time)
                own[Total.MEMORY] += weight * held * (until - time)
                time = until
                if time == bound:
                    continue
            tasks = world.tasks[batch, c]
            if np.isnan(world.start[batch, c]):
                world.start[batch, c] = time
                world.totals[Total.BACKLOG] += tasks * (time - arrival)
                own[Total.BACKLOG] += tasks * (time - arrival)
            work = world.left[c]
            finish = time + work / vms if vms > 0.0 else np.inf
            ends = finish <= bound
            spent = work if ends else min(work, (bound - time) * vms)
            until = finish if ends else bound
            before = work / world.seconds[batch, c]
            after = (work - spent) / world.seconds[batch, c]
            held = world.memory_mb[batch, c]
            world.totals[Total.MEMORY] += weight * held * (until - time)
            world.totals[Total.BACKLOG] += 0.5 * (before + after) * (until - time)
            world.totals[Total.BUSY] += spent
            own[Total.MEMORY] += weight * held * (until - time)
            own[Total.BACKLOG] += 0.5 * (before + after) * (until - time)
            own[Total.BUSY] += spent
            world.left[c] = work - spent
            time = until
            if ends:
                world.finish[batch, c] = finish
                world.head[c] = batch + 1
                if batch + 1 < batches:
                    world.left[c] = world.tasks[batch + 1, c] * world.seconds[batch + 1, c]
                world.done[c] += before
            else:
                world.done[c] += before - after


@jit_inline
def run_stage(world: World, plan: int, length_s: float, thinking_s: float) -> None:
    """Lets a stage pass; the run ends with the last task."""
    clock, shares = world.clock[0], world.plan_shares[plan]
    begin = clock.now
    for c in range(len(shares)):
        world.stage_done[clock.stages, c] = world.done[c]
    finish = finish_time(world, shares, begin)
    end = min(begin + length_s, finish)
    advance(world, shares, begin, end)
    clock.now = end
    clock.ended = finish <= begin + length_s
    stage = world.stages[clock.stages]
    stage.begin = begin
    stage.end = end
    stage.thinking_s = min(thinking_s, end - begin)
    stage.plan = plan
    clock.stages += 1


@jit_uncounted
def act(world: World, shares: Ints, length_s: float, evaluations: int) -> int:
    """Takes a plan, and lets time pass until the next decision or the end."""
    clock = world.clock[0]
    if clock.ended:
        return ENDED
    number = clock.plans
    if number >= len(world.plans) or clock.stages + 2 > len(world.stages):
        return FULL
    plan = world.plans[number]
    plan.time = clock.now
    plan.length_s = length_s
    plan.evaluations = evaluations
    for c in range(len(shares)):
        world.plan_shares[number, c] = shares[c]
    clock.plans += 1
    stages, before = 1, number
    if world.rules.pipelined:
        # The stage in force goes on while the next one is thought out; the first was beforehand.
        stages = (1 if number > 0 else 0) + (1 if length_s == np.inf else 0)
        before = number - 1 if number > 0 else number
    for _ in range(stages):
        if not clock.ended:
            thinking_s = evaluations * world.rules.decide_seconds if before < number else 0.0
            run_stage(world, before, max(world.plans[before].length_s, thinking_s), thinking_s)
            before = number
    return ENDED if clock.ended else DECIDE
