"""Numbers of VMs that the rules would choose, and what a queueing model says of such numbers.

A row has the fat and the thin VMs of each tier, one after the other.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.engine.compiled import jitable
from cloudarena.scenarios.tiers.state import World

WINDOW = 4
"""Periods through which the forecast lays a line, as model-based does."""
MOST_MOVES = 200
"""Steps after which the search for the cheapest VMs ends."""
Row = NDArray[np.int64]


@jitable
def rate_of(world: World, number: int) -> float:
    """Requests a second that arrived in a period."""
    period = world.periods[number]
    return float(period["requests"] / (period["end"] - period["begin"]))


@jitable
def forecast(world: World) -> float:
    """The next rate by a line through those of the last four periods, by least squares."""
    over = world.clock[0]["period"]
    count = min(over, WINDOW)
    if count < 2:
        return rate_of(world, over - 1)
    total, product, squares = 0.0, 0.0, 0.0
    for k in range(count):
        rate, centred = rate_of(world, over - count + k), k - 0.5 * (count - 1)
        total += rate
        product += centred * rate
        squares += centred * centred
    return max(0.0, total / count + product / squares * 0.5 * (count + 1))


@jitable
def highest_rate(world: World, last: int) -> float:
    """The highest rate of so many periods before now."""
    over, most = world.clock[0]["period"], 0.0
    for number in range(max(0, over - last), over):
        most = max(most, rate_of(world, number))
    return most


@jitable
def utilisation(world: World, tier: int) -> float:
    """The share of time that the VMs of a tier were busy in the last period."""
    number = world.clock[0]["period"] - 1
    busy, up = world.looks[number, tier]["busy_s"], world.looks[number, tier]["up_s"]
    if number > 0:
        busy -= world.looks[number - 1, tier]["busy_s"]
        up -= world.looks[number - 1, tier]["up_s"]
    return float(busy / max(up, 1e-300))


@jitable
def capacity(world: World, tier: int, fat: int, thin: int) -> float:
    """Requests a second that VMs of a tier can serve."""
    return float(fat * world.vm_rates[tier, 0] + thin * world.vm_rates[tier, 1])


@jitable
def price(world: World, fat: int, thin: int) -> float:
    """What VMs cost for a minute."""
    return float(fat * world.rules.fat_minute_usd + thin * world.rules.thin_minute_usd)


@jitable
def visit_s(world: World, tier: int, fat: int, thin: int, flow: float) -> float:
    """The mean time of a visit in the long run: each VM is an M/M/1, at most full of requests."""
    vms, room = fat + thin, world.tiers[tier]["room"]
    able = capacity(world, tier, fat, thin)
    if world.rules.weighted:
        full = room * vms / able
        return float(min(vms / (able - flow), full) if flow < able else full)
    each, total = flow / vms, 0.0
    for size in range(2):
        count, rate = fat if size == 0 else thin, world.vm_rates[tier, size]
        full = room / rate
        total += count * (min(1.0 / (rate - each), full) if each < rate else full)
    return float(total / vms)


@jitable
def response_s(world: World, row: Row, rate: float) -> float:
    """The mean response time of requests at a rate, in the long run and without losses."""
    total = 0.0
    for tier in range(len(world.visits)):
        often = world.visits[tier]
        total += often * visit_s(world, tier, row[2 * tier], row[2 * tier + 1], rate * often)
    return total


@jitable
def mean_bound_s(world: World) -> float:
    """The bound on the mean response time; for a quantile that of an exponential one."""
    if world.rules.by_quantile:
        return float(world.rules.sla_s / -math.log(1.0 - world.rules.level))
    return float(world.rules.sla_s)


@jitable
def fits(world: World, row: Row) -> bool:
    """Whether all tiers together have no more VMs than they may, and each has one."""
    fat, thin = 0, 0
    for tier in range(len(world.visits)):
        fat += row[2 * tier]
        thin += row[2 * tier + 1]
        if row[2 * tier] + row[2 * tier + 1] == 0:
            return False
    return bool(fat <= world.rules.most_fat and thin <= world.rules.most_thin)


@jitable
def hold(world: World, row: Row) -> None:
    """Writes the VMs in force."""
    for k in range(len(row)):
        row[k] = world.counts[k // 2, k % 2]


@jitable
def cheapest_capacity(world: World, tier: int, needed: float, row: Row) -> None:
    """Writes the cheapest VMs of a tier that serve so many requests a second, or all there are."""
    most_fat, most_thin = world.limits[tier, 0], world.limits[tier, 1]
    row[2 * tier], row[2 * tier + 1] = most_fat, most_thin
    least, fewest = np.inf, 0
    for fat in range(most_fat + 1):
        missing = needed - fat * world.vm_rates[tier, 0]
        thin = max(0, math.ceil(missing / world.vm_rates[tier, 1])) if missing > 0.0 else 0
        if fat + thin == 0:
            thin = 1
        if thin > most_thin:
            continue
        cost = price(world, fat, thin)
        if cost < least or (cost == least and fat + thin < fewest):
            least, fewest = cost, fat + thin
            row[2 * tier], row[2 * tier + 1] = fat, thin


@jitable
def may_be(world: World, tier: int, fat: int, thin: int) -> bool:
    """Whether a tier may have so many VMs."""
    return bool(
        0 <= fat <= world.limits[tier, 0] and 0 <= thin <= world.limits[tier, 1] and fat + thin > 0
    )


@jitable
def best_move(world: World, row: Row, rate: float, response: float, bound: float) -> Any:
    """The next step to the cheapest VMs that keep a bound: its tier, fat and thin VMs, or -1.

    While the bound is not kept, that which shortens the response most for its price. Then that
    which saves most and keeps it.
    """
    keeps, chosen, new_fat, new_thin, best = response <= bound, -1, 0, 0, 0.0
    for tier in range(len(world.visits)):
        often, fat, thin = world.visits[tier], row[2 * tier], row[2 * tier + 1]
        flow = rate * often
        now_s, now_usd = visit_s(world, tier, fat, thin, flow), price(world, fat, thin)
        for move in range(6):
            more_fat = (0, 1, 1, 0, -1, -1)[move]
            more_thin = (1, 0, -1, -1, 0, 1)[move]
            if not may_be(world, tier, fat + more_fat, thin + more_thin):
                continue
            shorter = often * (now_s - visit_s(world, tier, fat + more_fat, thin + more_thin, flow))
            dearer = price(world, fat + more_fat, thin + more_thin) - now_usd
            enough = capacity(world, tier, fat + more_fat, thin + more_thin) > flow
            if keeps:
                value = -dearer if enough and response - shorter <= bound else 0.0
            else:
                value = shorter / max(dearer, 1e-9) if shorter > 1e-12 else 0.0
            if value > best:
                chosen, best = tier, value
                new_fat, new_thin = fat + more_fat, thin + more_thin
    return chosen, new_fat, new_thin


@jitable
def model(world: World, rate: float, row: Row) -> None:
    """Writes about the cheapest VMs that keep the SLA at a rate, step by step.

    Where the tiers hold more than they may by Little's law, they also get the capacity to serve
    that within the period.
    """
    rules, number, held = world.rules, world.clock[0]["period"] - 1, 0
    rate = max(rate, 1e-9)
    for tier in range(len(world.visits)):
        held += world.looks[number, tier]["held_at_end"]
    for tier in range(len(world.visits)):
        needed = rate * world.visits[tier] * (1.0 + 1e-9)
        if held > rate * rules.sla_s:
            needed += world.looks[number, tier]["held_at_end"] / rules.period_s
        cheapest_capacity(world, tier, needed, row)
    if held > rate * rules.sla_s:
        return
    bound, kept = mean_bound_s(world), False
    for _ in range(MOST_MOVES):
        response = response_s(world, row, rate)
        if kept and response > bound:
            break
        kept = kept or response <= bound
        tier, fat, thin = best_move(world, row, rate, response, bound)
        if tier < 0:
            break
        row[2 * tier], row[2 * tier + 1] = fat, thin


@jitable
def by_utilisation(world: World, row: Row) -> None:
    """Writes what the policy ``utilisation`` would do, before limits of all tiers together."""
    hold(world, row)
    for tier in range(len(world.visits)):
        use, fat, thin = utilisation(world, tier), row[2 * tier], row[2 * tier + 1]
        most_fat, most_thin = world.limits[tier, 0], world.limits[tier, 1]
        if use > 0.95 and fat < most_fat:
            row[2 * tier] = fat + 1
        elif use > 0.85:
            row[2 * tier + 1] = min(thin + 1, most_thin)
        elif use < 0.60 and fat + thin > 1:
            if use < 0.45:
                row[2 * tier] = max(fat - 1, 0)
            else:
                row[2 * tier + 1] = max(thin - 1, 0)


@jitable
def by_target(world: World, row: Row) -> None:
    """Writes what ``target-tracking`` would do if nothing had changed for a while."""
    hold(world, row)
    for tier in range(len(world.visits)):
        use = utilisation(world, tier) / 0.6
        if abs(use - 1.0) > 0.1:
            wanted = capacity(world, tier, row[2 * tier], row[2 * tier + 1]) * use
            cheapest_capacity(world, tier, wanted * (1 - 1e-9), row)


@jitable
def by_steps(world: World, row: Row) -> None:
    """Writes what ``step`` would do if nothing had changed for a while."""
    hold(world, row)
    for tier in range(len(world.visits)):
        use, fat, thin = utilisation(world, tier), row[2 * tier], row[2 * tier + 1]
        most_fat, most_thin = world.limits[tier, 0], world.limits[tier, 1]
        if use > 0.75:
            is_fat = use > 0.875 and fat < most_fat
            if (fat if is_fat else thin) == (most_fat if is_fat else most_thin):
                is_fat = not is_fat
            if is_fat:
                row[2 * tier] = min(fat + 1, most_fat)
            else:
                row[2 * tier + 1] = min(thin + 1, most_thin)
        elif use < 0.35 and fat + thin > 1:
            if thin > 0:
                row[2 * tier + 1] = thin - 1
            else:
                row[2 * tier] = fat - 1
