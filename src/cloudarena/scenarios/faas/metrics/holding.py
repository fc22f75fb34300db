"""How long requests were held for a greener grid, before they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.workloads.faas.requests import Requests

if TYPE_CHECKING:
    from cloudarena.scenarios.faas.run import FaasRun


class Held(NamedTuple):
    """The requests of a function, by their numbers: when they were let go, and held how long."""

    let_go_s: NDArray[np.float64]
    held_s: NDArray[np.float64]


def held_of(functions: int, drawn: Requests) -> tuple[Held, ...]:
    """What was held of each function; empty where nothing can be."""
    if drawn.held_s is None:
        return ()
    owners = [drawn.function == function for function in range(functions)]
    return tuple(Held(drawn.arrival_s[own], drawn.held_s[own]) for own in owners)


def held_means_s(run: FaasRun) -> NDArray[np.float64]:
    """How long requests of each function were held on average, of those that have come.

    Those that came in the warm-up do not count. It is not a number where none has come.
    """
    sums, counts = _held(run)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def held_mean_s(run: FaasRun) -> float:
    """How long requests of functions with ``delay`` were held on average; 0 without any."""
    sums, counts = _held(run)
    can_be = [function.delay is not None for function in run.scenario.functions]
    number = float(counts[can_be].sum())
    return float(sums[can_be].sum()) / number if number > 0 else 0.0


def held_rows_s(run: FaasRun, rows: NDArray[np.void]) -> NDArray[np.float64]:
    """How long the requests in rows were held; 0 of those that other functions called."""
    found = np.zeros(len(rows))
    for index, held in enumerate(run.held):
        own = np.flatnonzero((rows["function"] == index) & (rows["number"] < len(held.held_s)))
        found[own] = held.held_s[rows["number"][own]]
    return found


def _held(run: FaasRun) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The seconds of all that were held of each function, and how many have come."""
    sums, counts = np.zeros((2, len(run.scenario.functions)))
    begin = float(run.world.clock[0]["counted_from_s"])
    for index, held in enumerate(run.held):
        come = (held.let_go_s >= begin) & (held.let_go_s <= run.now)
        sums[index], counts[index] = held.held_s[come].sum(), come.sum()
    return sums, counts
