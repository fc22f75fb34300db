"""Numbers of VMs for the next period as learners see them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Ints
from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable
from cloudarena.engine.shortlist import squashed
from cloudarena.scenarios.tiers.kernel import act
from cloudarena.scenarios.tiers.observe.proposals import (
    Row,
    by_steps,
    by_target,
    by_utilisation,
    capacity,
    fits,
    forecast,
    highest_rate,
    hold,
    mean_bound_s,
    model,
    price,
    rate_of,
    response_s,
    utilisation,
)
from cloudarena.scenarios.tiers.state import World

FEATURES = (
    Feature("response", "t / (t + bound) of the mean response t at the rate that is forecast"),
    Feature("response_15", "the same at 1.15 times that rate"),
    Feature("response_30", "the same at 1.3 times that rate"),
    Feature("response_last", "the same at the last rate"),
    Feature("meets", "1 if that mean is within the bound at the rate that is forecast"),
    Feature("meets_15", "1 if it is at 1.15 times that rate"),
    Feature("meets_30", "1 if it is at 1.3 times that rate"),
    Feature("busiest", "u / (1 + u) of the busiest tier's load u at the rate that is forecast"),
    Feature("busiest_peak", "the same at the highest rate so far"),
    Feature("load", "the same of the mean of the tiers' loads at the rate that is forecast"),
    Feature("drain", "t / (t + period) of the time t until what tiers hold is served; 1 if never"),
    Feature("cost", "its price over that of all VMs there may be"),
    Feature("cost_of_cheapest", "the least price of candidates that meet at 1.15 over its own; "
            "0 if none does"),
    Feature("cost_change", "(a - b) / (a + b) of its price a and that in force b", -1.0),
    Feature("added", "n / (n + 4) of the n VMs that are started"),
    Feature("released", "n / (n + 4) of the n VMs that are released"),
    Feature("vms", "n / (n + 8) of its n VMs"),
    Feature("hold", "1 if nothing changes"),
    Feature("model", "1 for about what model-based would do"),
    Feature("utilisation", "1 for what utilisation would do"),
    Feature("target", "1 for what target-tracking would do"),
    Feature("step", "1 for what step would do"),
)  # fmt: skip
HOLD = 17
"""The column of the first flag."""
CONTEXT = (
    Feature("rate", "r / (r + what all VMs of the weakest tier serve) of the last rate r"),
    Feature("forecast", "the same of the rate that is forecast, by a line through four periods"),
    Feature("trend", "(a - b) / (a + b) of the rate a that is forecast and the last one b", -1.0),
    Feature("change", "(a - b) / (a + b) of the last rate a and the one before b", -1.0),
    Feature("of_peak", "the last rate over the highest so far"),
    Feature("response", "t / (t + bound) of the last mean response t; 1 if nobody was served"),
    Feature("kept", "1 if the last period kept the SLA"),
    Feature("kept_share", "the share of periods so far that kept it"),
    Feature("blocked", "the share of visits that were blocked in the last period"),
    Feature("busiest", "the highest utilisation of a tier in the last period"),
    Feature("held", "n / (n + rate times bound) of the n requests in the tiers"),
    Feature("penalty", "p / (p + the price of all VMs for a period) of the penalty p"),
    Feature("boot", "t / (t + period) of the time that a VM takes to boot"),
    Feature("over", "the share of periods that are over"),
    Feature("day_sine", "sine of the time of day", -1.0),
    Feature("day_cosine", "cosine of the time of day", -1.0),
    Feature("tiers", "n / (n + 4) of the n tiers"),
)
MARGINS = (1.0, 1.3, 1.07, 1.5)
"""Factors of the forecast for which the model is asked, besides 1.15."""


@jitable
def add(world: World, actions: NDArray[np.int64], held: int) -> int:
    """The index of the candidate behind the last one: there if it is new, or an equal one's.

    It is -1 for numbers that are not allowed.
    """
    row = actions[held]
    if not fits(world, row):
        return -1
    for other in range(held):
        is_same = True
        for k in range(len(row)):
            is_same = is_same and actions[other, k] == row[k]
        if is_same:
            return other
    return held


@jitable
def propose(world: World, which: int, rate: float, row: Row) -> None:
    """Writes what one of the rules would do, by its flag."""
    if which == 0:
        hold(world, row)
    elif which == 1:
        model(world, 1.15 * rate, row)
    elif which == 2:
        by_utilisation(world, row)
    elif which == 3:
        by_target(world, row)
    else:
        by_steps(world, row)


@jitable
def gather(world: World, features: NDArray[np.float32], actions: NDArray[np.int64]) -> int:
    """Writes the candidates, and the flags of the rules; returns how many there are."""
    held, room, rate = 0, len(actions), forecast(world)
    for which in range(5):
        if held < room:
            propose(world, which, rate, actions[held])
            place = add(world, actions, held)
            held = max(held, place + 1)
            if place >= 0:
                features[place, HOLD + which] = 1.0
    for k in range(len(MARGINS) + 2):
        if held < room:
            if k < len(MARGINS):
                model(world, MARGINS[k] * rate, actions[held])
            elif k == len(MARGINS):
                model(world, 1.15 * rate_of(world, world.clock[0]["period"] - 1), actions[held])
            else:
                model(world, 1.15 * highest_rate(world, 10), actions[held])
            held = max(held, add(world, actions, held) + 1)
    base = min(2, held)
    for tier in range(len(world.visits)):
        for size in range(2):
            for begin in range(base):  # the VMs in force, and those of the model
                for change in range(2):
                    if held < room:
                        row = actions[held]
                        for k in range(len(row)):
                            row[k] = actions[begin, k]
                        row[2 * tier + size] += 1 - 2 * change
                        if 0 <= row[2 * tier + size] <= world.limits[tier, size]:
                            held = max(held, add(world, actions, held) + 1)
    return held


@jitable
def difference(ours: float, other: float) -> float:
    """Two numbers from 0 on as (a - b) / (a + b); 0 if both are 0."""
    return (ours - other) / (ours + other) if ours + other > 0.0 else 0.0


@jitable
def cost_of(world: World, row: Row) -> float:
    """What VMs of all tiers cost for a minute."""
    total = 0.0
    for tier in range(len(world.visits)):
        total += price(world, row[2 * tier], row[2 * tier + 1])
    return total


@jitable
def cost_of_all(world: World) -> float:
    """What all VMs there may be cost for a minute."""
    total = 0.0
    for tier in range(len(world.visits)):
        total += price(world, world.limits[tier, 0], world.limits[tier, 1])
    return total


@jitable
def describe(world: World, row: Row, rate: float, out: Any) -> None:
    """Writes what the features say of numbers of VMs, but for flags and the cheapest."""
    rules, number = world.rules, world.clock[0]["period"] - 1
    bound, peak = mean_bound_s(world), highest_rate(world, number + 1)
    for k in range(3):
        response = response_s(world, row, (1.0, 1.15, 1.3)[k] * rate)
        out[k] = squashed(response, bound)
        out[4 + k] = 1.0 if response <= bound else 0.0
    out[3] = squashed(response_s(world, row, rate_of(world, number)), bound)
    busiest, at_peak, loads, drain = 0.0, 0.0, 0.0, 0.0
    added, released, vms, in_force = 0, 0, 0, 0.0
    for tier in range(len(world.visits)):
        fat, thin, often = row[2 * tier], row[2 * tier + 1], world.visits[tier]
        able, flow = capacity(world, tier, fat, thin), rate * often
        busiest = max(busiest, flow / able)
        at_peak = max(at_peak, peak * often / able)
        loads += flow / able
        waiting = world.looks[number, tier]["held_at_end"]
        if waiting > 0:
            drain = max(drain, waiting / (able - flow) if able > flow else np.inf)
        for size in range(2):
            change = row[2 * tier + size] - world.counts[tier, size]
            added += max(0, change)
            released += max(0, -change)
            vms += row[2 * tier + size]
        in_force += price(world, world.counts[tier, 0], world.counts[tier, 1])
    cost, most = cost_of(world, row), cost_of_all(world)
    out[7] = squashed(busiest, 1.0)
    out[8] = squashed(at_peak, 1.0)
    out[9] = squashed(loads / len(world.visits), 1.0)
    out[10] = squashed(drain, rules.period_s)
    out[11] = min(1.0, cost / most) if most > 0.0 else 0.0
    out[13] = difference(cost, in_force)
    out[14] = squashed(float(added), 4.0)
    out[15] = squashed(float(released), 4.0)
    out[16] = squashed(float(vms), 8.0)


@jitable
def describe_decision(world: World, rate: float, context: NDArray[np.float32]) -> None:
    """Writes what all candidates share."""
    rules, clock, bound = world.rules, world.clock[0], mean_bound_s(world)
    over = clock["period"]
    number = over - 1
    last, before = rate_of(world, number), rate_of(world, max(0, number - 1))
    weakest, busiest, held, came, lost = np.inf, 0.0, 0, 0, 0
    for tier in range(len(world.visits)):
        able = capacity(world, tier, world.limits[tier, 0], world.limits[tier, 1])
        weakest = min(weakest, able / max(world.visits[tier], 1e-12))
        busiest = max(busiest, utilisation(world, tier))
        look = world.looks[number, tier]
        held += look["held_at_end"]
        came += look["arrived"]
        lost += look["blocked"]
        if number > 0:
            came -= world.looks[number - 1, tier]["arrived"]
            lost -= world.looks[number - 1, tier]["blocked"]
    period = world.periods[number]
    served, peak = clock["done"] - period["done"], highest_rate(world, over)
    waits = 1.0 if held > 0 else 0.0
    minutes = rules.period_s / 60.0
    context[0] = squashed(last, weakest)
    context[1] = squashed(rate, weakest)
    context[2] = difference(rate, last)
    context[3] = difference(last, before)
    context[4] = min(1.0, last / peak) if peak > 0.0 else 0.0
    context[5] = squashed(period["response_s"] / served, bound) if served > 0 else waits
    context[6] = 1.0 if period["keeps_sla"] else 0.0
    context[7] = clock["kept"] / over
    context[8] = min(1.0, lost / came) if came > 0 else 0.0
    context[9] = min(1.0, busiest)
    context[10] = squashed(float(held), max(last * rules.sla_s, 1e-12))
    context[11] = squashed(rules.penalty_usd, max(cost_of_all(world) * minutes, 1e-12))
    context[12] = squashed(rules.boot_s, rules.period_s)
    context[13] = over / rules.periods
    angle = 2.0 * math.pi * ((clock["now"] % 86400.0) / 86400.0)
    context[14] = math.sin(angle)
    context[15] = math.cos(angle)
    context[16] = squashed(float(len(world.visits)), 4.0)


@jitable
def fill(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """The VMs in force; then what model-based (nearly), utilisation, target-tracking and step do.

    The last two as if nothing had changed for a while. Then the model with margins of 1, 1.3, 1.07
    and 1.5, and with 1.15 at the last rate and at the highest of ten periods; then the VMs in force
    and those of the model with one VM more or less. As many as there is room for, each once.
    """
    features[:] = 0.0
    held, rate = gather(world, features, actions), forecast(world)
    least = np.inf
    for k in range(held):
        describe(world, actions[k], rate, features[k])
        if features[k, 5] == 1.0:
            least = min(least, cost_of(world, actions[k]))
    for k in range(held):
        cost = cost_of(world, actions[k])
        if least < np.inf:
            features[k, 12] = min(1.0, least / cost) if cost > 0.0 else 1.0
    describe_decision(world, rate, context)
    return held


TAKE = jit_inline(act.py_func)
"""The kernel's ``act`` as a part of who calls it."""


def take(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate."""
    return TAKE(world, numbers)


def as_counts(numbers: Any) -> Ints:
    """The VMs of each tier that a candidate stands for."""
    return np.array(numbers, np.int64).reshape(-1, 2)


CANDIDATES = {
    "tiers": Candidates(
        "tiers",
        FEATURES,
        CONTEXT,
        1,
        32,
        fill,
        numbers=0,
        as_action=as_counts,
        of_state=True,
        look=fill,
        take=take,
    )
}
