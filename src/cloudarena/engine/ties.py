"""Which of several candidates that are equally good a policy takes."""

from __future__ import annotations

from numpy.random import Generator

from cloudarena.engine.compiled import compiled

TIES: dict[str, float | tuple[str, ...]] = {"ties": ("first", "random")}
"""The parameter of a policy: the candidate with the lowest number, or any of the equals."""


@compiled
def either(best: int, other: int, equals: int, rng: Generator) -> int:
    """One of so many equals, each with the same chance, when they are met one by one."""
    return other if rng.integers(0, equals) == 0 else best
