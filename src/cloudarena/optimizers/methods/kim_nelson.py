"""Kim and Nelson's fully sequential procedure: drops designs as soon as they are surely worse.

With probability at least ``confidence`` it selects the best design, if that is better than all
others by at least ``indifference``; if others are nearer, it selects one of those. Differences
are taken pair by pair, so common random numbers help. After Kim and Nelson, "A fully sequential
procedure for indifference-zone selection in simulation", ACM TOMACS 11(3), 2001.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import merge, moments_of, skewness_of
from cloudarena.optimizers.budget.rounds import objective_index
from cloudarena.optimizers.methods.method import Budget, Claim, method
from cloudarena.optimizers.ordinal.alignment import Alignment, no_claim
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

MOST_DESIGNS = 3000
"""The variances of all differences are kept."""


class KimNelsonOptions(Budget, Claim):
    """The options of Kim and Nelson's procedure."""

    indifference: float = Field(gt=0.0)
    """The smallest difference that matters, in the unit of the objective."""
    first: int = Field(10, ge=2)
    """Replications of each design for the variances; at least 10 are advised."""
    step: int = Field(1, ge=1)
    """Replications between two comparisons; with more, designs are dropped a little later."""
    objective: str | int = 0
    """The objective that decides, by name or index; others are only estimated."""


@method("kim-nelson", KimNelsonOptions)
def kim_nelson(problem: Problem, options: KimNelsonOptions, watcher: Watcher | None) -> Selection:
    """Drops designs by one objective as soon as they are surely worse, with a guarantee.

    The cost is what it takes. If the evaluations do not suffice for the guarantee, it selects all
    designs that are not yet surely worse, chooses the best of them so far, and claims nothing.
    """
    indifference, first, step = options.indifference, options.first, options.step
    confidence, evaluations = options.confidence, options.evaluations
    objective = objective_index(problem, options.objective)
    if not 2 <= problem.size <= MOST_DESIGNS:
        raise SpecError(
            f"designs: {problem.size:,} is not allowed: 2 to {MOST_DESIGNS:,}, since all pairs "
            "are compared; select some by LOS first"
        )
    meter = Meter(problem, problem.size * first, evaluations, watcher)
    designs = problem.all_designs()
    values = meter.evaluate(designs, range(first))
    losses = moments_of(values)
    covariance = np.cov(values[:, :, objective])
    own = np.diag(covariance)
    # Variances of differences: what common random numbers share is gone.
    spread = np.maximum(own[:, None] + own[None, :] - 2.0 * covariance, 0.0)
    error = (1.0 - confidence) / (problem.size - 1)
    eta = 0.5 * ((2.0 * error) ** (-2.0 / (first - 1)) - 1.0)
    scale = 2.0 * eta * (first - 1) * spread / indifference**2

    left, taken, remark = designs, first, ""
    while len(left) > 1:
        mean = losses.mean[left, objective]
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
    good = (
        f"the designs within {indifference:g} of the best by {problem.objectives[objective].name}"
    )
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
        chosen=left[[np.argmin(losses.mean[left, objective])]],
        remark=remark,
    )
