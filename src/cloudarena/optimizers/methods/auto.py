"""The method that fits: a rough look at all designs tells which."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from pydantic import Field

from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.remembered import Remembered
from cloudarena.optimizers.methods.blind_pick import blind_pick
from cloudarena.optimizers.methods.los import los, rough_look
from cloudarena.optimizers.methods.method import FinalChoice, FixedBudget, LayersClaim, method
from cloudarena.optimizers.methods.mocba import MOST_DESIGNS as MOST_ALLOCATED
from cloudarena.optimizers.methods.mocba import mocba
from cloudarena.optimizers.methods.monte_carlo import monte_carlo
from cloudarena.optimizers.methods.ocba import ocba
from cloudarena.optimizers.ordinal.claims import check_claim, check_front
from cloudarena.optimizers.ordinal.final_rules import resolved
from cloudarena.optimizers.ordinal.order_curve import LOUD
from cloudarena.optimizers.ordinal.screening import drop_levels
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection


class AutoOptions(FixedBudget, LayersClaim, FinalChoice):
    """The options of ``auto``; ``within`` is not for a blind pick."""

    rough: int = Field(10, ge=2)
    """Replications of each design at the first look."""
    replications: int = Field(1000, ge=2)
    """Replications of a proper evaluation."""


@method("auto", AutoOptions)
def auto(problem: Problem, options: AutoOptions, watcher: Watcher | None) -> Selection:
    """Takes a rough look at all designs, chooses the method that fits, and says why.

    - Enough evaluations for ``replications`` of each design: Monte Carlo.
    - Too few even for a rough look at all: a blind pick, which claims to hold some of the best
      hundredth.
    - Else all are evaluated roughly, which every method below begins with, so nothing is lost. If
      the noise is so large that LOS would have to select more designs than the evaluations are
      enough for, or so many that it saves nothing against Monte Carlo, budget allocation (OCBA;
      MOCBA for several objectives), or Monte Carlo for very many designs.
    - One objective and not too many designs: OCBA. Else LOS.
    """
    evaluations, rough, replications = options.evaluations, options.rough, options.replications
    good_layers, at_least, confidence = options.good_layers, options.at_least, options.confidence
    within = options.within
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
            f"Blind pick: {evaluations:,} evaluations are not enough for a rough look "
            f"({rough} replications) at each of {size:,} designs and a second at the best."
        )
        return _because(why, blind_pick(problem, replications=replications, **shared, **claim))

    known = Remembered(problem)
    look, losses = rough_look(Meter(known, evaluations, None, watcher), rough)
    check_front(losses, at_least, good_layers, confidence)
    level = drop_levels(losses, rule, at_least, good_layers, margin)
    wanted = int(np.count_nonzero(level > 1.0 - confidence))
    affordable = (evaluations - size * rough) // rough
    seen = f"the noise is {look.noise:.2g} and the order-performance curve is {look.omega}"
    saves_nothing = size * rough + wanted * replications >= size * replications
    if wanted > affordable or look.noise >= LOUD or saves_nothing:
        why = (
            f"LOS will not help here: {seen}, so {wanted:,} of {size:,} designs would have to be "
            "selected, "
        )
        if wanted > affordable:
            why += f"and what is left of the evaluations is enough for {max(affordable, 0):,}."
        elif saves_nothing:
            why += "which saves nothing against Monte Carlo."
        else:
            why += "and those are hardly ordered by a rough look."
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
        _because(why, chosen), look=look, omega=str(look.omega), noise=look.noise
    )


def _because(why: str, selection: Selection) -> Selection:
    return dataclasses.replace(selection, remark=f"{why} {selection.remark}".strip())
