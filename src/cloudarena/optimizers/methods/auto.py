"""The method that fits: a screening stage over all designs tells which."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from pydantic import Field

from cloudarena.optimizers.budget.memoized import MemoizedProblem
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.methods.blind_pick import blind_pick
from cloudarena.optimizers.methods.gp import gp
from cloudarena.optimizers.methods.los import los, screening_stage
from cloudarena.optimizers.methods.method import FinalChoice, FixedBudget, LayersClaim, method
from cloudarena.optimizers.methods.mocba import MOST_DESIGNS as MOST_ALLOCATED
from cloudarena.optimizers.methods.mocba import mocba
from cloudarena.optimizers.methods.monte_carlo import monte_carlo
from cloudarena.optimizers.methods.ocba import ocba
from cloudarena.optimizers.methods.ocba_co import ocba_co
from cloudarena.optimizers.ordinal.claims import check_claim, check_front
from cloudarena.optimizers.ordinal.final_rules import resolved
from cloudarena.optimizers.ordinal.order_curve import TOO_NOISY
from cloudarena.optimizers.ordinal.screening import drop_levels
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection


class AutoOptions(FixedBudget, LayersClaim, FinalChoice):
    """The options of ``auto``; ``within`` is not for a blind pick."""

    rough: int = Field(10, ge=2)
    """Replications of each design at the screening stage."""
    replications: int = Field(1000, ge=2)
    """Replications of a proper evaluation."""


@method("auto", AutoOptions, limits=True, searches=True)
def auto(problem: Problem, options: AutoOptions, watcher: Watcher | None) -> Selection:
    """Screens all designs, chooses the method that fits, and says why.

    - A continuous key, or too few evaluations to screen all designs, of which some key is ordered:
      a search by a Gaussian process.
    - Limits: OCBA-CO.
    - Enough evaluations for ``replications`` of each design: Monte Carlo.
    - Too few even to screen all, and no key has an order: a blind pick, which claims to hold some
      of the best hundredth.
    - Else all are evaluated roughly, which every method below begins with, so nothing is lost. If
      the noise is so large that LOS would have to select more designs than the evaluations are
      enough for, or so many that it saves nothing against Monte Carlo, budget allocation (OCBA;
      MOCBA for several objectives), or Monte Carlo for very many designs.
    - One objective and not too many designs: OCBA. Else LOS.
    """
    evaluations, rough, replications = options.evaluations, options.rough, options.replications
    good_layers, at_least, confidence = options.good_layers, options.at_least, options.confidence
    within = options.within
    if can_be_searched(problem) and (
        problem.is_continuous or evaluations < problem.size * rough + 2
    ):
        return _because(
            _why_search(problem, options),
            gp(
                problem,
                evaluations=evaluations,
                confidence=confidence,
                within=within,
                final_rule=options.final_rule,
                seed=options.seed,
                watcher=watcher,
            ),
        )
    if problem.limits:
        why = (
            "OCBA-CO: there are limits; replications go where they tell the best design that keeps "
            "them from the others, and the finalists get new ones."
        )
        found = ocba_co(
            problem,
            first=rough,
            evaluations=evaluations,
            confidence=confidence,
            watcher=watcher,
        )
        return _because(why, found)
    rule = resolved(options.final_rule, problem)
    margin = check_claim(problem, at_least, good_layers, within)
    size, alone = problem.size, len(problem.objectives) == 1
    shared: dict[str, Any] = {
        "evaluations": evaluations,
        "confidence": confidence,
        "watcher": watcher,
    }
    claim: dict[str, Any] = {"at_least": at_least, "final_rule": rule, "seed": options.seed}
    layered = {**claim, "good_layers": good_layers, "within": within}
    if size == 1 or evaluations >= size * replications:
        why = (
            f"Monte Carlo: {evaluations:,} evaluations are enough for {replications:,} "
            f"replications of each of {size:,} designs."
        )
        chosen = monte_carlo(problem, replications=replications, **shared, **layered)
        return _because(why, chosen)
    if evaluations < size * rough + 2:
        why = (
            f"Blind pick: {evaluations:,} evaluations are not enough for a screening stage "
            f"({rough} replications) at each of {size:,} designs and a second at the best."
        )
        return _because(why, blind_pick(problem, replications=replications, **shared, **claim))

    known = MemoizedProblem(problem)
    screening, losses = screening_stage(Meter(known, evaluations, None, watcher), rough)
    check_front(losses, at_least, good_layers, confidence)
    level = drop_levels(losses, rule, at_least, good_layers, margin)
    wanted = int(np.count_nonzero(level > 1.0 - confidence))
    affordable = (evaluations - size * rough) // rough
    seen = (
        f"the noise is {screening.noise:.2g} and the order-performance curve is {screening.omega}"
    )
    saves_nothing = size * rough + wanted * replications >= size * replications
    if wanted > affordable or screening.noise >= TOO_NOISY or saves_nothing:
        why = (
            f"LOS will not help here: {seen}, so {wanted:,} of {size:,} designs would have to be "
            "selected, "
        )
        if wanted > affordable:
            why += f"and what is left of the evaluations is enough for {max(affordable, 0):,}."
        elif saves_nothing:
            why += "which saves nothing against Monte Carlo."
        else:
            why += "and those are hardly ordered by a screening stage."
        if size > MOST_ALLOCATED:
            why += " Monte Carlo, since the designs are too many to allocate among."
            chosen = monte_carlo(known, replications=replications, **shared, **layered)
        elif alone:
            why += " OCBA puts replications where they tell the best from its rivals."
            chosen = ocba(known, first=rough, within=within, **shared)
        else:
            why += " MOCBA puts replications where they tell the front from the rest."
            chosen = mocba(known, first=rough, final_rule=rule, seed=options.seed, **shared)
    elif alone and size <= MOST_ALLOCATED:
        why = (
            f"OCBA: one objective, and {seen}; replications go where they tell the best from "
            "its rivals."
        )
        chosen = ocba(known, first=rough, within=within, **shared)
    else:
        why = f"LOS: {seen}, so {wanted:,} of {size:,} designs are enough for a proper look."
        chosen = los(known, rough=rough, replications=replications, **shared, **layered)
    return dataclasses.replace(
        _because(why, chosen),
        screening=screening,
        omega=str(screening.omega),
        noise=screening.noise,
    )


def can_be_searched(problem: Problem) -> bool:
    """Whether some key is ordered or designs have several keys, so that a model can learn."""
    return any(
        axis.is_ordered and axis.levels > 2 for region in problem.regions for axis in region.axes
    ) or any(region.free > 1 for region in problem.regions)


def _why_search(problem: Problem, options: AutoOptions) -> str:
    axes = [axis for region in problem.regions for axis in region.axes if axis.levels > 1]
    parts = {
        "continuous": sum(axis.is_continuous for axis in axes),
        "ordered": sum(axis.is_ordered and not axis.is_continuous for axis in axes),
        "of words": sum(not axis.is_ordered for axis in axes),
    }
    keys = " and ".join(f"{count} {name}" for name, count in parts.items() if count)
    policies = f" in {len(problem.regions)} policies" if len(problem.regions) > 1 else ""
    why = (
        "not every design can be tried"
        if problem.is_continuous
        else f"{options.evaluations:,} evaluations are not enough for {options.rough} replications "
        f"of each of {problem.size:,} designs"
    )
    return (
        f"Gaussian process: {keys} keys{policies}, and {why}; a model of what was measured says "
        "where to look."
    )


def _because(why: str, selection: Selection) -> Selection:
    return dataclasses.replace(selection, remark=f"{why} {selection.remark}".strip())
