"""Which of several candidates that are equally good a policy takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numba.np.random.generator_core import next_uint32
from numpy.random import Generator

from cloudarena.engine.compiled import NO_REFERENCE_COUNTS, jit
from cloudarena.engine.parts import AS_PART

TIES: dict[str, float | tuple[str, ...]] = {"ties": ("first", "random")}
"""The parameter of a policy: the candidate with the lowest index, or any of the equals."""

FIRST = 0.0
"""The number of the first of these words."""

LOWER_HALF = np.uint64(2**32 - 1)


def random_index(count: int, rng: Generator) -> int:
    """An index below a count of at most 2^32 - 1, each with the same chance.

    It is the number of ``rng.integers(0, count)``. Numba makes an array for that, and compiles as
    much as a small kernel is.
    """
    return int(rng.integers(0, count))


_AS_PART: Any = {**NO_REFERENCE_COUNTS, **AS_PART}


@overload(random_index, jit_options=_AS_PART)
def _random_index(count: int, rng: Any) -> Callable[..., Any]:
    def by_multiplication(count: int, rng: Any) -> Any:
        """NumPy's method (Lemire 2019): the upper half of a product, unless that favours some."""
        if count <= 1:
            return 0
        among = np.uint64(count)
        product = np.uint64(next_uint32(rng.bit_generator)) * among
        if product & LOWER_HALF < among:
            least = (np.uint64(2**32) - among) % among
            while product & LOWER_HALF < least:
                product = np.uint64(next_uint32(rng.bit_generator)) * among
        return np.int64(product >> np.uint64(32))

    return by_multiplication


@jit
def break_tie(best: int, other: int, equals: int, rng: Generator) -> int:
    """One of so many equals, each with the same chance, when they are met one by one."""
    return other if random_index(equals, rng) == 0 else best
