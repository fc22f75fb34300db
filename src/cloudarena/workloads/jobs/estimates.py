"""What people, or a predictor, say beforehand about how long tasks will run.

Three models, each drawn from a random stream of its own, so that the jobs stay as they are:

- ``modal``: estimates of people, after Dan Tsafrir, Yoav Etsion and Dror Feitelson: Modeling user
  runtime estimates, JSSPP 2005. Users choose round values, and few of them: some 20 values (the
  head) hold 89 % of all estimates, many ask for the longest that is allowed, and no estimate is
  below the run time, since a batch system ends a job that reaches its estimate. The parameters are
  the published ones, which were fitted to the logs of SDSC SP2, CTC, KTH and SDSC Blue, but for the
  share at the limit, which differs most from system to system and which the model wants to be told:
  10 %, as in the log of SDSC SP2. ``python -m benchmarks.estimates LOG`` compares it with a log.
- ``factor``: a predictor that knows earlier runs: the run time times a log-normal factor whose
  median is 1. With the deviation of 0.5, 17 % are wrong by a factor of two or more; good predictors
  on three traces of clusters are in 8 to 23 % (Park et al.: 3Sigma, EuroSys 2018).
- ``exact``: the run times themselves.

How modal estimates are drawn:

1. The longest allowed estimate is the first of the usual limits (1 h, 2 h, 4 h, ...) that no task
   exceeds.
2. The head is that limit, the 15 values that were popular in all four logs, and round values below
   the limit. The shares of the others fall exponentially with the rank of popularity; which value
   has which rank is as in one of the four logs, by the seed.
3. The tail has as many values as logs of so many jobs have, spread over all times, with shares that
   fall as a power of the rank.
4. Values are given to tasks by their shares: the longest task chooses first, each at random among
   the values that are left and not below its run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from cloudarena.base.errors import SpecError, check_choice
from cloudarena.base.numpy import np
from cloudarena.engine.streams import stream
from cloudarena.workloads.jobs.columns import LONGEST_TIME, SHORTEST_TIME, JobWorkload

if TYPE_CHECKING:
    from numpy.typing import NDArray

EstimateModel = Literal["exact", "modal", "factor"]
MODELS = ("exact", "modal", "factor")
FACTOR_DEVIATION = 0.5
"""The deviation of the log of estimate / run time, with ``factor``."""

MINUTE, HOUR = 60.0, 3600.0
LIMITS_H = (1, 2, 4, 6, 8, 10, 12, 18, 24, 36, 48, 60, 72, 96, 120, 168)
"""Usual limits of batch queues; beyond them, whole hundreds of hours."""
HEAD = 20
HEAD_SHARE = 0.89
LIMIT_SHARE = 0.10
"""The share of the longest allowed estimate: 9.7 % at SDSC SP2, 0.9 % at HPC2N."""
HEAD_RANKS = (0.140491, -0.177531, 0.00462513)
"""The share of the value of rank r from 2 on is in proportion to a * exp(b * r) + c."""
TAIL_POWER = -2.267
"""The share of the value of rank r after the head is in proportion to r to this power."""
TAIL_TIMES = (12.1039, -0.6026)
"""The times of the tail are limit * (a - 1) x / (a - x), x from 0 to 1, a = 1 + p * values^q."""
VALUES_OF_JOBS = ((0, 0), (20, 10), (200, 20), (1000, 35), (10_000, 90), (70_000, 340),
                  (250_000, 565))  # fmt: skip
"""How many values logs of so many jobs have."""
POPULAR = tuple(
    minutes * MINUTE
    for minutes in (5, 10, 15, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 720, 1080)
)
"""The values that were among the 20 most popular of all four logs."""
ROUND = tuple(minutes * MINUTE for minutes in (12_000, 6000, 3000, 600, 300, 120, 60, 20, 10, 5))
"""Multiples of these complete the head, from the limit down, the rounder ones first."""
RANKS = (
    (3, 1, 4, 17, 13, 7, 8, 18, 2, 6, 16, 10, 5, 15, 14, 19, 11, 12, 9, 20),
    (1, 3, 4, 2, 12, 9, 8, 18, 6, 7, 11, 20, 16, 5, 14, 13, 10, 15, 17, 19),
    (1, 4, 10, 14, 20, 2, 3, 7, 12, 6, 19, 5, 18, 16, 9, 17, 15, 13, 8, 11),
    (1, 6, 5, 3, 7, 2, 18, 19, 4, 11, 20, 9, 10, 14, 13, 16, 15, 17, 8, 12),
)
"""How popular the limit and then the head's other values in rising order are in each log."""


