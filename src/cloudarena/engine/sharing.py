"""Processor sharing: containers on nodes share the cores of their node.

With v operations a second per core, a container with so many threads runs at

    min(1, memory allocated / required) * threads * v               if all threads on the node
                                                                    are at most its cores, else
    min(1, memory allocated / required) * threads * cores v / all threads

With whole operations (``whole``) the speed of a thread and the speed of a container are rounded
down, and so is the work done between two events (starts and finishes) on the node. Every event
costs time in proportion to the containers on the node, and on no other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline, jit_inline_entry
from cloudarena.engine.indexed_heap import IndexedHeap, make_indexed_heap, set_time
from cloudarena.engine.linked_list import LINKS, NONE, put_first, without
from cloudarena.engine.tolerance import time_tolerance

EXTRA = -2
"""The container of a forecast that has no slot."""


class Sharing(NamedTuple):
    """Nodes, and containers in slots that are used again."""

    core_speed: int
    """Operations that a core does in a second."""
    whole: bool
    cores: NDArray[np.int64]  # (nodes,)
    threads: NDArray[np.int64]  # (nodes,): of all running containers
    clock: NDArray[np.float64]  # (nodes,): the last event
    speed: NDArray[np.float64]  # (nodes,): of all running containers, operations a second
    work: NDArray[np.float64]  # (nodes,): operations done so far
    head: NDArray[np.int64]  # (nodes,): the first running container; NONE
    finishing: NDArray[np.int64]  # (nodes,): the container that finishes first
    finishes: IndexedHeap  # (nodes): when it does
    slot_threads: NDArray[np.int64]  # (slots,)
    slot_allocated: NDArray[np.int64]
    slot_required: NDArray[np.int64]
    slot_left: NDArray[np.float64]  # operations
    slot_speed: NDArray[np.float64]
    slot_links: NDArray[np.void]  # of LINKS: each slot is in one list of its node
    # Room for forecasts, one entry more than there are slots:
    trial_slot: NDArray[np.int64]  # EXTRA: none
    trial_threads: NDArray[np.int64]
    trial_allocated: NDArray[np.int64]
    trial_required: NDArray[np.int64]
    trial_left: NDArray[np.float64]
    trial_begin: NDArray[np.float64]


def make_sharing(cores: NDArray[np.int64], core_speed: int, whole: bool, slots: int) -> Sharing:
    """Nodes without containers."""
    nodes = len(cores)
    return Sharing(
        core_speed=core_speed,
        whole=whole,
        cores=cores,
        threads=np.zeros(nodes, np.int64),
        clock=np.zeros(nodes),
        speed=np.zeros(nodes),
        work=np.zeros(nodes),
        head=np.full(nodes, NONE),
        finishing=np.full(nodes, NONE),
        finishes=make_indexed_heap(nodes),
        slot_threads=np.zeros(slots, np.int64),
        slot_allocated=np.zeros(slots, np.int64),
        slot_required=np.ones(slots, np.int64),
        slot_left=np.zeros(slots),
        slot_speed=np.zeros(slots),
        slot_links=np.full(slots, NONE, np.dtype(LINKS)),
        trial_slot=np.zeros(slots + 1, np.int64),
        trial_threads=np.zeros(slots + 1, np.int64),
        trial_allocated=np.zeros(slots + 1, np.int64),
        trial_required=np.ones(slots + 1, np.int64),
        trial_left=np.zeros(slots + 1),
        trial_begin=np.zeros(slots + 1),
    )


def with_slots(sharing: Sharing, slots: int) -> Sharing:
    """Returns the same with room for more containers."""
    more = make_sharing(sharing.cores, sharing.core_speed, sharing.whole, slots)
    grown = {}
    for name, values in more._asdict().items():
        if name.startswith(("slot_", "trial_")):
            old = getattr(sharing, name)
            values[: len(old)] = old
            grown[name] = values
    return sharing._replace(**grown)


@jit_inline_entry
def thread_speed(sharing: Sharing, node: int, threads: int) -> float:
    """The speed of a thread on a node with so many threads in all, in operations a second."""
    cores = sharing.cores[node]
    if threads <= cores:
        return float(sharing.core_speed)
    if sharing.whole:
        return float(cores * sharing.core_speed // threads)
    return cores * float(sharing.core_speed) / threads


@jit_inline_entry
def container_speed(sharing: Sharing, slot: int, per_thread: float) -> float:
    """The speed of a container whose threads run at a speed, in operations a second."""
    return speed_with(
        sharing,
        sharing.slot_threads[slot],
        sharing.slot_allocated[slot],
        sharing.slot_required[slot],
        per_thread,
    )


@jit_inline_entry
def speed_with(
    sharing: Sharing, own: int, allocated: int, required: int, per_thread: float
) -> float:
    """The speed of a container with so many threads, and so much of the memory it requires."""
    if allocated >= required:
        return per_thread * own
    if sharing.whole:
        return float(allocated * (np.int64(per_thread) * own) // required)
    return allocated / required * per_thread * own


@jit_inline_entry
def working_time(sharing: Sharing, begin: float, end: float) -> float:
    """The seconds from one event to the next, as work is counted.

    Whole operations are rounded down, so what the rounding of the two times may have taken away is
    given back.
    """
    return end - begin + time_tolerance(end) / 2 if sharing.whole else end - begin


@jit_inline_entry
def work_in(sharing: Sharing, speed: float, seconds: float) -> float:
    """The operations that a container does in a working time."""
    return np.floor(speed * seconds) if sharing.whole else speed * seconds


@jit_inline
def _progress(sharing: Sharing, node: int, time: float) -> None:
    """Lets the containers of a node work up to an event."""
    begin = sharing.clock[node]
    if time > begin:
        sharing.work[node] += sharing.speed[node] * (time - begin)
        seconds = working_time(sharing, begin, time)
        slot = sharing.head[node]
        while slot != NONE:
            done = work_in(sharing, sharing.slot_speed[slot], seconds)
            sharing.slot_left[slot] = max(0.0, sharing.slot_left[slot] - done)
            slot = sharing.slot_links[slot].next
    sharing.clock[node] = time


@jit_inline
def _share(sharing: Sharing, node: int) -> None:
    """Shares out the cores of a node after an event, and finds who finishes first."""
    time, per_thread = sharing.clock[node], thread_speed(sharing, node, sharing.threads[node])
    first, finishing, total = np.inf, NONE, 0.0
    slot = sharing.head[node]
    while slot != NONE:
        speed = container_speed(sharing, slot, per_thread)
        sharing.slot_speed[slot] = speed
        total += speed
        finish = time + sharing.slot_left[slot] / speed if speed > 0.0 else np.inf
        if finish < first:
            first, finishing = finish, slot
        slot = sharing.slot_links[slot].next
    sharing.speed[node] = total
    sharing.finishing[node] = finishing
    set_time(sharing.finishes, node, first)


@jit_inline_entry
def join(sharing: Sharing, node: int, slot: int, time: float) -> None:
    """Starts a container, whose slot has been filled in."""
    _progress(sharing, node, time)
    link(sharing, sharing.head, node, slot)
    sharing.threads[node] += sharing.slot_threads[slot]
    _share(sharing, node)


@jit_inline_entry
def leave(sharing: Sharing, node: int, slot: int, time: float) -> None:
    """Ends a container."""
    _progress(sharing, node, time)
    unlink(sharing, sharing.head, node, slot)
    sharing.threads[node] -= sharing.slot_threads[slot]
    _share(sharing, node)


@jit_inline_entry
def link(sharing: Sharing, heads: NDArray[np.int64], node: int, slot: int) -> None:
    """Puts a container at the beginning of a node's list."""
    heads[node] = put_first(sharing.slot_links, heads[node], slot)


