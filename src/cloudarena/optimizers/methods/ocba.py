"""Optimal computing budget allocation: replications go where they tell designs apart.

To find the best of k designs (Chen, Lin, Yücesan and Chick, "Simulation budget allocation for
further enhancing the efficiency of ordinal optimization", 2000), with means J, variances s^2, best
b and gaps d_i = J_i - J_b:

    N_i / N_j = ((s_i / d_i) / (s_j / d_j))^2  for i, j other than b
    N_b = s_b sqrt(sum of N_i^2 / s_i^2)

To find the best m (OCBA-m; Chen, He, Fu and Lee, "Efficient simulation budget allocation for
selecting an optimal subset", 2008), gaps are taken from a bound c between the m-th and the next.

Allocations take designs to err independently. Common random numbers, the default, make differences
less noisy than that; claims know it (``rivals.py``). Designs that have never differed count as one:
the claim is that no other is better than the chosen one, not that it is the only one so good.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from cloudarena.base.arrays import Flags, Floats, Ints
from cloudarena.base.checks import check_vector, check_whole
from cloudarena.base.errors import SpecError
from cloudarena.optimizers.budget.meter import Meter, Watcher
from cloudarena.optimizers.budget.moments import Moments
from cloudarena.optimizers.budget.rivals import (
    Evidence,
    distinct,
    never_differed,
    probability_of_best,
    shortfall,
)
from cloudarena.optimizers.budget.rounds import (
    Rounds,
    Ties,
    begin,
    check_budget,
    default_step,
    objective_index,
    round_up_to,
    ties_of,
)
from cloudarena.optimizers.methods.method import Claim, FixedBudget, MarginClaim, method
from cloudarena.optimizers.ordinal.alignment import Alignment
from cloudarena.optimizers.ordinal.within import read_within
from cloudarena.optimizers.problem import Problem
from cloudarena.optimizers.selection import Selection, select

ADVISED = 5
"""Replications from which on the variance of a design is taken as it is."""
SMALLEST = 1e-12
"""Gaps are at least this part of the range of the means."""

Allocation = Callable[[Floats, Floats, Ints, int, Ints], Ints]


def ocba_allocation(means: ArrayLike, variances: ArrayLike, counts: ArrayLike, extra: int) -> Ints:
    """Shares ``extra`` further replications among designs, to find the one with the least mean.

    Args:
        means: of each design so far.
        variances: of a replication of each design.
        counts: replications so far.
        extra: how many are to be given.
    """
    mean, variance, count = _checked(means, variances, counts, extra)
    return _allocate_for_best(mean, variance, count, extra, np.ones_like(count))


def ocba_m_allocation(
    means: ArrayLike, variances: ArrayLike, counts: ArrayLike, extra: int, top: int
) -> Ints:
    """Shares as ``ocba_allocation`` does, to find the ``top`` designs with the least means."""
    mean, variance, count = _checked(means, variances, counts, extra)
    check_whole("top", top, 1, len(mean) - 1)
    return _allocate_for_top(mean, variance, count, extra, np.ones_like(count), top)


class Allocated(FixedBudget):
    """The options of both methods."""

    first: int = Field(10, ge=2)
    """Replications of each design before the first allocation; at least 5 are advised."""
    step: int | None = Field(None, ge=1)
    """Evaluations between two allocations; one for each design by default, at least 20."""
    objective: str | int = 0
    """The objective that decides, by name or index; others are only estimated."""


class OcbaOptions(Allocated, MarginClaim):
    """The options of OCBA."""


class OcbaMOptions(Allocated, Claim):
    """The options of OCBA-m."""

    top: int = Field(ge=1)
    """How many designs are found."""


@method("ocba", OcbaOptions)
def ocba(problem: Problem, options: OcbaOptions, watcher: Watcher | None) -> Selection:
    """Replications go where they tell the best design by one objective from its rivals."""
    confidence = options.confidence
    objective = objective_index(problem, options.objective)
    margin = read_within(options.within, 1)
    rounds = _sequential(problem, options, objective, _allocate_for_best, watcher)
    ties, mean, _, _ = _distinct(rounds, objective)
    best = ties.first[[np.argmin(mean)]]
    seen = Evidence(cautious(rounds.moments), rounds.losses, allocated=True)
    some, chosen = distinct(seen, int(best[0]), slice(objective, objective + 1))
    name = problem.objectives[objective].name
    good = f"the best design by {name}"
    if margin.is_open:
        good = f"a design within {margin} of the best by {name}"
    claim = Alignment(
        probability_of_best(some, chosen, margin, confidence),
        1,
        good,
        exactly=True,
        equals=never_differed(seen, int(best[0]), slice(objective, objective + 1)),
    )
    missing = shortfall(some, chosen, confidence)
    return _selection(problem, "ocba", rounds, best, claim, confidence, missing)


def cautious(moments: Moments) -> Moments:
    """Moments of which no variance of a few replications is below that of all designs together.

    Whose first few replications are alike by chance looks well known, so it gets no others, and
    what is said of it would rest on that chance.
    """
    freedom = np.maximum(moments.counts - 1, 0)[:, None]
    pooled = moments.squares.sum(axis=0) / max(int(freedom.sum()), 1)
    least = np.where(freedom + 1 < ADVISED, freedom * pooled, 0.0)
    return moments._replace(squares=np.maximum(moments.squares, least))


@method("ocba-m", OcbaMOptions)
def ocba_m(problem: Problem, options: OcbaMOptions, watcher: Watcher | None) -> Selection:
    """Replications go where they tell the best few designs by one objective from the rest."""
    top, confidence = options.top, options.confidence
    objective = objective_index(problem, options.objective)
    _check_designs(problem)
    check_whole("top", top, 1, problem.size - 1)

    def allocate(mean: Floats, variance: Floats, counts: Ints, extra: int, sizes: Ints) -> Ints:
        return _allocate_for_top(mean, variance, counts, extra, sizes, top)

    rounds = _sequential(problem, options, objective, allocate, watcher)
    best = np.argsort(rounds.moments.mean[:, objective], kind="stable")[:top]
    ties, mean, variance, counts = _distinct(rounds, objective)
    name = problem.objectives[objective].name
    good = f"the best design by {name}" if top == 1 else f"the best {top:,} designs by {name}"
    claim = probability_of_top(mean, variance, counts, top, ties.sizes)
    alignment = Alignment(claim, top, good, exactly=True)
    return _selection(problem, "ocba-m", rounds, best, alignment, confidence)


def probability_of_top(
    mean: Floats, variance: Floats, counts: Ints, top: int, sizes: Ints | None = None
) -> float:
    """A lower bound of the probability that no design is better than the ``top`` least means.

    ``prod over all of 1 - 2 p_i``, with the p-value p_i of a test that design i of the top lies
    above c, or one of the others below. The top was chosen for its low means, so p_i counts twice
    (``rivals.py``). Equals of which some are in the top and some are not do not count: any of them
    will do.

    Args:
        mean: of each design.
        variance: of a replication.
        counts: replications.
        top: how many are the best.
        sizes: how many designs each stands for.
    """
    from scipy.special import stdtr

    error = np.sqrt(variance / counts)
    edge = _edge(mean, error, top, np.ones(len(mean), np.int64) if sizes is None else sizes)
    gap = np.where(edge.inside, edge.bound - mean, mean - edge.bound)
    with np.errstate(divide="ignore", invalid="ignore"):
        right = 1.0 - 2.0 * stdtr(counts - 1.0, -gap / error)
    return float(np.where((error > 0.0) & ~edge.cut, np.maximum(right, 0.0), 1.0).prod())


def _allocate_for_best(
    mean: Floats, variance: Floats, counts: Ints, extra: int, sizes: Ints
) -> Ints:
    best = int(np.argmin(mean))
    scale = _scale(mean, variance)
    gap = np.maximum((mean - mean[best]) / scale, SMALLEST)
    relative = variance / scale**2
    target = relative / gap**2
    # N_i^2 / s_i^2 = s_i^2 / d_i^4, which needs no division by a variance that may be 0.
    others = np.delete(sizes * relative / gap**4, best).sum()
    target[best] = math.sqrt(relative[best] * others)
    return round_up_to(target, counts, extra, best, sizes)


def _allocate_for_top(
    mean: Floats, variance: Floats, counts: Ints, extra: int, sizes: Ints, top: int
) -> Ints:
    scale = _scale(mean, variance)
    edge = _edge(mean, np.sqrt(variance / counts), top, sizes)
    gap = np.abs(mean - edge.bound) / scale
    target = variance / scale**2 / np.maximum(gap, SMALLEST) ** 2
    # Equals on the edge have no gap of their own: as much as the one that needs most.
    target[edge.cut] = target[~edge.cut].max(initial=0.0)
    return round_up_to(target, counts, extra, int(np.argmax(target)), sizes)


class _Edge(NamedTuple):
    """Where the top ends, and who is in it."""

    bound: float
    inside: Flags
    cut: Flags
    """Groups of equals of which only some members are in the top."""


def _edge(mean: Floats, error: Floats, top: int, sizes: Ints) -> _Edge:
    """A bound between the last of the top and the next, nearer to the one that is known better."""
    order = np.argsort(mean, kind="stable")
    upto = np.cumsum(sizes[order])
    end = int(np.searchsorted(upto, top))
    inside, cut = np.zeros((2, len(mean)), np.bool_)
    inside[order[: end + 1]] = True
    last = order[end]
    if upto[end] > top:
        cut[last] = True
        return _Edge(float(mean[last]), inside, cut)
    following = order[end + 1]
    weights = np.array([error[following], error[last]])
    if weights.sum() == 0.0:
        weights = np.ones(2)
    bound = (weights * mean[[last, following]]).sum() / weights.sum()
    return _Edge(float(bound), inside, cut)


def _scale(mean: Floats, variance: Floats) -> float:
    """The range of the means, by which gaps are measured so that units do not matter.

    Means of counts are often all equal; then it is the noise, or 1 if there is none.
    """
    return float(np.ptp(mean)) or float(np.sqrt(variance.max())) or 1.0


def _check_designs(problem: Problem) -> None:
    if problem.size < 2:
        raise SpecError("designs: 1 is not allowed: at least 2 to allocate among")


def _sequential(
    problem: Problem,
    options: Allocated,
    objective: int,
    allocate: Allocation,
    watcher: Watcher | None,
) -> Rounds:
    evaluations, first = options.evaluations, options.first
    _check_designs(problem)
    check_budget(problem, evaluations, first)
    step = options.step or default_step(problem.size)
    meter = Meter(problem, evaluations, evaluations, watcher)
    rounds = begin(problem, meter, first)
    while meter.spent < evaluations:
        ties, mean, variance, counts = _distinct(rounds, objective)
        meter.best = int(ties.first[np.argmin(mean)])
        extra = min(max(step, int(ties.sizes.max())), evaluations - meter.spent)
        given = allocate(mean, variance, counts, extra, ties.sizes)
        if not given.any():
            break  # fewer are left than there are equals to keep in step
        rounds.extend(given[ties.group])
    return rounds


def _distinct(rounds: Rounds, objective: int) -> tuple[Ties, Floats, Floats, Ints]:
    """Means, variances and counts by an objective of the designs that differ in it."""
    ties = ties_of(rounds.moments, slice(objective, objective + 1))
    moments = rounds.moments.at(ties.first)
    return ties, moments.mean[:, objective], moments.variance[:, objective], moments.counts


def _selection(
    problem: Problem,
    method: str,
    rounds: Rounds,
    best: Ints,
    alignment: Alignment,
    confidence: float,
    shortfall: float | None = None,
) -> Selection:
    return select(
        problem,
        method,
        best,
        cautious(rounds.moments).at(best),
        evaluations=rounds.meter.spent,
        alignment=alignment,
        confidence=confidence,
        compared=problem.size,
        all_losses=rounds.moments,
        skewness=rounds.skewness,
        chosen=best,
        shortfall=shortfall,
        rounds=rounds.counts_by_round,
    )


def _checked(
    means: ArrayLike, variances: ArrayLike, counts: ArrayLike, extra: int
) -> tuple[Floats, Floats, Ints]:
    mean = check_vector("means", means, None, -math.inf)
    if len(mean) < 2:
        raise SpecError("means: 1 design is not allowed: at least 2 to allocate among")
    variance = check_vector("variances", variances, len(mean), -math.ulp(0.0))
    count = check_vector("counts", counts, len(mean), 0.0).astype(np.int64)
    check_whole("extra", extra, 0)
    return mean, variance, count
