"""Successive halving: each round the same effort, on half as many designs. For comparison.

After Karnin, Koren and Somekh, "Almost optimal exploration in multi-armed bandits", ICML 2013.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from cloudarena.base.checks import check_whole
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
from cloudarena.optimizers.methods.method import FinalChoice, FixedBudget, MarginClaim, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.claims import chosen_words
from cloudarena.optimizers.ordinal.final_rules import choose, resolved
from cloudarena.optimizers.ordinal.layers import first_in_order
from cloudarena.optimizers.ordinal.within import read_within
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

FINALISTS = 10
"""Designs that are left with several objectives, so that there is a front to choose from."""


class HalvingOptions(FixedBudget, MarginClaim, FinalChoice):
    """The options of successive halving; the evaluations are shared equally among the rounds."""

    finalists: int | None = Field(None, ge=1)
    """How many designs are left in the end; by default 1, with several objectives 10."""


@method("successive-halving", HalvingOptions)
def successive_halving(
    problem: Problem, options: HalvingOptions, watcher: Watcher | None
) -> Selection:
    """Halves the designs round by round, each with the same effort, until few are left.

    Designs are kept in the order of their non-dominated layers; of a layer that is cut, those
    spread evenly along the first objective.
    """
    evaluations, confidence, finalists = options.evaluations, options.confidence, options.finalists
    rule = resolved(options.final_rule, problem)
    margin = read_within(options.within, len(problem.objectives))
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
    chosen = front[choose(rule, rounds.moments.mean[front], options.seed)]
    seen = Evidence(rounds.moments, rounds.losses, allocated=True)
    some, index = distinct(seen, int(chosen))
    alone = len(problem.objectives) == 1
    return select(
        problem,
        "successive-halving",
        left,
        rounds.moments.at(left),
        evaluations=meter.spent,
        alignment=Alignment(
            probability_of_best(some, index, margin, confidence),
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
        shortfall=shortfall(some, index, confidence) if alone else None,
        rounds=rounds.counts_by_round,
    )
