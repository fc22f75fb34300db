"""Monte Carlo: every design is evaluated properly. The measure of cost and of quality."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
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
from cloudarena.optimizers.methods.method import Budget, FinalChoice, LayersClaim, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.claims import check_claim, chosen_words, good_words
from cloudarena.optimizers.ordinal.final_rules import choose, orders, resolved
from cloudarena.optimizers.ordinal.order_curve import screen
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

MOST_KEPT = 2**24
"""Values that are kept to compare designs replication by replication, and to see how skewed they
are; of more only moments are, and claims are more careful than they need be with common random
numbers."""


class MonteCarloOptions(Budget, LayersClaim, FinalChoice):
    """The options of Monte Carlo.

    It is claimed of ``at_least`` designs of the front that is found that they are good; if one, of
    the chosen one.
    """

    replications: int = Field(1000, ge=2)
    """Replications of each design; fewer if the evaluations are not enough."""


@method("monte-carlo", MonteCarloOptions)
def monte_carlo(problem: Problem, options: MonteCarloOptions, watcher: Watcher | None) -> Selection:
    """Evaluates all designs as often as each other: the measure of cost and of quality."""
    replications, evaluations = options.replications, options.evaluations
    good_layers, at_least, confidence = options.good_layers, options.at_least, options.confidence
    seed = options.seed
    designs = problem.all_designs()
    rule = resolved(options.final_rule, problem)
    margin = check_claim(problem, at_least, good_layers, options.within)
    if len(problem.objectives) == 1:
        check_whole("at_least", at_least, 1, 1, why="Monte Carlo selects one design")
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
    screening = screen(losses)
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
        omega=str(screening.omega),
        noise=screening.noise,
        screening=screening,
    )


def _claim_of_several(seen: Evidence, front: Ints, rule: str, at_least: int) -> float:
    """Claims that the first designs of a front by a rule are on the true one (Bonferroni).

    Which they are is not chosen by how sure they are.
    """
    if at_least > len(front):
        return 0.0
    by_rule = orders(rule, seen.moments.mean[front])
    order = by_rule[0] if by_rule else np.arange(len(front))
    errors = [
        1.0 - probability_of_best(*distinct(seen, int(front[index])))
        for index in order[:at_least].tolist()
    ]
    return max(0.0, 1.0 - sum(errors))
