"""Growing columns that end as Arrow tables.

Compiled code cannot make room for itself without a cost, so a kernel asks ``is_full`` before it
appends and comes back to Python, where ``grown`` doubles the room.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_uncounted


class Log(NamedTuple):
    """Rows of whole numbers that a kernel appends one by one."""

    rows: NDArray[np.int64]  # (capacity, columns)
    length: NDArray[np.int64]  # (1,)


def make_log(columns: int, capacity: int) -> Log:
    """An empty log with room for ``capacity`` rows; with no room it records nothing."""
    return Log(np.empty((capacity, columns), np.int64), np.zeros(1, np.int64))


def grown(log: Log) -> Log:
    """Returns the same log with twice the room."""
    rows = np.empty((2 * len(log.rows), log.rows.shape[1]), np.int64)
    rows[: len(log.rows)] = log.rows
    return Log(rows, log.length)


def recorded(log: Log) -> NDArray[np.int64]:
    """The rows appended so far."""
    return log.rows[: log.length[0]]


@jit_uncounted
def is_full(log: Log) -> bool:
    """Whether the next row needs more room. A log that is off is never full."""
    return len(log.rows) > 0 and log.length[0] == len(log.rows)


@jit_uncounted
def append(log: Log, row: tuple[int, ...]) -> None:
    """Appends a row, unless the log is off."""
    if len(log.rows) == 0:
        return
    for column in range(len(row)):
        log.rows[log.length[0], column] = row[column]
    log.length[0] += 1