def with_estimates(
    workload: JobWorkload,
    model: EstimateModel,
    seed: int,
    deviation: float = FACTOR_DEVIATION,
) -> JobWorkload:
    """Returns the workload with estimates of a model, of which a seed decides all chance."""
    check_choice("estimates", model, MODELS)
    if not 0 <= deviation <= 10:
        raise SpecError(f"estimate_deviation: {deviation:g} is not allowed: from 0 to 10")
    if model == "exact":
        return workload._replace(estimate=workload.duration.copy())
    rng = stream(seed, "estimates")
    if model == "modal":
        return workload._replace(estimate=modal_estimates(workload.duration, rng))
    factor = np.exp(deviation * rng.standard_normal(len(workload.duration)))
    # A task whose run time is barely allowed has no longer estimate than that.
    return workload._replace(
        estimate=np.clip(workload.duration * factor, SHORTEST_TIME, LONGEST_TIME)
    )


def modal_estimates(
    duration: NDArray[np.float64],
    rng: np.random.Generator,
    limit: float | None = None,
    limit_share: float = LIMIT_SHARE,
) -> NDArray[np.float64]:
    """An estimate of people for each run time, in seconds, none below it.

    Args:
        duration: the run times in seconds.
        rng: what the choices are drawn from.
        limit: the longest allowed estimate in seconds, no less than any run time; the first usual
            limit by default.
        limit_share: how many of the estimates are the limit, from 0 to 0.89.
    """
    limit = usual_limit(float(duration.max())) if limit is None else limit
    tasks = len(duration)
    values, shares = _histogram(tasks, limit, limit_share, rng)
    counts = _by_shares(tasks, shares)
    order = np.argsort(-duration, kind="stable")
    falling = duration[order]
    offered = -np.sort(-np.repeat(values, counts))
    # Where too many tasks are long for these shares, some choose the next popular value instead.
    head = np.sort(_head_values(limit))
    enough = head[np.searchsorted(head, falling)]
    offered = -np.sort(-np.where(offered < falling, enough, offered))
    estimate = np.empty(tasks)
    estimate[order] = _chosen(falling, offered, rng)
    return estimate


def usual_limit(longest: float) -> float:
    """The first usual limit of a batch queue that is not below a run time, in seconds."""
    for hours in LIMITS_H:
        if longest <= hours * HOUR:
            return hours * HOUR
    return min(LONGEST_TIME, float(np.ceil(longest / (100 * HOUR)) * 100 * HOUR))


def _histogram(
    tasks: int, limit: float, limit_share: float, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The values that estimates have, and the share of each."""
    head = _head_values(limit)
    jobs, of_jobs = np.transpose(VALUES_OF_JOBS)
    wanted = round(float(np.interp(tasks, jobs, of_jobs)))
    head_shares = _head_shares(len(head), limit_share, rng)
    tail = _tail_values(limit, head, wanted)
    if len(tail) == 0:
        return head, head_shares / head_shares.sum()
    tail_shares = np.arange(HEAD + 1.0, HEAD + 1.0 + len(tail)) ** TAIL_POWER
    tail_shares *= (1.0 - HEAD_SHARE) / tail_shares.sum()
    return np.concatenate((head, rng.permutation(tail))), np.append(head_shares, tail_shares)


def _head_values(limit: float) -> NDArray[np.float64]:
    """The limit, then up to 19 popular values below it in rising order."""
    below = [value for value in POPULAR if value < limit]
    for unit in ROUND:
        for multiple in range(int(limit // unit), 0, -1):
            if len(below) + 1 >= HEAD:
                break
            value = multiple * unit
            if value < limit and value not in below:
                below.append(value)
    return np.array([limit, *sorted(below)])


def _head_shares(count: int, limit_share: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """The shares of the head's values: the limit, then the others in rising order."""
    a, b, c = HEAD_RANKS
    by_rank = a * np.exp(b * np.arange(1.0, HEAD + 1.0)) + c
    ranks = RANKS[rng.integers(len(RANKS))][1:count]
    others = by_rank[1:count][np.argsort(np.argsort(ranks))]
    return np.append(limit_share, others * (HEAD_SHARE - limit_share) / others.sum())


def _tail_values(limit: float, head: NDArray[np.float64], wanted: int) -> NDArray[np.float64]:
    """Whole minutes that are not in the head, many short ones and few long ones."""
    count = wanted - HEAD
    if count <= 0:
        return np.empty(0)
    p, q = TAIL_TIMES
    a = 1.0 + p * wanted**q
    x = np.arange(1, count + 1) / count
    values = np.unique(np.rint(limit * (a - 1.0) * x / (a - x) / MINUTE) * MINUTE)
    within = (values > 0) & (values < limit)
    return np.setdiff1d(values[within], head)


def _by_shares(count: int, shares: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers that sum to a count, in proportion to shares (largest remainder)."""
    exact = shares / shares.sum() * count
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: count - counts.sum()]] += 1
    return counts


def _chosen(
    falling: NDArray[np.float64], offered: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """One of the offered values for each run time, at random among those that are long enough.

    Both are in falling order. What one has chosen the next cannot choose.
    """
    values = offered.tolist()
    # How many of the offered values are long enough for each run time.
    enough = np.searchsorted(-offered, -falling, side="right").tolist()
    for index, (end, share) in enumerate(
        zip(enough, rng.random(len(values)).tolist(), strict=True)
    ):
        other = index + int(share * (end - index))
        values[index], values[other] = values[other], values[index]
    return np.array(values)
