"""Azure Functions 2019: invocations of functions by minute, as arrivals.

A file ``invocations_per_function_md.anon.dNN.csv`` of the public trace (Shahrad et al., USENIX
ATC 2020) is one day: a row for each function, with HashOwner, HashApp, HashFunction, Trigger
(http, timer, event, queue, storage, orchestration, others) and 1 to 1440, how often it was
invoked in each minute. Instants within a minute are not in it: ``spread_counts`` says the rules
by which they are made.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from cloudarena.base.arrow import pa, pc
from cloudarena.base.errors import SpecError, TraceError, check_choice
from cloudarena.base.numpy import np
from cloudarena.workloads.arrivals.processes import spread_counts
from cloudarena.workloads.columns import TEXT, WHOLE, check, location, not_allowed, read_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

MINUTES = 1440
MOST_IN_A_MINUTE = 10**7
"""Invocations of a function in a minute; more can only be a damaged cell."""
NAMES = ("HashOwner", "HashApp", "HashFunction", "Trigger")
TRIGGERS = ("http", "timer", "event", "queue", "storage", "orchestration", "others")


class Invocations(NamedTuple):
    """How often each function was invoked in each minute of a day."""

    owner: pa.Array
    app: pa.Array
    function: pa.Array
    trigger: pa.Array
    counts: NDArray[np.int64]  # (functions, 1440)


def read_invocations(path: Path, trigger: str | None = None) -> Invocations:
    """Reads a day of invocations; with a trigger, of the functions that have it."""
    if trigger is not None:
        check_choice("trigger", trigger, TRIGGERS)
    minutes = {str(minute): WHOLE for minute in range(1, MINUTES + 1)}
    table = read_columns(path, {**dict.fromkeys(NAMES, TEXT), **minutes})
    known = pc.is_in(table["Trigger"], pa.array(TRIGGERS)).to_numpy()
    check(path, "Trigger", np.array(table["Trigger"]), known, f"one of {', '.join(TRIGGERS)}")
    counts = np.column_stack([table[minute].to_numpy() for minute in minutes])
    wrong = (counts < 0) | (counts > MOST_IN_A_MINUTE)
    if wrong.any():
        row, minute = (int(number[0]) for number in np.nonzero(wrong))
        value, allowed = counts[row, minute], f"0 to {MOST_IN_A_MINUTE:,}"
        raise not_allowed(location(path, row), str(minute + 1), value, allowed)
    if trigger is not None:
        wanted = pc.equal(table["Trigger"], trigger)
        table, counts = table.filter(wanted), counts[wanted.to_numpy()]
    if len(table) == 0:
        words = "" if trigger is None else f" with the trigger {trigger}"
        raise TraceError(f"{path}: has no functions{words}")
    owner, app, function, triggers = (table[name].combine_chunks() for name in NAMES)
    return Invocations(owner, app, function, triggers, counts)


def invocation_arrivals(
    invocations: Invocations,
    rng: np.random.Generator,
    share: float = 1.0,
    first_minute: int = 1,
    minutes: int | None = None,
    spread: str = "uniform",
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The instants of invocations, and the function (row) of each.

    Args:
        invocations: how many there are in each minute.
        rng: draws who stays, and the instants.
        share: each invocation stays with this probability.
        first_minute: begins with this minute of the day, from 1; instants count from its begin.
        minutes: takes so many minutes; to the end of the day by default.
        spread: how instants lie within a minute, by the rules of ``spread_counts``.
    """
    if not 0 < share <= 1:
        raise SpecError(f"share: {share:g} is not allowed: more than 0, at most 1")
    if not 1 <= first_minute <= MINUTES:
        raise SpecError(f"first_minute: {first_minute} is not allowed: from 1 to {MINUTES}")
    left = MINUTES + 1 - first_minute
    if minutes is not None and not 1 <= minutes <= left:
        raise SpecError(f"minutes: {minutes} is not allowed: from 1 to {left}")
    taken = invocations.counts[:, first_minute - 1 :][:, :minutes]
    counts = taken if share == 1 else rng.binomial(taken, share)
    if not counts.any():
        raise TraceError("there are no invocations in the chosen minutes")
    return spread_counts(rng, counts, 60.0, spread)
