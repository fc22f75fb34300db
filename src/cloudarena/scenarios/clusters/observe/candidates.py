"""Shares and lengths of the next stage as learners see them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloudarena.base.arrays import Floats
from cloudarena.contract.candidates import Candidates, Feature
from cloudarena.engine.compiled import jit_inline, jitable
from cloudarena.engine.scratch import scratch_floats
from cloudarena.engine.shortlist import squashed
from cloudarena.scenarios.clusters.decision import UNTIL_DONE, Plan
from cloudarena.scenarios.clusters.kernel import act
from cloudarena.scenarios.clusters.observe.works import (
    MOST_GREEDY,
    all_arrived,
    by_weight,
    count_until,
    equal,
    greedy,
    look_at_work,
    mean_optimum,
    span_of,
)
from cloudarena.scenarios.clusters.state import Works, World

FEATURES = (
    Feature("span", "the shortest time for the expected work over its time with these shares"),
    Feature("span_backlog", "the same of the backlog alone"),
    Feature("span_long", "the same of the backlog and what arrives in a stage in the long run"),
    Feature("left", "the share of backlog and recent arrivals that is left after the stage"),
    Feature("left_long", "the same with arrivals as in the long run"),
    Feature("idle", "the share of the VMs' time that is idle, with recent arrivals"),
    Feature("idle_long", "the same with arrivals as in the long run"),
    Feature("idle_backlog", "the same if nothing arrives"),
    Feature("balance", "the mean time of the classes for the expected work over the longest"),
    Feature("moved", "the share of VMs that change their class"),
    Feature("memory", "memory at means over that of all VMs in the class that takes most"),
    Feature("least", "VMs of the class that has fewest over VMs for each class; at most 1"),
    Feature("length", "s / (s + stage_s) of its s seconds; 1 until all is done"),
    Feature("until_done", "1 for a stage that lasts until all is done"),
    Feature("as_it_is", "1 for the shares in force"),
    Feature("mean_optimum", "1 for the shares of mean-optimum"),
    Feature("proportional", "1 for those of proportional"),
    Feature("greedy", "1 for those of greedy"),
    Feature("equal", "1 for those of equal"),
    Feature("optimum_backlog", "1 for those of mean-optimum for the backlog alone"),
    Feature("optimum_long", "1 for those of mean-optimum with arrivals as in the long run"),
    Feature("neighbour", "1 for those of mean-optimum with one VM moved"),
)
CONTEXT = (
    Feature("backlog", "w / (w + what all VMs do in a stage) of the backlog's work w"),
    Feature("expected", "the same of the work that is expected for the next stage"),
    Feature("all_arrived", "1 if no batch is still to come"),
    Feature("load", "r / (1 + r) of the work r that arrives a second, recently, over all VMs"),
    Feature("load_long", "the same since the start"),
    Feature("largest", "the part of the class with the most work in what is expected"),
    Feature("mix_change", "1 less the cosine of recent arrivals and those since the start"),
    Feature("mix_backlog", "1 less the cosine of the backlog and recent arrivals"),
    Feature("mix_in_force", "1 less the cosine of the expected work and the shares in force"),
    Feature("since_batch", "t / (t + stage_s) of the seconds t since the last batch"),
    Feature("between_batches", "the same of the mean time between batches so far"),
    Feature("elapsed", "t / (t + 1 h) of the time t"),
    Feature("classes", "n / (n + 8) of the n classes"),
    Feature("vms", "m / (m + 8) of the m VMs for each class"),
    Feature("thinks_ahead", "1 if a stage thinks for the next one"),
    Feature("known", "1 if batches to come are known"),
)
LENGTHS = (1.0, 0.5, 0.25, 2.0, 4.0)
"""The lengths of a stage, as multiples of the spec's ``stage_s``."""
NANO = 1e9
"""A candidate says its length in nanoseconds; -1 until all is done."""
MOVES = 3
"""VMs are moved to so many classes that take longest, from so many that take shortest."""
RULES = 14
"""The column of the first feature that is a flag for the shares of a rule."""
OPTIMA = (1, 5, 6)
"""Which rules are optima."""
Spans = tuple[float, float, float]


@jitable
def nanoseconds(seconds: float) -> int:
    """A length as a whole number that is no less; -1 for infinity."""
    if seconds == np.inf:
        return -1
    found = math.ceil(seconds * NANO)
    while found / NANO < seconds:
        found += 1
    return found


@jitable
def seconds_of(number: int) -> float:
    """The length that a whole number stands for."""
    return np.inf if number < 0 else number / NANO