@jit_inline_entry
def unlink(sharing: Sharing, heads: NDArray[np.int64], node: int, slot: int) -> None:
    """Takes a container out of a node's list."""
    heads[node] = without(sharing.slot_links, heads[node], slot)


class Extra(NamedTuple):
    """A container that a forecast lets start besides those that are there or on their way."""

    threads: int
    allocated: int
    required: int
    computation: float
    """The work of the container, in operations."""
    begin: float


@jit_inline_entry
def forecast(sharing: Sharing, node: int, coming: int, begins: NDArray[np.float64]) -> float:
    """When a node's containers are all done, if nothing else comes.

    Args:
        sharing: the nodes; of it only the room for forecasts changes.
        node: which of them.
        coming: the first of a list of containers that are to start, as ``link`` makes it; NONE.
        begins: when each of those starts, by slot.
    """
    return _run_down(sharing, node, _gather(sharing, node, coming, begins))


@jit_inline_entry
def forecast_with(
    sharing: Sharing, node: int, coming: int, begins: NDArray[np.float64], extra: Extra
) -> float:
    """When an extra container would be done on a node, if nothing else came after it."""
    count = _gather(sharing, node, coming, begins)
    sharing.trial_slot[count] = EXTRA
    sharing.trial_threads[count] = extra.threads
    sharing.trial_allocated[count] = extra.allocated
    sharing.trial_required[count] = extra.required
    sharing.trial_left[count] = extra.computation
    sharing.trial_begin[count] = extra.begin
    return _run_down(sharing, node, count + 1)


