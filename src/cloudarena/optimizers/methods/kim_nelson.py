"""Kim and Nelson's fully sequential procedure: drops designs as soon as they are surely worse.

With probability at least ``confidence`` it selects the best design, if that is better than all
others by at least ``indifference``; if others are nearer, it selects one of those. Differences
are taken pair by pair, so common random numbers help. After Kim and Nelson, "A fully sequential
procedure for indifference-zone selection in simulation", ACM TOMACS 11(3), 2001.
"""

from __future__ import annotations

import numpy as np

from cloudarena.base.checks import check_number, check_probability, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import merge, moments_of, skewness_of
from cloudarena.optimizers.budget.rounds import place_of
from cloudarena.optimizers.ordinal.alignment import Alignment, no_claim
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

MOST_DESIGNS = 3000
"""The variances of all differences are kept."""


def kim_nelson(
    problem: Problem,
    *,
    indifference: float,
    first: int = 10,
    step: int = 1,
    objective: str | int = 0,
    confidence: float = 0.95,
    evaluations: int | None = None,
    watcher: Watcher | None = None,
) -> Selection:
    """Finds the best design by one objective, with a guarantee; the cost is what it takes.

    If the evaluations do not suffice for that, it selects all designs that are not yet surely
    worse, chooses the best of them so far, and claims nothing.

    Args:
        problem: what is optimised.
        indifference: the smallest difference that matters, in the unit of the objective.
        first: replications of each design for the variances; at least 10 are advised.
        step: replications of the remaining designs between two comparisons; with more than 1
            designs are dropped a little later, and less often looked at.
        objective: by name or place; others are only estimated.
        confidence: probability of selecting right; also the level of the intervals.
        evaluations: at most so many.
        watcher: is called with the progress.
    """
    place = place_of(problem, objective)
    check_number("indifference", indifference, 0.0, is_open=True)
    check_whole("first", first, 2)
    check_whole("step", step, 1)
    check_probability("confidence", confidence)
    if not 2 <= problem.size <= MOST_DESIGNS:
        raise SpecError(
            f"designs: {problem.size:,} is not allowed: 2 to {MOST_DESIGNS:,}, since all pairs "
            "are compared; select some by LOS first"
        )
    meter = Meter(problem, problem.size * first, evaluations, watcher)
    designs = problem.all_designs()
    values = meter.evaluate(designs, range(first))
    losses = moments_of(values)
    covariance = np.cov(values[:, :, place])
    own = np.diag(covariance)
    # Variances of differences: what common random numbers share is gone.
    spread = np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0)
    error = (1.0 - confidence) / (problem.size - 1)
    eta = 0.5 * ((2.0 * error) ** (-2.0 / (first - 1)) - 1.0)
    scale = 2.0 * eta * (first - 1) * spread / indifference**2

    left, taken, remark = designs, first, ""
    while len(left) > 1:
        mean = losses.mean[left, place]
        slack = np.maximum(indifference / (2.0 * taken) * (scale[np.ix_(left, left)] - taken), 0.0)
        worse = mean[:, None] > mean[None, :] + slack
        best = int(np.argmin(mean))
        meter.best = int(left[best])
        left = left[~worse.any(axis=1)]
        if len(left) == 1:
            break
        if not scale[np.ix_(left, left)].max() > taken:
            # No slack is left: only designs with equal means are, of which any will do.
            left = left[:1]
            break
        if evaluations is not None and meter.spent + len(left) * step > evaluations:
            remark = (
                f"{evaluations:,} evaluations are not enough for the guarantee: {len(left):,} "
                "designs are left, none surely worse than another; the best of them so far is "
                "chosen."
            )
            break
        new = moments_of(meter.evaluate(left, range(taken, taken + step)))
        both = merge(losses.at(left), new)
        losses.counts[left], losses.mean[left], losses.squares[left] = both
        taken += step
    good = f"the designs within {indifference:g} of the best by {problem.objectives[place].name}"
    return select(
        problem,
        "kim-nelson",
        left,
        losses.at(left),
        evaluations=meter.spent,
        alignment=no_claim("the evaluations ran out") if remark else Alignment(confidence, 1, good),
        confidence=confidence,
        compared=problem.size,
        all_losses=losses,
        skewness=skewness_of(values),
        chosen=left[[np.argmin(losses.mean[left, place])]],
        remark=remark,
    )
