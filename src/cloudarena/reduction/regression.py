"""Which metrics to measure: subsets that leave the least residual of a score.

All columns and the score are centred. ``explained`` is the share of the score's variance, R^2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cloudarena.base.arrays import Floats, Ints
from cloudarena.base.checks import check_whole
from cloudarena.base.errors import SpecError

MOST_SUBSETS = 2_000_000
BATCH = 20_000
"""Subsets that are solved at a time."""
PARTS = 10
"""The parts of the strategies for cross-validation."""
ENTER, LEAVE = 0.05, 0.10
"""The p values of the F tests below which a metric enters, and above which it goes again."""
MOST_ROUNDS = 1000
"""Metrics that enter at most, those that went again included."""
DEPENDENT = 1e-10
"""A column of which the others leave less than this share is taken as dependent on them."""


class Fit(NamedTuple):
    """A score as a linear function of some metrics, fitted by least squares."""

    metrics: Ints
    coefficients: Floats
    explained: float
    """The explained share of the variance, R^2."""
    residual_variance: float
    """The residual variance, ``e'e / (I - P - 1)``."""
    correlation: float
    """The root of the adjusted R^2, which is ``1 - (1 - R^2) (I - 1) / (I - P - 1)``."""
    significance: float
    """The F test that the metrics tell nothing: its p value."""


def fit(metrics: Floats, score: Floats, chosen: Ints) -> Fit:
    """Least squares of a score on some columns; all are centred."""
    from scipy.special import fdtrc

    strategies = len(score)
    columns = metrics[:, chosen]
    basis = _orthonormal(columns)
    predicted = basis @ (basis.T @ score)
    residual = score - predicted
    total, left = float(score @ score), float(residual @ residual)
    explained = 1.0 - left / total if total > 0.0 else 0.0
    freedom = strategies - len(chosen) - 1
    adjusted = 1.0 - (1.0 - explained) * (strategies - 1) / freedom if freedom > 0 else 0.0
    significance = 1.0
    if freedom > 0 and total > 0.0:
        ratio = (explained / len(chosen)) / max((1.0 - explained) / freedom, 1e-300)
        significance = float(fdtrc(len(chosen), freedom, ratio))
    return Fit(
        chosen,
        np.asarray(np.linalg.lstsq(columns, score, rcond=None)[0], np.float64),
        explained,
        left / freedom if freedom > 0 else math.nan,
        math.sqrt(max(adjusted, 0.0)),
        significance,
    )


def cross_validated(
    metrics: Floats,
    score: Floats,
    choose: Callable[[Floats, Floats], Ints],
    rng: np.random.Generator,
) -> float:
    """The correlation of score and prediction on strategies that had no part in the choice.

    It is at least 0. The strategies are dealt into ten parts at random; for each part the metrics
    are chosen again, by the same method, and fitted on the nine others. A correlation within the
    sample is too high where a few of many metrics are chosen, adjusted or not.

    Args:
        metrics: of all strategies, centred.
        score: of all strategies, centred.
        choose: chooses metrics by some strategies.
        rng: deals the strategies.
    """
    strategies = len(score)
    predicted = np.zeros(strategies)
    parts = rng.permutation(np.arange(strategies) % PARTS)
    for part in range(PARTS):
        unseen = parts == part
        if not unseen.any():
            continue
        centre, level = metrics[~unseen].mean(axis=0), score[~unseen].mean()
        known, target = metrics[~unseen] - centre, score[~unseen] - level
        chosen = choose(known, target)
        weights = np.linalg.lstsq(known[:, chosen], target, rcond=None)[0]
        predicted[unseen] = level + (metrics[unseen] - centre)[:, chosen] @ weights
    return min(1.0, max(0.0, _correlation(score, predicted)))


def by_f_tests(metrics: Floats, score: Floats, count: int) -> Ints:
    """Stepwise regression by F tests: up to ``count`` metrics, fewer if no other is significant.

    The metric that most lowers the residual enters if the F test of what it adds has a p value of
    at most 0.05; then those go, the least significant first, whose p value among the others is
    above 0.10 (Efroymson, 1960). The tests do not know how many metrics were looked at, so more
    enter than a level of 5 % suggests.
    """
    chosen = np.empty(0, np.int64)
    for _ in range(MOST_ROUNDS):
        candidate, left = _enter(metrics, score, chosen, 1)
        if len(chosen) == count or len(candidate) == len(chosen):
            break
        before = unexplained(metrics, score, chosen)
        if _p_value(before, left, len(score) - len(candidate) - 1) > ENTER:
            break
        chosen = _without_the_insignificant(metrics, score, candidate)
    return chosen


def _without_the_insignificant(metrics: Floats, score: Floats, chosen: Ints) -> Ints:
    while len(chosen) > 1:
        left = unexplained(metrics, score, chosen)
        fewer = [np.delete(chosen, k) for k in range(len(chosen))]
        squares = [unexplained(metrics, score, some) for some in fewer]
        least = int(np.argmin(squares))
        if _p_value(squares[least], left, len(score) - len(chosen) - 1) <= LEAVE:
            break
        chosen = fewer[least]
    return chosen


