"""Monte Carlo: every design is evaluated properly. The measure of cost and of quality."""

from __future__ import annotations

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_probability, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import moments_of, skewness_of
from cloudarena.optimizers.budget.rivals import (
    Evidence,
    distinct,
    never_differed,
    probability_of_best,
    shortfall,
)
from cloudarena.optimizers.methods.los import check_claim, chosen_words, good_words
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.final_rules import FinalRule, choose, orders, resolved
from cloudarena.optimizers.ordinal.order_curve import look_at
from cloudarena.optimizers.ordinal.within import GoodEnough
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

MOST_KEPT = 2**24
"""Values that are kept to compare designs replication by replication, and to see how skewed they
are; of more only moments are, and claims are more careful than they need be with common random
numbers."""


def monte_carlo(
    problem: Problem,
    *,
    replications: int = 1000,
    good_layers: int = 1,
    at_least: int = 1,
    within: GoodEnough = None,
    confidence: float = 0.95,
    evaluations: int | None = None,
    final_rule: FinalRule | None = None,
    seed: int = 0,
    watcher: Watcher | None = None,
) -> Selection:
    """Evaluates all designs and chooses from the front.

    Args:
        problem: what is optimised.
        replications: of each design.
        good_layers: how many of the first true layers count as good, in the claim.
        at_least: of how many designs of the front that is found it is claimed that they are good;
            if one, of the chosen one.
        within: what the best design may be better by, such as ``"1%"``, in the claim; for
            ``at_least`` 1.
        confidence: level of the intervals.
        evaluations: at most so many in all: fewer replications, if need be.
        final_rule: how one of the front is chosen; by default the knee, or the best by a single
            objective.
        seed: of the final rule ``random``.
        watcher: is called with the progress.
    """
    designs = problem.all_designs()
    rule = resolved(final_rule, problem)
    margin = check_claim(problem, at_least, good_layers, within)
    if len(problem.objectives) == 1:
        check_whole("at_least", at_least, 1, 1, why="Monte Carlo selects one design")
    check_whole("replications", replications, 2)
    check_probability("confidence", confidence)
    if evaluations is not None:
        replications = min(replications, evaluations // problem.size)
        if replications < 2:
            raise SpecError(
                f"evaluations: {evaluations:,} are not enough: 2 for each of "
                f"{problem.size:,} designs"
            )
    meter = Meter(problem, problem.size * replications, evaluations, watcher)
    kept: Floats | None = None
    size = problem.size * replications * len(problem.objectives)
    if size <= MOST_KEPT:
        kept = meter.evaluate(designs, range(replications))
    losses = meter.estimate(designs, range(replications)) if kept is None else moments_of(kept)
    look = look_at(losses)
    front = front_of(losses.mean)
    chosen = front[choose(rule, losses.mean[front], seed)]
    together = problem.common_random_numbers and kept is not None
    seen = Evidence(losses, list(kept) if together and kept is not None else None)
    alone = len(problem.objectives) == 1
    if at_least == 1:
        claim = probability_of_best(*distinct(seen, int(chosen)), margin, confidence)
        good = chosen_words(problem, good_layers, margin)
        equals = never_differed(seen, int(chosen))
        alignment = Alignment(claim, 1, good, exactly=True, equals=equals)
    else:
        claim = _claim_of_several(seen, front, rule, at_least)
        alignment = Alignment(claim, at_least, good_words(problem, good_layers))
    return select(
        problem,
        "monte-carlo",
        front,
        losses.at(front),
        evaluations=meter.spent,
        alignment=alignment,
        confidence=confidence,
        compared=problem.size,
        all_losses=losses,
        skewness=None if kept is None else skewness_of(kept),
        chosen=np.array([chosen]),
        shortfall=shortfall(*distinct(seen, int(chosen)), confidence) if alone else None,
        seed=seed,
        omega=str(look.omega),
        noise=look.noise,
        look=look,
    )


def _claim_of_several(seen: Evidence, front: Ints, rule: str, at_least: int) -> float:
    """That the first ``at_least`` designs of a front by a rule are on the true one (Bonferroni).

    Which they are is not chosen by how sure they are.
    """
    if at_least > len(front):
        return 0.0
    by_rule = orders(rule, seen.moments.mean[front])
    order = by_rule[0] if by_rule else np.arange(len(front))
    errors = [
        1.0 - probability_of_best(*distinct(seen, int(front[place])))
        for place in order[:at_least].tolist()
    ]
    return max(0.0, 1.0 - sum(errors))
