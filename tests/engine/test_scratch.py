"""Room for a few numbers: each that is asked for is another, compiled or not."""

from __future__ import annotations

import numpy as np

from cloudarena.contract.candidates import MOST
from cloudarena.engine.compiled import jit_uncounted, jitable
from cloudarena.engine.scratch import ROOM, scratch_floats


@jitable
def spread(values: np.ndarray) -> float:
    """The mean squared distance from the mean, by two rooms."""
    kept, squares = scratch_floats(), scratch_floats()
    total = 0.0
    for k in range(len(values)):
        kept[k] = values[k]
        total += values[k]
    for k in range(len(values)):
        squares[k] = (kept[k] - total / len(values)) ** 2
    mean = 0.0
    for k in range(len(values)):
        mean += squares[k]
    return mean / len(values)


@jit_uncounted
def spreads(table: np.ndarray, found: np.ndarray) -> None:
    """The same of each row."""
    for k in range(len(table)):
        found[k] = spread(table[k])


def test_compiled_code_takes_it_from_its_stack() -> None:
    table = np.random.default_rng(0).normal(size=(50, ROOM))
    found = np.zeros(50)
    spreads(table, found)
    assert found.tolist() == [spread(row) for row in table]
    assert np.allclose(found, table.var(axis=1))


def test_there_is_room_for_all_candidates() -> None:
    assert len(scratch_floats()) == ROOM >= MOST
