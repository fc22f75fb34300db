"""Monte Carlo: every design is evaluated properly. The measure of cost and of quality."""

from __future__ import annotations

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
from cloudarena.optimize.layers import front_of
from cloudarena.optimize.los import good_words
from cloudarena.optimize.meter import Meter, Watcher
from cloudarena.optimize.order import look_at
from cloudarena.optimize.problem import Problem
from cloudarena.optimize.selection import Selection, select


def monte_carlo(
    problem: Problem,
    *,
    replications: int = 1000,
    good_layers: int = 1,
    at_least: int = 1,
    confidence: float = 0.95,
    evaluations: int | None = None,
    final_rule: FinalRule = "first_objective",
    seed: int = 0,
    watcher: Watcher | None = None,
) -> Selection:
    """Evaluates all designs and chooses from the front.

    Args:
        problem: what is optimised.
        replications: of each design.
        good_layers: how many of the first true layers count as good, in the claim.
        at_least: how many good designs shall be in the front that is found.
        confidence: level of the intervals.
        evaluations: at most so many in all: fewer replications, if need be.
        final_rule: how one of the front is chosen.
        seed: of the draws behind the claim, and of the final rule.
        watcher: is called with the progress.
    """
    designs = problem.all_designs()
    check_whole("replications", replications, 2)
    check_whole("good_layers", good_layers, 1)
    check_whole("at_least", at_least, 1, problem.size)
    check_probability("confidence", confidence)
    if evaluations is not None:
        replications = min(replications, evaluations // problem.size)
        if replications < 2:
            raise SpecError(
                f"evaluations: {evaluations:,} are not enough: 2 for each of "
                f"{problem.size:,} designs"
            )
    meter = Meter(problem, problem.size * replications, evaluations, watcher)
    losses = meter.estimate(designs, range(replications))
    look = look_at(losses)
    front = front_of(losses.mean)
    rng = stream(seed, "alignment")
    goods = good_sets(belief_from_moments(losses), good_layers, DRAWS, rng)
    claim = alignment_probability(front, problem.size, goods, at_least)
    return select(
        problem,
        "monte-carlo",
        front,
        losses.at(front),
        evaluations=meter.spent,
        alignment=Alignment(claim, at_least, good_words(good_layers)),
        confidence=confidence,
        final_rule=final_rule,
        seed=seed,
        omega=str(look.omega),
        noise=look.noise,
        look=look,
    )
