"""Designs as vectors of whole numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from cloudarena.base.arrays import Ints


class Encoding(NamedTuple):
    """Designs as vectors of whole numbers, for methods that cross and mutate them."""

    levels: tuple[int, ...]
    """Gene j runs from 0 to ``levels[j] - 1``."""
    decode: Callable[[Ints], Ints]
    """The indices of the designs of an array of genes, a design a row."""
