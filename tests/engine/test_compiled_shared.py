"""Functions that hand large tuples to each other by reference, and run in Python too."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cloudarena.engine.compiled import jit_uncounted, jitable_shared


class Pair(NamedTuple):
    """Two arrays."""

    left: np.ndarray
    right: np.ndarray


@jitable_shared
def product(pair: Pair, k: int) -> float:
    """The product of the k-th numbers."""
    return pair.left[k] * pair.right[k]


@jitable_shared
def dot(pair: Pair) -> float:
    """The sum of products, which takes the pair on."""
    total = 0.0
    for k in range(len(pair.left)):
        total += product(pair, k)
    return total


@jit_uncounted
def compiled(pair: Pair) -> float:
    """The same of a pair that is made here, by value."""
    return dot(Pair(pair.right, pair.left))


def test_it_gives_the_same_in_python_and_compiled() -> None:
    pair = Pair(np.arange(5.0), np.arange(1.0, 6.0))
    assert compiled(pair) == dot(pair) == 40.0
