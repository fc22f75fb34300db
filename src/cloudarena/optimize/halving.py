"""Successive halving: each round the same effort, on half as many designs. For comparison.

After Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
"""

from __future__ import annotations

import math

import numpy as np

from cloudarena.engine.streams import stream
from cloudarena.errors import SpecError
from cloudarena.optimize.alignment import (
    DRAWS,
    Alignment,
    alignment_probability,
    belief_from_moments,
    good_sets,
)
from cloudarena.optimize.checks import check_probability, check_whole
from cloudarena.optimize.final_rules import FinalRule
from cloudarena.optimize.layers import first_in_order
from cloudarena.optimize.meter import Meter, Watcher
from cloudarena.optimize.problem import Problem
from cloudarena.optimize.rounds import Rounds
from cloudarena.optimize.selection import Selection, select

FINALISTS = 10
"""With several objectives, so that there is a front to choose from."""


def successive_halving(
    problem: Problem,
    *,
    evaluations: int,
    finalists: int | None = None,
    confidence: float = 0.95,
    final_rule: FinalRule = "first_objective",
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
        confidence: level of the intervals.
        final_rule: how one of the front is chosen.
        seed: of the draws behind the claim, and of the final rule.
        watcher: is called with the progress.
    """
    check_whole("evaluations", evaluations, 1)
    check_probability("confidence", confidence)
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
    losses = rounds.moments
    goods = good_sets(belief_from_moments(losses), 1, DRAWS, stream(seed, "alignment"))
    claim = alignment_probability(left, problem.size, goods, 1)
    good = "the best design" if len(problem.objectives) == 1 else "the true front"
    return select(
        problem,
        "successive-halving",
        left,
        losses.at(left),
        evaluations=meter.spent,
        alignment=Alignment(claim, 1, good),
        confidence=confidence,
        final_rule=final_rule,
        seed=seed,
        rounds=rounds.counts_by_round,
    )