@jit_inline
def _gather(sharing: Sharing, node: int, coming: int, begins: NDArray[np.float64]) -> int:
    """Puts the containers that run or are to start into a trial; returns how many there are."""
    count = 0
    slot = sharing.head[node]
    while slot != NONE:
        _try(sharing, count, slot, -np.inf)
        count += 1
        slot = sharing.slot_links[slot].next
    slot = coming
    while slot != NONE:
        _try(sharing, count, slot, begins[slot])
        count += 1
        slot = sharing.slot_links[slot].next
    return count


@jit_inline
def _try(sharing: Sharing, index: int, slot: int, begin: float) -> None:
    """Puts a container into a trial; one that runs has begun at minus infinity."""
    sharing.trial_slot[index] = slot
    sharing.trial_threads[index] = sharing.slot_threads[slot]
    sharing.trial_allocated[index] = sharing.slot_allocated[slot]
    sharing.trial_required[index] = sharing.slot_required[slot]
    sharing.trial_left[index] = sharing.slot_left[slot]
    sharing.trial_begin[index] = begin


@jit_inline
def _trial_speed(sharing: Sharing, index: int, per_thread: float) -> float:
    """The speed of a container in a trial."""
    return speed_with(
        sharing,
        sharing.trial_threads[index],
        sharing.trial_allocated[index],
        sharing.trial_required[index],
        per_thread,
    )


@jit_inline
def _drop(sharing: Sharing, index: int, last: int) -> None:
    """Takes a container out of a trial: the last one takes its place."""
    sharing.trial_slot[index] = sharing.trial_slot[last]
    sharing.trial_threads[index] = sharing.trial_threads[last]
    sharing.trial_allocated[index] = sharing.trial_allocated[last]
    sharing.trial_required[index] = sharing.trial_required[last]
    sharing.trial_left[index] = sharing.trial_left[last]
    sharing.trial_begin[index] = sharing.trial_begin[last]


@jit_inline
def _run_down(sharing: Sharing, node: int, count: int) -> float:
    """Lets the containers of a trial run until all, or the extra one, are done."""
    left, begin = sharing.trial_left, sharing.trial_begin
    threads, time = sharing.threads[node], sharing.clock[node]
    while count > 0:
        per_thread = thread_speed(sharing, node, threads)
        event, finishing = np.inf, NONE
        for k in range(count):
            if begin[k] > -np.inf:
                if begin[k] < event:
                    event, finishing = begin[k], NONE
            else:
                speed = _trial_speed(sharing, k, per_thread)
                finish = time + left[k] / speed if speed > 0.0 else np.inf
                if finish < event or (finish == event and finishing == NONE):
                    event, finishing = finish, k
        if event == np.inf:
            return np.inf
        seconds = working_time(sharing, time, event) if event > time else 0.0
        for k in range(count):
            if begin[k] == -np.inf:
                speed = _trial_speed(sharing, k, per_thread)
                left[k] = max(0.0, left[k] - work_in(sharing, speed, seconds))
        time = event
        if finishing != NONE:
            if sharing.trial_slot[finishing] == EXTRA:
                return time
            threads -= sharing.trial_threads[finishing]
            count -= 1
            _drop(sharing, finishing, count)
        else:
            for k in range(count):
                if begin[k] == time:
                    begin[k] = -np.inf
                    threads += sharing.trial_threads[k]
    return time