def _p_value(before: float, after: float, freedom: int) -> float:
    """The p value of the F test that one metric more explains nothing."""
    from scipy.special import fdtrc

    if freedom < 1:
        return 1.0
    ratio = max(before - after, 0.0) / max(after / freedom, 1e-300)
    return float(fdtrc(1, freedom, ratio))


def forward(metrics: Floats, score: Floats, count: int) -> Ints:
    """Again and again the metric that most lowers the residual: O(count I K)."""
    return _enter(metrics, score, np.empty(0, np.int64), count)[0]


def exchange(metrics: Floats, score: Floats, chosen: Ints) -> Ints:
    """Swaps one chosen metric for another as long as that lowers the residual."""
    current, best = chosen.copy(), unexplained(metrics, score, chosen)
    improved = len(current) > 0
    while improved:
        improved = False
        for index in range(len(current)):
            candidate, left = _enter(metrics, score, np.delete(current, index), 1)
            if len(candidate) == len(current) and left < best * (1.0 - 1e-9):
                current, best, improved = candidate, left, True
    return current


def exhaustive(metrics: Floats, score: Floats, count: int) -> Ints:
    """The very best subset, by trying all."""
    columns = metrics.shape[1]
    check_exhaustive(columns, count)
    gram, products = metrics.T @ metrics, metrics.T @ score
    combinations = itertools.combinations(range(columns), count)
    best, most = np.empty(0, np.int64), -math.inf
    while batch := list(itertools.islice(combinations, BATCH)):
        sets = np.array(batch, np.int64)
        gains = explained_squares(gram, products, sets)
        index = int(np.argmax(gains))
        if gains[index] > most:
            best, most = sets[index], float(gains[index])
    return best


def check_exhaustive(columns: int, count: int) -> None:
    """Raises if there are too many subsets to try all."""
    check_whole("keep", count, 1, columns)
    subsets = math.comb(columns, count)
    if subsets > MOST_SUBSETS:
        raise SpecError(
            f"keep: {count} of {columns} metrics are {subsets:.3g} subsets, too many to try all: "
            f"at most {MOST_SUBSETS:,}; use stepwise or ecga"
        )


def explained_squares(gram: Floats, products: Floats, subsets: Ints) -> Floats:
    """What each subset explains of the score's sum of squares, from the Gram matrix alone."""
    blocks = gram[subsets[:, :, None], subsets[:, None, :]]
    # So little on the diagonal changes nothing but that dependent columns can be solved for.
    ridge = 1e-10 * np.einsum("sii->s", blocks) / subsets.shape[1]
    diagonal = np.arange(subsets.shape[1])
    blocks[:, diagonal, diagonal] += ridge[:, None] + 1e-300
    right = products[subsets]
    solved = np.linalg.solve(blocks, right[:, :, None])[:, :, 0]
    return np.asarray((right * solved).sum(axis=1))


def unexplained(metrics: Floats, score: Floats, chosen: Ints) -> float:
    """The sum of squares that some metrics leave of the score."""
    basis = _orthonormal(metrics[:, chosen])
    residual = score - basis @ (basis.T @ score)
    return float(residual @ residual)


def _enter(metrics: Floats, score: Floats, chosen: Ints, count: int) -> tuple[Ints, float]:
    """The chosen metrics and up to ``count`` more, one by one the best to add (Gram-Schmidt).

    Also the sum of squares that they leave of the score.
    """
    basis = _orthonormal(metrics[:, chosen])
    left = metrics - basis @ (basis.T @ metrics)
    residual = score - basis @ (basis.T @ score)
    size = (metrics * metrics).sum(axis=0)
    entered = list(chosen.tolist())
    for _ in range(count):
        squares = (left * left).sum(axis=0)
        usable = squares > DEPENDENT * np.maximum(size, 1e-300)
        usable[entered] = False
        if not usable.any():
            break
        gains = np.where(usable, (left.T @ residual) ** 2 / np.where(usable, squares, 1.0), -1.0)
        best = int(np.argmax(gains))
        direction = left[:, best] / math.sqrt(squares[best])
        left -= np.outer(direction, direction @ left)
        residual -= direction * (direction @ residual)
        entered.append(best)
    return np.array(entered, np.int64), float(residual @ residual)


def _orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of what the columns span."""
    if columns.shape[1] == 0:
        return np.zeros((len(columns), 0))
    basis, triangle = np.linalg.qr(columns)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() > DEPENDENT * sizes.max():
        return basis
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)  # some columns are dependent
    return left[:, sizes > DEPENDENT * max(sizes[0], 1e-300)]


def _correlation(a: Floats, b: Floats) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0.0 else 0.0
