"""Functions of users that take part in a run: router, contention, lifecycle, who stays warm.

They are called by address with rows of numbers. An answer that is not allowed is a fault: it is
kept with what was shown, and the kernel says that it is full, so that the run can tell.
"""

from __future__ import annotations

import numpy as np

from cloudarena.engine.addresses import call_at
from cloudarena.engine.compiled import jit_call, jit_inline
from cloudarena.scenarios.faas.kernel.transfers import client_of
from cloudarena.scenarios.faas.state import (
    NONE,
    WHOLE,
    Evict,
    Extras,
    Hook,
    Phase,
    Record,
    Scaler,
    World,
)

MEGABYTE = 1e6


@jit_inline
def asked(extras: Extras, hook: int, rows: int) -> float:
    """What the function answers to the rows that are shown."""
    return call_at(extras.hooks[hook], extras.shown.ctypes.data, rows)


@jit_inline
def note_fault(extras: Extras, hook: int, rows: int, answer: float) -> None:
    """Keeps that an answer is not allowed."""
    progress = extras.progress[0]
    progress.fault, progress.fault_rows, progress.answer = hook + 1, rows, answer


@jit_call
def own_route(world: World, extras: Extras | None, which: int, number: int) -> int:
    """The ready replica that a router of the user's chooses. There is at least one."""
    first = world.members[which, 0]
    if extras is None or extras.progress[0].fault > 0:
        return first
    function, rules = world.functions[which], world.rules[0]
    client = NONE
    if rules.network:
        client = client_of(world.paths, rules.origin_key, function.key, number)
    for k in range(function.ready):
        replica, row = world.replicas[world.members[which, k]], extras.shown[k]
        node = world.nodes[replica.node]
        row[0], row[1], row[2] = replica.node, node.cores, node.load[0] / WHOLE
        row[3] = replica.busy + replica.queued + replica.coming
        row[4], row[5] = function.workers, 0.0
        if client != NONE:
            row[5] = world.paths.clients[client, replica.node].latency_s
        row[6], row[7] = node.power_w, replica.served
    answer = asked(extras, Hook.ROUTE, function.ready)
    if not 0.0 <= answer < function.ready or answer != np.floor(answer):
        note_fault(extras, Hook.ROUTE, function.ready, answer)
        return first
    return world.members[which, int(answer)]


@jit_inline
def slows_itself(extras: Extras | None) -> bool:
    """Whether a function of the user's says how invocations slow each other down."""
    return extras is not None and extras.hooks[Hook.CONTENTION] != 0


@jit_call
def own_stretch(extras: Extras | None, node: Record, fit: Record, memory_bound: float) -> float:
    """How many times longer than alone an invocation takes, as a function of the user's says."""
    if extras is None or extras.progress[0].fault > 0:
        return 1.0
    load, claim = extras.shown[0], extras.shown[1]
    for resource in range(len(node.load)):
        load[resource] = node.load[resource] / WHOLE
        claim[resource] = fit.claim[resource] / WHOLE
    load[6], load[7], claim[6], claim[7] = node.running, node.cores, memory_bound, 0.0
    answer = asked(extras, Hook.CONTENTION, 2)
    if not 0.0 < answer < np.inf:
        note_fault(extras, Hook.CONTENTION, 2, answer)
        return 1.0
    return answer


@jit_inline
def show_idle(world: World, extras: Extras, replica: Record) -> None:
    """Shows a replica that is idle."""
    row, function = extras.shown[0], world.functions[replica.function]
    now = world.clock[0].now
    row[0], row[1] = now, now - replica.idle_s
    row[2] = world.variants[replica.variant].memory / MEGABYTE
    row[3] = replica.ready_s - replica.placed_s
    row[4], row[5] = function.uses, replica.served
    row[6], row[7] = function.ready, replica.node


@jit_call
def own_keep(world: World, extras: Extras | None, replica: Record) -> float:
    """How long a replica that is idle stays, as a function of the user's says."""
    if extras is None or extras.progress[0].fault > 0:
        return np.inf
    show_idle(world, extras, replica)
    answer = asked(extras, Hook.KEEP, 1)
    if not answer >= 0.0:
        note_fault(extras, Hook.KEEP, 1, answer)
        return np.inf
    return answer


@jit_call
def rank_idle(world: World, extras: Extras | None) -> None:
    """Sets the ranks of all idle replicas as a function of the user's says."""
    if extras is None or world.rules[0].evict != Evict.OWN:
        return
    for index in range(len(world.replicas)):
        replica = world.replicas[index]
        work = replica.busy + replica.queued + replica.coming
        if replica.state != Phase.RUNNING or work > 0 or extras.progress[0].fault > 0:
            continue
        if world.functions[replica.function].scaler == Scaler.PER_REQUEST:
            show_idle(world, extras, replica)
            answer = asked(extras, Hook.EVICT, 1)
            if np.isnan(answer):
                note_fault(extras, Hook.EVICT, 1, answer)
            else:
                replica.rank = answer


@jit_inline
def lasts_s(
    world: World, extras: Extras | None, hook: int, replica: Record, drawn_s: float
) -> float:
    """How long a step of a replica takes: as it is drawn, or as a function of the user's says."""
    if extras is not None and extras.hooks[hook] != 0:
        return own_seconds(world, extras, hook, replica, drawn_s)
    return drawn_s


@jit_call
def own_seconds(
    world: World, extras: Extras | None, hook: int, replica: Record, drawn_s: float
) -> float:
    """How long a step of a replica takes, as a function of the user's says."""
    if extras is None or extras.progress[0].fault > 0:
        return drawn_s
    row, node = extras.shown[0], world.nodes[replica.node]
    row[0], row[1] = world.clock[0].now, drawn_s
    row[2], row[3] = replica.function, replica.node
    row[4], row[5] = node.cores, node.load[0] / WHOLE
    row[6], row[7] = node.replicas, replica.served
    answer = asked(extras, hook, 1)
    if not 0.0 <= answer < np.inf:
        note_fault(extras, hook, 1, answer)
        return drawn_s
    return answer
