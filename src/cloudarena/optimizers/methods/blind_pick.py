"""Blind pick: try a random handful properly, and trust to numbers that some of them are good.

Of T designs, of which G are good, a pick of s without looking holds at least k good ones with the
probability of the hypergeometric distribution. Theorem 1 of the thesis takes ``s = k T / G``, so
that k is the mean; then at least one is good with a probability of about 0.63 only.
"""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.checks import check_probability, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import moments_of, skewness_of
from cloudarena.optimizers.budget.rounds import MOST_LOOKED_AT
from cloudarena.optimizers.ordinal.alignment import NOTHING, Alignment
from cloudarena.optimizers.ordinal.final_rules import FinalRule, resolved
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

GOOD_SHARE = 0.01
"""The best hundredth counts as good, unless said otherwise."""


def hit_probability(designs: int, good: int, picked: int, at_least: int = 1) -> float:
    """The probability that a blind pick holds at least ``at_least`` good designs."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(at_least - 1, designs, good, picked))


def blind_pick_size(
    designs: int, good: int, at_least: int = 1, confidence: float | None = None
) -> int:
    """How many designs to pick.

    Args:
        designs: in all.
        good: how many of them are good.
        at_least: how many good ones are wanted.
        confidence: the probability of having them; without it they are had on average.
    """
    check_whole("designs", designs, 1)
    check_whole("good", good, 1, designs)
    check_whole("at_least", at_least, 1, good)
    if confidence is None:
        return -(-at_least * designs // good)
    check_probability("confidence", confidence)
    low, high = at_least, designs - good + at_least
    while low < high:
        middle = (low + high) // 2
        if hit_probability(designs, good, middle, at_least) >= confidence:
            high = middle
        else:
            low = middle + 1
    return low


def blind_pick(
    problem: Problem,
    *,
    good: int | None = None,
    at_least: int = 1,
    confidence: float = 0.95,
    size: int | None = None,
    replications: int = 1000,
    evaluations: int | None = None,
    final_rule: FinalRule | None = None,
    seed: int = 0,
    watcher: Watcher | None = None,
) -> Selection:
    """Evaluates designs drawn at random, and chooses among the best of them.

    Args:
        problem: what is optimised.
        good: how many designs count as good; by default the best hundredth.
        at_least: how many good ones the pick shall hold.
        confidence: with which probability; also the level of the intervals.
        size: how many designs are picked; by default as many as that needs.
        replications: of each picked design.
        evaluations: at most so many in all: fewer replications, if need be.
        final_rule: how one of the front is chosen; by default the knee, or the best by a single
            objective.
        seed: of the pick.
        watcher: is called with the progress.
    """
    rule = resolved(final_rule, problem)
    good = max(1, math.floor(GOOD_SHARE * problem.size)) if good is None else good
    needed = blind_pick_size(
        problem.size, good, at_least, check_probability("confidence", confidence)
    )
    size = needed if size is None else check_whole("size", size, 1, problem.size)
    check_whole("replications", replications, 1)
    if evaluations is not None:
        if evaluations < size:
            raise SpecError(
                f"evaluations: {evaluations:,} are not enough: {size:,} designs are picked"
            )
        replications = min(replications, evaluations // size)
    picked = np.sort(
        stream(seed, "blind pick").choice(problem.size, size, replace=False, shuffle=False)
    )
    meter = Meter(problem, size * replications, evaluations, watcher)
    skewness = None
    if size * replications <= MOST_LOOKED_AT:
        values = meter.evaluate(picked, range(replications))
        losses, skewness = moments_of(values), skewness_of(values)
    else:
        losses = meter.estimate(picked, range(replications))
    return select(
        problem,
        "blind-pick",
        picked,
        losses,
        evaluations=meter.spent,
        alignment=Alignment(
            hit_probability(problem.size, good, size, at_least),
            at_least,
            "the best design" if good == 1 else f"the best {good:,} designs",
            assumes=NOTHING,
        ),
        confidence=confidence,
        compared=size,
        all_losses=losses,
        skewness=skewness,
        final_rule=rule,
        seed=seed,
    )
