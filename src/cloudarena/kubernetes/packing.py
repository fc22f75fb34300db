"""The cheapest bins of several types that hold items of several sizes, with a proven bound.

A pattern is what one bin of a type holds. The linear program over patterns is solved by column
generation (Gilmore and Gomory 1961; 1963 for several types): the duals price the items, an integer
program per type finds the most valuable pattern, and patterns that are worth more than their bin
join. Farley (1990): whatever the prices w of the items are, with v_t the value of the best pattern
of type t and p_t its price, ``w d min_t(p_t / v_t)`` is a lower bound of every packing of the
numbers d. So the prices may be taken between the duals and those of the best bound so far, which
saves most rounds (Wentges 1997). An integer program over the patterns found, and rounding, give the
packing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.quiet import quiet_output
from cloudarena.kubernetes.patterns import (
    Bin,
    Item,
    Pattern,
    cheapest_for,
    cost_of,
    filled,
    fits,
    pack_left,
    packings_of_one_type,
    undominated,
)

ROUNDS = 40
"""Rounds of column generation; the best bound stands if they do not suffice."""
SMOOTHING = 0.7
"""How much of the prices of the best bound is kept in the next ones."""
ENOUGH = 3e-3
"""The part of the cost by which the linear program may be off its optimum at the end."""
PRICING = {"node_limit": 100, "mip_rel_gap": 1e-2}
"""Limits of the search for a pattern, the same on every machine; its bound counts."""
SHARP = {"node_limit": 100, "mip_rel_gap": 1e-3}
"""Limits of the search that gives the last bounds."""
PACKING = {"node_limit": 20, "mip_rel_gap": 1e-3}
"""Limits of the search for the packing."""
TOLERANCE = 1e-6
"""What the solver may be off by, in parts: bounds are lowered by it."""


class Packing(NamedTuple):
    """Bins that hold all items."""

    patterns: tuple[Pattern, ...]
    """One for each bin; together they may have room for more items than there are."""
    bound: int
    """No packing costs less."""


def pack(items: Sequence[Item], bins: Sequence[Bin]) -> Packing:
    """The cheapest packing that is found, and what no packing costs less than.

    Every item fits in some bin, and every bin has a price of more than 0.
    """
    if not items:
        return Packing((), 0)
    with quiet_output():
        return _pack(items, bins)


def _pack(items: Sequence[Item], bins: Sequence[Bin]) -> Packing:
    kept = undominated(bins)
    numbers = np.array([item.number for item in items], dtype=np.float64)
    patterns = dict.fromkeys(_first_patterns(items, bins, kept))
    centre = _fractional(items, bins, kept)
    bound = float(np.dot(centre, numbers))
    smoothing = SMOOTHING
    for _ in range(ROUNDS):
        cost, duals = _linear(items, bins, list(patterns))
        if bound >= cost * (1 - ENOUGH):
            break
        prices = smoothing * centre + (1 - smoothing) * duals
        share, found = _price(items, bins, kept, prices, PRICING)
        if share * np.dot(prices, numbers) > bound:
            bound = float(share * np.dot(prices, numbers))
            centre = share * prices
        new = [*found, *(_greedy(items, bins, b, duals) for b in kept)]
        before = len(patterns)
        patterns.update(
            (one, None) for one in new if _value(one, duals) > bins[one.bin].price * (1 + TOLERANCE)
        )
        if len(patterns) > before:
            smoothing = SMOOTHING
        elif smoothing > 0:
            smoothing = 0.0  # the duals themselves, which nothing was worth more than
        else:
            break
    for prices in (centre, duals):
        share, found = _price(items, bins, kept, prices, SHARP)
        bound = max(bound, float(share * np.dot(prices, numbers)))
        patterns.update((one, None) for one in found if any(one.counts))
    columns = list(patterns)
    unit = math.gcd(*(bins[b].price for b in kept))
    least = math.ceil(bound * (1 - TOLERANCE) / unit) * unit
    packings = [_dive(items, bins, kept, columns), *packings_of_one_type(items, bins, kept)]
    best = min(packings, key=lambda packing: cost_of(packing, bins))
    if cost_of(best, bins) > least:
        whole = _integer(items, bins, columns)
        if whole is not None and cost_of(whole, bins) < cost_of(best, bins):
            best = whole
    return Packing(best, min(least, cost_of(best, bins)))


def _price(
    items: Sequence[Item],
    bins: Sequence[Bin],
    kept: Sequence[int],
    prices: NDArray[np.float64],
    limits: Mapping[str, float],
) -> tuple[float, list[Pattern]]:
    """What prices are multiplied by so that no pattern is worth more than its bin; patterns.

    Types whose patterns, even cut ones, are worth less of their bin than the best pattern found
    are not searched: they change nothing.
    """
    worth = {b: _most(items, bins[b], prices) / bins[b].price for b in kept}
    highest = 0.0
    found = []
    for b in sorted(kept, key=lambda b: -worth[b]):
        if worth[b] <= highest:
            break
        pattern, most = _best(items, bins, b, prices, limits)
        found.append(pattern)
        highest = max(highest, min(worth[b], most / bins[b].price))
    return 1 / max(highest, 1e-300), found


def _most(items: Sequence[Item], bin: Bin, prices: NDArray[np.float64]) -> float:
    """What a bin is worth at most if items may be cut."""
    from scipy.optimize import linprog

    usable = [i for i, item in enumerate(items) if fits([item], (1,), bin)]
    if not usable:
        return 0.0
    sizes = np.array([items[i].sizes for i in usable], dtype=np.float64).T
    rows = sizes / np.maximum(np.array(bin.capacity, dtype=np.float64), 1.0)[:, None]
    solved = linprog(
        -prices[usable],
        A_ub=rows,
        b_ub=np.ones(len(rows)),
        bounds=[(0, 1 if items[i].family >= 0 else items[i].number) for i in usable],
        method="highs",
    )
    return float(-solved.fun * (1 + 1e-9))


def _value(pattern: Pattern, duals: NDArray[np.float64]) -> float:
    return float(np.dot(pattern.counts, duals))


def _greedy(
    items: Sequence[Item], bins: Sequence[Bin], b: int, duals: NDArray[np.float64]
) -> Pattern:
    """A valuable pattern: the items with the most value for the room that they take first."""
    left = [item.number for item in items]
    found = []
    for total in (sum, max):
        weights = [
            total(s / max(c, 1) for s, c in zip(item.sizes, bins[b].capacity, strict=True))
            for item in items
        ]
        worth = [float(duals[i]) / max(weights[i], 1e-12) for i in range(len(items))]
        order = sorted((i for i in range(len(items)) if duals[i] > 0), key=lambda i: -worth[i])
        found.append(Pattern(b, filled(items, bins[b], order, left)))
    return max(found, key=lambda one: _value(one, duals))


def _first_patterns(
    items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int]
) -> list[Pattern]:
    """Patterns that hold every item, one item each, and those of packings with one type."""
    found = []
    left = [item.number for item in items]
    for i in range(len(items)):
        b = cheapest_for(items, bins, kept, i)
        found.append(Pattern(b, filled(items, bins[b], [i], left)))
    for packing in packings_of_one_type(items, bins, kept):
        found += packing
    return found


def _rows(items: Sequence[Item], columns: Sequence[Pattern]) -> NDArray[np.float64]:
    return np.array([one.counts for one in columns], dtype=np.float64).T


def _solve(items: Sequence[Item], bins: Sequence[Bin], columns: Sequence[Pattern]) -> Any:
    """The solution of the linear program over some patterns."""
    from scipy.optimize import linprog

    prices = np.array([bins[one.bin].price for one in columns], dtype=np.float64)
    numbers = np.array([item.number for item in items], dtype=np.float64)
    return linprog(prices, A_ub=-_rows(items, columns), b_ub=-numbers, method="highs")


def _linear(
    items: Sequence[Item], bins: Sequence[Bin], columns: Sequence[Pattern]
) -> tuple[float, NDArray[np.float64]]:
    """The cost of the linear program over some patterns, and the duals of the items."""
    solved = _solve(items, bins, columns)
    numbers = [item.number for item in items]
    duals = np.maximum(-solved.ineqlin.marginals, 0.0)
    # By weak duality this is what the bound may rest on, whatever the solver is off by.
    return float(np.dot(duals, numbers)), duals


def _fractional(
    items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int]
) -> NDArray[np.float64]:
    """Prices of items by the packing that may cut bins: at these no pattern is worth its bin.

    With y[i, b] items in bins of a type and n[b] of them: ``sum of sizes y <= capacity n``.
    """
    from scipy.optimize import linprog

    wide, resources = len(items), len(bins[0].capacity)
    columns = wide * len(kept) + len(kept)
    rows = np.zeros((len(kept) * resources, columns))
    demand = np.zeros((wide, columns))
    limits: list[tuple[float, float | None]] = []
    for k, b in enumerate(kept):
        for i, item in enumerate(items):
            limits.append((0.0, None if fits([item], (1,), bins[b]) else 0.0))
            demand[i, k * wide + i] = -1.0
            for r, size in enumerate(item.sizes):
                rows[k * resources + r, k * wide + i] = size / max(bins[b].capacity[r], 1)
        for r in range(resources):
            rows[k * resources + r, wide * len(kept) + k] = -1.0
    price = np.zeros(columns)
    price[wide * len(kept) :] = [bins[b].price for b in kept]
    limits += [(0.0, None)] * len(kept)
    numbers = [-float(item.number) for item in items]
    solved = linprog(
        price,
        A_ub=np.vstack((rows, demand)),
        b_ub=np.concatenate((np.zeros(len(rows)), numbers)),
        bounds=limits,
        method="highs",
    )
    return np.maximum(-solved.ineqlin.marginals[len(rows) :], 0.0)


def _best(
    items: Sequence[Item],
    bins: Sequence[Bin],
    b: int,
    duals: NDArray[np.float64],
    limits: Mapping[str, float],
) -> tuple[Pattern, float]:
    """A most valuable pattern of a type, and what no pattern of the type is worth more than."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    bin = bins[b]
    empty = Pattern(b, (0,) * len(items))
    usable = [i for i, item in enumerate(items) if duals[i] > 0 and fits([item], (1,), bin)]
    if not usable:
        return empty, 0.0
    rows = [
        [items[i].sizes[resource] / max(room, 1) for i in usable]
        for resource, room in enumerate(bin.capacity)
    ]
    families = {items[i].family for i in usable} - {-1}
    rows += [[float(items[i].family == family) for i in usable] for family in sorted(families)]
    most = [min(items[i].number, 1 if items[i].family >= 0 else items[i].number) for i in usable]
    value = duals[usable]
    solved = milp(
        -value / value.max(),
        constraints=LinearConstraint(np.array(rows), ub=np.ones(len(rows))),
        integrality=np.ones(len(usable)),
        bounds=Bounds(0, most),
        options=dict(limits),
    )
    bound = float(np.dot(value, most))
    if solved.mip_dual_bound is not None and math.isfinite(solved.mip_dual_bound):
        bound = min(bound, float(-solved.mip_dual_bound * value.max()))
    if solved.x is None:
        return empty, bound
    counts = [0] * len(items)
    for i, n in zip(usable, solved.x, strict=True):
        counts[i] = round(n)
    while not fits(items, tuple(counts), bin):  # the solver's tolerance let one too many in
        counts[min((i for i in usable if counts[i]), key=lambda i: duals[i])] -= 1
    return Pattern(b, tuple(counts)), max(bound, float(np.dot(counts, duals)))


