"""Sets of small whole numbers, a bit for each: the lowest one is found at once.

A row of an array of words is a set: bit b of word w is the number 64 w + b.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from cloudarena.engine.compiled import jit_inline

NONE = -1
WIDTH = 64
ONE = np.uint64(1)


@intrinsic
def _lowest_bit(typing: Any, word: Any) -> Any:
    """The place of the lowest bit of a word that is not 0: one instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


lowest_bit: Any = _lowest_bit


def make_bit_sets(rows: int, most: int) -> NDArray[np.uint64]:
    """Returns so many empty sets of numbers below ``most``."""
    return np.zeros((rows, -(-most // WIDTH)), np.uint64)


@jit_inline
def add(sets: NDArray[np.uint64], row: int, number: int) -> None:
    """Puts a number into a set; it may be there."""
    sets[row, number >> 6] |= ONE << np.uint64(number & 63)


@jit_inline
def discard(sets: NDArray[np.uint64], row: int, number: int) -> None:
    """Takes a number out of a set; it may not be there."""
    sets[row, number >> 6] &= ~(ONE << np.uint64(number & 63))


@jit_inline
def lowest(sets: NDArray[np.uint64], row: int, end: int) -> int:
    """Returns the lowest number of a set that is below an end; NONE if there is none."""
    for word in range((end + WIDTH - 1) >> 6):
        bits = sets[row, word]
        if bits != 0:
            number = (word << 6) + lowest_bit(bits)
            return number if number < end else NONE
    return NONE
