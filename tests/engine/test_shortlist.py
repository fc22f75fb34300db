"""Short lists: what is kept, and how rows are sorted."""

from __future__ import annotations

import numpy as np
import pytest

from cloudarena.engine.compiled import jit_uncounted
from cloudarena.engine.shortlist import sort_rows


@jit_uncounted
def sort(actions: np.ndarray, count: int) -> None:
    """Calls ``sort_rows`` compiled."""
    sort_rows(actions, count)


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("how", [sort, sort_rows])
def test_rows_are_sorted_by_their_first_two_numbers(columns: int, how: object) -> None:
    rng = np.random.default_rng(columns)
    for count in (0, 1, 2, 9, 16):
        actions = rng.integers(0, 5, (16, columns))
        wanted = (
            sorted(actions[:count].tolist(), key=lambda row: row[:2]) + actions[count:].tolist()
        )
        how(actions, count)  # type: ignore[operator]
        assert actions.tolist() == wanted
