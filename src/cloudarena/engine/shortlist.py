"""A short list of numbers in the first column of an array, such as the machines of candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jitable


@jitable
def keep(actions: NDArray[np.int64], count: int, number: int, kept: Any) -> None:
    """Puts a number in the place of the last one that is not to be kept, if it is not there.

    Below zero it is none.
    """
    if number < 0:
        return
    for k in range(count):
        if actions[k, 0] == number:
            return
    for back in range(count):
        k = count - 1 - back
        is_kept = False
        for one in kept:
            is_kept = is_kept or actions[k, 0] == one
        if not is_kept:
            actions[k, 0] = number
            return


@jitable
def sort_rows(actions: NDArray[np.int64], count: int) -> None:
    """Brings the first rows into rising order of their first number, then of their second."""
    columns = actions.shape[1]
    second = 1 if columns > 1 else 0
    for k in range(1, count):
        first_number, second_number, place = actions[k, 0], actions[k, second], k
        while place > 0 and (
            actions[place - 1, 0] > first_number
            or (
                actions[place - 1, 0] == first_number and actions[place - 1, second] > second_number
            )
        ):
            place -= 1
        if place < k:
            for c in range(columns):
                number = actions[k, c]
                for row in range(k, place, -1):
                    actions[row, c] = actions[row - 1, c]
                actions[place, c] = number


@jitable
def squashed(value: float, half: float) -> float:
    """A number from 0 on as a share: x / (x + half); 1 for infinity, 0 for less than 0."""
    if value <= 0.0:
        return 0.0
    if value == np.inf:
        return 1.0
    return value / (value + half)