def _dive(
    items: Sequence[Item], bins: Sequence[Bin], kept: Sequence[int], columns: Sequence[Pattern]
) -> tuple[Pattern, ...]:
    """A packing by rounding: whole patterns are taken, or the one that is nearest to whole.

    After each step the linear program is solved again for what is left; the cheapest of all
    packings that finish a step with bins of one type is taken.
    """
    left = [item.number for item in items]
    taken: list[Pattern] = []
    best: list[Pattern] = []
    while any(left):
        rests = [pack_left(items, bins, kept, list(left), b) for b in kept]
        whole = [*taken, *min(rests, key=lambda rest: cost_of(rest, bins))]
        if not best or cost_of(whole, bins) < cost_of(best, bins):
            best = whole
        trimmed: dict[Pattern, None] = {}
        for one in columns:
            counts = tuple(min(n, rest) for n, rest in zip(one.counts, left, strict=True))
            if any(counts):
                trimmed[Pattern(one.bin, counts)] = None
        open_items = [item._replace(number=rest) for item, rest in zip(items, left, strict=True)]
        weights = _solve(open_items, bins, list(trimmed)).x
        times = {one: math.floor(x + TOLERANCE) for one, x in zip(trimmed, weights, strict=True)}
        if not any(times.values()):
            times = {list(trimmed)[int(np.argmax(weights))]: 1}
        for one, number in times.items():
            for _ in range(number):
                if all(n <= rest for n, rest in zip(one.counts, left, strict=True)):
                    taken.append(one)
                    left = [rest - n for rest, n in zip(left, one.counts, strict=True)]
    return tuple(taken if cost_of(taken, bins) < cost_of(best, bins) else best)


def _integer(
    items: Sequence[Item], bins: Sequence[Bin], columns: Sequence[Pattern]
) -> tuple[Pattern, ...] | None:
    """The cheapest packing of the patterns found; None if the solver found none."""
    from scipy.optimize import LinearConstraint, milp

    prices = np.array([bins[one.bin].price for one in columns], dtype=np.float64)
    numbers = np.array([item.number for item in items])
    rows = _rows(items, columns)
    solved = milp(
        prices / prices.max(),
        constraints=LinearConstraint(rows, lb=numbers),
        integrality=np.ones(len(columns)),
        options=PACKING,
    )
    if solved.x is None:
        return None
    times = np.round(solved.x).astype(int)
    if (rows @ times < numbers).any():
        return None
    return tuple(
        one for one, number in zip(columns, times, strict=True) for _ in range(int(number))
    )
