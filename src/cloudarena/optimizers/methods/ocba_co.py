"""The best design that keeps limits: OCBA-CO, and a check of the finalists on new replications.

Replications go where they tell the best design that keeps all limits from the others, after Lee,
Pujowidianto, Li, Chen and Yap ("Approximate simulation budget allocation for selecting the best
design in the presence of stochastic constraints", IEEE Trans. Automatic Control 57(11), 2012). A
design other than the best, b, is told from it by that which tells most: its objective, if it is
worse, or a limit that it breaks. With the ratio of noise to signal r = s / d,

    N_i / N_j = (r_i / r_j)^2  for i, j other than b, r_i the least of its own
    N_b = the largest of s_b sqrt(sum of N_i^2 / s_i^2 over those told by their objective), and of
          what its own limits need

What is chosen by looking at limits looks better than it is. So a share of the evaluations is kept
for a few **finalists**, from the cheapest that may keep the limits to one that should do so with
ease, and what is said of limits rests on these **new** replications alone. A finalist keeps all
limits surely if the intervals of its metrics do, which hold for all finalists at once: with the
probability ``confidence`` no design is called sure that is not. Besides, each limit has a
probability that it is kept (``budget/kept.py``). That is right on average, and cannot be right
wherever the truth lies, since a limit that is missed by a hair looks as if it were kept in half of
all runs: so of a design that is not sure nothing is claimed. Feasibility checks with a
guarantee are due to Andradóttir and Kim ("Fully sequential procedures for comparing constrained
systems via simulation", Naval Research Logistics 57(5), 2010); theirs go on until each is decided,
this one spends what it is given.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic import Field

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.errors import SpecError
from cloudarena.base.statistics import front_of
from cloudarena.optimizers.budget.feasibility import (
    broken_chances,
    kept_chances,
    probability_of_best_kept,
)
from cloudarena.optimizers.budget.kept import Ends, Seen, keeping
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import Moments, merge, moments_of
from cloudarena.optimizers.budget.rivals import Evidence
from cloudarena.optimizers.budget.rounds import (
    Rounds,
    begin,
    check_budget,
    default_step,
    round_up_to,
    ties_of,
)
from cloudarena.optimizers.methods.method import Claim, FixedBudget, method
from cloudarena.optimizers.ordinal.alignment import Alignment, no_claim
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import (
    Feasibility,
    Selection,
    intervals,
    select,
)

CHECKED = 0.3
"""The share of the evaluations that is kept for the finalists."""
FINALISTS = 5
EASE = (1.0, 2.0, 3.0, 5.0)
"""The margin, in standard errors of the check, by which a finalist should keep its limits.

