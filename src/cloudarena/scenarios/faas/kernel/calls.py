"""Functions that call others: each invocation, once it has executed and stored its data, calls.

It makes its calls one after the other at that instant, each a request of its own that comes in as
others do. If it waits for some of them it keeps its worker until all of those have ended; if one of
them has no answer, the caller fails. Whoever is called by one that is given up goes on for nobody.

The number of a request that was called follows from that of its caller, so that its random times
are the same under all policies.
"""

from __future__ import annotations

from cloudarena.engine.compiled import jit_call, jit_inline, jitable
from cloudarena.engine.indexed_heap import set_time
from cloudarena.scenarios.faas.state import (
    NONE,
    Extras,
    Outcome,
    Record,
    RequestState,
    World,
)

FIRST_CALLED = 1 << 40
"""The least number of a request that was called."""


@jitable
def call_number(key: int, caller: int, which: int, tries: int) -> int:
    """The number of a request, by its caller's function and number, and which of its calls it is.

    A caller that is tried again makes other requests.
    """
    mixed = caller * 8191 + key % 1_000_003 * 127 + which + tries * 1009
    return FIRST_CALLED + mixed % FIRST_CALLED


@jit_call
def note_caller(world: World, extras: Extras | None, index: int, caller: int) -> None:
    """A request comes, of a caller or NONE: none of its calls has been made."""
    if extras is not None:
        slot = world.slots[index]
        slot.tries, slot.caller, slot.caller_function = 0, NONE, NONE
        slot.late, slot.again = False, False
        begin_again(world, slot)
        slot.reached = slot.call
        if caller != NONE:
            by = world.slots[caller]
            slot.caller_function, slot.caller_number = by.function, by.number
            slot.late = by.late or by.arrival < world.clock[0].counted_from_s
            slot.again = by.again or by.call <= by.reached
            by.reached = max(by.reached, by.call)
            world.functions[slot.function].again += slot.again
            if extras.calls[by.call - 1].waits:
                slot.caller = caller


@jit_inline
def begin_again(world: World, slot: Record) -> None:
    """A request has made none of its calls."""
    slot.call, slot.open, slot.broken = world.functions[slot.function].first_call, 0, False


@jit_inline
def has_calls(extras: Extras | None, function: Record) -> bool:
    """Whether invocations of a function call others."""
    if extras is not None:
        return function.first_call < function.end_call
    return False


@jit_call
def begins_calls(world: World, extras: Extras | None, index: int) -> bool:
    """Whether a request that has executed calls others first; then it does."""
    if extras is not None:
        slot = world.slots[index]
        if slot.call < world.functions[slot.function].end_call:
            slot.state = RequestState.CALLING
            set_time(world.due.finishes, index, world.clock[0].now)
            return True
    return False


@jit_call
def count_uncalled(world: World, extras: Extras | None, index: int) -> None:
    """A request is lost: the calls that it has not made, and what would follow, never come."""
    if extras is not None:
        slot = world.slots[index]
        function = world.functions[slot.function]
        if not slot.again:
            for row in range(slot.reached, function.end_call):
                function.uncalled += extras.calls[row].requests


@jit_call
def answer_caller(world: World, extras: Extras | None, index: int) -> None:
    """A request has ended: the one that waits for it goes on when it was the last of its calls."""
    if extras is not None:
        slot = world.slots[index]
        if slot.caller != NONE:
            caller = world.slots[slot.caller]
            caller.open -= 1
            caller.broken |= slot.outcome != Outcome.COMPLETED
            if caller.open == 0 and caller.call == world.functions[caller.function].end_call:
                set_time(world.due.finishes, slot.caller, world.clock[0].now)


@jit_call
def forget_caller(world: World, extras: Extras | None, index: int) -> None:
    """Nobody waits any more for what a request has called."""
    if extras is not None:
        for other in range(len(world.slots)):
            slot = world.slots[other]
            if slot.state != RequestState.UNUSED and slot.caller == index:
                slot.caller = NONE