@jitable
def is_same(ours: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Whether two rows of numbers are equal."""
    k = 0
    while k < len(ours) and ours[k] == other[k]:
        k += 1
    return bool(k == len(ours))


@jitable
def mark_of(shares: NDArray[np.int64]) -> float:
    """A number that is the same for equal shares, and seldom for others."""
    mark = 0
    for c in range(len(shares)):
        mark += shares[c] * (c * c + 1)
    return float(mark)


@jitable
def has_shares(shares: NDArray[np.int64], marks: Floats, this: int, other: int) -> bool:
    """Whether two rows of shares are the same."""
    return marks[this] == marks[other] and is_same(shares[this], shares[other])


@jitable
def add(actions: NDArray[np.int64], marks: Floats, held: int, length: int) -> int:
    """Keeps the candidate behind the last one if it is new; returns how many there are then."""
    last = actions.shape[1] - 1
    actions[held, last], marks[held] = length, mark_of(actions[held, :-1])
    for other in range(held):
        if actions[other, last] == length and has_shares(actions[:, :-1], marks, held, other):
            return held
    return held + 1


@jitable
def copy_shares(actions: NDArray[np.int64], to: int, of: NDArray[np.int64]) -> None:
    """Writes shares to a row of candidates."""
    for c in range(actions.shape[1] - 1):
        actions[to, c] = of[c]


@jitable
def rule_shares(world: World, rule: int, shares: NDArray[np.int64]) -> bool:
    """Writes the shares of a rule, by its feature; says whether there are any."""
    works, rules = world.works, world.rules
    if rule == RULES:
        plans = world.clock[0]["plans"]
        for c in range(len(shares)):
            shares[c] = world.plan_shares[plans - 1, c] if plans > 0 else 1
        return bool(plans > 0)
    if rule == RULES + 1:
        mean_optimum(world, works[Works.EXPECTED], shares)
    elif rule == RULES + 2:
        by_weight(world, works[Works.EXPECTED], shares)
    elif rule == RULES + 3:
        if rules.vms - len(shares) > MOST_GREEDY:
            return False
        greedy(world, works[Works.EXPECTED], shares)
    elif rule == RULES + 4:
        equal(world, shares)
    elif rule == RULES + 5:
        mean_optimum(world, works[Works.BACKLOG], shares)
    else:
        mean_optimum(world, works[Works.LONG_RUN], shares)
    return True


@jitable
def next_class(
    world: World,
    work: NDArray[np.float64],
    shares: NDArray[np.int64],
    after: int,
    to: bool,
    near: int,
) -> int:
    """The class that takes longest but for those before it, or could best spare a VM; -1 if none.

    ``after`` is the one before it in this order, -1 for the first; ties go by their index. Who
    could spare one is in the virtual cluster of ``near``.
    """
    best, found, last = -1, np.inf, -np.inf
    if after >= 0:
        last = -work[after] / shares[after] if to else work[after] / (shares[after] - 1)
    for c in range(len(work)):
        if not to and (shares[c] < 2 or world.cluster_of[c] != world.cluster_of[near]):
            continue
        time = -work[c] / shares[c] if to else work[c] / (shares[c] - 1)
        if time < last or (time == last and c <= after):
            continue
        if time < found:
            best, found = c, time
    return best


@jitable
def gather(world: World, actions: NDArray[np.int64], marks: Floats, rule_marks: Floats) -> int:
    """Writes the candidates, those of the rules first; returns how many there are.

    What ``mark_of`` says of each is written to ``marks``; of the rules it is given.
    """
    stage_s, least_s = world.rules.stage_s, world.rules.least_stage_s
    plain, room, held = nanoseconds(np.inf if all_arrived(world) else stage_s), len(actions), 0
    classes = actions.shape[1] - 1
    for rule in (1, 0, 2, 3, 4, 5, 6):  # mean-optimum first
        if held < room and world.rule_has[rule]:
            copy_shares(actions, held, world.rule_shares[rule])
            held = add(actions, marks, held, plain)
    rules = world.rule_shares  # the optima are often the same
    is_new = (
        True,
        not has_shares(rules, rule_marks, 5, 1),
        not (has_shares(rules, rule_marks, 6, 1) or has_shares(rules, rule_marks, 6, 5)),
    )
    for multiple in LENGTHS:
        length = nanoseconds(max(least_s, multiple * stage_s))
        for k in range(len(OPTIMA)):
            if held < room and is_new[k]:
                rule = OPTIMA[k]
                copy_shares(actions, held, world.rule_shares[rule])
                held = add(actions, marks, held, length)
    work, best, to = world.works[Works.EXPECTED], actions[0, :classes], -1
    for _ in range(MOVES):
        if held == room:
            break
        to = next_class(world, work, best, to, True, 0)
        source = -1
        for _ in range(MOVES):
            source = next_class(world, work, best, source, False, to) if to >= 0 else -1
            if source >= 0 and source != to and held < room:
                copy_shares(actions, held, best)
                actions[held, to] += 1
                actions[held, source] -= 1
                held = add(actions, marks, held, plain)
            if source < 0:
                break
    return held


@jitable
def distance(ours: NDArray[Any], other: NDArray[Any]) -> int:
    """How many VMs two shares differ by, counted at both ends of a move."""
    total = 0
    for c in range(len(ours)):
        total += abs(ours[c] - other[c])
    return total


@jitable
def unlike(ours: NDArray[Any], other: NDArray[Any]) -> float:
    """1 less the cosine of two vectors; 0 if one is zero."""
    product, mine, theirs = 0.0, 0.0, 0.0
    for c in range(len(ours)):
        product += ours[c] * other[c]
        mine += ours[c] * ours[c]
        theirs += other[c] * other[c]
    if mine == 0.0 or theirs == 0.0:
        return 0.0
    return min(1.0, max(0.0, 1.0 - product / math.sqrt(mine * theirs)))


@jitable
def share(part: float, whole: float) -> float:
    """A part from 0 to 1; 0 of nothing."""
    return min(1.0, max(0.0, part / whole)) if whole > 0.0 else 0.0


@jitable
def describe_shares(
    world: World,
    shares: NDArray[np.int64],
    mark: float,
    rule_marks: Floats,
    best: Spans,
    row: NDArray[np.float32],
) -> None:
    """Writes what the features say of shares for whatever time.

    ``best`` are the shortest times for the expected work, the backlog, and that of the long run.
    """
    works, rules = world.works, world.rules
    times, memory, heaviest, fewest = 0.0, 0.0, 0.0, rules.vms
    longest, longest_backlog, longest_long = 0.0, 0.0, 0.0
    for c in range(len(shares)):
        time = works[Works.EXPECTED, c] / shares[c]
        times += time
        longest = max(longest, time)
        longest_backlog = max(longest_backlog, works[Works.BACKLOG, c] / shares[c])
        longest_long = max(longest_long, works[Works.LONG_RUN, c] / shares[c])
        memory += shares[c] * world.mean_memory_mb[c]
        heaviest = max(heaviest, world.mean_memory_mb[c])
        fewest = min(fewest, shares[c])
    row[0] = share(best[0], longest)
    row[1] = share(best[1], longest_backlog)
    row[2] = share(best[2], longest_long)
    row[8] = share(times, len(shares) * longest)
    row[10] = share(memory, rules.vms * heaviest)
    row[11] = share(float(fewest * len(shares)), float(rules.vms))
    spare, has = world.rule_shares, world.rule_has
    row[9] = share(0.5 * distance(shares, spare[0]), float(rules.vms)) if has[0] else 1.0
    for rule in range(len(has)):
        follows = has[rule] and rule_marks[rule] == mark and is_same(shares, spare[rule])
        row[RULES + rule] = 1.0 if follows else 0.0
    row[RULES + len(has)] = 1.0 if distance(shares, spare[1]) == 2 else 0.0


@jitable
def describe_length(
    world: World, shares: NDArray[np.int64], seconds: float, row: NDArray[np.float32]
) -> None:
    """Writes what the features say of shares for some time."""
    works, rules = world.works, world.rules
    over_s = min(seconds, rules.stage_s * LENGTHS[-1])  # nobody knows how long until all is done
    total, total_long, left, left_long = 0.0, 0.0, 0.0, 0.0
    idle, idle_long, idle_backlog, given = 0.0, 0.0, 0.0, 0
    for c in range(len(shares)):
        could, backlog = shares[c] * over_s, works[Works.BACKLOG, c]
        work = backlog + works[Works.RECENT_RATE, c] * over_s
        long = backlog + works[Works.LONG_RATE, c] * over_s
        total += work
        total_long += long
        left += max(0.0, work - could)
        left_long += max(0.0, long - could)
        idle += max(0.0, could - work)
        idle_long += max(0.0, could - long)
        idle_backlog += max(0.0, could - backlog)
        given += shares[c]
    whole, unused = rules.vms * over_s, (rules.vms - given) * over_s
    row[3] = share(left, total)
    row[4] = share(left_long, total_long)
    row[5] = share(idle + unused, whole)
    row[6] = share(idle_long + unused, whole)
    row[7] = share(idle_backlog + unused, whole)
    row[12] = squashed(seconds, rules.stage_s)
    row[13] = 1.0 if seconds == np.inf else 0.0


@jitable
def describe_decision(world: World, context: NDArray[np.float32]) -> None:
    """Writes what all candidates share."""
    works, rules, now = world.works, world.rules, world.clock[0]["now"]
    plans, classes = world.clock[0]["plans"], works.shape[1]
    backlog, expected, recent, long, largest = 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(classes):
        backlog += works[Works.BACKLOG, c]
        expected += works[Works.EXPECTED, c]
        recent += works[Works.RECENT_RATE, c]
        long += works[Works.LONG_RATE, c]
        largest = max(largest, works[Works.EXPECTED, c])
    in_a_stage = rules.vms * rules.stage_s
    arrived = count_until(world.times, now)
    context[0] = squashed(backlog, in_a_stage)
    context[1] = squashed(expected, in_a_stage)
    context[2] = 1.0 if all_arrived(world) else 0.0
    context[3] = squashed(recent / rules.vms, 1.0)
    context[4] = squashed(long / rules.vms, 1.0)
    context[5] = share(largest, expected)
    context[6] = unlike(works[Works.RECENT_RATE], works[Works.LONG_RATE])
    context[7] = unlike(works[Works.BACKLOG], works[Works.RECENT_RATE])
    context[8] = unlike(works[Works.EXPECTED], world.plan_shares[plans - 1]) if plans > 0 else 0.0
    context[9] = squashed(now - world.times[arrived - 1], rules.stage_s) if arrived > 0 else 1.0
    context[10] = squashed(now / arrived, rules.stage_s) if arrived > 0 else 1.0
    context[11] = squashed(now, 3600.0)
    context[12] = squashed(float(classes), 8.0)
    context[13] = squashed(rules.vms / classes, 8.0)
    context[14] = 1.0 if rules.pipelined else 0.0
    context[15] = 1.0 if rules.oracle else 0.0


@jitable
def fill(
    world: World,
    features: NDArray[np.float32],
    context: NDArray[np.float32],
    actions: NDArray[np.int64],
) -> int:
    """Shares of mean-optimum, those in force, of proportional, greedy and equal, and others.

    The others are mean-optimum for the backlog alone and with arrivals as in the long run. All of
    them last ``stage_s``, or until all is done when no batch is still to come, as the rules have
    it; then the three optima for a half, a quarter, twice and four times that; then mean-optimum
    with one VM moved to one of the three classes that take longest from one of the three that
    can best spare it. As many as there is room for, each once.
    """
    classes = actions.shape[1] - 1
    look_at_work(world)
    spare, has = world.rule_shares, world.rule_has
    for rule in range(len(has)):
        has[rule] = rule_shares(world, RULES + rule, spare[rule])
    marks, rule_marks = scratch_floats(), scratch_floats()
    for rule in range(len(has)):
        rule_marks[rule] = mark_of(spare[rule])
    held = gather(world, actions, marks, rule_marks)
    best = (
        span_of(world.works[Works.EXPECTED], spare[1]),
        span_of(world.works[Works.BACKLOG], spare[5]),
        span_of(world.works[Works.LONG_RUN], spare[6]),
    )
    for k in range(held):
        same = 0
        while not has_shares(actions[:, :-1], marks, same, k):
            same += 1
        if same < k:  # all but what its length is for
            for column in range(features.shape[1]):
                features[k, column] = features[same, column]
        else:
            describe_shares(world, actions[k, :classes], marks[k], rule_marks, best, features[k])
        seconds = seconds_of(actions[k, classes])
        describe_length(world, actions[k, :classes], seconds, features[k])
    features[held:] = 0.0
    describe_decision(world, context)
    return held


TAKE = jit_inline(act.py_func)
"""The kernel's ``act`` as a part of who calls it."""


def take(world: World, numbers: NDArray[np.int64]) -> int:
    """Takes a candidate; it costs no evaluations."""
    last = len(numbers) - 1
    return TAKE(world, numbers[:last], seconds_of(numbers[last]), 0)


def as_plan(numbers: Any) -> Plan:
    """The plan that a candidate stands for."""
    *shares, length = (int(number) for number in numbers)
    return Plan(shares, UNTIL_DONE if length < 0 else seconds_of(length))


CANDIDATES = {
    "clusters": Candidates(
        "clusters",
        FEATURES,
        CONTEXT,
        1,
        32,
        fill,
        numbers=0,
        as_action=as_plan,
        of_state=True,
        look=fill,
        take=take,
    )
}
