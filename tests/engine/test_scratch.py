"""Room for a few numbers: each that is asked for is another, compiled or not."""

from __future__ import annotations

import numpy as np

from cloudarena.contract.candidates import MOST
from cloudarena.engine.compiled import jit_uncounted, jitable
from cloudarena.engine.scratch import COLUMNS, ROOM, scratch_floats, scratch_table


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


@jitable
def sum_of_products(rows: int) -> float:
    """Fills rows of two tables with numbers, then multiplies them row by row."""
    these, others = scratch_table(), scratch_table()
    for k in range(rows):
        these[k], others[k] = k, 0.5
        these[k, 0], others[k, COLUMNS - 1] = k + 1.0, 2.0
    total = 0.0
    for k in range(rows):
        for c in range(COLUMNS):
            total += these[k, c] * others[k, c]
    return total


@jit_uncounted
def compiled_sum(rows: int) -> float:
    """The same in compiled code."""
    return sum_of_products(rows)


def test_tables_have_rows_of_their_own() -> None:
    wanted = sum(0.5 * (k + 1) + 0.5 * k * (COLUMNS - 2) + 2.0 * k for k in range(ROOM))
    assert compiled_sum(ROOM) == sum_of_products(ROOM) == wanted
    assert scratch_table().shape == (ROOM, COLUMNS)
