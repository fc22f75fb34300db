"""Blind pick: try a random handful properly, and trust to numbers that some of them are good.

Of T designs, of which G are good, a pick of s without looking holds at least k good ones with the
probability of the hypergeometric distribution. Theorem 1 of the thesis takes ``s = k T / G``, so
that k is the mean; then at least one is good with a probability of about 0.63 only.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from cloudarena.base.checks import check_probability, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.engine.streams import stream
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import moments_of, skewness_of
from cloudarena.optimizers.budget.rounds import MOST_LOOKED_AT
from cloudarena.optimizers.methods.method import Budget, FinalChoice, SeveralClaim, method
from cloudarena.optimizers.ordinal.alignment import NOTHING, Alignment
from cloudarena.optimizers.ordinal.final_rules import resolved
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


class BlindPickOptions(Budget, SeveralClaim, FinalChoice):
    """The options of a blind pick."""

    good: int | None = Field(None, ge=1)
    """How many designs count as good; the best hundredth by default."""
    size: int | None = Field(None, ge=1)
    """How many designs are picked; by default as many as the claim needs."""
    replications: int = Field(1000, ge=1)
    """Replications of each picked design; fewer if the evaluations are not enough."""


@method("blind-pick", BlindPickOptions)
def blind_pick(problem: Problem, options: BlindPickOptions, watcher: Watcher | None) -> Selection:
    """Evaluates designs drawn at random and chooses the best of them; assumes nothing."""
    at_least, confidence, evaluations = options.at_least, options.confidence, options.evaluations
    replications, seed = options.replications, options.seed
    rule = resolved(options.final_rule, problem)
    good = options.good or max(1, math.floor(GOOD_SHARE * problem.size))
    size = blind_pick_size(problem.size, good, at_least, confidence)
    if options.size is not None:
        size = check_whole("size", options.size, 1, problem.size)
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
