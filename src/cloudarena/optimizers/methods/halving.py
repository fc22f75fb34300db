"""Successive halving: each round the same effort, on half as many designs. For comparison.

After Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
"""

from __future__ import annotations

import math

import numpy as np

from cloudarena.base.checks import check_probability, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.rivals import (
    Evidence,
    distinct,
    never_differed,
    probability_of_best,
    shortfall,
)
from cloudarena.optimizers.budget.rounds import Rounds
from cloudarena.optimizers.methods.los import chosen_words
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.final_rules import FinalRule, choose, resolved
from cloudarena.optimizers.ordinal.layers import first_in_order
from cloudarena.optimizers.ordinal.within import GoodEnough, read_within
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

FINALISTS = 10
"""With several objectives, so that there is a front to choose from."""


def successive_halving(
    problem: Problem,
    *,
    evaluations: int,
    finalists: int | None = None,
    within: GoodEnough = None,
    confidence: float = 0.95,
    final_rule: FinalRule | None = None,
    seed: int = 0,
    watcher: Watcher | None = None,
) -> Selection:
    """Halves the designs until few are left, and chooses from their front.

    Designs are kept in the order of their non-dominated layers; of a layer that is cut, those
    spread evenly along the first objective.

    Args:
        problem: what is optimised.
        evaluations: at most so many, shared equally among the rounds.
        finalists: how many are left in the end; by default 1, with several objectives 10.
        within: what the best design may be better by, such as ``"1%"``, in the claim.
        confidence: level of the intervals.
        final_rule: how one of the front is chosen; by default the knee, or the best by a single
            objective.
        seed: of the final rule ``random``.
        watcher: is called with the progress.
    """
    check_whole("evaluations", evaluations, 1)
    check_probability("confidence", confidence)
    rule = resolved(final_rule, problem)
    margin = read_within(within, len(problem.objectives))
    if finalists is None:
        finalists = 1 if len(problem.objectives) == 1 else min(FINALISTS, problem.size)
    check_whole("finalists", finalists, 1, problem.size)
    left = problem.all_designs()
    halvings = max(1, math.ceil(math.log2(problem.size / finalists)))
    if evaluations < 2 * problem.size * halvings:
        raise SpecError(
            f"evaluations: {evaluations:,} are not enough: 2 for each of {problem.size:,} designs "
            f"in the first of {halvings} rounds"
        )
    meter = Meter(problem, evaluations, evaluations, watcher)
    rounds = Rounds(meter)
    for halving in range(halvings):
        extra = np.zeros(problem.size, np.int64)
        extra[left] = evaluations // (halvings * len(left))
        rounds.extend(extra)
        kept = max(finalists, len(left) // 2) if halving < halvings - 1 else finalists
        left = left[first_in_order(rounds.moments.mean[left], kept)]
        meter.best = int(left[0])
    front = left[front_of(rounds.moments.mean[left])]
    chosen = front[choose(rule, rounds.moments.mean[front], seed)]
    seen = Evidence(rounds.moments, rounds.losses, allocated=True)
    some, place = distinct(seen, int(chosen))
    alone = len(problem.objectives) == 1
    return select(
        problem,
        "successive-halving",
        left,
        rounds.moments.at(left),
        evaluations=meter.spent,
        alignment=Alignment(
            probability_of_best(some, place, margin, confidence),
            1,
            chosen_words(problem, within=margin),
            exactly=True,
            equals=never_differed(seen, int(chosen)),
        ),
        confidence=confidence,
        compared=problem.size,
        all_losses=rounds.moments,
        skewness=rounds.skewness,
        chosen=np.array([chosen]),
        shortfall=shortfall(some, place, confidence) if alone else None,
        rounds=rounds.counts_by_round,
    )
