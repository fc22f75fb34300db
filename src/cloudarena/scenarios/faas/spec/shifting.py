"""Requests that may wait for a greener grid: time-shifting, as "Let's wait awhile" calls it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from cloudarena.base.numpy import np
from cloudarena.contract.spec import Spec
from cloudarena.engine.streams import stream
from cloudarena.workloads.faas.requests import Requests

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Delay(Spec):
    """How long requests may be held until a time at which the grid is greener."""

    within_s: float = Field(gt=0, le=1e9)
    """A request is let go at most so many seconds after it came."""
    zone: str | None = None
    """The zone whose grid is looked at; by default the intensity of the scenario."""


def hold(scenario: Any, drawn: Requests, seed: int) -> Requests:
    """The requests of a run, those of functions with ``delay`` when they are let go.

    Each is let go in the step of the grid that has the least intensity of those that begin within
    its time, at once if that is the present one, and the first if several have. Within the step it
    is any time that is left of it. Of a function, whoever came first is let go first.
    """
    arrival, held = drawn.arrival_s.copy(), np.zeros(len(drawn.arrival_s))
    for index, function in enumerate(scenario.functions):
        if function.delay is None:
            continue
        zone, carbon = function.delay.zone, scenario.carbon
        rows = (carbon if zone is None else carbon.zones[zone]).rows()
        own = np.flatnonzero(drawn.function == index)
        shares = stream(seed, f"held/{function.name}").random(len(own))
        asked, end_s = drawn.arrival_s[own], scenario.duration_s
        let_go = np.sort(greenest(asked, rows, function.delay.within_s, end_s, shares))
        arrival[own], held[own] = let_go, let_go - asked
    order = np.argsort(arrival, kind="stable")
    duration = drawn.duration_s[order] if len(drawn.duration_s) else drawn.duration_s
    return Requests(arrival[order], drawn.function[order], duration, held[order])


def greenest(
    asked: NDArray[np.float64],
    rows: Sequence[tuple[float, float]],
    within_s: float,
    end_s: float,
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """When requests that came are let go: at a share of what is left of the step that is least."""
    begin, grams = np.array(rows, np.float64).T
    latest = np.minimum(asked + within_s, end_s)
    first = np.searchsorted(begin, asked, side="right") - 1
    last = np.maximum(np.searchsorted(begin, latest, side="left") - 1, first)
    best = _first_least(grams, first, last)
    until = np.minimum(np.append(begin[1:], np.inf)[best], latest)
    let_go = begin[best] + shares * (until - begin[best])
    return np.where(best == first, asked, let_go)


def _first_least(
    values: NDArray[np.float64], first: NDArray[np.int64], last: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The place of the first least value from each first to each last place.

    Of spans of 1, 2, 4, ... values the place is known; two of them cover what is asked for.
    """
    level = np.arange(len(values))
    levels = [level]
    while 2 ** len(levels) <= len(values):
        half = 2 ** (len(levels) - 1)
        left, right = level[:-half], level[half:]
        level = np.where(values[right] < values[left], right, left)
        levels.append(level)
    found = np.empty(len(first), np.int64)
    size = np.frexp(last - first + 1)[1] - 1
    for k in np.unique(size):
        here = size == k
        left, right = levels[k][first[here]], levels[k][last[here] + 1 - 2**k]
        found[here] = np.where(values[right] < values[left], right, left)
    return found
