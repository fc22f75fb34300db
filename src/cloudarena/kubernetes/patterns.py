"""What bins hold: patterns, and packings that fill one bin after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cloudarena.base.statistics import front_of

Counts = tuple[int, ...]


class Item(NamedTuple):
    """Things of one size."""

    sizes: tuple[int, ...]
    number: int
    family: int = -1
    """A bin holds at most one of a family; -1 is none."""


class Bin(NamedTuple):
    """A type of bin."""

    capacity: tuple[int, ...]
    price: int
    """What one costs, in whole units."""


class Pattern(NamedTuple):
    """What one bin holds."""

    bin: int
    counts: Counts
    """How many of each item."""


def fits(items: Sequence[Item], counts: Counts, bin: Bin) -> bool:
    """Whether a bin of a type holds so many of each item."""
    for resource, room in enumerate(bin.capacity):
        if sum(n * item.sizes[resource] for n, item in zip(counts, items, strict=True)) > room:
            return False
    families = [item.family for n, item in zip(counts, items, strict=True) for _ in range(n)]
    members = [family for family in families if family >= 0]
    return len(members) == len(set(members))


def cost_of(patterns: Sequence[Pattern], bins: Sequence[Bin]) -> int:
    """What the bins of a packing cost."""
    return sum(bins[one.bin].price for one in patterns)


def undominated(bins: Sequence[Bin]) -> list[int]:
    """The types of which no other has at least the room for at most the price; no type twice."""
    if not bins:
        return []
    losses = np.array([(one.price, *(-room for room in one.capacity)) for one in bins], np.float64)
    return [b for b in front_of(losses).tolist() if bins[b] not in bins[:b]]


def filled(items: Sequence[Item], bin: Bin, order: Sequence[int], left: Sequence[int]) -> Counts:
    """A bin filled with as many as fit of each item in turn, of those that are left."""
    room = list(bin.capacity)
    counts = [0] * len(items)
    families: set[int] = set()
    for i in order:
        item = items[i]
        most = left[i]
        for resource, size in enumerate(item.sizes):
            if size > 0:
                most = min(most, room[resource] // size)
        if item.family >= 0:
            most = 0 if item.family in families else min(most, 1)
        if most <= 0:
            continue
        families.add(item.family)
        counts[i] = most
        for resource, size in enumerate(item.sizes):
            room[resource] -= most * size
    return tuple(counts)


def _largest_first(items: Sequence[Item], bin: Bin) -> list[int]:
    def size(i: int) -> float:
        pairs = zip(items[i].sizes, bin.capacity, strict=True)
        return max(s / max(c, 1) for s, c in pairs)

    return sorted(range(len(items)), key=lambda i: (-size(i), i))


def cheapest_for(items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int], i: int) -> int:
    """The cheapest type that one item fits in."""
    return min((b for b in kept if fits([items[i]], (1,), bins[b])), key=lambda b: bins[b].price)


def pack_left(
    items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int], left: list[int], b: int
) -> list[Pattern]:
    """Bins of one type, the largest items first; items that do not fit in it get their own."""
    order = _largest_first(items, bins[b])
    found = []
    while any(left):
        counts = filled(items, bins[b], order, left)
        pattern = Pattern(b, counts)
        if not any(counts):
            i = next(i for i in order if left[i])
            own = cheapest_for(items, bins, kept, i)
            counts = filled(items, bins[own], [i, *order], left)
            pattern = Pattern(own, counts)
        times = min(left[i] // n for i, n in enumerate(pattern.counts) if n)
        found += [pattern] * times
        for i, n in enumerate(pattern.counts):
            left[i] -= n * times
    return found


def packings_of_one_type(
    items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int]
) -> list[tuple[Pattern, ...]]:
    """A packing for each type that uses it wherever it can."""
    return [tuple(pack_left(items, bins, kept, [item.number for item in items], b)) for b in kept]