The cheapest design of each is one."""
NEAREST = 0.5
"""Signals count as at least so many standard errors, so that no design takes all replications."""
SMALLEST = 1e-12


class OcbaCoOptions(FixedBudget, Claim):
    """The options of OCBA-CO."""

    first: int = Field(10, ge=2)
    """Replications of each design before the first allocation; at least 5 are advised."""
    step: int | None = Field(None, ge=1)
    """Evaluations between two allocations; one for each design by default, at least 20."""


@method("ocba-co", OcbaCoOptions, limits=True)
def ocba_co(problem: Problem, options: OcbaCoOptions, watcher: Watcher | None) -> Selection:
    """The best design by the first objective that keeps limits, and the best that surely does."""
    evaluations, first = options.evaluations, options.first
    if not problem.limits:
        raise SpecError("where: no limit is not allowed for method ocba-co: at least one")
    if problem.size < 2:
        raise SpecError("designs: 1 is not allowed: at least 2 to allocate among")
    check_budget(problem, evaluations, first)
    meter = Meter(problem, evaluations, evaluations, watcher)
    rounds = begin(problem, meter, first)
    searched = max(meter.spent, round((1.0 - CHECKED) * evaluations))
    step = options.step or default_step(problem.size)
    while meter.spent < searched:
        ties = ties_of(rounds.moments)
        some = rounds.moments.at(ties.first)
        meter.best = int(ties.first[best_of(some, problem)])
        extra = min(max(step, int(ties.sizes.max())), searched - meter.spent)
        given = _allocate(some, problem, extra, ties.sizes)
        if not given.any():
            break
        rounds.extend(given[ties.group])
    return checked(problem, meter, rounds, "ocba-co", options.confidence)


def split(losses: Moments, problem: Problem) -> tuple[Moments, Moments]:
    """The moments of the objectives, and those of the excesses."""
    of = len(problem.objectives)
    counts, mean, squares = losses
    return (
        Moments(counts, mean[:, :of], squares[:, :of]),
        Moments(counts, mean[:, of:], squares[:, of:]),
    )


def best_of(losses: Moments, problem: Problem) -> int:
    """The best design by the first objective that seems to keep the limits.

    If none does, the one that comes nearest, in standard deviations of its excess.
    """
    objectives, excess = split(losses, problem)
    keeps = (excess.mean <= 0.0).all(axis=1)
    if keeps.any():
        return int(np.argmin(np.where(keeps, objectives.mean[:, 0], np.inf)))
    noise = np.sqrt(np.nan_to_num(excess.variance, nan=0.0))
    scale = np.where(noise > 0.0, noise, np.maximum(noise.max(axis=0), SMALLEST))
    return int(np.argmin((excess.mean / scale).max(axis=1)))


def _allocate(losses: Moments, problem: Problem, extra: int, sizes: Ints) -> Ints:
    """Shares further replications among designs, as OCBA-CO says."""
    objectives, excess = split(losses, problem)
    best = best_of(losses, problem)
    counts = losses.counts
    mean, variance = objectives.mean[:, 0], objectives.variance[:, 0]
    needed = _ratio(mean - mean[best], variance, counts)
    breaks = np.where(excess.mean > 0.0, excess.mean, 0.0)
    by_limit = _ratio(breaks, excess.variance, counts[:, None])
    by_limit = np.where(excess.mean > 0.0, by_limit, np.inf).min(axis=1)
    is_feasible = bool((excess.mean[best] <= 0.0).all())
    by_objective = needed if is_feasible else np.full(len(mean), np.inf)
    # Who is better by the objective is told by a limit alone; best_of says that there is one.
    by_objective = np.where(mean > mean[best], by_objective, np.inf)
    target = np.minimum(by_objective, by_limit)
    target = np.where(np.isfinite(target), target, 4.0 * counts / NEAREST**2)
    told = (by_objective <= by_limit) & np.isfinite(by_objective) & (variance > 0.0)
    told[best] = False
    served = float((sizes * target**2 / np.where(variance > 0.0, variance, 1.0))[told].sum())
    own = _ratio(excess.mean[[best]], excess.variance[[best]], counts[[best], None]).max()
    target[best] = max(math.sqrt(variance[best] * served), float(own), SMALLEST)
    return round_up_to(target, counts, extra, best, sizes)


def _ratio(signal: Floats, variance: Floats, counts: Ints) -> Floats:
    """Squared ratios of noise to signal, of signals not smaller than can be told by now."""
    least = NEAREST**2 * variance / counts
    squared = np.maximum(signal**2, least)
    return np.divide(variance, squared, out=np.zeros_like(squared), where=squared > 0.0)


def checked(
    problem: Problem, meter: Meter, rounds: Rounds, name: str, confidence: float, remark: str = ""
) -> Selection:
    """The selection of the finalists, each with new replications, and what is claimed of them."""
    losses = rounds.moments
    skewness = np.zeros(losses.mean.shape[1]) if rounds.skewness is None else rounds.skewness
    of = len(problem.objectives)
    widest = np.sqrt(2.0 * losses.squares.max(axis=0))
    left = (meter.limit or meter.spent) - meter.spent
    finalists = _finalists(losses, problem, min(FINALISTS, max(1, left // 2)), left)
    start = int(losses.counts.max())
    if left // len(finalists) >= 2:
        replications = range(start, start + left // len(finalists))
        values = meter.evaluate(finalists, replications)
        new, checked_values = moments_of(values), values[:, :, of:]
        compared = len(finalists)
    else:
        checked_values = None
        new = losses.at(finalists)
        compared = problem.size
        remark = f"{remark} No evaluations were left to check the limits with.".strip()
    new_objectives, new_excess = split(new, problem)
    widest = np.maximum(widest, np.sqrt(2.0 * new.squares.max(axis=0)))
    remark = f"{remark} {_if_none_varies(problem, new_excess, widest[of:], confidence)}".strip()
    broken = broken_chances(new_excess, skewness[of:], widest[of:])
    pooled = merge(losses.at(finalists), new) if compared < problem.size else new
    objectives, excess = split(pooled, problem)
    is_kept = np.asarray((excess.mean <= 0.0).all(axis=1))
    best = best_of(pooled, problem)
    cost = objectives.mean[:, 0]
    chance = (1.0 - confidence) / (2.0 * compared)
    student = intervals(
        finalists, new_excess, confidence, compared, None, skewness[of:], widest[of:]
    )
    kept_limits = keeping(
        problem.limits,
        new_excess,
        checked_values,
        Seen(skewness[of:], widest[of:], losses.mean[:, of:], bool(widest.any())),
        Ends(student.low, student.high),
        chance,
    )
    signs = np.array([limit.sign for limit in problem.limits])
    bounds = np.array([limit.bound for limit in problem.limits])
    metrics = student._replace(
        mean=bounds + signs * student.mean, low=kept_limits.low, high=kept_limits.high
    )
    ends = np.where(signs > 0.0, metrics.high, metrics.low)
    surely = np.column_stack([limit.holds(ends[:, k]) for k, limit in enumerate(problem.limits)])
    is_sure = np.asarray(surely.all(axis=1))
    sure = int(finalists[np.argmin(np.where(is_sure, cost, np.inf))]) if is_sure.any() else None

    known = Moments(losses.counts.copy(), losses.mean.copy(), losses.squares.copy())
    known.counts[finalists], known.mean[finalists], known.squares[finalists] = pooled
    chosen = int(finalists[best])
    if is_sure[best]:
        kept = kept_chances(split(known, problem)[1], skewness[of:], widest[of:])
        claim = max(_claim(losses, rounds.losses, kept, chosen) - (1.0 - confidence), 0.0)
        words = f"the best design by {problem.objectives[0].name} among those that keep the limits"
        alignment = Alignment(claim, 1, words, exactly=True)
    elif is_kept[best]:
        alignment = no_claim(f"it is not sure ({confidence:g}) that this design keeps the limits")
    else:
        alignment = no_claim("no design is seen to keep all limits; this one comes nearest")
    front = front_of(np.column_stack((cost, broken.max(axis=1))))
    front = np.union1d(
        front, [best, *np.flatnonzero(finalists == (chosen if sure is None else sure))]
    )
    return select(
        problem,
        name,
        finalists,
        new_objectives,
        evaluations=meter.spent,
        alignment=alignment,
        confidence=confidence,
        compared=compared,
        all_losses=split(losses, problem)[0],
        skewness=skewness[:of],
        chosen=np.array([chosen]),
        front=front.astype(np.int64),
        feasibility=Feasibility(problem.limits, metrics, surely, kept_limits.probability, sure),
        rounds=rounds.counts_by_round,
        remark=remark,
    )


def _if_none_varies(problem: Problem, excess: Moments, widest: Floats, confidence: float) -> str:
    """What to say of limits on metrics that no replication of any design has seen vary.

    How much something that was never seen may break a limit, nobody can tell; how often, a count of
    replications can.
    """
    names = [problem.limits[k].metric for k in np.flatnonzero(widest == 0.0).tolist()]
    count = int(excess.counts.min())
    if not names or count < 2:
        return ""
    share = 1.0 - (1.0 - confidence) ** (1.0 / count)
    return (
        f"No replication differed from another in {' and '.join(names)}: what happens in less than "
        f"{share:.2g} of the replications may not have shown in {count:,} ({confidence:g}). A "
        "share counts as far as that; what designs differ in is taken to follow from the design."
    )


def _claim(losses: Moments, kept_losses: list[Floats] | None, keeps: Floats, chosen: int) -> float:
    """The claim that no design that keeps the limits is better; equals count as one."""
    seen = Evidence(losses, kept_losses, allocated=True)
    ties = ties_of(losses)
    if kept_losses is None and losses.squares.any():
        ties = ties._replace(first=np.arange(len(losses.mean)), group=np.arange(len(losses.mean)))
    some = seen.at(ties.first)
    objective, index = _by_first(some), int(ties.group[chosen])
    return probability_of_best_kept(objective, keeps[ties.first], index)


def _by_first(seen: Evidence) -> Evidence:
    """The evidence by the first objective alone."""
    counts, mean, squares = seen.moments
    kept = None if seen.losses is None else [losses[:, :1] for losses in seen.losses]
    return Evidence(Moments(counts, mean[:, :1], squares[:, :1]), kept, seen.allocated)


def _finalists(losses: Moments, problem: Problem, most: int, left: int) -> Ints:
    """The designs that new replications are for, ascending."""
    objectives, excess = split(losses, problem)
    cost = objectives.mean[:, 0]
    chosen = [best_of(losses, problem)]
    each = max(2, left // most)
    # How far below its bound the mean excess is, in standard errors of the check, as it seems, less
    # what it may seem too low by.
    spread = np.sqrt(np.nan_to_num(excess.variance, nan=0.0))
    error = spread * np.sqrt(1.0 / each + 1.0 / losses.counts[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        ease = np.where(
            error > 0.0, -excess.mean / error, np.where(excess.mean <= 0.0, 99.0, -99.0)
        )
    ease = ease.min(axis=1)
    for least in EASE:
        fit = ease >= least
        if fit.any() and len(chosen) < most:
            chosen.append(int(np.argmin(np.where(fit, cost, np.inf))))
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) < min(2, most) and len(cost) > 1:
        order = np.argsort(-ease, kind="stable")
        chosen.append(int(next(index for index in order if index not in chosen)))
    return np.sort(np.array(chosen, np.int64))
